/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by image.c (file and headers), image_symbols.c (symbol tables) and image_hash.c; private to them. */
#pragma once

#include <elf.h>
#include <libelf.h>

#include "target/image.h"

/* A PT_LOAD whose file range was checked against the size of the file. */
struct image_segment {
	uint64_t address, offset, bytes; /* bytes: size in the file */
	bool executable, writable;
};

enum { TABLE_DYNAMIC, TABLE_STATIC, TABLE_COUNT };

struct symbol_table {
	const Elf64_Sym *symbols;
	size_t count;
	char *strings;
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

#define VERSION_HIDDEN 0x8000 /* not the default version of the symbol (.gnu.version) */

/* A hash table of symbols, and the sections that it refers to. */
struct symbol_hash {
	bool looked_for, usable;
	const Elf64_Shdr *table, *symbols, *strings, *versions; /* versions: NULL when there are none */
	struct {
		uint32_t buckets, first, words, shift;
	} head;
};

struct hash_found {
	bool any;
	Elf64_Sym symbol; /* the default version of the name, else the first */
};

/* Filled by image_symbols.c and image_hash.c. */
struct image_tables {
	struct symbol_hash hash;
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
	bool program;
	struct image_tables *tables; /* loaded at first use */
};

/* Has a name and an address in this file: not imported, absolute, thread-local, a section or a source file. */
static inline bool symbol_is_definition(const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_shndx != SHN_COMMON &&
	       (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

/* Whether the hash table can answer for that name; found->any: it has the symbol. */
bool image_hash_find(const struct image *image, const char *name, struct hash_found *found);

/* Reads a part of a section, if the section lies in the file and is not compressed. */
bool image_section_read(const struct image *image, const Elf64_Shdr *header, uint64_t at, void *buffer, size_t bytes);

/* Whether a string table has that text at an offset.  Only as much of it is read; false for one of IMAGE_NAME_MAX. */
#define IMAGE_NAME_MAX 512u
bool image_string_is(const struct image *image, const Elf64_Shdr *strings, uint64_t at, const char *wanted);

/* TABLE_DYNAMIC or TABLE_STATIC, read at its first use. */
const struct symbol_table *image_symbol_table(const struct image *image, unsigned number);

/* A section's content when it has at most `most` bytes, lies in the file and is not compressed; else NULL. */
Elf_Data *image_section_data(const struct image *image, Elf_Scn *section, uint32_t type, uint64_t most);
