/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/load/own_code.h"

#include <link.h>

struct search {
	uintptr_t code;
	uint64_t offset;
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	uint64_t address = search->code - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD && address - header->p_vaddr < header->p_filesz) {
			search->offset = address - header->p_vaddr + header->p_offset;
			return 1;
		}
	}
	return 0;
}

uint64_t own_code_offset(uintptr_t code)
{
	struct search search = {.code = code};

	dl_iterate_phdr(find_offset, &search);
	return search.offset;
}
