/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Replaces and restores entries of the loader's tables, under the loader's lock; see last_call.h. */
#include "agent/process/last_call.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/process/import_table.h"
#include "agent/process/old_glibc.h"
#include "agent/process/own_maps.h"

#define ENTRIES_MAX 256u /* libraries that call _exit */

static struct {
	void (*_Atomic before)(void);
	void (*_Atomic real)(int status);
	struct entry {
		void *_Atomic *at;
		void *original;
	} entries[ENTRIES_MAX];
	unsigned count;
	uint64_t libraries; /* number of libraries ever loaded, at the last scan */
} last_call;

static void detour_exit(int status)
{
	atomic_load (&last_call.before)();
	atomic_load (&last_call.real)(status);
}

static void replace_import(const struct import_table *library, void *_Atomic *at, const char *name)
{
	struct entry *entry = &last_call.entries[last_call.count];

	if ((strcmp(name, "_exit") != 0 && strcmp(name, "_Exit") != 0) || last_call.count == ENTRIES_MAX ||
	    atomic_load(at) == (void *)detour_exit)
		return;
	entry->at = at;
	if (import_detour(library, at, (void *)atomic_load(&last_call.real), (void *)detour_exit, &entry->original))
		last_call.count++;
}

static int inspect_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct import_table library;
	const char *name;
	void *_Atomic *at;
	size_t i = 0;

	if (!import_table_read(&library, info))
		return 0;
	while ((at = import_table_next_call(&library, &i, &name)))
		replace_import(&library, at, name);
	i = 0;
	while ((at = import_table_next_address(&library, &i, &name)))
		replace_import(&library, at, name);
	return 0;
}

void last_call_follow(void (*before)(void))
{
	uint64_t loaded = own_libraries_loaded();
	void (*real)(int status);

	if (loaded == last_call.libraries)
		return;
	last_call.libraries = loaded;
	*(void **)&real = dlsym(RTLD_DEFAULT, "_exit");
	if (!real)
		return;
	atomic_store(&last_call.real, real);
	atomic_store(&last_call.before, before);
	dl_iterate_phdr(inspect_library, NULL);
}

static int put_back(struct dl_phdr_info *info, size_t size, void *unused)
{
	for (unsigned i = 0; i < last_call.count; i++) {
		const struct entry *entry = &last_call.entries[i];

		if (import_in_segment(info, PT_LOAD, (uintptr_t)entry->at) &&
		    atomic_load(entry->at) == (void *)detour_exit)
			import_store(info, entry->at, entry->original);
	}
	return 0;
}

void last_call_end(void)
{
	dl_iterate_phdr(put_back, NULL);
	last_call.count = 0;
	last_call.libraries = 0;
}
