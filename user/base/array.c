/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocation that ends the program with a message when it fails. */
#include "base/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error_text.h"
#include "base/msg.h"

static int failure = 1;

void array_set_failure(int exit_status)
{
	failure = exit_status;
}

static void *check_allocation(void *block, size_t bytes)
{
	if (!block && bytes) {
		msg_error("out of memory (%zu bytes asked for): %s", bytes, error_text(ENOMEM));
		exit(failure);
	}
	return block;
}

void *xmalloc(size_t bytes)
{
	return check_allocation(malloc(bytes ? bytes : 1), bytes);
}

void *xcalloc(size_t count, size_t bytes)
{
	return check_allocation(calloc(count ? count : 1, bytes ? bytes : 1), bytes);
}

char *xstrdup(const char *text)
{
	return check_allocation(strdup(text), strlen(text) + 1);
}

FILE *xmemstream(char **text, size_t *size)
{
	return check_allocation(open_memstream(text, size), 1);
}

char *xvasprintf(const char *format, va_list args)
{
	char *text = NULL;

	return check_allocation(vasprintf(&text, format, args) < 0 ? NULL : text, 1);
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	return text;
}

char *xjoin(char *text, const char *separator, char *more)
{
	char *both = xasprintf("%s%s%s", text, *text ? separator : "", more);

	free(text);
	free(more);
	return both;
}

void *array_grow(void *items, size_t item_size, size_t wanted, size_t *capacity)
{
	size_t larger = *capacity ? *capacity * 2 : 16;

	if (larger < wanted)
		larger = wanted;
	if (larger > SIZE_MAX / item_size)
		check_allocation(NULL, SIZE_MAX);
	items = check_allocation(realloc(items, larger * item_size), larger * item_size);
	*capacity = larger;
	return items;
}
