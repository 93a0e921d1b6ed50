/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages on standard error; owns the progress line and nothing else. */
#include "base/msg.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

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

void msg_progress(const char *format, ...)
{
	va_list args;

	if (current_level < MSG_NORMAL || !isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fflush(stderr);
	progress_shown = true;
}

static void print_line(const char *prefix, const char *format, va_list args)
{
	msg_progress_end();
	fputs("gputrace: ", stderr);
	fputs(prefix, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
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
