/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* ELF sections, symbols and relocations, and the state machine of a DWARF line table; see cubin.h. */
#include "agent/cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

/* A stretch of the cubin; reading beyond its end gives 0 and sets failed. */
struct bytes {
	const uint8_t *data;
	size_t size, at;
	bool failed;
};

struct function {
	struct cubin_text name;
	uint64_t start, end; /* in its section */
	uint64_t best;	     /* the lowest address that has a line so far */
	uint16_t section;
	bool found;
	struct cubin_text folder, file;
	uint32_t line;
};

struct reader {
	const uint8_t *cubin;
	size_t size;
	Elf64_Ehdr header;
	Elf64_Shdr lines, symbols, relocations;
	bool has_relocations;
	unsigned count;
	uint64_t beyond; /* functions that are not among these */
	uint32_t rows;	 /* seen so far */
	struct function functions[CUBIN_KERNELS_MAX];
};

/* A unit of the line table: what its header says, and the registers of its state machine. */
struct unit {
	uint16_t version;
	uint8_t least_step, range, first_special;
	int8_t base;
	struct bytes folders, files, operands;
	uint64_t address;
	uint32_t file, line;
	uint16_t section; /* 0: not known */
};

static uint64_t take(struct bytes *bytes, unsigned count)
{
	uint64_t value = 0;

	if (bytes->failed || count > bytes->size - bytes->at) {
		bytes->failed = true;
		return 0;
	}
	memcpy(&value, bytes->data + bytes->at, count);
	bytes->at += count;
	return value;
}

static uint64_t take_uleb(struct bytes *bytes)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && !bytes->failed; shift += 7) {
		byte = take(bytes, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	return value;
}

static int64_t take_sleb(struct bytes *bytes)
{
	uint64_t value = 0, byte = 0x80;
	unsigned shift = 0;

	for (; byte & 0x80 && !bytes->failed; shift += 7) {
		byte = take(bytes, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	if (byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

static struct cubin_text take_text(struct bytes *bytes)
{
	struct cubin_text text = {(const char *)bytes->data + bytes->at, 0};
	const void *end = bytes->failed ? NULL : memchr(text.bytes, 0, bytes->size - bytes->at);

	if (!end) {
		bytes->failed = true;
		return (struct cubin_text){"", 0};
	}
	text.size = (size_t)((const char *)end - text.bytes);
	bytes->at += text.size + 1;
	return text;
}

static struct bytes part_of(struct bytes *bytes, uint64_t size)
{
	struct bytes part = {.failed = true};

	if (bytes->failed || size > bytes->size - bytes->at) {
		bytes->failed = true;
		return part;
	}
	part = (struct bytes){.data = bytes->data + bytes->at, .size = (size_t)size};
	bytes->at += (size_t)size;
	return part;
}

/* ---- ELF ----------------------------------------------------------------------------------------- */

static bool copy_at(const struct reader *reader, uint64_t offset, void *to, size_t bytes)
{
	if (offset > reader->size || bytes > reader->size - offset)
		return false;
	memcpy(to, reader->cubin + offset, bytes);
	return true;
}

static bool section_at(const struct reader *reader, unsigned index, Elf64_Shdr *section)
{
	return index < reader->header.e_shnum && reader->header.e_shoff <= reader->size &&
	       copy_at(reader, reader->header.e_shoff + (uint64_t)index * sizeof(*section), section, sizeof(*section));
}

/* Empty where the section is not, or not whole, in the cubin. */
static struct bytes content(const struct reader *reader, const Elf64_Shdr *section)
{
	if (section->sh_type == SHT_NOBITS || section->sh_offset > reader->size ||
	    section->sh_size > reader->size - section->sh_offset)
		return (struct bytes){.failed = true};
	return (struct bytes){.data = reader->cubin + section->sh_offset, .size = (size_t)section->sh_size};
}

static struct cubin_text name_in(struct bytes strings, uint64_t offset)
{
	if (strings.failed || offset >= strings.size)
		return (struct cubin_text){"", 0};
	strings.at = (size_t)offset;
	return take_text(&strings);
}

static bool is_called(struct bytes strings, const Elf64_Shdr *section, const char *name)
{
	struct cubin_text text = name_in(strings, section->sh_name);

	return text.size == strlen(name) && !memcmp(text.bytes, name, text.size);
}

/* The line table, what relocates it, and the symbols. */
static bool find_sections(struct reader *reader)
{
	Elf64_Shdr section, names;
	unsigned lines = 0, i;
	struct bytes strings;

	if (!section_at(reader, reader->header.e_shstrndx, &names))
		return false;
	strings = content(reader, &names);
	for (i = 1; section_at(reader, i, &section); i++) {
		if (section.sh_type == SHT_SYMTAB)
			reader->symbols = section;
		if (section.sh_type == SHT_PROGBITS && !lines && is_called(strings, &section, ".debug_line")) {
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

static bool symbol_at(const struct reader *reader, uint64_t index, Elf64_Sym *symbol)
{
	struct bytes symbols = content(reader, &reader->symbols);

	if (symbols.failed || index >= symbols.size / sizeof(*symbol))
		return false;
	memcpy(symbol, symbols.data + index * sizeof(*symbol), sizeof(*symbol));
	return true;
}

static void find_functions(struct reader *reader)
{
	struct bytes strings;
	Elf64_Shdr names;
	Elf64_Sym symbol;

	if (!section_at(reader, reader->symbols.sh_link, &names))
		return;
	strings = content(reader, &names);
	for (uint64_t i = 1; symbol_at(reader, i, &symbol); i++) {
		struct cubin_text name;

		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
		    symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE || !symbol.st_size ||
		    symbol.st_size > UINT64_MAX - symbol.st_value)
			continue;
		name = name_in(strings, symbol.st_name);
		if (!name.size)
			continue;
		if (reader->count == CUBIN_KERNELS_MAX) {
			reader->beyond++;
			continue;
		}
		reader->functions[reader->count++] = (struct function){.name = name,
								       .start = symbol.st_value,
								       .end = symbol.st_value + symbol.st_size,
								       .section = symbol.st_shndx};
	}
}

/* The section, and the address in it, that the eight bytes there stand for; false: no relocation says it. */
static bool relocated(const struct reader *reader, uint64_t offset, struct unit *unit)
{
	struct bytes table = content(reader, &reader->relocations);
	bool has_addend = reader->relocations.sh_type == SHT_RELA;
	size_t size = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	Elf64_Rela entry = {0};
	Elf64_Sym symbol;

	if (table.failed)
		return false;
	for (size_t at = 0; size <= table.size - at; at += size) {
		memcpy(&entry, table.data + at, size);
		if (entry.r_offset != offset)
			continue;
		if (!symbol_at(reader, ELF64_R_SYM(entry.r_info), &symbol))
			return false;
		unit->section = symbol.st_shndx;
		if (has_addend)
			unit->address = (uint64_t)entry.r_addend;
		unit->address += symbol.st_value;
		return true;
	}
	return false;
}

/* ---- the line table ------------------------------------------------------------------------------ */

static struct cubin_text folder_of(const struct unit *unit, uint64_t index)
{
	struct bytes folders = unit->folders;
	struct cubin_text text = {"", 0};

	for (; index && !folders.failed; index--) {
		text = take_text(&folders);
		if (!text.size)
			break;
	}
	return text;
}

static void find_file(const struct unit *unit, struct function *function)
{
	struct bytes files = unit->files;
	struct cubin_text name = {"", 0};
	uint64_t folder = 0;

	for (uint32_t index = unit->file; index && !files.failed; index--) {
		name = take_text(&files);
		folder = take_uleb(&files);
		take_uleb(&files); /* its time, its size */
		take_uleb(&files);
		if (!name.size)
			break;
	}
	if (files.failed || !name.size)
		return;
	function->file = name;
	function->folder = *name.bytes == '/' ? (struct cubin_text){"", 0} : folder_of(unit, folder);
	function->line = unit->line;
	function->best = unit->address;
	function->found = true;
}

static void see_row(struct reader *reader, const struct unit *unit)
{
	reader->rows++;
	for (unsigned i = 0; i < reader->count && unit->section && unit->line; i++) {
		struct function *function = &reader->functions[i];

		if (function->section == unit->section && unit->address >= function->start &&
		    unit->address < function->end && (!function->found || unit->address < function->best))
			find_file(unit, function);
	}
}

static void reset(struct unit *unit)
{
	unit->address = 0;
	unit->file = unit->line = 1;
	unit->section = 0;
}

static void extended(struct reader *reader, struct unit *unit, struct bytes *program)
{
	struct bytes operand = part_of(program, take_uleb(program));
	uint64_t opcode = take(&operand, 1);

	if (operand.failed)
		return;
	if (opcode == 1) { /* end of a sequence */
		reset(unit);
	} else if (opcode == 2) { /* address */
		uint64_t offset = (uint64_t)(operand.data + operand.at - reader->cubin) - reader->lines.sh_offset;

		unit->address = operand.size - operand.at == 8 ? take(&operand, 8) : 0;
		unit->section = 0;
		if (!relocated(reader, offset, unit))
			unit->section = 0;
	}
}

static void advance(struct unit *unit, uint64_t steps)
{
	unit->address += steps * unit->least_step;
}

static void standard(struct reader *reader, struct unit *unit, struct bytes *program, unsigned opcode)
{
	switch (opcode) {
	case 1:
		see_row(reader, unit);
		break;
	case 2:
		advance(unit, take_uleb(program));
		break;
	case 3:
		unit->line += (uint32_t)take_sleb(program);
		break;
	case 4:
		unit->file = (uint32_t)take_uleb(program);
		break;
	case 8: /* as far as special opcode 255 */
		advance(unit, (255u - unit->first_special) / unit->range);
		break;
	case 9:
		unit->address += take(program, 2);
		break;
	default: /* one that is not of interest: its operands are stepped over */
		for (unsigned left = opcode <= unit->operands.size ? unit->operands.data[opcode - 1] : 0; left; left--)
			take_uleb(program);
	}
}

static void run(struct reader *reader, struct unit *unit, struct bytes *program)
{
	reset(unit);
	while (!program->failed && program->at < program->size && reader->rows < CUBIN_ROWS_MAX) {
		unsigned opcode = (unsigned)take(program, 1);

		if (!opcode) {
			extended(reader, unit, program);
		} else if (opcode < unit->first_special) {
			standard(reader, unit, program, opcode);
		} else {
			opcode -= unit->first_special;
			advance(unit, opcode / unit->range);
			unit->line += (uint32_t)(unit->base + (int)(opcode % unit->range));
			see_row(reader, unit);
		}
	}
}

static void read_unit(struct reader *reader, struct bytes all)
{
	struct unit unit = {.version = (uint16_t)take(&all, 2)};
	struct bytes header;

	if (unit.version < 2 || unit.version > 4)
		return;
	header = part_of(&all, take(&all, 4));
	unit.least_step = (uint8_t)take(&header, 1);
	if (unit.version == 4)
		take(&header, 1); /* operations of an instruction */
	take(&header, 1);	  /* whether rows are statements at first */
	unit.base = (int8_t)take(&header, 1);
	unit.range = (uint8_t)take(&header, 1);
	unit.first_special = (uint8_t)take(&header, 1);
	if (header.failed || !unit.range || !unit.first_special)
		return;
	unit.operands = part_of(&header, unit.first_special - 1u);
	unit.folders = unit.files = header;
	while (take_text(&unit.files).size)
		;
	if (!unit.files.failed)
		run(reader, &unit, &all);
}

static void read_lines(struct reader *reader)
{
	struct bytes table = content(reader, &reader->lines), unit;

	while (!table.failed && table.at < table.size) {
		unit = part_of(&table, take(&table, 4)); /* one of 64-bit DWARF is longer than what there is */
		if (!unit.failed)
			read_unit(reader, unit);
	}
}

unsigned cubin_kernels(const void *cubin, size_t size, struct cubin_kernel kernels[CUBIN_KERNELS_MAX],
		       uint64_t *left_out)
{
	struct reader reader = {.cubin = cubin, .size = size};
	unsigned count = 0;

	if (!copy_at(&reader, 0, &reader.header, sizeof(reader.header)) ||
	    memcmp(reader.header.e_ident, ELFMAG, SELFMAG) || reader.header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    reader.header.e_ident[EI_DATA] != ELFDATA2LSB || reader.header.e_shentsize != sizeof(Elf64_Shdr) ||
	    !find_sections(&reader))
		return 0;
	find_functions(&reader);
	if (reader.count)
		read_lines(&reader);
	for (unsigned i = 0; i < reader.count; i++) {
		const struct function *function = &reader.functions[i];

		if (function->found)
			kernels[count++] = (struct cubin_kernel){.name = function->name,
								 .folder = function->folder,
								 .file = function->file,
								 .line = function->line};
	}
	*left_out += reader.beyond;
	if (reader.rows >= CUBIN_ROWS_MAX) /* more may have followed */
		*left_out += reader.count - count;
	return count;
}
