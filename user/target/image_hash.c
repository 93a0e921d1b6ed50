/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds a dynamic symbol by name as the dynamic linker does: by the hash table (.gnu.hash; glibc elf/dl-lookup.c,
 * 2.36).  It reads only a few bytes of the file for a name, not the symbol tables, which have 20 MB in some libraries
 * of PyTorch.
 */
#include "target/image_internal.h"

#include <elf.h>
#include <string.h>

/* No linker makes longer chains. */
#define CHAIN_MAX 4096u
#define CHAIN_READ 32u

static const Elf64_Shdr *section_of_type(const struct image *image, uint32_t type)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);

		if (header && header->sh_type == type)
			return header;
	}
	return NULL;
}

static const Elf64_Shdr *linked_section(const struct image *image, const Elf64_Shdr *from, uint32_t type)
{
	Elf_Scn *section = from ? elf_getscn(image->elf, from->sh_link) : NULL;
	const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;

	return header && header->sh_type == type ? header : NULL;
}

static void find_hash(const struct image *image, struct symbol_hash *hash)
{
	hash->looked_for = true;
	hash->table = section_of_type(image, SHT_GNU_HASH);
	hash->symbols = linked_section(image, hash->table, SHT_DYNSYM);
	hash->strings = linked_section(image, hash->symbols, SHT_STRTAB);
	hash->versions = section_of_type(image, SHT_GNU_versym);
	hash->usable = hash->strings && image_section_read(image, hash->table, 0, &hash->head, sizeof(hash->head)) &&
		       hash->head.buckets && hash->head.words && hash->head.shift < 32;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static bool is_hidden(const struct image *image, const struct symbol_hash *hash, uint64_t index)
{
	Elf64_Half version;

	return hash->versions &&
	       image_section_read(image, hash->versions, index * sizeof(version), &version, sizeof(version)) &&
	       version & VERSION_HIDDEN;
}

/* Checks a symbol whose hash equals the name's; true: it is the default version of the name. */
static bool is_it(const struct image *image, const struct symbol_hash *hash, uint64_t index, const char *name,
		  struct hash_found *found)
{
	Elf64_Sym symbol;

	if (!image_section_read(image, hash->symbols, index * sizeof(symbol), &symbol, sizeof(symbol)) ||
	    !symbol_is_definition(&symbol) || !image_string_is(image, hash->strings, symbol.st_name, name))
		return false;
	if (!found->any || !is_hidden(image, hash, index))
		found->symbol = symbol;
	found->any = true;
	return !is_hidden(image, hash, index);
}

/* The chain of a bucket: the hashes of its symbols.  Their lowest bit is not part of the hash: it marks the last one.
 */
static bool search_chain(const struct image *image, const struct symbol_hash *hash, uint32_t first, uint32_t value,
			 const char *name, struct hash_found *found)
{
	uint64_t chains = sizeof(hash->head) + 8ull * hash->head.words + 4ull * hash->head.buckets;
	uint32_t chain[CHAIN_READ], have = 0;

	for (uint32_t i = 0; i < CHAIN_MAX; i++) {
		uint64_t at = chains + 4 * ((uint64_t)first - hash->head.first + i);

		if (i % CHAIN_READ == 0) {
			uint64_t room = at < hash->table->sh_size ? (hash->table->sh_size - at) / 4 : 0;

			have = room < CHAIN_READ ? (uint32_t)room : CHAIN_READ;
			if (!have || !image_section_read(image, hash->table, at, chain, have * sizeof(*chain)))
				return false;
		}
		if (i % CHAIN_READ >= have)
			return false;
		if ((chain[i % CHAIN_READ] | 1) == (value | 1) && is_it(image, hash, (uint64_t)first + i, name, found))
			return true;
		if (chain[i % CHAIN_READ] & 1)
			return true;
	}
	return false;
}

bool image_hash_find(const struct image *image, const char *name, struct hash_found *found)
{
	struct symbol_hash *hash = &image->tables->hash;
	uint32_t value = hash_of(name), first;
	uint64_t bits, buckets;

	*found = (struct hash_found){0};
	if (!hash->looked_for)
		find_hash(image, hash);
	if (!hash->usable || strlen(name) >= IMAGE_NAME_MAX)
		return false;
	/* These bits (a Bloom filter) rule out most absent names. */
	if (!image_section_read(image, hash->table, sizeof(hash->head) + value / 64 % hash->head.words * sizeof(bits),
				&bits, sizeof(bits)))
		return false;
	if (!(bits >> value % 64 & bits >> (value >> hash->head.shift) % 64 & 1))
		return true;
	buckets = sizeof(hash->head) + sizeof(bits) * hash->head.words;
	if (!image_section_read(image, hash->table, buckets + sizeof(first) * (value % hash->head.buckets), &first,
				sizeof(first)))
		return false;
	return first < hash->head.first || search_chain(image, hash, first, value, name, found);
}
