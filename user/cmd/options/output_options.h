/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is written, in which format, and what its numbers count: parsers of its options, for the table of options. */
#ifndef GPUTRACE_OUTPUT_OPTIONS_H
#define GPUTRACE_OUTPUT_OPTIONS_H

#include "cmd/options/option_parser.h"

int parse_folded_output(struct parse *parse, const char *value);
int parse_merge_output(struct parse *parse, const char *value);
int parse_format(struct parse *parse, const char *value);
int parse_report_format(struct parse *parse, const char *value);
int parse_gpu_trace(struct parse *parse, const char *value);
int parse_gpu_sum(struct parse *parse, const char *value);
int parse_api_sum(struct parse *parse, const char *value);
int parse_table(struct parse *parse, const char *value);
int parse_metric(struct parse *parse, const char *value);
int parse_backward(struct parse *parse, const char *value);
int parse_graphs(struct parse *parse, const char *value);
int parse_folded_by(struct parse *parse, const char *value);
int parse_fail_above(struct parse *parse, const char *value);
int parse_unaligned(struct parse *parse, const char *value);
int parse_max_size(struct parse *parse, const char *value);

/* An output of the command line, by -o or as a further word of export. 0 or -EINVAL */
int option_add_output(struct parse *parse, const char *path);

#endif
