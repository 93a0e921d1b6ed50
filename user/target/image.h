/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An ELF file that some process has mapped: symbols, sections, addresses.  The file is not trusted: every offset and
 * length in it is checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/process.h"

struct image;

struct image_symbol {
	uint64_t address; /* as linked (before load bias) */
	uint64_t size;
	const char *name; /* without version; from image_symbol its own argument, else valid while the image is open */
	bool function;
	bool dynamic; /* from .dynsym, else from .symtab */
};

/* Takes over fd (closes it with the image, also on failure). -ENOEXEC: not an ELF64 file of this machine. */
int image_open(int fd, struct image **out);
void image_close(struct image *image);
int image_fd(const struct image *image);

/* Defined symbol by exact name: .dynsym first (default version preferred), then .symtab. -ENOENT. */
int image_symbol(const struct image *image, const char *name, struct image_symbol *out);

/* The same in .dynsym alone: what other files may call. */
int image_exported(const struct image *image, const char *name, struct image_symbol *out);

/* What other files of the process may call by that name: exported, or any symbol of a program.  -ENOENT. */
int image_callable(const struct image *image, const char *name, struct image_symbol *out);

/* Every defined symbol of both tables; stops when fn returns non-zero and returns that. */
int image_each_symbol(const struct image *image, int (*fn)(const struct image_symbol *symbol, void *context),
		      void *context);

/* Whether a symbol table or its string table is over the size limit, and so was not read. */
bool image_symbols_too_large(const struct image *image);

/* Bytes that image_symbol_at would keep, by the section headers: symbols, their names, and the order by address. */
uint64_t image_symbols_bytes(const struct image *image);

/* The function symbol that covers a linked address, for symbolising; -ENOENT.  The first call sorts the tables. */
int image_symbol_at(struct image *image, uint64_t address, struct image_symbol *out);

bool image_has_section(const struct image *image, const char *name);

/* A section by name and type (SHT_): its linked address and its content, which the image owns.  -ENOENT, also when it
 * has more than `most` bytes.  A section without content gives NULL and 0. */
int image_section(const struct image *image, const char *name, uint32_t type, uint64_t most, uint64_t *address,
		  const uint8_t **data, size_t *bytes);

/* Whether a section of that name (SHT_PROGBITS, at most `most` bytes) holds the bytes.  It is read in pieces, and none
 * of them is kept. */
bool image_section_holds(const struct image *image, const char *name, uint64_t most, const void *text, size_t length);

/*
 * Where the dynamic linker stores the address of a symbol (slots of the GOT): at most `most` linked addresses; returns
 * how many.
 */
size_t image_slots_of(const struct image *image, const char *name, uint64_t *slots, size_t most);

const char *image_soname(const struct image *image); /* "" when there is none */

/* Whether the file is marked as a program; a shared library may be marked as one, too. */
bool image_is_program(const struct image *image);

/* Whether it needs (DT_NEEDED) a library whose file name begins with `stem`. */
bool image_needs(const struct image *image, const char *stem);

/* Linked address -> offset in the file, by the program headers; -ERANGE. */
int image_file_offset(const struct image *image, uint64_t address, uint64_t *offset);

/* The offset in the file of a symbol's address; -ENOENT, -ERANGE. */
int image_symbol_offset(const struct image *image, const char *name, uint64_t *offset);

/* Bytes of the file at a linked address; -ERANGE when they are not all in the file. */
int image_read(const struct image *image, uint64_t address, void *buffer, size_t bytes);

/*
 * The load bias: what to add to a linked address in the process that has `mapping` of this file.  -ERANGE, also when
 * one page of the file is mapped twice and `mapping` may be either (read-only data and RELRO).  The first mapping of a
 * file and the executable one are never ambiguous.
 */
int image_bias(const struct image *image, const struct mapping *mapping, uint64_t *bias);
