/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include "dump/findings.h"

/* The collectives that have not finished. */
void dump_print_collectives(FILE *out, const struct dump_findings *found);

/* "3 (process 4711 on HOST)"; number: -1 if not known */
void dump_print_rank(FILE *out, const struct dump_process *process, int64_t number);
