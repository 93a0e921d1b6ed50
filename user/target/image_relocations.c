/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slots through which a file calls functions by name: which symbol's address the dynamic linker stores in each. */
#include "target/image_internal.h"

#include <elf.h>
#include <string.h>

#define RELOCATIONS_BYTES_MAX (256u << 20)

static const char *symbol_name(const struct image *image, uint32_t table, uint64_t index)
{
	Elf_Scn *section = elf_getscn(image->elf, table);
	const Elf_Data *data = section ? image_section_data(image, section, SHT_DYNSYM, RELOCATIONS_BYTES_MAX) : NULL;

	if (!data || !data->d_buf || index == 0 || index >= data->d_size / sizeof(Elf64_Sym))
		return NULL;
	return elf_strptr(image->elf, elf64_getshdr(section)->sh_link, ((const Elf64_Sym *)data->d_buf)[index].st_name);
}

const char *image_slot_symbol(const struct image *image, uint64_t address)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);
		const Elf_Data *data =
			header ? image_section_data(image, section, SHT_RELA, RELOCATIONS_BYTES_MAX) : NULL;

		if (!data || !data->d_buf)
			continue;
		for (size_t i = 0; i < data->d_size / sizeof(Elf64_Rela); i++) {
			const Elf64_Rela *entry = (const Elf64_Rela *)data->d_buf + i;

			if (entry->r_offset == address && ELF64_R_SYM(entry->r_info))
				return symbol_name(image, header->sh_link, ELF64_R_SYM(entry->r_info));
		}
	}
	return NULL;
}
