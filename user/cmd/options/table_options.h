/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the table of ops (report --ops) is asked for: parsers of its options, for the table of options. */
#ifndef GPUTRACE_TABLE_OPTIONS_H
#define GPUTRACE_TABLE_OPTIONS_H

#include "cmd/options/option_parser.h"

int parse_sort(struct parse *parse, const char *value);
int parse_rows(struct parse *parse, const char *value);
int parse_top_level(struct parse *parse, const char *value);
int parse_group_by_shape(struct parse *parse, const char *value);
int parse_group_by_stack(struct parse *parse, const char *value);

/* That they go with the table. */
int table_options_check(struct parse *parse);

#endif
