/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was probably meant by a command line that cannot be taken as it is. */
#pragma once

#include "cmd/options/option_parser.h"

/* Fails because of a word that is neither a subcommand nor an option, before any --; argv: all words from it on. */
int meant_instead_of_word(struct parse *parse, char **argv);

/* The command that lists all options of the subcommand. */
const char *meant_help_of(enum subcommand subcommand);

/* Fails because of an option (with its dashes) that does not exist. */
int meant_instead_of_option(struct parse *parse, const char *option);

/* Fails because a word after `help` names no subcommand. */
int meant_instead_of_topic(struct parse *parse, const char *word);

/* Fails if the word, such as "-duration", is a long option's name after one dash only. */
int meant_instead_of_letters(struct parse *parse, const char *word);

/* Fails because of a word of a subcommand that takes processes and no words. */
int meant_instead_of_process(struct parse *parse, const char *word);

/* Fails if the words of a subcommand that reads a file are a process or a command and no file; first: its first word,
 * second: the word after it, NULL: none. */
int meant_instead_of_file(struct parse *parse, const char *first, const char *second);
