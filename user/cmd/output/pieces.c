/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the length of each span; knows nothing of traces and files. */
#include "cmd/output/pieces.h"

#include <errno.h>

/* If a file of a shorter span is too large, its head alone is. */
#define SPAN_LEAST_NS 1000u

/* The length of the next span, by the size of the last one; aims at 85 % of the room, as spans differ. */
static uint64_t next_span(uint64_t span_ns, uint64_t bytes, uint64_t most)
{
	double fit = bytes ? 0.85 * (double)most / (double)bytes : 4;
	double next = (double)span_ns * (fit < 4 ? fit : 4);

	return next < 1e18 ? (uint64_t)next : (uint64_t)1e18;
}

int pieces_write(const struct pieces *pieces)
{
	uint64_t at = pieces->start_ns, span = pieces->end_ns - at;
	unsigned number = 1;

	do {
		uint64_t left = pieces->end_ns - at, bytes = 0;
		uint64_t to = span < left ? at + span : pieces->end_ns;
		int err = pieces->write(pieces->context, number, at, to, &bytes);

		if (err == -EFBIG && to - at > SPAN_LEAST_NS) {
			span = (to - at) / 2;
			continue;
		}
		if (err)
			return err;
		span = next_span(to - at, bytes, pieces->most);
		if (span < SPAN_LEAST_NS)
			span = SPAN_LEAST_NS;
		at = to;
		number++;
	} while (at < pieces->end_ns);
	return 0;
}
