/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/process/import_table.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define ADDRESS R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define ADDRESS R_AARCH64_GLOB_DAT
#endif

/* glibc writes addresses into the dynamic section itself on the supported machines; elsewhere it may have offsets. */
static const void *address_of(const struct import_table *table, Elf64_Addr value)
{
	return (const void *)(value < table->info->dlpi_addr ? value + table->info->dlpi_addr : value);
}

bool import_table_read(struct import_table *table, const struct dl_phdr_info *info)
{
	const Elf64_Dyn *at;
	Elf64_Half i;

	*table = (struct import_table){.info = info};
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			table->dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (at = table->dynamic; at && at->d_tag != DT_NULL; at++)
		switch (at->d_tag) {
		case DT_STRTAB:
			table->strings = address_of(table, at->d_un.d_ptr);
			break;
		case DT_SYMTAB:
			table->symbols = address_of(table, at->d_un.d_ptr);
			break;
		case DT_JMPREL:
			table->calls = address_of(table, at->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			table->call_count = at->d_un.d_val / sizeof(Elf64_Rela);
			break;
		case DT_RELA:
			table->data = address_of(table, at->d_un.d_ptr);
			break;
		case DT_RELASZ:
			table->data_count = at->d_un.d_val / sizeof(Elf64_Rela);
			break;
		case DT_PLTREL:
			if (at->d_un.d_val != DT_RELA)
				return false;
			break;
		default:
			break;
		}
	if (!table->calls)
		table->call_count = 0;
	if (!table->data)
		table->data_count = 0;
	return table->strings && table->symbols;
}

static void *_Atomic *next_import(const struct import_table *table, const Elf64_Rela *relocations, size_t count,
				  uint32_t type, size_t *index, const char **name)
{
	while (*index < count) {
		const Elf64_Rela *relocation = &relocations[(*index)++];

		if (ELF64_R_TYPE(relocation->r_info) != type)
			continue;
		*name = table->strings + table->symbols[ELF64_R_SYM(relocation->r_info)].st_name;
		return (void *)(table->info->dlpi_addr + relocation->r_offset);
	}
	return NULL;
}

void *_Atomic *import_table_next_call(const struct import_table *table, size_t *index, const char **name)
{
	return next_import(table, table->calls, table->call_count, JUMP_SLOT, index, name);
}

void *_Atomic *import_table_next_address(const struct import_table *table, size_t *index, const char **name)
{
	return next_import(table, table->data, table->data_count, ADDRESS, index, name);
}

const char *import_table_needed(const struct import_table *table, const char *prefix)
{
	const Elf64_Dyn *at;

	for (at = table->dynamic; at->d_tag != DT_NULL; at++)
		if (at->d_tag == DT_NEEDED && !strncmp(table->strings + at->d_un.d_val, prefix, strlen(prefix)))
			return table->strings + at->d_un.d_val;
	return NULL;
}

bool import_in_segment(const struct dl_phdr_info *info, uint32_t type, uintptr_t address)
{
	Elf64_Half i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == type &&
		    address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

bool import_detour(const struct import_table *table, void *_Atomic *at, void *function, void *detour, void **before)
{
	void *leads = atomic_load(at);

	if (leads == detour)
		return true;
	if (!function || (leads != function && !import_in_segment(table->info, PT_LOAD, (uintptr_t)leads)))
		return false;
	*before = leads;
	return import_store(table->info, at, detour);
}

/* With -z now the loader has bound all entries at once and made part of the tables read-only. */
bool import_store(const struct dl_phdr_info *info, void *_Atomic *at, void *value)
{
	uintptr_t page = (uintptr_t)at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	size_t bytes = (uintptr_t)(at + 1) - page;
	bool protected = import_in_segment(info, PT_GNU_RELRO, (uintptr_t)at);

	if (protected && mprotect((void *)page, bytes, PROT_READ | PROT_WRITE))
		return false;
	atomic_store(at, value);
	if (protected)
		mprotect((void *)page, bytes, PROT_READ);
	return true;
}
