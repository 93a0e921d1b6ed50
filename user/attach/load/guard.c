/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The guard process, and stopping and continuing what we hold. */
#include "attach/load/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <gputrace/maps.h>

#include "base/monotonic.h"
#include "target/process.h"

#define DEATH_SIGNAL SIGUSR1
#define NO_CALL (-1L)

static pid_t the_guard;	       /* 0: none */
static int the_processes = -1; /* map of struct gpt_process_state by pid */

static void sleep_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* State letter of proc(5), 0 when there is no such process. */
static char process_state(pid_t pid)
{
	char path[64], text[256];
	ssize_t got;
	char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return 0;
	text[got] = 0;
	end = strrchr(text, ')'); /* the name may hold anything */
	return end && end[1] == ' ' ? end[2] : 0;
}

static bool is_stopped(char state)
{
	return state == 'T' || state == 't';
}

bool hold_may_stop(pid_t pid)
{
	char state = process_state(pid);

	return state && state != 'Z' && state != 'X';
}

bool hold_wait_stopped(pid_t pid, uint64_t patience_ns)
{
	uint64_t begin_ns = monotonic_ns();

	for (;;) {
		if (is_stopped(process_state(pid)))
			return true;
		if (monotonic_ns() - begin_ns >= patience_ns || !hold_may_stop(pid))
			return false;
		usleep(20);
	}
}

/* Nobody but the process of that entry: it is named by a descriptor before its start is compared. */
static void continue_entry(pid_t pid, const struct gpt_process_state *state)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* Linux 5.3 */
	uint64_t start_ticks;

	if (!process_start_ticks(pid, &start_ticks) && start_ticks - state->start_ticks + 1 <= 2) {
		if (pidfd >= 0)
			syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0);
		else
			kill(pid, SIGCONT); /* too many descriptors are open */
	}
	if (pidfd >= 0)
		close(pidfd);
}

void hold_continue(pid_t pid)
{
	struct gpt_process_state state;
	uint32_t key = (uint32_t)pid;

	if (!bpf_map_lookup_elem(the_processes, &key, &state)) /* else it is over */
		continue_entry(pid, &state);
}

static void continue_ours(void)
{
	uint32_t key, *previous = NULL, next;
	struct gpt_process_state state;

	while (!bpf_map_get_next_key(the_processes, previous, &next)) {
		key = next;
		previous = &key;
		if (!bpf_map_lookup_elem(the_processes, &key, &state) && state.ours && process_state((pid_t)key) == 'T')
			continue_entry((pid_t)key, &state);
	}
}

static void close_all_but(int kept)
{
	/* close_range: Linux 5.9 */
	if (kept > 0)
		syscall(SYS_close_range, 0, kept - 1, 0);
	syscall(SYS_close_range, kept + 1, ~0U, 0);
}

/* ---- calls on behalf of gputrace ------------------------------------------------------------------------------------
 */

/* Seen by both processes. */
static struct call {
	_Atomic uint32_t asked, answered; /* futexes */
	_Atomic long number;
	long arguments[GUARD_ARGUMENTS], result;
	size_t used;
	_Alignas(8) char memory[GUARD_MEMORY];
} * call;

static bool share_call(void)
{
	void *shared;

	if (call)
		return true;
	shared = mmap(NULL, sizeof(*call), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return false;
	call = shared;
	call->number = NO_CALL;
	return true;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *most)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, most, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static long make_call(long number, const long arguments[GUARD_ARGUMENTS])
{
	long result = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);

	return result < 0 ? -errno : result;
}

static void wake_guard(int unused)
{
	atomic_fetch_add(&call->asked, 1);
}

/* Makes the calls that are asked for until the parent is dead. */
static void serve(pid_t parent)
{
	struct sigaction action = {.sa_handler = wake_guard};
	sigset_t signals;
	uint32_t asked;

	sigaction(DEATH_SIGNAL, &action, NULL);
	sigfillset(&signals);
	sigdelset(&signals, DEATH_SIGNAL);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	/* sent when the parent has closed all that it does not share */
	prctl(PR_SET_PDEATHSIG, DEATH_SIGNAL);
	for (;;) {
		asked = atomic_load(&call->asked);
		if (call->number != NO_CALL) {
			call->result = make_call(call->number, call->arguments);
			call->number = NO_CALL;
			atomic_fetch_add(&call->answered, 1);
			futex_wake(&call->answered);
		}
		if (getppid() != parent)
			return;
		futex_wait(&call->asked, asked, NULL);
	}
}

static bool guard_lives(void)
{
	return the_guard && !waitpid(the_guard, NULL, WNOHANG);
}

void *guard_memory(size_t bytes)
{
	void *memory;

	if (!share_call() || bytes > sizeof(call->memory) - call->used)
		return NULL;
	memory = call->memory + call->used;
	call->used += (bytes + 7) & ~(size_t)7;
	return memory;
}

long guard_call(long number, const long arguments[GUARD_ARGUMENTS])
{
	static const struct timespec look_again = {.tv_nsec = 100000000};
	uint32_t answered;

	call->used = 0;
	if (!guard_lives())
		return make_call(number, arguments);
	answered = atomic_load(&call->answered);
	memcpy(call->arguments, arguments, sizeof(call->arguments));
	call->number = number;
	atomic_fetch_add(&call->asked, 1);
	futex_wake(&call->asked);
	while (atomic_load(&call->answered) == answered) {
		futex_wait(&call->answered, answered, &look_again);
		if (atomic_load(&call->answered) == answered && !guard_lives())
			return -ESRCH;
	}
	return call->result;
}

/* ---- its life ------------------------------------------------------------------------------------------------------
 */

static void __attribute__((noreturn)) guard_main(pid_t parent, int processes_map, bool holds)
{
	prctl(PR_SET_NAME, "gputrace-guard");
	setsid(); /* Ctrl-C is not for us */
	serve(parent);
	continue_ours();
	close_all_but(processes_map);
	/* A stop that was asked for just before may still be under way: look for a while. */
	for (int i = 0; holds && i < 100; i++) {
		continue_ours();
		sleep_ms(10);
	}
	_exit(0);
}

int guard_start(int processes_map, bool holds)
{
	pid_t parent = getpid(), pid;

	the_processes = processes_map;
	if (!share_call())
		return -errno;
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);
	if (!pid)
		guard_main(parent, processes_map, holds);
	the_guard = pid < 0 ? 0 : pid;
	return pid < 0 ? -errno : 0;
}

void guard_stop(void)
{
	if (guard_lives()) {
		kill(the_guard, SIGKILL);
		waitpid(the_guard, NULL, 0);
	}
	the_guard = 0;
}
