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
static _Thread_local char **holding; /* where messages of this thread go, NULL: to standard error */

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

struct line {
	const char *before, *prefix, *after;
};

/* Whether the text is held; without memory for that it is printed, as it must not be lost. */
static bool keep_text(const char *text)
{
	char *more;

	if (!holding)
		return false;
	if (asprintf(&more, "%s%s", *holding ? *holding : "", text) < 0)
		return false;
	free(*holding);
	*holding = more;
	return true;
}

/* As one write, so that the target's own output does not get into the line.  Names in it are chosen by a target. */
static void print_safe(const struct line *line, const char *text, size_t length, char *whole)
{
	size_t size = (size_t)(stpcpy(stpcpy(whole, line->before), line->prefix) - whole);

	size += safe_text_copy(whole + size, text, length);
	strcpy(whole + size, line->after);
	if (!keep_text(whole))
		fputs(whole, stderr);
}

/* The line's fixed texts are a few words. */
#define FIXED_MAX 64
#define WITHOUT_MEMORY_MAX 512

/* Where there is no memory: what the stack has room for. */
static void print_without_memory(const struct line *line, const char *format, va_list args)
{
	char text[WITHOUT_MEMORY_MAX], whole[FIXED_MAX + SAFE_TEXT_MAX(WITHOUT_MEMORY_MAX)];

	(void)vsnprintf(text, sizeof(text), format, args);
	print_safe(line, text, strlen(text), whole);
}

static void print_message(const char *before, const char *prefix, const char *after, const char *format, va_list args)
{
	const struct line line = {before, prefix, after};
	char *text = NULL, *whole = NULL;
	va_list again;
	int length;

	va_copy(again, args);
	length = vasprintf(&text, format, args);
	if (length >= 0)
		whole = malloc(FIXED_MAX + SAFE_TEXT_MAX((size_t)length));
	if (whole)
		print_safe(&line, text, (size_t)length, whole);
	else
		print_without_memory(&line, format, again);
	va_end(again);
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
	print_message("\r\033[K", "", "", format, args);
	va_end(args);
	fflush(stderr);
	progress_shown = true;
}

static void print_line(const char *prefix, const char *format, va_list args)
{
	if (!holding)
		msg_progress_end();
	print_message("gputrace: ", prefix, "\n", format, args);
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

void msg_hold(char **held)
{
	holding = held;
}

void msg_print_held(const char *held)
{
	if (!held)
		return;
	msg_progress_end();
	fputs(held, stderr);
}
