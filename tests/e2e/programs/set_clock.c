/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preloaded: a wall clock that can be set for one process, so that a test need not set the machine's.
 * gcc -shared -fPIC
 */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic long ahead_s;

void set_clock(long seconds)
{
	atomic_store(&ahead_s, seconds);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	if (clock == CLOCK_REALTIME)
		time->tv_sec += atomic_load(&ahead_s);
	return result;
}
