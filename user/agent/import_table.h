/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The entries of a loaded library through which it calls what other libraries (or itself) export: .got.plt, and .got
 * of what was compiled without a PLT.  An address there can be replaced by that of a detour, and put back.
 *
 * All of it inside of dl_iterate_phdr(3), whose lock keeps libraries where they are.
 */
#ifndef GPUTRACE_AGENT_IMPORT_TABLE_H
#define GPUTRACE_AGENT_IMPORT_TABLE_H

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

/* False: it has none. */
bool import_table_read(struct import_table *table, const struct dl_phdr_info *info);

/* The next entry for a function, from *index (0) on, and its name; NULL: that was the last. */
void *_Atomic *import_table_next_call(const struct import_table *table, size_t *index, const char **name);

/* The same of addresses that are filled in at once, calls without a PLT among them. */
void *_Atomic *import_table_next_address(const struct import_table *table, size_t *index, const char **name);

/* The name of a library that it is linked with and that begins so, NULL. */
const char *import_table_needed(const struct import_table *table, const char *prefix);

/* Whether the address is in a segment of that type. */
bool import_in_segment(const struct dl_phdr_info *info, uint32_t type, uintptr_t address);

/*
 * Leads an entry for `function` to the detour; *before is what stood there, and stays as it is where that has been
 * done.  One that has not been used yet leads back into its own library; false: it leads elsewhere, and is someone
 * else's.
 */
bool import_detour(const struct import_table *table, void *_Atomic *at, void *function, void *detour, void **before);

/* Also where the loader has made the entry read-only. */
bool import_store(const struct dl_phdr_info *info, void *_Atomic *at, void *value);

#endif
