/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the tree of calls (--tree) and the source (--lines) are asked for: parsers of its options, for the table of
 * options. */
#ifndef GPUTRACE_TREE_OPTIONS_H
#define GPUTRACE_TREE_OPTIONS_H

#include "cmd/options/option_parser.h"

int parse_tree(struct parse *parse, const char *value);
int parse_by(struct parse *parse, const char *value);
int parse_min_percent(struct parse *parse, const char *value);
int parse_depth(struct parse *parse, const char *value);
int parse_show_all(struct parse *parse, const char *value);

/* --lines: a word after it says of what, where there is a log besides. */
int parse_lines(struct parse *parse, const char *value);
bool take_lines_word(struct parse *parse, const char *word);

/* That they go with the tree, and the tree with what else is asked for. */
int tree_options_check(struct parse *parse);

#endif
