/*
 * clock.c: the time base. Internal times are CLOCK_MONOTONIC; CUPTI's times are CLOCK_REALTIME, by an
 * offset. It is sampled again after the clock was set (NTP slews both clocks alike). Work that ended
 * before the clock was set and is recorded after it gets the new offset. And the SM clock of the GPU.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "device.h"
#include "sim.h"

#define OFFSET_SAMPLES 20
#define STEP_NS 50000 /* the error of an uninterrupted reading is smaller */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t realtime_offset; /* 0: not known */

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

/* Takes the offset from the reading that took the shortest time: it was disturbed least. */
static int64_t offset_sample(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < OFFSET_SAMPLES; i++) {
		uint64_t before = read_clock(CLOCK_MONOTONIC);
		uint64_t real = read_clock(CLOCK_REALTIME);
		uint64_t after = read_clock(CLOCK_MONOTONIC);

		if (after - before < best) {
			best = after - before;
			offset = (int64_t)(real - (before + (after - before) / 2));
		}
	}
	return offset;
}

static bool is_step(int64_t a, int64_t b)
{
	return a - b > STEP_NS || b - a > STEP_NS;
}

uint64_t sim_to_realtime(uint64_t mono)
{
	int64_t now = (int64_t)(read_clock(CLOCK_REALTIME) - read_clock(CLOCK_MONOTONIC)), offset;

	pthread_mutex_lock(&lock);
	if (is_step(now, realtime_offset)) {
		/* The reading may have been interrupted. Tests compare times to the ns, so sample before a change. */
		offset = offset_sample();
		if (is_step(offset, realtime_offset))
			realtime_offset = offset;
	}
	offset = realtime_offset;
	pthread_mutex_unlock(&lock);
	return mono + (uint64_t)offset;
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

/* ---- the GPU's clock: SECONDS:MHZ,SECONDS:MHZ,... in order of time ---- */

#define CHANGES_MAX 256

static struct {
	uint64_t since;
	unsigned mhz;
} changes[CHANGES_MAX];
static unsigned change_count;
static pthread_once_t changes_once = PTHREAD_ONCE_INIT;

static void changes_read(void)
{
	const char *at = sim_options()->clocks;

	while (at && *at && change_count < CHANGES_MAX) {
		char *end;
		double seconds = strtod(at, &end);
		unsigned long mhz = *end == ':' ? strtoul(end + 1, &end, 10) : 0;

		if (!mhz)
			abort();
		changes[change_count].since = (uint64_t)(seconds * 1e9);
		changes[change_count++].mhz = (unsigned)mhz;
		at = *end == ',' ? end + 1 : end;
	}
}

uint64_t sim_duration_at(uint64_t mono, uint64_t duration_ns)
{
	unsigned mhz = SIM_CLOCK_KHZ / 1000;

	pthread_once(&changes_once, changes_read);
	for (unsigned i = 0; i < change_count && changes[i].since <= mono; i++)
		mhz = changes[i].mhz;
	return duration_ns * (SIM_CLOCK_KHZ / 1000) / mhz;
}
