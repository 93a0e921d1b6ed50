/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A cubin that is being read: cubin_elf.c knows its ELF file, cubin_lines.c its line table. */
#ifndef GPUTRACE_AGENT_CUBIN_READER_H
#define GPUTRACE_AGENT_CUBIN_READER_H

#include <elf.h>

#include "agent/kernels/cubin_bytes.h"

struct cubin_function {
	struct cubin_text name;
	uint64_t start, end; /* in its section */
	uint64_t best;	     /* the lowest address that has a line so far */
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
	size_t next_relocation; /* after the one that was found last */
	uint32_t steps;		/* that a table in its order does not need, so far */
	unsigned count;
	uint64_t beyond; /* functions that are not among these */
	uint32_t rows;	 /* seen so far */
	struct cubin_function functions[CUBIN_KERNELS_MAX];
	uint64_t has_function[(UINT16_MAX + 1) / 64]; /* bit: a section of one of these */
};

/* Where in the code, and in which section. */
struct cubin_address {
	uint64_t address;
	uint16_t section; /* 0: not known */
};

/* Reads the header, finds the sections and the kernels' functions; false: there are none, or no line table. */
bool cubin_find_functions(struct cubin_reader *reader);

/* Empty where the section is not, or not whole, in the cubin. */
struct cubin_bytes cubin_content(const struct cubin_reader *reader, const Elf64_Shdr *section);

/*
 * The section, and the address in it, that the eight bytes at that offset of the line table stand for: into *at, where
 * the address is what they hold.  False: no relocation says it, or it took too many steps to find it.  Relocations are
 * in the order of the line table, as compilers write them: then one look through them is enough for all.
 */
bool cubin_relocated(struct cubin_reader *reader, uint64_t offset, struct cubin_address *at);

#endif
