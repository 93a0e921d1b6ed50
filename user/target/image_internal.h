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

enum { TABLE_DYNAMIC, TABLE_STATIC, TABLE_COUNT };

struct symbol_table {
	const Elf64_Sym *symbols;
	size_t count;
	const char *strings;
	size_t strings_size; /* the last byte is NUL */
	const Elf64_Half *versions;
	size_t version_count;
	bool dynamic;
};

struct address_entry {
	uint64_t address, size;
	uint32_t symbol;
	uint32_t table;
};

/* Filled by image_symbols.c. */
struct image_tables {
	bool loaded[TABLE_COUNT], sorted, too_large;
	struct symbol_table list[TABLE_COUNT];
	ARRAY(struct address_entry) by_address;
};

struct image {
	int fd;
	uint64_t size;
	Elf *elf;
	struct image_segment *segments;
	size_t segment_count;
	char *soname;
	struct image_tables *tables; /* loaded at first use */
};

/* A section's content when it has at most `most` bytes, lies in the file and is not compressed; else NULL. */
Elf_Data *image_section_data(const struct image *image, Elf_Scn *section, uint32_t type, uint64_t most);

#endif
