/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slots through which a file calls functions by name: where the dynamic linker stores a symbol's address. */
#include "target/image_internal.h"

#include <elf.h>
#include <string.h>

#define SECTIONS_MAX 8u		    /* a linker makes two or three */
#define RELOCATIONS_MAX (32u << 20) /* bytes of all: a million entries */

static bool is_of(const struct symbol_table *table, uint64_t index, const char *name)
{
	return index && index < table->count && table->symbols[index].st_name < table->strings_size &&
	       !strcmp(table->strings + table->symbols[index].st_name, name);
}

size_t image_slots_of(const struct image *image, const char *name, uint64_t *slots, size_t most)
{
	const struct symbol_table *table = image_symbol_table(image, TABLE_DYNAMIC);
	uint64_t left = RELOCATIONS_MAX;
	Elf_Scn *section = NULL;
	size_t count = 0;

	for (unsigned sections = 0; sections < SECTIONS_MAX && (section = elf_nextscn(image->elf, section));) {
		const Elf64_Shdr *header = elf64_getshdr(section);
		const Elf_Data *data;

		/* Others are the linker's own (--emit-relocs). */
		if (!header || header->sh_type != SHT_RELA || !(header->sh_flags & SHF_ALLOC))
			continue;
		sections++;
		data = image_section_data(image, section, SHT_RELA, left);
		if (!data || !data->d_buf)
			continue;
		left -= header->sh_size;
		for (size_t i = 0; i < data->d_size / sizeof(Elf64_Rela) && count < most; i++) {
			const Elf64_Rela *entry = (const Elf64_Rela *)data->d_buf + i;

			if (is_of(table, ELF64_R_SYM(entry->r_info), name))
				slots[count++] = entry->r_offset;
		}
	}
	return count;
}
