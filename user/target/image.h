/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An ELF file that some process has mapped: symbols, sections, addresses.  The file belongs to someone we
 * do not trust: every offset and length in it is checked.
 */
#ifndef GPUTRACE_IMAGE_H
#define GPUTRACE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/process.h"

struct image;

struct image_symbol {
	uint64_t address; /* as linked (before load bias) */
	uint64_t size;
	const char
		*name; /* without version; of image_symbol the one it was given, else valid while the image is open */
	bool function;
	bool dynamic; /* from .dynsym, else from .symtab */
};

/* Takes over fd (closes it with the image, also on failure). -ENOEXEC: not an ELF64 file of this machine. */
int image_open(int fd, struct image **out);
void image_close(struct image *image);
int image_fd(const struct image *image);

/* Defined symbol by exact name: .dynsym first (default version preferred), then .symtab. -ENOENT. */
int image_symbol(const struct image *image, const char *name, struct image_symbol *out);

/* The same of .dynsym alone: what others may call. */
int image_exported(const struct image *image, const char *name, struct image_symbol *out);

/* What other files of a process may call by that name: a library exports it, a program need not.  -ENOENT. */
int image_callable(const struct image *image, const char *name, struct image_symbol *out);

/* Every defined symbol of both tables; stops when fn returns non-zero and returns that. */
int image_each_symbol(const struct image *image, int (*fn)(const struct image_symbol *symbol, void *context),
		      void *context);

/* Whether a table of symbols, or their names, is larger than what is read, so that it is left alone. */
bool image_symbols_too_large(const struct image *image);

/* Memory that image_symbol_at keeps, as the section headers have it: tables, their names, and the order by address. */
uint64_t image_symbols_bytes(const struct image *image);

/* The function symbol that covers a linked address, for symbolising; -ENOENT. First call sorts the tables. */
int image_symbol_at(struct image *image, uint64_t address, struct image_symbol *out);

bool image_has_section(const struct image *image, const char *name);

/* A section by name and type (SHT_): its linked address and content, which stays the image's; -ENOENT, also when it
 * has more than `most` bytes.  A section without content gives NULL and 0. */
int image_section(const struct image *image, const char *name, uint32_t type, uint64_t most, uint64_t *address,
		  const uint8_t **data, size_t *bytes);

/* Whether the bytes are in a section of that name (SHT_PROGBITS) of at most `most` bytes.  It is read in pieces, and
 * nothing of it is kept. */
bool image_section_holds(const struct image *image, const char *name, uint64_t most, const void *text, size_t length);

/* The symbol whose address the dynamic linker stores at a linked address (a slot of the GOT); NULL: none. */
const char *image_slot_symbol(const struct image *image, uint64_t address);

const char *image_soname(const struct image *image); /* "" when there is none */

/* Whether it says that it is to be started; a shared library may say so, too. */
bool image_is_program(const struct image *image);

/* Whether it names a library whose file name begins with `stem` as one that it needs. */
bool image_needs(const struct image *image, const char *stem);

/* Linked address -> offset in the file, by the program headers; -ERANGE. */
int image_file_offset(const struct image *image, uint64_t address, uint64_t *offset);

/* Where in the file a symbol's address lies; -ENOENT, -ERANGE. */
int image_symbol_offset(const struct image *image, const char *name, uint64_t *offset);

/* Bytes of the file at a linked address; -ERANGE when they are not all in the file. */
int image_read(const struct image *image, uint64_t address, void *buffer, size_t bytes);

/*
 * What to add to a linked address in the process that has `mapping` of this file; -ERANGE, also when one page of
 * the file is mapped twice and `mapping` may be either (read-only data and RELRO): the first mapping of a file and
 * the executable one never are.
 */
int image_bias(const struct image *image, const struct mapping *mapping, uint64_t *bias);

#endif
