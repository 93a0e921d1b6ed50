/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of a recording is wanted: parsers of its options, for the table of options. */
#ifndef GPUTRACE_SLICE_OPTIONS_H
#define GPUTRACE_SLICE_OPTIONS_H

#include "cmd/options/option_parser.h"

int parse_from(struct parse *parse, const char *value);
int parse_to(struct parse *parse, const char *value);
int parse_process(struct parse *parse, const char *value);
int parse_thread(struct parse *parse, const char *value);
int parse_gpu(struct parse *parse, const char *value);
int parse_step(struct parse *parse, const char *value);
int parse_steps(struct parse *parse, const char *value);
int parse_cycle(struct parse *parse, const char *value);

#endif
