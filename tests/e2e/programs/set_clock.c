/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For LD_PRELOAD: a wall clock that a test can set for a few processes, in place of the machine's.  They share the file
 * SET_CLOCK_FILE.  CLOCK_REALTIME and CLOCK_MONOTONIC are always ahead by SET_CLOCK_ALL seconds, as with libfaketime.
 * gcc -shared -fPIC
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic long none, *ahead_s = &none;
static long all_ahead_s;

__attribute__((constructor)) static void share(void)
{
	const char *path = getenv("SET_CLOCK_FILE");
	const char *all = getenv("SET_CLOCK_ALL");
	int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *shared = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (all)
		all_ahead_s = atol(all);
	if (shared != MAP_FAILED)
		ahead_s = shared;
	if (file >= 0)
		close(file);
}

void set_clock(long seconds)
{
	atomic_store(ahead_s, seconds);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	if (clock == CLOCK_REALTIME)
		time->tv_sec += atomic_load(ahead_s);
	if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
		time->tv_sec += all_ahead_s;
	return result;
}

/* An absolute time is one of the changed clock. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	struct timespec until = *time;

	if (flags & TIMER_ABSTIME)
		until.tv_sec -= all_ahead_s;
	return syscall(SYS_clock_nanosleep, clock, flags, &until, left) ? errno : 0;
}
