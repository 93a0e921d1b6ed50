/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that a process shares with the children it forks, at the same addresses: the parent can use what a child puts
 * there, even if the child never ends.  It is freed only as a whole.
 */
#pragma once

#include <stddef.h>

struct arena {
	size_t used, bytes; /* sizes of data */
	char data[];
};

/* bytes: the size in all.  0 or -errno. */
int arena_make(struct arena **arena, size_t bytes);
void arena_free(struct arena *arena);

/* Zeroed, aligned to 16 bytes; NULL: there is no room. */
void *arena_take(struct arena *arena, size_t bytes);

/* Formats safe text (safe_text.h); "" when there is no room. */
const char *arena_text(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
