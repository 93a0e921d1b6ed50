/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/native.h"

#include <string.h>

#include "base/path.h"
#include "dump/process/memory.h"
#include "target/library.h"

#define STACK_WORDS 1024 /* searched in a stack */
#define CALL_BYTES 7	 /* the longest call instruction without a prefix (Intel SDM, CALL) */

static struct native_image *image_of(struct native *native, const struct mapping *mapping)
{
	struct native_image made = {.device = mapping->device, .inode = mapping->inode};
	int fd;

	for (size_t i = 0; i < native->images.count; i++)
		if (native->images.items[i].inode == mapping->inode &&
		    native->images.items[i].device == mapping->device)
			return &native->images.items[i];
	fd = mapping_open(native->pid, mapping);
	if (fd >= 0 && image_open(fd, &made.image))
		made.image = NULL;
	if (made.image && image_bias(made.image, mapping, &made.bias)) {
		image_close(made.image);
		made.image = NULL;
	}
	return array_push(&native->images, made);
}

static bool find_symbol(struct native *native, const struct mapping *mapping, uint64_t address,
			struct image_symbol *symbol)
{
	struct native_image *image = image_of(native, mapping);

	return image->image && !image_symbol_at(image->image, address - image->bias, symbol);
}

const char *native_function(struct native *native, uint64_t address, const char **library)
{
	const struct mapping *mapping = mappings_at(native->mappings, address);
	struct image_symbol symbol;

	*library = NULL;
	if (!mapping || !*mapping->path)
		return NULL;
	*library = arena_text(native->arena, "%s", path_base(mapping->path));
	return mapping->inode && find_symbol(native, mapping, address, &symbol)
		       ? arena_text(native->arena, "%s", symbol.name)
		       : NULL;
}

static bool is_cuda(const struct mapping *mapping)
{
	enum library_kind kind = mapping && mapping->inode ? library_kind_of_name(mapping->path) : LIBRARY_OTHER;

	return mapping && mapping->executable &&
	       (kind == LIBRARY_CUDA || kind == LIBRARY_CUDART || kind == LIBRARY_NCCL);
}

static void search_cuda(struct native *native)
{
	native->cuda_searched = true;
	array_each (mapping, &native->mappings->list) {
		if (!is_cuda(mapping))
			continue;
		if (!native->cuda_end || mapping->start < native->cuda_start)
			native->cuda_start = mapping->start;
		if (mapping->end > native->cuda_end)
			native->cuda_end = mapping->end;
	}
}

/* Whether a call instruction ends at the address: e8 with four bytes, or ff /2 with up to five. */
static bool follows_call(const struct native *native, uint64_t address)
{
	uint8_t code[CALL_BYTES];

	if (!memory_read(native->pid, address - sizeof(code), code, sizeof(code)))
		return false;
	if (code[2] == 0xe8)
		return true;
	return any_of(CALL_BYTES - 1, i, code[i] == 0xff && (code[i + 1] & 0x38) == 0x10);
}

const char *native_cuda_call(struct native *native, uint64_t sp, const char **library)
{
	uint64_t words[STACK_WORDS];
	const struct mapping *stack;
	size_t count;

	if (!native->cuda_searched)
		search_cuda(native);
	if (native->cuda_start == native->cuda_end)
		return NULL;
	stack = mappings_at(native->mappings, sp);
	count = stack ? (stack->end - sp) / 8 : 0;
	count = count < STACK_WORDS ? count : STACK_WORDS;
	if (!count || !memory_read(native->pid, sp, words, count * 8))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const struct mapping *mapping;
		struct image_symbol symbol;

		if (words[i] < native->cuda_start || words[i] >= native->cuda_end)
			continue;
		mapping = mappings_at(native->mappings, words[i]);
		if (!is_cuda(mapping) || !follows_call(native, words[i]) ||
		    !find_symbol(native, mapping, words[i], &symbol))
			continue;
		if (!symbol.dynamic || (strncmp(symbol.name, "cu", 2) != 0 && strncmp(symbol.name, "nccl", 4) != 0))
			continue;
		*library = arena_text(native->arena, "%s", path_base(mapping->path));
		return arena_text(native->arena, "%s", symbol.name);
	}
	return NULL;
}
