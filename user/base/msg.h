/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages for the user: one line each, on standard error, with the prefix "gputrace: ".  Names that a target chose
 * cannot steer the terminal (safe_text.h).
 * Only cmd/ and the few places that can say what to do about a failure print messages; the rest return -errno.
 */
#pragma once

enum msg_level {
	MSG_QUIET = 0,	/* errors only */
	MSG_NORMAL = 1, /* and warnings, progress */
	MSG_VERBOSE = 2,
};

/* Default MSG_NORMAL. */
void msg_set_level(enum msg_level level);
enum msg_level msg_level(void);

/* A line that replaces itself on a terminal ("12.0 s, 51,204 events ..."); cleared by the next message. */
void msg_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void msg_progress_end(void);

void msg_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void msg_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void msg_info(const char *format, ...) __attribute__((format(printf, 1, 2)));  /* shown at MSG_NORMAL */
void msg_debug(const char *format, ...) __attribute__((format(printf, 1, 2))); /* shown at MSG_VERBOSE */

/*
 * From here on messages of this thread are added to *held, which starts NULL and which the caller frees; NULL: they are
 * printed again.  So several threads do one thing each, and what is said about it stays together.
 */
void msg_hold(char **held);
void msg_print_held(const char *held); /* NULL: nothing was held */
