/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bytes of a file from its start on, decompressed if it is gzip.  Holds one buffer; the file is hostile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_source {
	int fd;
	uint64_t at;	       /* offset in the file of the next read */
	struct gunzip *gunzip; /* NULL: the file is not compressed */
};

/* fd stays the caller's. */
void byte_source_open(struct byte_source *source, int fd);
void byte_source_close(struct byte_source *source);

/* Reads up to `size` bytes; 0: the end.  -errno of reading; -EBADMSG: damaged gzip; -ENODATA: truncated gzip. */
int64_t byte_source_read(struct byte_source *source, void *to, size_t size);

/* Reads a compressed file to its end, for its checksums; returns 0, or -errno as above. */
int byte_source_check(struct byte_source *source);
