/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stop without a call: the system call that the thread was in goes on, even where the kernel ends it for a stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/frame.h"
#include "attach/inject/remote_call.h"

static struct shared {
	_Atomic int handled; /* number of signals handled */
	long result;
	int error;
} * shared;

static int pipe_fds[2], sockets[2], semaphore;

/* ---- calls that end with what the test sends ------------------------------------------------------------ */

static long do_epoll_wait(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, pipe_fds[0], &event);
	return epoll_wait(fd, &event, 1, -1);
}

static long do_epoll_pwait(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);
	sigset_t none;

	sigemptyset(&none);
	epoll_ctl(fd, EPOLL_CTL_ADD, pipe_fds[0], &event);
	return epoll_pwait(fd, &event, 1, 60000, &none);
}

static long do_semop(void)
{
	struct sembuf take = {.sem_op = -1};

	return semop(semaphore, &take, 1) + 1;
}

static long do_sigtimedwait(void)
{
	const struct timespec minute = {60, 0};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return sigtimedwait(&set, &info, &minute) == SIGUSR2;
}

static long do_io_getevents(void)
{
	struct iocb poll_for = {.aio_fildes = (uint32_t)pipe_fds[0], .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = 1};
	struct iocb *list = &poll_for;
	aio_context_t context = 0;
	struct io_event event;

	if (syscall(SYS_io_setup, 4, &context) || syscall(SYS_io_submit, context, 1, &list) != 1)
		return -2;
	return syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
}

static void set_timeout(int option)
{
	const struct timeval minute = {60, 0};

	setsockopt(sockets[0], SOL_SOCKET, option, &minute, sizeof(minute));
}

static long do_recv(void)
{
	char byte;

	set_timeout(SO_RCVTIMEO);
	return recv(sockets[0], &byte, 1, 0);
}

static long do_recvmsg(void)
{
	char byte;
	struct iovec there = {&byte, 1};
	struct msghdr message = {.msg_iov = &there, .msg_iovlen = 1};

	set_timeout(SO_RCVTIMEO);
	return recvmsg(sockets[0], &message, 0);
}

static long do_read(void)
{
	char byte;

	set_timeout(SO_RCVTIMEO);
	return read(sockets[0], &byte, 1);
}

static void handle_signal(int signal)
{
	shared->handled++;
}

static long do_read_handled(void)
{
	struct sigaction action = {.sa_handler = handle_signal};

	sigaction(SIGUSR1, &action, NULL);
	return do_read();
}

static const struct {
	const char *name;
	long number;
	long (*make)(void);
} calls[] = {
	{"epoll_wait", SYS_epoll_wait, do_epoll_wait},
	{"epoll_pwait", SYS_epoll_pwait, do_epoll_pwait},
	{"semop", SYS_semtimedop /* as glibc makes it */, do_semop},
	{"rt_sigtimedwait", SYS_rt_sigtimedwait, do_sigtimedwait},
	{"io_getevents", SYS_io_getevents, do_io_getevents},
	{"recv with a time-out", SYS_recvfrom, do_recv},
	{"recvmsg with a time-out", SYS_recvmsg, do_recvmsg},
	{"read with a time-out", SYS_read, do_read},
};

/* ---- one process after the other --------------------------------------------------------------------------- */

static pid_t start_process(long (*make)(void))
{
	pid_t pid;

	memset((void *)shared, 0, sizeof(*shared));
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	assert_true(semaphore >= 0);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	signal(SIGUSR2, SIG_IGN); /* except where it is waited for */
	shared->result = make();
	shared->error = errno;
	_exit(0);
}

/* Waits until the process is blocked in the call, and fills in what /proc says about it then. */
static void wait_blocked(pid_t pid, long number, struct safe_thread *thread)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	for (;;) {
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		fclose(file);
		if (thread_call_parse(text, &thread->call) && thread->call.number == number)
			break;
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	}
	thread->tid = pid;
	while (thread_status_read(pid, pid, &thread->status) || thread->status.state != 'S')
		;
}

/* As if the thread had gone on to another call since it was looked at. */
static void stop_in_vain(pid_t pid, struct safe_thread *thread)
{
	struct entered_process process = {.pid = pid};
	struct remote_call call = {.process = &process};
	struct inject_result result;

	thread->call.pc++;
	assert_int_equal(process_start_ticks(pid, &process.start_ticks), 0);
	assert_int_equal(remote_call(thread, &call, &result), -EAGAIN);
}

static void send_what_it_waits_for(pid_t pid)
{
	struct sembuf give = {.sem_op = 1};

	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	assert_int_equal(write(sockets[1], "", 1), 1);
	assert_int_equal(kill(pid, SIGUSR2), 0);
	assert_int_equal(semop(semaphore, &give, 1), 0);
}

static void close_all(void)
{
	semctl(semaphore, 0, IPC_RMID);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	close(sockets[0]);
	close(sockets[1]);
}

static void a_call_goes_on_after_a_stop_that_leads_to_nothing(void **state)
{
	unsigned interrupted = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		pid_t pid = start_process(calls[i].make);
		struct safe_thread thread = {0};

		wait_blocked(pid, calls[i].number, &thread);
		stop_in_vain(pid, &thread);
		send_what_it_waits_for(pid);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		close_all();
		if (shared->result != 1)
			fprintf(stderr, "%s: %ld, %s\n", calls[i].name, shared->result, strerror(shared->error));
		interrupted += shared->result != 1;
	}
	assert_int_equal(interrupted, 0);
}

static void who_has_the_pid_of_another_is_evict_with_its_call(void **state)
{
	pid_t pid = start_process(do_read);
	struct entered_process process = {.pid = pid};
	struct remote_call call = {.process = &process};
	struct safe_thread thread = {0};
	struct inject_result result;

	wait_blocked(pid, SYS_read, &thread);
	assert_int_equal(process_start_ticks(pid, &process.start_ticks), 0);
	process.start_ticks--;
	thread.call.pc++; /* so that nothing would be done even in the right process */
	assert_int_equal(remote_call(&thread, &call, &result), -ESRCH);
	send_what_it_waits_for(pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close_all();
	assert_int_equal(shared->result, 1);
}

/* A signal that the program handles ends the call as always, even when it comes together with the stop. */
static void a_call_that_a_signal_ended_stays_ended(void **state)
{
	for (int i = 0; i < 50; i++) {
		pid_t pid = start_process(do_read_handled);
		struct entered_process process = {.pid = pid};
		struct remote_call call = {.process = &process};
		struct safe_thread thread = {0};
		struct inject_result result;

		wait_blocked(pid, SYS_read, &thread);
		kill(pid, SIGUSR1);
		thread.call.pc++;
		assert_int_equal(process_start_ticks(pid, &process.start_ticks), 0);
		(void)remote_call(&thread, &call, &result);
		if (waitpid(pid, NULL, 0) < 0) /* remote_call saw its end */
			assert_int_equal(errno, ECHILD);
		close_all();
		assert_int_equal(shared->handled, 1);
		assert_int_equal(shared->result, -1);
		assert_int_equal(shared->error, EINTR);
	}
}

static void a_process_that_handles_all_three_signals_has_none_for_the_way_back(void **state)
{
	uint64_t urg = 1ULL << (SIGURG - 1), winch = 1ULL << (SIGWINCH - 1), chld = 1ULL << (SIGCHLD - 1);

	assert_int_equal(remote_signal(0), SIGURG);
	assert_int_equal(remote_signal(urg), SIGWINCH);
	assert_int_equal(remote_signal(urg | winch), SIGCHLD);
	assert_int_equal(remote_signal(urg | winch | chld), 0);
	assert_int_equal(remote_signal(~(uint64_t)0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_goes_on_after_a_stop_that_leads_to_nothing),
		cmocka_unit_test(who_has_the_pid_of_another_is_evict_with_its_call),
		cmocka_unit_test(a_call_that_a_signal_ended_stays_ended),
		cmocka_unit_test(a_process_that_handles_all_three_signals_has_none_for_the_way_back),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	alarm(120); /* ends a call that hangs */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
