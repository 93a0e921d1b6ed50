/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/arena.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/safe_text.h"

#define TEXT_MAX 2048

int arena_make(struct arena **arena, size_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*arena = NULL;
	if (base == MAP_FAILED)
		return -errno;
	*arena = base;
	(*arena)->bytes = bytes - sizeof(struct arena);
	return 0;
}

void arena_free(struct arena *arena)
{
	if (arena)
		munmap(arena, arena->bytes + sizeof(struct arena));
}

void *arena_take(struct arena *arena, size_t bytes)
{
	size_t at = (arena->used + 15) & ~(size_t)15;

	if (at > arena->bytes || bytes > arena->bytes - at)
		return NULL;
	arena->used = at + bytes;
	return arena->data + at;
}

const char *arena_text(struct arena *arena, const char *format, ...)
{
	char text[TEXT_MAX], *safe;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length < 0)
		return "";
	if ((size_t)length >= sizeof(text))
		length = sizeof(text) - 1;
	safe = arena_take(arena, SAFE_TEXT_MAX((size_t)length) + 1);
	if (!safe)
		return "";
	length = (int)safe_text_copy(safe, text, (size_t)length);
	safe[length] = '\0';
	arena->used = (size_t)(safe + length + 1 - arena->data);
	return safe;
}
