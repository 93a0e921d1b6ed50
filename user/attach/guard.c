/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The guard process, and stopping and continuing what we hold. */
#include "attach/guard.h"

#include <errno.h>
#include <fcntl.h>
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

static void close_all_but(int first, int second)
{
	int low = first < second ? first : second, high = first < second ? second : first;

	/* close_range: Linux 5.9 */
	if (low > 0)
		syscall(SYS_close_range, 0, low - 1, 0);
	if (high > low + 1)
		syscall(SYS_close_range, low + 1, high - 1, 0);
	syscall(SYS_close_range, high + 1, ~0U, 0);
}

static void __attribute__((noreturn)) guard_main(int alive_fd, int processes_map)
{
	char byte;
	ssize_t got;

	prctl(PR_SET_NAME, "gputrace-guard");
	setsid(); /* Ctrl-C is not for us */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	close_all_but(alive_fd, processes_map);
	do
		got = read(alive_fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got == 1) /* an orderly end: nothing is held */
		_exit(0);
	/* A stop that was asked for just before may still be under way: look for a while. */
	for (int i = 0; i < 100; i++) {
		continue_ours(processes_map);
		sleep_ms(10);
	}
	_exit(0);
}

int guard_start(struct guard *guard, int processes_map)
{
	int ends[2];
	pid_t pid;

	guard->pid = 0;
	guard->alive_fd = -1;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		int error = -errno;

		close(ends[0]);
		close(ends[1]);
		return error;
	}
	if (!pid)
		guard_main(ends[0], processes_map);
	close(ends[0]);
	guard->pid = pid;
	guard->alive_fd = ends[1];
	return 0;
}

void guard_stop(struct guard *guard)
{
	if (!guard->pid)
		return;
	if (write(guard->alive_fd, "", 1) < 0)
		kill(guard->pid, SIGKILL);
	close(guard->alive_fd);
	waitpid(guard->pid, NULL, 0);
	guard->pid = 0;
}
