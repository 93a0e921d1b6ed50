/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a dump has found, to be printed as text or as JSON (text.h). */
#pragma once

#include <stdio.h>

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
