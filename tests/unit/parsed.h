/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command lines parsed for tests, and the message about one that is refused. */
#pragma once

#include "cmd/options/command_line.h"

#define MAX_WORDS 16

static struct options options;
static char why[512];

/* Parses "gputrace" and the words. */
static int parse_words(const char *const *words)
{
	static char *argv[MAX_WORDS + 2];
	int argc = 1;

	argv[0] = (char *)(uintptr_t) "gputrace";
	for (; *words && argc <= MAX_WORDS; words++)
		argv[argc++] = (char *)(uintptr_t)*words;
	argv[argc] = NULL;
	options_free(&options);
	why[0] = 0;
	return options_parse(argc, argv, &options, why, sizeof(why));
}

#define PARSE(...) parse_words((const char *const[]){__VA_ARGS__, NULL})

static void assert_refused(int result, const char *named, const char *accepted)
{
	assert_int_equal(result, -EINVAL);
	if (!strstr(why, named) || !strstr(why, accepted) || strchr(why, '\n'))
		fail_msg("no '%s' and '%s' in: %s", named, accepted, why);
}
