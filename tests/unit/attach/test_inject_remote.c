/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A call made in another process: it happens once, and the thread that made it notices nothing, even if the tracer is
 * killed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/frame.h"
#include "attach/inject/remote_call.h"
#include "process_state.h"

#define TIMEOUT_MS 2000		   /* of the calls */
#define PATIENCE_NS 60000000000ULL /* the limit for a call that ends, even on a busy machine */
#define LATER_MS 400 /* the control starts this much later; the thread is borrowed half of this after the control */
#define TRIES 5	     /* for an end that the machine may have delayed */

/* Shared by the test, the process that is entered, and the process that enters it. */
static struct shared {
	_Atomic int calls;
	_Atomic int inside;	/* the function is running */
	_Atomic int release;	/* it may return */
	_Atomic int hold;	/* it must wait for `release` */
	_Atomic int take_long;	/* longer than the caller waits */
	_Atomic int signal;	/* it sends this to its process, */
	_Atomic int killed;	/* and kills this process */
	_Atomic int allocate;	/* it uses the heap */
	_Atomic int go;		/* what the process waits for has come */
	_Atomic int handled;	/* number of signals handled */
	_Atomic int interrupts; /* its system call must have been interrupted before */
	uint64_t ended_ns, control_ended_ns;
	long result;
	int error;
	bool registers_kept;
} * shared;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static bool is_stopped(pid_t pid)
{
	return state_of(pid) == 'T';
}

static bool is_in_poll(pid_t pid)
{
	return blocked_in(pid) == SYS_poll;
}

/* Whether the process is where it must be entered. */
static bool is_waiting(pid_t pid)
{
	return shared->interrupts ? blocked_in(pid) == SYSCALL_RESTARTED : blocked_in(pid) >= 0;
}

static void wait_until(bool (*holds)(pid_t pid), pid_t pid)
{
	while (!holds(pid))
		pause_a_little();
}

/* Changes the shape of the heap. */
static void use_heap(void)
{
	for (unsigned i = 0; i < 40; i++) {
		char *block = malloc(1200 + 100 * i);

		memset(block, 0xee, 1200 + 100 * i);
		if (i % 2)
			free(block);
	}
}

/* The function that the process is made to call.  It clobbers what a function may clobber, and errno. */
static void count_call(void)
{
	shared->calls++;
	if (shared->signal)
		kill(getpid(), shared->signal);
	if (shared->killed)
		kill(shared->killed, SIGKILL);
	shared->inside = 1;
	while (shared->hold && !shared->release)
		;
	if (shared->allocate)
		use_heap();
	errno = 4242;
	__asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n\tvmovdqa %%ymm0, %%ymm1\n\tvmovdqa %%ymm0, %%ymm7\n\t"
			 "vmovdqa %%ymm0, %%ymm15\n\t" ::
				 : "xmm0", "xmm1", "xmm7", "xmm15");
}

/* ---- what the process is doing ------------------------------------------------------------------------ */

static int pipe_fds[2];

static long do_nanosleep(void)
{
	struct timespec time = {TIMEOUT_MS / 1000, TIMEOUT_MS % 1000 * 1000000};

	return nanosleep(&time, NULL);
}

static long do_poll(void)
{
	return poll(NULL, 0, TIMEOUT_MS);
}

static long do_ppoll(void)
{
	struct timespec time = {TIMEOUT_MS / 1000, TIMEOUT_MS % 1000 * 1000000};
	sigset_t none;

	sigemptyset(&none);
	return ppoll(NULL, 0, &time, &none);
}

static long do_select(void)
{
	struct timeval time = {TIMEOUT_MS / 1000, TIMEOUT_MS % 1000 * 1000};

	return select(0, NULL, NULL, NULL, &time);
}

static long do_futex(void)
{
	struct timespec time = {TIMEOUT_MS / 1000, TIMEOUT_MS % 1000 * 1000000};
	static int word;

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0) < 0 ? -errno : 0;
}

static long do_read(void)
{
	char byte;

	return read(pipe_fds[0], &byte, 1);
}

static long do_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, pipe_fds[0], &event);
	return epoll_wait(fd, &event, 1, -1);
}

static long do_wait(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		pause_ms(TIMEOUT_MS);
		_exit(3);
	}
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

/* Only the code of the wrapper has the number with which the call began. */
static long do_poll_interrupted_before(void)
{
	pid_t child;

	shared->interrupts = 1;
	child = fork();
	if (!child) {
		pid_t target = getppid();

		wait_until(is_in_poll, target);
		kill(target, SIGSTOP);
		wait_until(is_stopped, target);
		kill(target, SIGCONT);
		_exit(0);
	}
	return poll(NULL, 0, TIMEOUT_MS);
}

/* A system call made inline may keep anything in any register but rax, rcx and r11. */
static long do_registers(void)
{
	struct timespec time = {TIMEOUT_MS / 1000, TIMEOUT_MS % 1000 * 1000000};
	uint64_t before[4] __attribute__((aligned(32))) = {1, 2, 3, 0x1122334455667788};
	uint64_t after[4][4] __attribute__((aligned(32)));
	register long r8 __asm__("r8") = 0x8888, r9 __asm__("r9") = 0x9999, r10 __asm__("r10") = 0xaaaa;
	register long r12 __asm__("r12") = 0xcccc, r15 __asm__("r15") = 0xffff;
	long result, rdx = 0xdddd;

	__asm__ volatile("vmovdqa %[before], %%ymm0\n\tvmovdqa %[before], %%ymm1\n\tvmovdqa %[before], %%ymm7\n\t"
			 "vmovdqa %[before], %%ymm15\n\tsyscall\n\tvmovdqa %%ymm0, %[a0]\n\tvmovdqa %%ymm1, %[a1]\n\t"
			 "vmovdqa %%ymm7, %[a2]\n\tvmovdqa %%ymm15, %[a3]\n\t"
			 : "=a"(result), "+d"(rdx), "+r"(r8), "+r"(r9), "+r"(r10), "+r"(r12),
			   "+r"(r15), [a0] "=m"(after[0]), [a1] "=m"(after[1]), [a2] "=m"(after[2]), [a3] "=m"(after[3])
			 : "a"(SYS_nanosleep), "D"(&time), "S"(NULL), [before] "m"(before)
			 : "rcx", "r11", "memory", "xmm0", "xmm1", "xmm7", "xmm15");
	shared->registers_kept =
		rdx == 0xdddd && r8 == 0x8888 && r9 == 0x9999 && r10 == 0xaaaa && r12 == 0xcccc && r15 == 0xffff;
	for (int i = 0; i < 4; i++)
		shared->registers_kept &= !memcmp(after[i], before, sizeof(before));
	return result;
}

static void handle_signal(int signal)
{
	shared->handled++;
}

/* ---- entering the process ---------------------------------------------------------------------------- */

static pid_t start_process(long (*what)(void))
{
	pid_t pid;

	memset((void *)shared, 0, sizeof(*shared));
	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	errno = 77;
	shared->result = what();
	shared->error = errno;
	shared->ended_ns = now_ns();
	_exit(0);
}

/* Starts a process that makes the same call after the first one but before that is entered, and is left alone. */
static pid_t start_control(long (*what)(void))
{
	static struct shared own;
	struct shared *of_test = shared;
	pid_t pid;

	pause_ms(LATER_MS);
	pid = fork();
	if (pid)
		return pid;
	shared = &own;
	what();
	of_test->control_ended_ns = now_ns();
	_exit(0);
}

static bool agent_joins; /* remote_call.joins */

/* Makes one call, or returns -EAGAIN.  codes: by a thread that runs. */
static int enter_once(pid_t pid, struct safe_codes *codes)
{
	struct inject_addresses addresses;
	struct mappings mappings = {0};
	struct safe_thread thread;
	struct inject_result result;
	struct entered_process process = {.pid = pid, .mappings = &mappings, .codes = codes};
	struct remote_call call = {.addresses = &addresses,
				   .process = &process,
				   .function = (uint64_t)(uintptr_t)count_call,
				   .joins = agent_joins,
				   .max_ns = shared->take_long ? 0 : PATIENCE_NS};
	const char *why = "";
	char text[192] = "";
	int error = mappings_read(pid, &mappings);

	if (!error)
		error = process_start_ticks(pid, &process.start_ticks);
	if (!error)
		error = inject_addresses_find(pid, &mappings, -1, &addresses, text, sizeof(text));
	process.restorer = addresses.restorer;
	if (!error && codes)
		error = safe_point_choose_running(&process, &thread);
	else if (!error)
		error = safe_point_choose(&process, &thread, &why);
	if (!error)
		error = remote_call(&thread, &call, &result);
	if (error == -EAGAIN && codes)
		thread_code_record(&process, thread.call.pc);
	mappings_free(&mappings);
	if (error && error != -EAGAIN && error != -EINPROGRESS)
		fprintf(stderr, "%s: %s%s\n", strerror(-error), text, why);
	return error;
}

static int enter_process(pid_t pid)
{
	int error;

	wait_until(is_waiting, pid);
	for (int i = 0; i < 200; i++) {
		error = enter_once(pid, NULL);
		if (error != -EAGAIN)
			break;
		pause_ms(2);
	}
	return error;
}

/* Kills the tracer while the thread is inside the call. */
static void enter_and_die(pid_t pid)
{
	pid_t tracer;
	int status;

	shared->hold = 1;
	tracer = fork();
	if (!tracer) {
		shared->killed = getpid();
		enter_process(pid);
		_exit(1);
	}
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_true(WIFSIGNALED(status));
	shared->release = 1;
}

static void finish_process(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(shared->calls, 1);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* Whether the process's call, which began before the control's, also ended before it. */
static bool ends_before_control(long (*what)(void), long result)
{
	pid_t pid = start_process(what), control;

	wait_until(is_waiting, pid);
	control = start_control(what);
	pause_ms(LATER_MS / 2); /* this test is about time: the control's call has begun now */
	assert_int_equal(enter_process(pid), 0);
	finish_process(pid);
	assert_int_equal(waitpid(control, NULL, 0), control);
	assert_int_equal(shared->result, result);
	if (result >= 0)
		assert_int_equal(shared->error, 77);
	return shared->ended_ns < shared->control_ended_ns;
}

/* A time-out that started over when the thread was borrowed would end after the control's each time. */
static void assert_times_out(long (*what)(void), long result)
{
	unsigned late = 0;

	while (late < TRIES && !ends_before_control(what, result))
		late++;
	assert_true(late < TRIES);
}

static void a_nanosleep_ends_when_it_would_have(void **state)
{
	assert_times_out(do_nanosleep, 0);
}

static void a_poll_ends_when_it_would_have(void **state)
{
	assert_times_out(do_poll, 0);
}

static void a_poll_that_was_stopped_before_ends_when_it_would_have(void **state)
{
	assert_times_out(do_poll_interrupted_before, 0);
}

static void a_ppoll_ends_when_it_would_have(void **state)
{
	assert_times_out(do_ppoll, 0);
}

static void a_select_ends_when_it_would_have(void **state)
{
	assert_times_out(do_select, 0);
}

static void a_futex_wait_ends_when_it_would_have(void **state)
{
	assert_times_out(do_futex, -ETIMEDOUT);
}

static void a_wait_for_a_child_sees_it_end(void **state)
{
	assert_times_out(do_wait, 3);
}

static void registers_are_kept(void **state)
{
	assert_times_out(do_registers, 0);
	assert_true(shared->registers_kept);
}

static void assert_wakes(long (*what)(void), void (*borrow)(pid_t pid), long result)
{
	pid_t pid = start_process(what);

	borrow(pid);
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	finish_process(pid);
	assert_int_equal(shared->result, result);
	assert_int_equal(shared->error, 77);
}

static void enter_well(pid_t pid)
{
	assert_int_equal(enter_process(pid), 0);
}

static void a_read_gets_what_comes_later(void **state)
{
	assert_wakes(do_read, enter_well, 1);
}

static void an_epoll_wait_gets_what_comes_later(void **state)
{
	assert_wakes(do_epoll, enter_well, 1);
}

static void a_read_goes_on_when_the_tracer_is_killed(void **state)
{
	assert_wakes(do_read, enter_and_die, 1);
}

static void an_epoll_wait_goes_on_when_the_tracer_is_killed(void **state)
{
	assert_wakes(do_epoll, enter_and_die, 1);
}

/* The time-out may start over then, but the call must time out and not fail. */
static void a_call_is_made_again_when_the_tracer_is_killed(void **state)
{
	static long (*const calls[])(void) = {do_nanosleep, do_poll,	  do_ppoll,
					      do_select,    do_registers, do_poll_interrupted_before};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		pid_t pid = start_process(calls[i]);

		enter_and_die(pid);
		finish_process(pid);
		assert_int_equal(shared->result, 0);
		assert_int_equal(shared->error, 77);
		assert_true(calls[i] != do_registers || shared->registers_kept);
	}
}

static void a_call_that_takes_long_is_left_alone(void **state)
{
	pid_t pid = start_process(do_read);

	shared->hold = shared->take_long = 1;
	assert_int_equal(enter_process(pid), -EINPROGRESS);
	shared->release = 1;
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	finish_process(pid);
	assert_int_equal(shared->result, 1);
	assert_int_equal(shared->error, 77);
}

static long do_read_with_handler(void)
{
	struct sigaction action = {.sa_handler = handle_signal};

	sigaction(SIGUSR1, &action, NULL);
	return do_read() < 0 ? -errno : 1;
}

/* A signal during the call is kept for later; then it ends the system call as it always does. */
static void a_signal_during_the_call_interrupts_what_was_interrupted(void **state)
{
	pid_t pid = start_process(do_read_with_handler);

	shared->signal = SIGUSR1;
	assert_int_equal(enter_process(pid), 0);
	while (!shared->ended_ns && !is_waiting(pid))
		pause_a_little();
	assert_int_equal(write(pipe_fds[1], "", 1), 1); /* in case it reads again */
	finish_process(pid);
	assert_int_equal(shared->handled, 1);
	assert_int_equal(shared->result, -EINTR);
}

static void slow_handler(int signal)
{
	char byte;

	shared->inside = 1;
	shared->result = read(pipe_fds[0], &byte, 1);
}

static long do_slow_handler(void)
{
	struct sigaction action = {.sa_handler = slow_handler};

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return shared->result;
}

/* The handler may have interrupted malloc. */
static void a_thread_in_a_signal_handler_is_not_borrowed(void **state)
{
	pid_t pid = start_process(do_slow_handler);

	while (!shared->inside)
		pause_a_little();
	wait_until(is_waiting, pid);
	assert_int_equal(enter_once(pid, NULL), -EAGAIN);
	shared->calls = 1;
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	finish_process(pid);
}

/* The loop keeps two values in registers; the result shows whether both are still right. */
static long do_spin(void)
{
	uint64_t sum = 0, count = 0;

	while (!shared->go) {
		sum += ++count;
		__asm__ volatile("" : "+r"(sum), "+r"(count));
	}
	return sum == count * (count + 1) / 2 ? 0 : -1;
}

static long do_allocate(void)
{
	static struct {
		unsigned char *bytes;
		size_t size;
	} kept[64];
	unsigned random = 1;

	while (!shared->go) {
		unsigned slot = (random = random * 1103515245 + 12345) >> 16 & 63;

		for (size_t i = 0; i < kept[slot].size; i += 97)
			if (kept[slot].bytes[i] != slot)
				return -1;
		free(kept[slot].bytes);
		kept[slot].size = random % 7000;
		kept[slot].bytes = malloc(kept[slot].size);
		memset(kept[slot].bytes, (int)slot, kept[slot].size);
	}
	return 0;
}

static void a_thread_that_runs_is_borrowed_between_two_instructions(void **state)
{
	struct safe_codes codes = {.count = 0};
	pid_t pid = start_process(do_spin);
	int error = -EAGAIN;

	for (int i = 0; i < 500 && error == -EAGAIN; i++) {
		pause_ms(1);
		error = enter_once(pid, &codes);
	}
	shared->go = 1;
	finish_process(pid);
	assert_int_equal(error, 0);
	assert_int_equal(shared->result, 0);
	assert_int_equal(shared->error, 77);
}

/* In a process with one thread malloc takes no lock: a call of malloc inside malloc destroys the heap. */
static void a_thread_in_the_allocator_is_not_borrowed(void **state)
{
	struct safe_codes codes = {.count = 0};
	pid_t pid = start_process(do_allocate);

	shared->allocate = 1;
	for (int i = 0; i < 100 || !codes.count; i++)
		(void)enter_once(pid, &codes);
	shared->calls = 1; /* the call may have been made from the process's own loop */
	shared->go = 1;
	finish_process(pid);
	assert_int_equal(shared->result, 0);
}

static void a_thread_that_runs_is_not_taken_for_one_that_waits(void **state)
{
	pid_t pid = start_process(do_spin);

	assert_int_equal(enter_once(pid, NULL), -EAGAIN);
	shared->calls = 1;
	shared->go = 1;
	finish_process(pid);
}

/* As containers do it: the refused call gets an error (action), all others are allowed. */
static long read_with_filter(unsigned action, unsigned refused)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return do_read();
}

static long do_read_filtered(void)
{
	return read_with_filter(SECCOMP_RET_ERRNO | EPERM, SYS_ptrace);
}

static long do_read_without_threads(void)
{
	return read_with_filter(SECCOMP_RET_KILL_PROCESS, SYS_clone3);
}

static void a_filter_that_only_refuses_is_no_hindrance(void **state)
{
	if (geteuid())
		skip(); /* reading filters needs CAP_SYS_ADMIN */
	assert_wakes(do_read_filtered, enter_well, 1);
}

static void enter_in_vain(pid_t pid)
{
	assert_int_equal(enter_process(pid), geteuid() ? -EACCES : -ENOTSUP); /* reading filters needs CAP_SYS_ADMIN */
	shared->calls++;
}

static void a_process_that_its_filter_would_end_is_left_alone(void **state)
{
	assert_wakes(do_read_without_threads, enter_in_vain, 1);
}

static long do_read_without_connections(void)
{
	return read_with_filter(SECCOMP_RET_KILL_PROCESS, SYS_connect);
}

static void a_filter_that_ends_who_connects_is_no_hindrance_where_the_agent_does_not(void **state)
{
	if (geteuid())
		skip(); /* reading filters needs CAP_SYS_ADMIN */
	assert_wakes(do_read_without_connections, enter_well, 1);
	agent_joins = true;
	assert_wakes(do_read_without_connections, enter_in_vain, 1);
	agent_joins = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_nanosleep_ends_when_it_would_have),
		cmocka_unit_test(a_poll_ends_when_it_would_have),
		cmocka_unit_test(a_poll_that_was_stopped_before_ends_when_it_would_have),
		cmocka_unit_test(a_ppoll_ends_when_it_would_have),
		cmocka_unit_test(a_select_ends_when_it_would_have),
		cmocka_unit_test(a_futex_wait_ends_when_it_would_have),
		cmocka_unit_test(a_wait_for_a_child_sees_it_end),
		cmocka_unit_test(registers_are_kept),
		cmocka_unit_test(a_read_gets_what_comes_later),
		cmocka_unit_test(an_epoll_wait_gets_what_comes_later),
		cmocka_unit_test(a_read_goes_on_when_the_tracer_is_killed),
		cmocka_unit_test(an_epoll_wait_goes_on_when_the_tracer_is_killed),
		cmocka_unit_test(a_call_is_made_again_when_the_tracer_is_killed),
		cmocka_unit_test(a_call_that_takes_long_is_left_alone),
		cmocka_unit_test(a_signal_during_the_call_interrupts_what_was_interrupted),
		cmocka_unit_test(a_thread_in_a_signal_handler_is_not_borrowed),
		cmocka_unit_test(a_thread_that_runs_is_not_taken_for_one_that_waits),
		cmocka_unit_test(a_thread_that_runs_is_borrowed_between_two_instructions),
		cmocka_unit_test(a_thread_in_the_allocator_is_not_borrowed),
		cmocka_unit_test(a_filter_that_only_refuses_is_no_hindrance),
		cmocka_unit_test(a_process_that_its_filter_would_end_is_left_alone),
		cmocka_unit_test(a_filter_that_ends_who_connects_is_no_hindrance_where_the_agent_does_not),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
