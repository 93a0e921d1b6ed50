/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was seen, for people and for programs (docs/formats.md). */
#ifndef GPUTRACE_DUMP_TEXT_H
#define GPUTRACE_DUMP_TEXT_H

#include "dump/graph.h"
#include "dump/ranks.h"
#include "dump/ras.h"

void dump_print_text(FILE *out, const look_list *looks, const struct graph *graph, const rank_list *ranks,
		     const ras_list *services);
void dump_print_json(FILE *out, const look_list *looks, const struct graph *graph, const rank_list *ranks,
		     const ras_list *services);

#endif
