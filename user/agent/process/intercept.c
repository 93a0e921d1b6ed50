/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Replaces and restores entries of the loader's tables; see intercept.h. All under the loader's lock, so that no
 * library is unloaded meanwhile.
 */
#include "agent/process/intercept.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <gputrace/cupti_users.h>

#include "agent/process/import_table.h"
#include "agent/process/path.h"
#include "agent/process/own_maps.h"

#define ENTRIES_MAX 16u /* a process has one Kineto */

#if defined(__x86_64__)
/* Keeps the arguments, calls prepare and jumps to the address it returns. At entry rsp is 8 off a multiple of 16. */
#define DETOUR(prepare)                                                                                                \
	"push %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tsub $8, %rsp\n\tcall " #prepare                           \
	"\n\tadd $8, %rsp\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\tjmp *%rax"
#elif defined(__aarch64__)
#define DETOUR(prepare)                                                                                                \
	"stp x29, x30, [sp, #-48]!\n\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tbl " #prepare                  \
	"\n\tmov x16, x0\n\tldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\tldp x29, x30, [sp], #48\n\tbr x16"
#endif

/* X(index, function of CUPTI, member of struct cupti with its address, member of struct intercept_before) */
#define FUNCTIONS(X)                                                                                                   \
	X(BUFFERS, cuptiActivityRegisterCallbacks, register_buffers, buffers)                                          \
	X(CLOCK, cuptiActivityRegisterTimestampCallback, register_timestamp, clock)                                    \
	X(SUBSCRIBER, cuptiSubscribe, subscribe, subscriber)                                                           \
	X(SUBSCRIBER_V2, cuptiSubscribe_v2, subscribe_v2, subscriber)

enum {
#define INDEX(index, function, address, member) index,
	FUNCTIONS(INDEX)
#undef INDEX
		FUNCTION_COUNT
};

static void *real[FUNCTION_COUNT];
static struct intercept_before before;

#define DETOUR_OF(index, function, address, member)                                                                    \
	__attribute__((used)) static void *prepare_##function(void)                                                    \
	{                                                                                                              \
		before.member();                                                                                       \
		return real[index];                                                                                    \
	}                                                                                                              \
	__attribute__((naked)) static void detour_##function(void)                                                     \
	{                                                                                                              \
		__asm__ volatile(DETOUR(prepare_##function));                                                          \
	}
FUNCTIONS(DETOUR_OF)
#undef DETOUR_OF

static const struct {
	const char *symbol;
	void (*detour)(void);
} functions[FUNCTION_COUNT] = {
#define ROW(index, function, address, member) [index] = {#function, detour_##function},
	FUNCTIONS(ROW)
#undef ROW
};

static struct {
	struct entry {
		void *_Atomic *at;
		void *original;
		unsigned function;
	} entries[ENTRIES_MAX];
	unsigned count;
	unsigned long long libraries; /* number of libraries ever loaded, at the last scan */
	const char *cupti;	      /* its file name */
	bool kineto_subscribes;	      /* the entry by which Kineto would subscribe was replaced */
} table;

/* ---- one library ------------------------------------------------------------------------------- */

/* An entry that is not bound yet points into its own library, to the code that calls the loader. */
static bool leads_to(const struct import_table *library, const char *cupti, const void *stands, unsigned function)
{
	return stands == real[function] || (import_in_segment(library->info, PT_LOAD, (uintptr_t)stands) &&
					    !strncmp(table.cupti, cupti, strlen(cupti)));
}

/* cupti: the name that the library is linked with: "libcupti.so.13" */
static void replace_import(const struct import_table *library, const char *cupti, void *_Atomic *at, unsigned function)
{
	void *stands = atomic_load(at);
	struct entry *entry = &table.entries[table.count];

	if (!real[function] || table.count == ENTRIES_MAX || stands == (void *)functions[function].detour ||
	    !leads_to(library, cupti, stands, function))
		return;
	*entry = (struct entry){at, stands, function};
	if (!import_store(library->info, at, (void *)functions[function].detour))
		return;
	table.count++;
	table.kineto_subscribes |= function == SUBSCRIBER && path_names(library->info->dlpi_name, GPT_KINETO_FILE);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct import_table library;
	const char *name, *cupti;
	void *_Atomic *at;
	unsigned function;
	size_t i = 0;

	if (!import_table_read(&library, info))
		return 0;
	cupti = import_table_needed(&library, "libcupti.so");
	if (!cupti)
		return 0;
	while ((at = import_table_next_call(&library, &i, &name))) {
		if (name[0] != 'c' || name[1] != 'u')
			continue;
		for (function = 0; function < FUNCTION_COUNT; function++)
			if (!strcmp(name, functions[function].symbol))
				replace_import(&library, cupti, at, function);
	}
	return 0;
}

/* ---- all of them ------------------------------------------------------------------------------- */

void intercept_follow(const struct cupti *cupti, const struct intercept_before *callers)
{
	uint64_t loaded = own_libraries_loaded();

	if (loaded == table.libraries)
		return;
	table.libraries = loaded;
	table.cupti = path_base(cupti->path);
	before = *callers;
#define REAL(index, function, address, member) real[index] = (void *)cupti->address;
	FUNCTIONS(REAL)
#undef REAL
	dl_iterate_phdr(look_at, NULL);
}

bool intercept_has_kineto_subscribe(void)
{
	return table.kineto_subscribes;
}

static int put_back(struct dl_phdr_info *info, size_t size, void *unused)
{
	unsigned i;

	for (i = 0; i < table.count; i++) {
		const struct entry *entry = &table.entries[i];

		if (import_in_segment(info, PT_LOAD, (uintptr_t)entry->at) &&
		    atomic_load(entry->at) == (void *)functions[entry->function].detour)
			import_store(info, entry->at, entry->original);
	}
	return 0;
}

void intercept_end(void)
{
	dl_iterate_phdr(put_back, NULL);
	table.count = 0;
	table.libraries = 0;
	table.kineto_subscribes = false;
}
