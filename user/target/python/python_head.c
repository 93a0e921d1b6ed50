/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where CPython 3.6 keeps its list of interpreters: in `interp_head`, a static variable of Python/pystate.c (later
 * versions have it in _PyRuntime).  A stripped file does not name it, but the exported PyInterpreterState_Head()
 * does nothing but load and return it.
 */
#include "target/python/python_internal.h"

#include <errno.h>
#include <string.h>

#define HEAD_VARIABLE "interp_head"
#define HEAD_FUNCTION "PyInterpreterState_Head"

#define LOAD_BYTES 7 /* mov disp32(%rip),%rax */

/* The code before and after the load, as gcc and clang compile the function with and without -O. */
struct shape {
	uint8_t before[4], before_bytes;
	uint8_t after[2], after_bytes;
};

static const struct shape shapes[] = {
	{{0}, 0, {0xc3}, 1},				/* ret */
	{{0}, 0, {0xf3, 0xc3}, 2},			/* rep ret: old gcc, tuned for old AMD CPUs */
	{{0x55, 0x48, 0x89, 0xe5}, 4, {0x5d, 0xc3}, 2}, /* push %rbp; mov %rsp,%rbp ... pop %rbp; ret */
	{{0x55, 0x48, 0x89, 0xe5}, 4, {0xc9, 0xc3}, 2}, /* ... leave; ret */
};

bool python_head_decode(const uint8_t *code, size_t bytes, uint64_t address, uint64_t *head)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, load[] = {0x48, 0x8b, 0x05};
	size_t skip = bytes >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct shape *shape = &shapes[i];
		size_t at = skip + shape->before_bytes, end = at + LOAD_BYTES;
		int32_t distance;

		if (end + shape->after_bytes > bytes || memcmp(code + skip, shape->before, shape->before_bytes) ||
		    memcmp(code + at, load, sizeof(load)) || memcmp(code + end, shape->after, shape->after_bytes))
			continue;
		memcpy(&distance, code + at + sizeof(load), sizeof(distance));
		*head = address + end + (uint64_t)(int64_t)distance;
		return true;
	}
	return false;
}

int python_head_find(const struct image *image, uint64_t *head)
{
	struct image_symbol symbol;
	uint8_t code[sizeof(((struct shape *)0)->before) * 2 + LOAD_BYTES + sizeof(((struct shape *)0)->after)];

	if (image_symbol(image, HEAD_VARIABLE, &symbol) == 0 && !symbol.function && symbol.size == sizeof(uint64_t)) {
		*head = symbol.address;
		return 0;
	}
	if (image_symbol(image, HEAD_FUNCTION, &symbol) || image_read(image, symbol.address, code, sizeof(code)) ||
	    !python_head_decode(code, sizeof(code), symbol.address, head))
		return -ENOENT;
	return 0;
}
