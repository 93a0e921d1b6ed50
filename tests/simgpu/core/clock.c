/*
 * clock.c: the time base. Everything is placed on CLOCK_MONOTONIC; CUPTI's times are CLOCK_REALTIME,
 * reached by an offset that is sampled once (NTP slews both clocks alike, so it only changes when
 * somebody sets the clock).
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "sim.h"

#define OFFSET_SAMPLES 20

static int64_t realtime_offset;
static pthread_once_t offset_once = PTHREAD_ONCE_INIT;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t sim_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* The pair with the shortest time around it is the least disturbed one. */
static void offset_sample(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < OFFSET_SAMPLES; i++) {
		uint64_t before = read_clock(CLOCK_MONOTONIC);
		uint64_t real = read_clock(CLOCK_REALTIME);
		uint64_t after = read_clock(CLOCK_MONOTONIC);

		if (after - before < best) {
			best = after - before;
			realtime_offset = (int64_t)(real - (before + (after - before) / 2));
		}
	}
}

uint64_t sim_to_realtime(uint64_t mono)
{
	pthread_once(&offset_once, offset_sample);
	return mono + (uint64_t)realtime_offset;
}

void sim_sleep_until(uint64_t mono)
{
	struct timespec until = {
		.tv_sec = (time_t)(mono / 1000000000u),
		.tv_nsec = (long)(mono % 1000000000u),
	};

	if (mono <= sim_now())
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}
