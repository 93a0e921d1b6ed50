/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was counted and used up to a moment, and the log's end, which says it. */
#include "capture/round.h"

#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "capture/clock.h"

uint64_t run_own_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND_NS +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

struct gpt_end *run_make_end(const struct run *run, enum gpt_end_reason reason)
{
	struct gpt_end *end = xcalloc(1, sizeof(*end) + GPT_COUNTER_COUNT * sizeof(end->counters[0]));
	uint64_t counters[GPT_COUNTER_COUNT] = {0};

	attach_counters(run->attach, counters);
	end->hdr = (struct gpt_record){.size = (uint32_t)(sizeof(*end) + sizeof(counters)), .type = GPT_END};
	end->reason = reason;
	end->counters_count = GPT_COUNTER_COUNT;
	end->cpu_ns = run_own_cpu_ns() - run->cpu_start_ns;
	memcpy(end->counters, counters, sizeof(counters));
	return end;
}

struct history_counts run_count(const struct run *run)
{
	struct history_counts counts = {.cpu_ns = run_own_cpu_ns() - run->cpu_start_ns};
	struct gpt_clock clock;

	clock_sample(&clock);
	counts.at_ns = clock.mono_ns;
	counts.wall_offset_ns = clock.wall_offset_ns;
	attach_counters(run->attach, counts.counters);
	return counts;
}
