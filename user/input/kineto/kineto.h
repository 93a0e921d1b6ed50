/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace of torch.profiler: Kineto's JSON, also gzipped, or gputrace's own Chrome trace, which has the same form.
 * docs/formats.md says what is read of it.
 */
#pragma once

#include "input/rows/row_feed.h"

/*
 * Reads all of it into file, which foreign_file_open has made and the caller closes in any case.  Returns 0 also if the
 * document is truncated (truncated).  -EPROTO: not such a document, *why says what it is, and the caller frees it;
 * other -errno of reading.
 */
int kineto_read(int fd, struct foreign_file *file, char **why);

/* Whether a file starts like such a document, or is compressed. */
bool kineto_is(int fd);
