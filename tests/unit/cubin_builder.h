/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An ELF file with a line table, as GPU code has it: one kernel, or two in separate sections. */
#pragma once

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CUBIN_NAMES "\0.text.first\0.text.second\0.debug_line\0.rela.debug_line\0.symtab\0.strtab"
enum { CUBIN_FIRST = 1, CUBIN_SECOND, CUBIN_LINES, CUBIN_RELOCATIONS, CUBIN_SYMBOLS, CUBIN_STRINGS, CUBIN_SECTIONS };

struct cubin_bytes {
	uint8_t data[8192];
	size_t size;
};

static inline size_t cubin_put(struct cubin_bytes *bytes, const void *data, size_t size)
{
	size_t at = bytes->size;

	if (size > sizeof(bytes->data) - at)
		size = sizeof(bytes->data) - at;
	memcpy(bytes->data + at, data, size);
	bytes->size += size;
	return at;
}

#define CUBIN_PUT(bytes, ...) cubin_put(bytes, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* The head of a DWARF 2 unit with one folder and two files. cubin_end_unit sets its lengths. */
static inline void cubin_begin_unit_in(struct cubin_bytes *lines, uint8_t version, const char *folder)
{
	uint32_t head;

	CUBIN_PUT(lines, 0, 0, 0, 0, version, 0, 0, 0, 0, 0, 1);
	if (version >= 4)
		CUBIN_PUT(lines, 1);
	CUBIN_PUT(lines, 1, (uint8_t)-5, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1);
	cubin_put(lines, folder, strlen(folder) + 1);
	CUBIN_PUT(lines, 0);
	cubin_put(lines, "kernels.py\0\1\0\0other.py\0\1\0\0", 27);
	head = (uint32_t)(lines->size - 10);
	memcpy(lines->data + 6, &head, sizeof(head));
}

static inline void cubin_begin_unit(struct cubin_bytes *lines, uint8_t version)
{
	cubin_begin_unit_in(lines, version, "/models");
}

static inline void cubin_end_unit(struct cubin_bytes *lines)
{
	uint32_t length = (uint32_t)(lines->size - 4);

	memcpy(lines->data, &length, sizeof(length));
}

/* Sets address 0 of the section that relocation i names, then emits a line of a file and 16 bytes of code. */
static inline size_t cubin_row(struct cubin_bytes *lines, uint8_t file, uint8_t line)
{
	size_t at;

	CUBIN_PUT(lines, 0, 9, 2);
	at = CUBIN_PUT(lines, 0, 0, 0, 0, 0, 0, 0, 0);
	CUBIN_PUT(lines, 4, file, 3, (uint8_t)((line - 1) & 0x7f), 1);
	return at;
}

static inline void cubin_end_sequence(struct cubin_bytes *lines)
{
	CUBIN_PUT(lines, 2, 32, 0, 1, 1);
}

/* Puts the file together. at: offsets in lines of the addresses of the first and the second kernel. */
static inline void cubin_build(struct cubin_bytes *cubin, const struct cubin_bytes *lines, const size_t at[2])
{
	static const char names[] = CUBIN_NAMES, symbols_names[] = "\0first\0second";
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = CUBIN_SECTIONS,
			     .e_shstrndx = CUBIN_STRINGS};
	Elf64_Shdr sections[CUBIN_SECTIONS] = {
		[CUBIN_FIRST] = {.sh_name = 1, .sh_type = SHT_PROGBITS},
		[CUBIN_SECOND] = {.sh_name = 13, .sh_type = SHT_PROGBITS},
		[CUBIN_LINES] = {.sh_name = 26, .sh_type = SHT_PROGBITS},
		[CUBIN_RELOCATIONS] = {.sh_name = 38, .sh_type = SHT_RELA, .sh_info = CUBIN_LINES},
		[CUBIN_SYMBOLS] = {.sh_name = 55, .sh_type = SHT_SYMTAB, .sh_link = CUBIN_STRINGS},
		[CUBIN_STRINGS] = {.sh_name = 63, .sh_type = SHT_STRTAB},
	};
	const Elf64_Sym symbols[] = {
		{0},
		{.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = CUBIN_FIRST},
		{.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = CUBIN_SECOND},
		{.st_name = sizeof(names),
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_shndx = CUBIN_FIRST,
		 .st_size = 32},
		{.st_name = sizeof(names) + 6,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_shndx = CUBIN_SECOND,
		 .st_size = 32},
	};
	const Elf64_Rela relocations[] = {{.r_offset = at[0], .r_info = ELF64_R_INFO(1, 2)},
					  {.r_offset = at[1], .r_info = ELF64_R_INFO(2, 2)}};
	const struct {
		const void *data;
		size_t size;
		int section;
	} parts[] = {{lines->data, lines->size, CUBIN_LINES},
		     {relocations, sizeof(relocations), CUBIN_RELOCATIONS},
		     {symbols, sizeof(symbols), CUBIN_SYMBOLS}};

	cubin->size = 0;
	cubin_put(cubin, &header, sizeof(header));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		sections[parts[i].section].sh_offset = cubin_put(cubin, parts[i].data, parts[i].size);
		sections[parts[i].section].sh_size = parts[i].size;
	}
	/* section and symbol names share a section */
	sections[CUBIN_STRINGS].sh_offset = cubin_put(cubin, names, sizeof(names));
	cubin_put(cubin, symbols_names + 1, sizeof(symbols_names) - 1);
	sections[CUBIN_STRINGS].sh_size = sizeof(names) + sizeof(symbols_names) - 1;
	header.e_shoff = cubin_put(cubin, sections, sizeof(sections));
	memcpy(cubin->data, &header, sizeof(header));
}

/* The first kernel is at that line of the unit's first file, the second ten lines further in the other file. */
static inline void cubin_of(struct cubin_bytes *cubin, uint8_t version, uint8_t line)
{
	struct cubin_bytes lines = {.size = 0};
	size_t at[2];

	cubin_begin_unit(&lines, version);
	at[0] = cubin_row(&lines, 1, line);
	cubin_end_sequence(&lines);
	at[1] = cubin_row(&lines, 2, (uint8_t)(line + 10));
	cubin_end_sequence(&lines);
	cubin_end_unit(&lines);
	cubin_build(cubin, &lines, at);
}
