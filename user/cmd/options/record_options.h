/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is recorded, of whom and how long: parsers of its options, for the table of options. */
#ifndef GPUTRACE_RECORD_OPTIONS_H
#define GPUTRACE_RECORD_OPTIONS_H

#include "cmd/options/option_parser.h"

int parse_pid(struct parse *parse, const char *value);
int parse_duration(struct parse *parse, const char *value);
int parse_agent(struct parse *parse, const char *value);
int parse_cupti(struct parse *parse, const char *value);
int parse_min_complete(struct parse *parse, const char *value);
int parse_buffer(struct parse *parse, const char *value);
int parse_as_root(struct parse *parse, const char *value);
int parse_native(struct parse *parse, const char *value);
int parse_python_calls(struct parse *parse, const char *value);
int parse_ops(struct parse *parse, const char *value);
int parse_shapes(struct parse *parse, const char *value);
int parse_forward_lines(struct parse *parse, const char *value);
int parse_memory(struct parse *parse, const char *value);
int parse_memory_lines(struct parse *parse, const char *value);
int parse_trace(struct parse *parse, const char *value);
int parse_kernels_only(struct parse *parse, const char *value);
int parse_schedule(struct parse *parse, const char *value);

#endif
