/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* See op_clock.h.  Samples of the last seconds are kept: an op that is open for longer was sent as open before (ops.c).
 */
#include "agent/torch/op_clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/process/old_glibc.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define APART_NS 10000000u /* any three consecutive samples span at least this */
#define SAMPLES (4 * OP_CLOCK_SETTLED_NS / APART_NS)
#define TRIES 5u	  /* the narrowest one counts: others may be interrupted */
#define FRACTION_BITS 32u /* of the fixed-point nanoseconds per tick */
/* A counter that goes back by more was reset, as by suspend to RAM; by less: the counters of two processors differ. */
#define RESTART_TICKS (1u << 24)
/* No stamp is that far ahead of the sample that is taken before stamps are read. */
#define AHEAD_TICKS (1ull << 33)

bool op_clock_counts;

static struct {
	struct sample {
		uint64_t stamp, ns;
		uint64_t rate; /* nanoseconds per tick since the previous sample, fixed point */
	} samples[SAMPLES];
	uint64_t count;	  /* of all samples so far */
	uint64_t restart; /* number of the first sample after a reset of the counter, else 0 */
} op_clock;

static struct sample *sample_at(uint64_t number)
{
	return &op_clock.samples[number % SAMPLES];
}

/* Does not check PR_SET_TSC: a program that forbids itself to read the counter cannot read the time either. */
void op_clock_choose(void)
{
#if defined(__x86_64__)
	char source[8] = "";
	ssize_t bytes;
	int fd;

	fd = open(CLOCK_SOURCE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	bytes = read(fd, source, sizeof(source));
	close(fd);
	op_clock_counts = bytes == 4 && !memcmp(source, "tsc\n", 4);
#endif
}

void op_clock_open(void)
{
	op_clock.count = op_clock.restart = 0;
	op_clock_sample();
}

static uint64_t rate_of(const struct sample *from, const struct sample *to)
{
	unsigned __int128 ns = (unsigned __int128)(to->ns - from->ns) << FRACTION_BITS;

	return (uint64_t)(ns / (to->stamp - from->stamp));
}

void op_clock_add(uint64_t stamp, uint64_t ns)
{
	struct sample *last = sample_at(op_clock.count - 1), sample = {.stamp = stamp, .ns = ns};

	if (op_clock.count && ns < last->ns)
		return;
	if (op_clock.count && stamp <= last->stamp) {
		if (last->stamp - stamp <= RESTART_TICKS)
			return;
		op_clock.restart = op_clock.count;
		sample.rate = last->rate;
	}
	/* A sample close to the last but one replaces the last. */
	if (op_clock.count - op_clock.restart > 1 && ns - sample_at(op_clock.count - 2)->ns < APART_NS)
		op_clock.count--;
	if (op_clock.count > op_clock.restart)
		sample.rate = rate_of(sample_at(op_clock.count - 1), &sample);
	if (op_clock.count == op_clock.restart + 1)
		sample_at(op_clock.restart)->rate = sample.rate;
	*sample_at(op_clock.count++) = sample;
}

void op_clock_sample(void)
{
	uint64_t before, ns, after, width = UINT64_MAX, best_stamp = 0, best_ns = 0;
	unsigned i;

	if (!op_clock_counts)
		return;
	for (i = 0; i < TRIES; i++) {
		before = op_clock_stamp();
		ns = clock_now_ns();
		after = op_clock_stamp();
		if (after - before >= width)
			continue;
		width = after - before;
		best_stamp = before + width / 2;
		best_ns = ns;
	}
	op_clock_add(best_stamp, best_ns);
}

static uint64_t scale_ticks(uint64_t ticks, uint64_t rate)
{
	return (uint64_t)((unsigned __int128)ticks * rate >> FRACTION_BITS);
}

uint64_t op_clock_ns(uint64_t stamp)
{
	uint64_t number = op_clock.count - 1, oldest = op_clock.count > SAMPLES ? op_clock.count - SAMPLES : 0;
	const struct sample *sample;

	if (!op_clock_counts || !op_clock.count)
		return stamp;
	if (op_clock.restart > oldest && stamp > sample_at(number)->stamp + AHEAD_TICKS)
		number = op_clock.restart - 1; /* from before the reset */
	else if (op_clock.restart > oldest)
		oldest = op_clock.restart;
	while (number > oldest && sample_at(number)->stamp > stamp && sample_at(number - 1)->stamp > stamp)
		number--;
	sample = sample_at(number);
	if (stamp >= sample->stamp)
		return sample->ns + scale_ticks(stamp - sample->stamp, sample->rate);
	return sample->ns - scale_ticks(sample->stamp - stamp, sample->rate);
}
