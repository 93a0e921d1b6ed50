/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The symbol tables of an ELF file, .dynsym and .symtab: one symbol by name, all symbols, one symbol by address.  A
 * table is read when it is first searched: .dynsym only if its hash table cannot answer; .symtab, which may be ten
 * times as large (libtorch_cpu.so), only for symbols that .dynsym does not have. The index by address is built at its
 * first use.
 */
#include "target/image_internal.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/order.h"

/*
 * Larger tables are not read: libtorch_cpu.so, the largest library so far, has 30 MB of both.  Without a limit a
 * hostile file could make gputrace allocate any amount of memory and search for any time.
 */
#define SYMBOLS_BYTES_MAX (96u << 20) /* four million symbols */
#define STRINGS_BYTES_MAX (256u << 20)

/* Functions can lie inside each other (assembler): the number of preceding starts to try for one that covers. */
#define COVER_DEPTH 32

static bool is_too_large(Elf_Scn *section, uint64_t most)
{
	const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;

	return header && header->sh_size > most;
}

static void load_strings(const struct image *image, uint32_t section, struct symbol_table *table)
{
	Elf_Scn *from = elf_getscn(image->elf, section);
	Elf_Data *data = from ? image_section_data(image, from, SHT_STRTAB, STRINGS_BYTES_MAX) : NULL;
	char *text;
	size_t size;

	image->tables->too_large |= is_too_large(from, STRINGS_BYTES_MAX);
	if (!data || !data->d_buf)
		return;
	text = data->d_buf;
	size = data->d_size;
	while (size && text[size - 1])
		size--;
	table->strings = text;
	table->strings_size = size;
}

static void load_table(const struct image *image, Elf_Scn *section, uint32_t type, struct symbol_table *table)
{
	Elf_Data *data = image_section_data(image, section, type, SYMBOLS_BYTES_MAX);

	image->tables->too_large |= is_too_large(section, SYMBOLS_BYTES_MAX);
	if (!data || !data->d_buf)
		return;
	table->dynamic = type == SHT_DYNSYM;
	load_strings(image, elf64_getshdr(section)->sh_link, table);
	if (!table->strings_size)
		return;
	table->symbols = data->d_buf;
	table->count = data->d_size / sizeof(Elf64_Sym);
}

static void load_versions(const struct image *image, Elf_Scn *section, struct symbol_table *table)
{
	Elf_Data *data = image_section_data(image, section, SHT_GNU_versym, SYMBOLS_BYTES_MAX);

	if (!data || !data->d_buf)
		return;
	table->versions = data->d_buf;
	table->version_count = data->d_size / sizeof(Elf64_Half);
}

/* A linker makes one of each; what is read of a section stays in memory, so further ones are left out. */
const struct symbol_table *image_symbol_table(const struct image *image, unsigned number)
{
	const uint32_t type = number == TABLE_DYNAMIC ? SHT_DYNSYM : SHT_SYMTAB;
	struct symbol_table *table = &image->tables->list[number];
	bool has_symbols = false, has_versions = number != TABLE_DYNAMIC;
	Elf_Scn *section = NULL;

	if (image->tables->loaded[number])
		return table;
	image->tables->loaded[number] = true;
	while ((!has_symbols || !has_versions) && (section = elf_nextscn(image->elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);

		if (header && header->sh_type == type && !has_symbols) {
			load_table(image, section, type, table);
			has_symbols = true;
		} else if (header && header->sh_type == SHT_GNU_versym && !has_versions) {
			load_versions(image, section, table);
			has_versions = true;
		}
	}
	return table;
}

bool image_symbols_too_large(const struct image *image)
{
	for (unsigned t = 0; t < TABLE_COUNT; t++)
		image_symbol_table(image, t);
	return image->tables->too_large;
}

static uint64_t bytes_within(Elf_Scn *section, uint64_t most)
{
	const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;

	return header && header->sh_size <= most ? header->sh_size : 0;
}

uint64_t image_symbols_bytes(const struct image *image)
{
	Elf_Scn *section = NULL;
	uint64_t bytes = 0;

	while ((section = elf_nextscn(image->elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);
		uint64_t table;

		if (!header || (header->sh_type != SHT_DYNSYM && header->sh_type != SHT_SYMTAB))
			continue;
		table = bytes_within(section, SYMBOLS_BYTES_MAX);
		bytes += table + table / sizeof(Elf64_Sym) * sizeof(struct address_entry) +
			 bytes_within(elf_getscn(image->elf, header->sh_link), STRINGS_BYTES_MAX);
	}
	return bytes;
}

static bool symbol_is_defined(const struct symbol_table *table, const Elf64_Sym *symbol)
{
	return symbol_is_definition(symbol) && symbol->st_name && symbol->st_name < table->strings_size &&
	       table->strings[symbol->st_name];
}

/* Names in .symtab include the version ("cudaMalloc@@libcudart.so.13"). */
static bool has_name(const struct symbol_table *table, const Elf64_Sym *symbol, const char *name, size_t length)
{
	const char *its = table->strings + symbol->st_name;

	return !strncmp(its, name, length) && (!its[length] || (!table->dynamic && its[length] == '@'));
}

static void fill_symbol(const Elf64_Sym *symbol, const char *name, bool dynamic, struct image_symbol *out)
{
	*out = (struct image_symbol){
		.address = symbol->st_value,
		.size = symbol->st_size,
		.name = name,
		.function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC,
		.dynamic = dynamic,
	};
}

/* The name without the version; libelf's copy of the names may be edited. */
static const char *bare_name(const struct symbol_table *table, const Elf64_Sym *symbol)
{
	char *name = table->strings + symbol->st_name, *version = table->dynamic ? NULL : strchr(name, '@');

	if (version)
		*version = '\0';
	return name;
}

/* Whether a linker would bind to it: in .dynsym the default version, in .symtab a global. */
static bool symbol_is_preferred(const struct symbol_table *table, size_t index)
{
	if (!table->dynamic)
		return ELF64_ST_BIND(table->symbols[index].st_info) != STB_LOCAL;
	return index >= table->version_count || !(table->versions[index] & VERSION_HIDDEN);
}

static const Elf64_Sym *search_table(const struct symbol_table *table, const char *name)
{
	const Elf64_Sym *found = NULL;
	size_t length = strlen(name);

	for (size_t i = 0; i < table->count; i++) {
		const Elf64_Sym *symbol = &table->symbols[i];

		if (!symbol_is_defined(table, symbol) || !has_name(table, symbol, name, length))
			continue;
		if (symbol_is_preferred(table, i))
			return symbol;
		if (!found)
			found = symbol;
	}
	return found;
}

static int find_in(const struct image *image, unsigned number, const char *name, struct image_symbol *out)
{
	const Elf64_Sym *symbol = search_table(image_symbol_table(image, number), name);

	if (!symbol)
		return -ENOENT;
	fill_symbol(symbol, name, number == TABLE_DYNAMIC, out);
	return 0;
}

int image_exported(const struct image *image, const char *name, struct image_symbol *out)
{
	struct hash_found found;

	if (!image_hash_find(image, name, &found))
		return find_in(image, TABLE_DYNAMIC, name, out);
	if (!found.any)
		return -ENOENT;
	fill_symbol(&found.symbol, name, true, out);
	return 0;
}

int image_symbol(const struct image *image, const char *name, struct image_symbol *out)
{
	return image_exported(image, name, out) ? find_in(image, TABLE_STATIC, name, out) : 0;
}

/* A library's names that are not exported are not read: libtorch_cuda.so has 74 MB of them. */
int image_callable(const struct image *image, const char *name, struct image_symbol *out)
{
	return image_is_program(image) ? image_symbol(image, name, out) : image_exported(image, name, out);
}

int image_each_symbol(const struct image *image, int (*fn)(const struct image_symbol *symbol, void *context),
		      void *context)
{
	for (unsigned t = 0; t < TABLE_COUNT; t++) {
		const struct symbol_table *table = image_symbol_table(image, t);

		for (size_t i = 0; i < table->count; i++) {
			struct image_symbol symbol;
			int stop;

			if (!symbol_is_defined(table, &table->symbols[i]))
				continue;
			fill_symbol(&table->symbols[i], bare_name(table, &table->symbols[i]), table->dynamic, &symbol);
			stop = fn(&symbol, context);
			if (stop)
				return stop;
		}
	}
	return 0;
}

/* Equal ones are searched from the end: exported names win over local aliases. */
DEFINE_ORDER(by_address, struct address_entry,
	     lower_first(a->address, b->address) ?: lower_first(a->size, b->size) ?: higher_first(a->table, b->table) ?:
	     higher_first(a->symbol, b->symbol))

static void sort_tables(struct image *image)
{
	struct image_tables *tables = image->tables;

	for (uint32_t t = 0; t < TABLE_COUNT; t++) {
		const struct symbol_table *table = image_symbol_table(image, t);

		for (size_t i = 0; i < table->count; i++) {
			const Elf64_Sym *symbol = &table->symbols[i];

			if (!symbol_is_defined(table, symbol) || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
				continue;
			array_push(&tables->by_address, ((struct address_entry){.address = symbol->st_value,
										.size = symbol->st_size,
										.symbol = (uint32_t)i,
										.table = t}));
		}
	}
	array_sort(&tables->by_address, by_address);
	tables->sorted = true;
}

/* A function without a size reaches at most to the end of its section (_init is followed by another one, .plt). */
static bool is_in_its_section(const struct image *image, const Elf64_Sym *symbol, uint64_t address)
{
	Elf_Scn *section = elf_getscn(image->elf, symbol->st_shndx);
	const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;

	return header && address - header->sh_addr < header->sh_size;
}

int image_symbol_at(struct image *image, uint64_t address, struct image_symbol *out)
{
	struct image_tables *tables = image->tables;
	const struct address_entry *entry = NULL;
	const struct symbol_table *table;
	const Elf64_Sym *symbol;
	size_t nearest; /* number of functions that start at or below the address */

	if (!tables->sorted)
		sort_tables(image);
	nearest = count_while(tables->by_address.count, i, tables->by_address.items[i].address <= address);
	for (size_t i = nearest; i > 0 && nearest - i < COVER_DEPTH && !entry; i--)
		if (address - tables->by_address.items[i - 1].address < tables->by_address.items[i - 1].size)
			entry = &tables->by_address.items[i - 1];
	/* Assembler functions without a size reach to the next function. */
	if (!entry && nearest && tables->by_address.items[nearest - 1].size == 0)
		entry = &tables->by_address.items[nearest - 1];
	if (!entry)
		return -ENOENT;
	table = &tables->list[entry->table];
	symbol = &table->symbols[entry->symbol];
	if (!symbol->st_size && !is_in_its_section(image, symbol, address))
		return -ENOENT;
	fill_symbol(symbol, bare_name(table, symbol), table->dynamic, out);
	return 0;
}

int image_symbol_offset(const struct image *image, const char *name, uint64_t *offset)
{
	struct image_symbol symbol;
	int error = image_symbol(image, name, &symbol);

	return error ? error : image_file_offset(image, symbol.address, offset);
}
