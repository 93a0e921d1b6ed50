/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs CLOCK_MONOTONIC with CLOCK_REALTIME; knows nothing of logs. */
#include "capture/clock.h"

#include <sys/timex.h>

#include "base/monotonic.h"

/* An interrupt or a preemption disturbs a pair now and then: enough readings to find an undisturbed one. */
#define CLOCK_PAIRS 20

void clock_sample(struct gpt_clock *out)
{
	*out = (struct gpt_clock){
		.hdr = {.size = sizeof(*out), .type = GPT_CLOCK},
		.error_ns = UINT64_MAX,
	};
	for (int i = 0; i < CLOCK_PAIRS; i++) {
		uint64_t before = monotonic_ns();
		uint64_t wall = clock_ns(CLOCK_REALTIME);
		uint64_t after = monotonic_ns();
		uint64_t half = (after - before + 1) / 2;

		if (half >= out->error_ns)
			continue;
		out->error_ns = half;
		out->mono_ns = before + half;
		out->wall_offset_ns = (int64_t)(wall - out->mono_ns);
	}
}

uint64_t clock_wall_error(bool *unsynced)
{
	struct timex now = {0}; /* only asks */
	int state = adjtimex(&now);

	*unsynced = state < 0 || state == TIME_ERROR || now.status & STA_UNSYNC;
	return state < 0 || now.maxerror < 0 ? UINT64_MAX : (uint64_t)now.maxerror * 1000;
}
