/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What image.c (file and headers) and image_symbols.c (symbol tables) share; for no one else. */
#ifndef GPUTRACE_IMAGE_INTERNAL_H
#define GPUTRACE_IMAGE_INTERNAL_H

#include <libelf.h>

#include "target/image.h"

/* A PT_LOAD whose file range was checked against the size of the file. */
struct image_segment {
	uint64_t address, offset, bytes; /* bytes: in the file */
	bool executable, writable;
};

struct image_tables;

struct image {
	int fd;
	uint64_t size;
	Elf *elf;
	struct image_segment *segments;
	size_t segment_count;
	char *soname;
	struct image_tables *tables; /* loaded at first use */
};

struct image_tables *image_tables_new(void);
void image_tables_free(struct image_tables *tables);

/* A section's content when it has at most `most` bytes, lies in the file and is not compressed; else NULL. */
Elf_Data *image_section_data(const struct image *image, Elf_Scn *section, uint32_t type, uint64_t most);

#endif
