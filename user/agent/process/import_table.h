/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The entries through which a loaded library calls exported functions: .got.plt, and .got for code compiled without a
 * PLT. An entry can be redirected to a detour, and restored.
 *
 * Use all of this inside dl_iterate_phdr(3), whose lock keeps libraries loaded.
 */
#pragma once

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_table {
	const struct dl_phdr_info *info;
	const char *strings;
	const Elf64_Sym *symbols;
	const Elf64_Rela *calls, *data; /* DT_JMPREL, DT_RELA */
	size_t call_count, data_count;
	const Elf64_Dyn *dynamic;
};

/* False: the library has no such table. */
bool import_table_read(struct import_table *table, const struct dl_phdr_info *info);

/* The next entry for a function, from *index (initially 0) on, and its name; NULL: no more. */
void *_Atomic *import_table_next_call(const struct import_table *table, size_t *index, const char **name);

/* The same for addresses that are bound at load time, among them calls without a PLT. */
void *_Atomic *import_table_next_address(const struct import_table *table, size_t *index, const char **name);

/* The name of a needed library with that prefix, or NULL. */
const char *import_table_needed(const struct import_table *table, const char *prefix);

/* Whether the address is in a segment of that type. */
bool import_in_segment(const struct dl_phdr_info *info, uint32_t type, uintptr_t address);

/*
 * Redirects an entry for `function` to the detour; *before gets the old address, and is unchanged if that was done
 * already. An entry that is not bound yet points into its own library. False: it points elsewhere, to another tool's
 * function.
 */
bool import_detour(const struct import_table *table, void *_Atomic *at, void *function, void *detour, void **before);

/* Stores to an entry, even if the loader made it read-only. */
bool import_store(const struct dl_phdr_info *info, void *_Atomic *at, void *value);
