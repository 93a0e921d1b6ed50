/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the findings, as text and as JSON (docs/formats.md). */
#ifndef GPUTRACE_DUMP_TEXT_H
#define GPUTRACE_DUMP_TEXT_H

#include "dump/collectives.h"
#include "dump/graph.h"
#include "dump/ras.h"

#define TENTH_NS 100000000ull /* of a second */

/* Seconds, rounded down to tenths. */
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

/* Only the ranks: a part of the text, and a JSON document of its own. */
void dump_print_ranks(FILE *out, const struct dump_findings *found);
void dump_print_ranks_json(FILE *out, const struct dump_findings *found);

/* The collectives that have not finished. */
void dump_print_collectives(FILE *out, const struct dump_findings *found);

/* "3 (process 4711 on HOST)"; number: -1 if not known */
void dump_print_rank(FILE *out, const struct dump_process *process, int64_t number);

#endif
