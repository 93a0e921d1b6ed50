/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the findings, as text and as JSON (docs/formats.md). */
#pragma once

#include "dump/findings.h"

void dump_print_text(FILE *out, const struct dump_findings *found);
void dump_print_json(FILE *out, const struct dump_findings *found);

/* Only the ranks: a part of the text, and a JSON document of its own. */
void dump_print_ranks(FILE *out, const struct dump_findings *found);
void dump_print_ranks_json(FILE *out, const struct dump_findings *found);
