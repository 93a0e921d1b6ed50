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
	drain_count_dropped(run->drain, counters);
	end->hdr = (struct gpt_record){.size = (uint32_t)(sizeof(*end) + sizeof(counters)), .type = GPT_END};
	end->reason = reason;
	end->counters_count = GPT_COUNTER_COUNT;
	end->cpu_ns = run_own_cpu_ns() - run->cpu_start_ns;
	memcpy(end->counters, counters, sizeof(counters));
	return end;
}

void run_note_counts(struct run *run, uint64_t now_ns)
{
	struct history_counts counts = {.at_ns = now_ns};
	struct gpt_clock clock;

	if (!run->flight && !run->options->history)
		return;
	clock_sample(&clock);
	counts.wall_offset_ns = clock.wall_offset_ns;
	counts.cpu_ns = run_own_cpu_ns() - run->cpu_start_ns;
	attach_counters(run->attach, counts.counters);
	drain_count_dropped(run->drain, counts.counters);
	if (run->options->history)
		history_note(run->options->history, &counts);
	if (run->flight)
		flight_note_counts(run->flight, &counts);
}
