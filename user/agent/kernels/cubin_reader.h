/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A cubin being read: cubin_elf.c reads its ELF structures, cubin_lines.c its line table. */
#pragma once

#include <elf.h>

#include "agent/kernels/cubin_bytes.h"

struct cubin_function {
	struct cubin_text name;
	uint64_t start, end; /* in its section */
	uint64_t best;	     /* lowest address with a line so far */
	uint16_t section;
	bool found;
	struct cubin_text folder, file;
	uint32_t line;
};

struct cubin_reader {
	const uint8_t *cubin;
	size_t size;
	Elf64_Ehdr header;
	Elf64_Shdr lines, symbols, relocations;
	bool has_relocations;
	size_t next_relocation; /* the one after the latest found */
	uint32_t steps;		/* search steps so far that a sorted table would not need */
	unsigned count;
	uint64_t beyond; /* number of functions that have no room in functions[] */
	uint32_t rows;	 /* seen so far */
	struct cubin_function functions[CUBIN_KERNELS_MAX];
	uint64_t has_function[(UINT16_MAX + 1) / 64]; /* bit per section: it has one of these functions */
};

/* An address in the code, and its section. */
struct cubin_address {
	uint64_t address;
	uint16_t section; /* 0: not known */
};

/* Reads the header, finds the sections and the kernels' functions; false: no functions, or no line table. */
bool cubin_find_functions(struct cubin_reader *reader);

/* Empty if the section is not entirely in the cubin. */
struct cubin_bytes cubin_content(const struct cubin_reader *reader, const Elf64_Shdr *section);

/*
 * Relocates the eight bytes at that offset of the line table: *at has their value on entry, and gets the section and
 * the address in it. False: no relocation for it, or the search took too many steps. Compilers write relocations in the
 * order of the line table: then one pass through them serves all lookups.
 */
bool cubin_relocated(struct cubin_reader *reader, uint64_t offset, struct cubin_address *at);
