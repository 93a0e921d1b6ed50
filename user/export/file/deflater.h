/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A gzip stream, through which the sink's buffer goes if the file is compressed.  There are two implementations: ISA-L,
 * and zlib for a static gputrace, as distributions have ISA-L as a shared library only.  Linking selects one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct deflater;

/* NULL: no memory. */
struct deflater *deflater_new(void);

/*
 * Compresses length bytes and passes the output to `write`; `last` ends the stream.  Returns 0, the error of `write`,
 * or -EIO.
 */
int deflater_put(struct deflater *deflater, const char *data, size_t length, bool last,
		 int (*write)(void *context, const char *data, size_t length), void *context);

void deflater_free(struct deflater *deflater);
