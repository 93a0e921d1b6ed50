/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that people hand over and that are not read: what each is, and what helps. */
#ifndef GPUTRACE_INPUT_FOREIGN_REFUSAL_H
#define GPUTRACE_INPUT_FOREIGN_REFUSAL_H

/*
 * One sentence, to stand behind the file's name, which the caller frees; NULL: it is none of these.  By what is in the
 * file; by its name where that says nothing.
 */
char *foreign_refusal(int fd, const char *name);

#endif
