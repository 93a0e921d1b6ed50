/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was seen, for people and for programs (docs/formats.md). */
#ifndef GPUTRACE_DUMP_TEXT_H
#define GPUTRACE_DUMP_TEXT_H

#include "dump/collectives.h"
#include "dump/graph.h"
#include "dump/ras.h"

#define TENTH_NS 100000000ull /* of a second */

/* In tenths, and never more than it is. */
static inline double dump_seconds(uint64_t ns)
{
	uint64_t tenths = ns / TENTH_NS;

	return (double)tenths / 10;
}

/* All that a dump has found. */
struct dump_findings {
	const look_list *looks;
	const struct graph *graph;
	const rank_list *ranks;
	const collective_list *collectives;
	const ras_list *services;
};

void dump_print_text(FILE *out, const struct dump_findings *found);
void dump_print_json(FILE *out, const struct dump_findings *found);

/* The part of the text with what did not finish. */
void dump_print_collectives(FILE *out, const struct dump_findings *found);

#endif
