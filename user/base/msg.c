/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages on standard error; owns the progress line and nothing else. */
#include "base/msg.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_text.h"

static enum msg_level current_level = MSG_NORMAL;
static bool progress_shown;

void msg_set_level(enum msg_level level)
{
	current_level = level;
}

enum msg_level msg_level(void)
{
	return current_level;
}

void msg_progress_end(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	progress_shown = false;
}

/*
 * Prints the message as one write, so that the target's own output does not get into the line.  Names in it are chosen
 * by a target.  Without memory: prints the format alone, without the names.
 */
static void print(const char *before, const char *prefix, const char *after, const char *format, va_list args)
{
	char *text = NULL, *whole;
	int length = vasprintf(&text, format, args);
	size_t fixed = strlen(before) + strlen(prefix), size;

	whole = length < 0 ? NULL : malloc(fixed + SAFE_TEXT_MAX((size_t)length) + strlen(after) + 1);
	if (whole) {
		size = (size_t)(stpcpy(stpcpy(whole, before), prefix) - whole);
		size += safe_text_copy(whole + size, text, (size_t)length);
		strcpy(whole + size, after);
	}
	fputs(whole ? whole : format, stderr);
	free(whole);
	if (length >= 0)
		free(text);
}

void msg_progress(const char *format, ...)
{
	va_list args;

	if (current_level < MSG_NORMAL || !isatty(STDERR_FILENO))
		return;
	va_start(args, format);
	print("\r\033[K", "", "", format, args);
	va_end(args);
	fflush(stderr);
	progress_shown = true;
}

static void print_line(const char *prefix, const char *format, va_list args)
{
	msg_progress_end();
	print("gputrace: ", prefix, "\n", format, args);
}

#define DEFINE_MSG(name, lowest, prefix)                                                                               \
	void name(const char *format, ...)                                                                             \
	{                                                                                                              \
		va_list args;                                                                                          \
                                                                                                                       \
		if (current_level < (lowest))                                                                          \
			return;                                                                                        \
		va_start(args, format);                                                                                \
		print_line(prefix, format, args);                                                                      \
		va_end(args);                                                                                          \
	}

DEFINE_MSG(msg_error, MSG_QUIET, "")
DEFINE_MSG(msg_warn, MSG_NORMAL, "warning: ")
DEFINE_MSG(msg_info, MSG_NORMAL, "")
DEFINE_MSG(msg_debug, MSG_VERBOSE, "")
