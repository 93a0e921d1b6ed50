/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* ELF sections, symbols and relocations of a cubin. */
#include <string.h>

#include "agent/kernels/cubin_reader.h"

static bool copy_at(const struct cubin_reader *reader, uint64_t offset, void *to, size_t bytes)
{
	if (offset > reader->size || bytes > reader->size - offset)
		return false;
	memcpy(to, reader->cubin + offset, bytes);
	return true;
}

static bool section_at(const struct cubin_reader *reader, unsigned index, Elf64_Shdr *section)
{
	return index < reader->header.e_shnum && reader->header.e_shoff <= reader->size &&
	       copy_at(reader, reader->header.e_shoff + (uint64_t)index * sizeof(*section), section, sizeof(*section));
}

struct cubin_bytes cubin_content(const struct cubin_reader *reader, const Elf64_Shdr *section)
{
	if (section->sh_type == SHT_NOBITS || section->sh_offset > reader->size ||
	    section->sh_size > reader->size - section->sh_offset)
		return (struct cubin_bytes){.failed = true};
	return (struct cubin_bytes){.data = reader->cubin + section->sh_offset, .size = (size_t)section->sh_size};
}

static struct cubin_text name_in(struct cubin_bytes strings, uint64_t offset)
{
	if (strings.failed || offset >= strings.size)
		return (struct cubin_text){"", 0};
	strings.at = (size_t)offset;
	return cubin_take_text(&strings);
}

static bool is_called(const struct cubin_bytes *strings, const Elf64_Shdr *section, const char *name)
{
	size_t bytes = strlen(name) + 1;

	return !strings->failed && section->sh_name < strings->size && bytes <= strings->size - section->sh_name &&
	       !memcmp(strings->data + section->sh_name, name, bytes);
}

/* Finds the line table, its relocations and the symbols. */
static bool find_sections(struct cubin_reader *reader)
{
	Elf64_Shdr section, names;
	unsigned lines = 0, i;
	struct cubin_bytes strings;

	if (!section_at(reader, reader->header.e_shstrndx, &names))
		return false;
	strings = cubin_content(reader, &names);
	for (i = 1; section_at(reader, i, &section); i++) {
		if (section.sh_type == SHT_SYMTAB)
			reader->symbols = section;
		if (section.sh_type == SHT_PROGBITS && !lines && is_called(&strings, &section, ".debug_line")) {
			reader->lines = section;
			lines = i;
		}
	}
	for (i = 1; lines && section_at(reader, i, &section); i++)
		if ((section.sh_type == SHT_RELA || section.sh_type == SHT_REL) && section.sh_info == lines) {
			reader->relocations = section;
			reader->has_relocations = true;
		}
	return lines && reader->symbols.sh_type == SHT_SYMTAB && reader->has_relocations;
}

static bool symbol_at(const struct cubin_reader *reader, uint64_t index, Elf64_Sym *symbol)
{
	struct cubin_bytes symbols = cubin_content(reader, &reader->symbols);

	if (symbols.failed || index >= symbols.size / sizeof(*symbol))
		return false;
	memcpy(symbol, symbols.data + index * sizeof(*symbol), sizeof(*symbol));
	return true;
}

static void find_functions(struct cubin_reader *reader)
{
	struct cubin_bytes strings;
	Elf64_Shdr names;
	Elf64_Sym symbol;

	if (!section_at(reader, reader->symbols.sh_link, &names))
		return;
	strings = cubin_content(reader, &names);
	for (uint64_t i = 1; symbol_at(reader, i, &symbol); i++) {
		struct cubin_text name;

		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
		    symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE || !symbol.st_size ||
		    symbol.st_size > UINT64_MAX - symbol.st_value)
			continue;
		if (reader->count == CUBIN_KERNELS_MAX) {
			reader->beyond++;
			continue;
		}
		name = name_in(strings, symbol.st_name);
		if (!name.size)
			continue;
		reader->has_function[symbol.st_shndx / 64] |= 1ull << symbol.st_shndx % 64;
		reader->functions[reader->count++] = (struct cubin_function){.name = name,
									     .start = symbol.st_value,
									     .end = symbol.st_value + symbol.st_size,
									     .section = symbol.st_shndx};
	}
}

static Elf64_Rela relocation_at(const struct cubin_bytes *table, size_t index, size_t size)
{
	Elf64_Rela entry = {0};

	memcpy(&entry, table->data + index * size, size);
	return entry;
}

/* Searches from the latest found one on, with wrap-around; false: none, or no step is left. */
static bool find_relocation(struct cubin_reader *reader, const struct cubin_bytes *table, size_t size, uint64_t offset,
			    Elf64_Rela *entry)
{
	size_t count = table->failed ? 0 : table->size / size, index = reader->next_relocation;

	for (size_t i = 0; i < count && reader->steps < CUBIN_STEPS_MAX; i++, index++) {
		if (index >= count)
			index = 0;
		*entry = relocation_at(table, index, size);
		if (entry->r_offset == offset) {
			reader->next_relocation = index + 1;
			return true;
		}
		reader->steps++;
	}
	return false;
}

bool cubin_relocated(struct cubin_reader *reader, uint64_t offset, struct cubin_address *at)
{
	struct cubin_bytes table = cubin_content(reader, &reader->relocations);
	bool has_addend = reader->relocations.sh_type == SHT_RELA;
	Elf64_Rela entry;
	Elf64_Sym symbol;

	if (!find_relocation(reader, &table, has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel), offset, &entry) ||
	    !symbol_at(reader, ELF64_R_SYM(entry.r_info), &symbol))
		return false;
	at->section = symbol.st_shndx;
	if (has_addend)
		at->address = (uint64_t)entry.r_addend;
	at->address += symbol.st_value;
	return true;
}

bool cubin_find_functions(struct cubin_reader *reader)
{
	const unsigned char *ident = reader->header.e_ident;

	if (!copy_at(reader, 0, &reader->header, sizeof(reader->header)) || memcmp(ident, ELFMAG, SELFMAG) ||
	    ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
	    reader->header.e_shentsize != sizeof(Elf64_Shdr) || !find_sections(reader))
		return false;
	find_functions(reader);
	return reader->count;
}
