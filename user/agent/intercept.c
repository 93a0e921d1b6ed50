/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Entries of the loader's tables, replaced and put back; see intercept.h.  All of it under the loader's lock, so that
 * no library goes meanwhile. */
#include "agent/intercept.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/path.h"
#include "agent/yield.h"

#define ENTRIES_MAX 16u /* a process has one Kineto */

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
/* Arguments are kept; what prepare returns is jumped to. At entry rsp is 8 off a multiple of 16. */
#define DETOUR(prepare)                                                                                                \
	"push %rdi\n\tpush %rsi\n\tsub $8, %rsp\n\tcall " #prepare                                                     \
	"\n\tadd $8, %rsp\n\tpop %rsi\n\tpop %rdi\n\tjmp *%rax"
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define DETOUR(prepare)                                                                                                \
	"stp x29, x30, [sp, #-32]!\n\tstp x0, x1, [sp, #16]\n\tbl " #prepare                                           \
	"\n\tmov x16, x0\n\tldp x0, x1, [sp, #16]\n\tldp x29, x30, [sp], #32\n\tbr x16"
#endif

enum { BUFFERS, CLOCK, FUNCTIONS };

static void *real[FUNCTIONS];

/* Called by the detours below. */
__attribute__((used)) static void *prepare_buffers(void)
{
	yield_before_buffers();
	return real[BUFFERS];
}

__attribute__((used)) static void *prepare_clock(void)
{
	yield_before_clock();
	return real[CLOCK];
}

__attribute__((naked)) static void detour_buffers(void)
{
	__asm__ volatile(DETOUR(prepare_buffers));
}

__attribute__((naked)) static void detour_clock(void)
{
	__asm__ volatile(DETOUR(prepare_clock));
}

static const struct {
	const char *symbol;
	void (*detour)(void);
} functions[FUNCTIONS] = {
	[BUFFERS] = {"cuptiActivityRegisterCallbacks", detour_buffers},
	[CLOCK] = {"cuptiActivityRegisterTimestampCallback", detour_clock},
};

static struct {
	struct entry {
		void *_Atomic *at;
		void *before;
		unsigned function;
	} entries[ENTRIES_MAX];
	unsigned count;
	unsigned long long libraries; /* how many had ever been loaded when we looked last */
	const char *cupti;	      /* name of its file */
} table;

/* ---- one library ------------------------------------------------------------------------------- */

struct library {
	const struct dl_phdr_info *info;
	const char *strings;
	const Elf64_Sym *symbols;
	const Elf64_Rela *relocations;
	size_t count;
	const Elf64_Dyn *dynamic;
	const char *cupti; /* as it is linked: "libcupti.so.13" */
};

/* glibc puts addresses into the dynamic section itself on our machines; others may leave offsets. */
static const void *address_of(const struct library *library, Elf64_Addr value)
{
	return (const void *)(value < library->info->dlpi_addr ? value + library->info->dlpi_addr : value);
}

static bool read_dynamic(struct library *library)
{
	const Elf64_Dyn *at;
	Elf64_Half i;

	for (i = 0; i < library->info->dlpi_phnum; i++)
		if (library->info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			library->dynamic =
				(const void *)(library->info->dlpi_addr + library->info->dlpi_phdr[i].p_vaddr);
	for (at = library->dynamic; at && at->d_tag != DT_NULL; at++)
		switch (at->d_tag) {
		case DT_STRTAB:
			library->strings = address_of(library, at->d_un.d_ptr);
			break;
		case DT_SYMTAB:
			library->symbols = address_of(library, at->d_un.d_ptr);
			break;
		case DT_JMPREL:
			library->relocations = address_of(library, at->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			library->count = at->d_un.d_val / sizeof(Elf64_Rela);
			break;
		case DT_PLTREL:
			if (at->d_un.d_val != DT_RELA)
				return false;
			break;
		default:
			break;
		}
	return library->strings && library->symbols && library->relocations;
}

/* The libcupti that it is linked with, NULL. */
static const char *wanted_cupti(const struct library *library)
{
	const Elf64_Dyn *at;

	for (at = library->dynamic; at->d_tag != DT_NULL; at++)
		if (at->d_tag == DT_NEEDED && !strncmp(library->strings + at->d_un.d_val, "libcupti.so", 11))
			return library->strings + at->d_un.d_val;
	return NULL;
}

static bool in_segment(const struct dl_phdr_info *info, uint32_t type, uintptr_t address)
{
	Elf64_Half i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == type &&
		    address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

/* The loader has made part of the tables read-only where all entries were filled in at once (-z now). */
static bool store(const struct dl_phdr_info *info, void *_Atomic *at, void *value)
{
	uintptr_t page = (uintptr_t)at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	size_t bytes = (uintptr_t)(at + 1) - page;
	bool protected = in_segment(info, PT_GNU_RELRO, (uintptr_t)at);

	if (protected && mprotect((void *)page, bytes, PROT_READ | PROT_WRITE))
		return false;
	atomic_store(at, value);
	if (protected)
		mprotect((void *)page, bytes, PROT_READ);
	return true;
}

/* An entry that has not been used yet leads back into its own library, to where the loader is asked for what it wants.
 */
static bool leads_to(const struct library *library, const void *before, unsigned function)
{
	return before == real[function] || (in_segment(library->info, PT_LOAD, (uintptr_t)before) &&
					    !strncmp(table.cupti, library->cupti, strlen(library->cupti)));
}

static void replace(const struct library *library, void *_Atomic *at, unsigned function)
{
	void *before = atomic_load(at);
	struct entry *entry = &table.entries[table.count];

	if (!real[function] || table.count == ENTRIES_MAX || before == (void *)functions[function].detour ||
	    !leads_to(library, before, function))
		return;
	*entry = (struct entry){at, before, function};
	table.count += store(library->info, at, (void *)functions[function].detour);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct library library = {.info = info};
	const char *name;
	unsigned function;
	size_t i;

	if (!read_dynamic(&library))
		return 0;
	library.cupti = wanted_cupti(&library);
	if (!library.cupti)
		return 0;
	for (i = 0; i < library.count; i++) {
		if (ELF64_R_TYPE(library.relocations[i].r_info) != JUMP_SLOT)
			continue;
		name = library.strings + library.symbols[ELF64_R_SYM(library.relocations[i].r_info)].st_name;
		if (name[0] != 'c' || name[1] != 'u')
			continue;
		for (function = 0; function < FUNCTIONS; function++)
			if (!strcmp(name, functions[function].symbol))
				replace(&library, (void *)(info->dlpi_addr + library.relocations[i].r_offset),
					function);
	}
	return 0;
}

/* ---- all of them ------------------------------------------------------------------------------- */

static int count_loaded(struct dl_phdr_info *info, size_t size, void *loaded)
{
	*(unsigned long long *)loaded = info->dlpi_adds;
	return 1;
}

void intercept_follow(const struct cupti *cupti)
{
	unsigned long long loaded = 0;

	dl_iterate_phdr(count_loaded, &loaded);
	if (loaded == table.libraries)
		return;
	table.libraries = loaded;
	table.cupti = path_base(cupti->path);
	real[BUFFERS] = (void *)cupti->register_buffers;
	real[CLOCK] = (void *)cupti->register_timestamp;
	dl_iterate_phdr(look_at, NULL);
}

static int put_back(struct dl_phdr_info *info, size_t size, void *unused)
{
	unsigned i;

	for (i = 0; i < table.count; i++) {
		const struct entry *entry = &table.entries[i];

		if (in_segment(info, PT_LOAD, (uintptr_t)entry->at) &&
		    atomic_load(entry->at) == (void *)functions[entry->function].detour)
			store(info, entry->at, entry->before);
	}
	return 0;
}

void intercept_end(void)
{
	dl_iterate_phdr(put_back, NULL);
	table.count = 0;
	table.libraries = 0;
}
