/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bytes of a file from its start on, unpacked where it is gzip.  Holds one buffer; the file is hostile. */
#ifndef GPUTRACE_INPUT_BYTES_H
#define GPUTRACE_INPUT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_source {
	int fd;
	uint64_t at;	       /* in the file: of what is read next */
	struct gunzip *gunzip; /* NULL: the file is not packed */
};

/* fd stays the caller's. */
void byte_source_open(struct byte_source *source, int fd);
void byte_source_close(struct byte_source *source);

/*
 * Up to `size` bytes; 0: the end.  -errno of reading; -EBADMSG: it is gzip that is damaged; -ENODATA: gzip that ends
 * in the middle.
 */
int64_t byte_source_read(struct byte_source *source, void *to, size_t size);

#endif
