/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace of torch.profiler's: Kineto's JSON, also packed with gzip, and the Chrome trace of gputrace's own, which has
 * the same form.  docs/formats.md says what is taken of it.
 */
#ifndef GPUTRACE_INPUT_KINETO_H
#define GPUTRACE_INPUT_KINETO_H

#include "input/rows/row_feed.h"

/*
 * Reads all of it into file, which foreign_file_open has made, and that the caller closes in any case.  0 also where
 * the document ends in its middle (truncated).  -EPROTO: it is no such document, *why says what it is, to be freed;
 * other -errno of reading.
 */
int kineto_read(int fd, struct foreign_file *file, char **why);

/* Whether a file begins as such a document, or is compressed. */
bool kineto_is(int fd);

#endif
