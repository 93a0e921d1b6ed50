/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The guard process, and stopping and continuing what we hold. */
#include "attach/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <gputrace/maps.h>

#define DEATH_SIGNAL SIGUSR1

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

bool hold_wait_stopped(pid_t pid)
{
	for (int i = 0; i < 5000; i++) {
		char state = process_state(pid);

		if (state == 'T' || state == 't')
			return true;
		if (!state || state == 'Z' || state == 'X')
			return false;
		usleep(i < 100 ? 20 : 100);
	}
	return false;
}

void hold_continue(pid_t pid)
{
	kill(pid, SIGCONT);
}

static void continue_ours(int processes_map)
{
	uint32_t key, *previous = NULL, next;
	struct gpt_process_state state;

	while (!bpf_map_get_next_key(processes_map, previous, &next)) {
		key = next;
		previous = &key;
		if (!bpf_map_lookup_elem(processes_map, &key, &state) && state.ours && process_state((pid_t)key) == 'T')
			hold_continue((pid_t)key);
	}
}

static void close_all_but(int kept)
{
	/* close_range: Linux 5.9 */
	if (kept > 0)
		syscall(SYS_close_range, 0, kept - 1, 0);
	syscall(SYS_close_range, kept + 1, ~0U, 0);
}

static void wait_for_death(pid_t parent, const sigset_t *signals)
{
	/* sent when the parent has closed all that it does not share */
	prctl(PR_SET_PDEATHSIG, DEATH_SIGNAL);
	while (getppid() == parent)
		sigwaitinfo(signals, NULL);
}

static void __attribute__((noreturn)) guard_main(pid_t parent, int processes_map, bool holds)
{
	sigset_t all;

	prctl(PR_SET_NAME, "gputrace-guard");
	setsid(); /* Ctrl-C is not for us */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	wait_for_death(parent, &all);
	continue_ours(processes_map);
	close_all_but(processes_map);
	/* A stop that was asked for just before may still be under way: look for a while. */
	for (int i = 0; holds && i < 100; i++) {
		continue_ours(processes_map);
		sleep_ms(10);
	}
	_exit(0);
}

int guard_start(struct guard *guard, int processes_map, bool holds)
{
	pid_t parent = getpid(), pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L);

	if (!pid)
		guard_main(parent, processes_map, holds);
	guard->pid = pid < 0 ? 0 : pid;
	return pid < 0 ? -errno : 0;
}

void guard_stop(struct guard *guard)
{
	if (!guard->pid)
		return;
	kill(guard->pid, SIGKILL);
	waitpid(guard->pid, NULL, 0);
	guard->pid = 0;
}
