/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Growing arrays: declare `ARRAY(struct thing) things;` (zeroed), push, index items[], free.
 * Growth doubles; running out of memory ends the program with a message, as nothing useful can follow.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY(type)                                                                                                    \
	struct {                                                                                                       \
		type *items;                                                                                           \
		size_t count, capacity;                                                                                \
	}

/* Exit status of a program that runs out of memory; 1 if it is not set. */
void array_set_failure(int exit_status);

/* Grows the block to hold at least `wanted` items; returns the (possibly moved) block. */
void *array_grow(void *items, size_t item_size, size_t wanted, size_t *capacity);

/* Makes room for `extra` more items; returns the (possibly moved) block. */
static inline void *array_reserve(void *items, size_t item_size, size_t count, size_t extra, size_t *capacity)
{
	return count + extra > *capacity ? array_grow(items, item_size, count + extra, capacity) : items;
}

#define array_push(array, value)                                                                                       \
	((array)->items =                                                                                              \
		 array_reserve((array)->items, sizeof(*(array)->items), (array)->count, 1, &(array)->capacity),        \
	 (array)->items[(array)->count] = (value), &(array)->items[(array)->count++])

#define array_free(array)                                                                                              \
	do {                                                                                                           \
		free((array)->items);                                                                                  \
		(array)->items = NULL;                                                                                 \
		(array)->count = (array)->capacity = 0;                                                                \
	} while (0)

/* The same of an array of pointers, with what they point to. */
#define array_free_items(array)                                                                                        \
	do {                                                                                                           \
		for (size_t i_ = 0; i_ < (array)->count; i_++)                                                         \
			free((array)->items[i_]);                                                                      \
		array_free(array);                                                                                     \
	} while (0)

/* qsort(3), which must not get the NULL of an empty list. */
static inline void sort_items(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	if (count)
		qsort(items, count, size, compare);
}

#define array_sort(array, compare) sort_items((array)->items, (array)->count, sizeof(*(array)->items), compare)

/*
 * A loop over the items, in order: `item` is a pointer to each.  The array may grow meanwhile.
 *
 *	array_each (row, &table->rows)
 *		sum += row->ns;
 */
#define array_each(item, array)                                                                                        \
	for (size_t item##_at = 0, item##_done = 1; item##_done && item##_at < (array)->count; item##_at++)            \
		for (typeof((array)->items) item = &(array)->items[item##_at + (item##_done = 0)]; !item##_done;       \
		     item##_done = 1) /* `break` leaves it 0 */

/* Whether the condition, which names the index `i`, is true for any (all) of the first `count` ones. */
#define any_of(count, i, condition)                                                                                    \
	({                                                                                                             \
		bool any_ = false;                                                                                     \
                                                                                                                       \
		for (size_t i = 0; !any_ && i < (size_t)(count); i++)                                                  \
			any_ = (condition);                                                                            \
		any_;                                                                                                  \
	})
#define every_of(count, i, condition) (!any_of(count, i, !(condition)))

/* The value for the first index `i` for which the condition is true; otherwise: it is true for none. */
#define value_of_first(count, i, condition, value, otherwise)                                                          \
	({                                                                                                             \
		size_t i = 0, end_ = (size_t)(count);                                                                  \
                                                                                                                       \
		while (i < end_ && !(condition))                                                                       \
			i++;                                                                                           \
		i < end_ ? (value) : (otherwise);                                                                      \
	})

/* The first item for which the condition is true, which names the pointer `item`; NULL: none. */
#define find_item(items, count, item, condition)                                                                       \
	({                                                                                                             \
		size_t at_ = 0, end_ = (size_t)(count);                                                                \
                                                                                                                       \
		for (; at_ < end_; at_++) {                                                                            \
			typeof(&(items)[0]) item = &(items)[at_];                                                      \
                                                                                                                       \
			if (condition)                                                                                 \
				break;                                                                                 \
		}                                                                                                      \
		at_ < end_ ? &(items)[at_] : NULL;                                                                     \
	})
#define array_find(array, item, condition) find_item((array)->items, (array)->count, item, condition)
#define table_find(table, item, condition) find_item(table, sizeof(table) / sizeof((table)[0]), item, condition)

/*
 * In front of the declaration of pointers, each with a value: what they point to is freed where they go out of scope,
 * so it is for what no one else keeps.
 */
#define AUTO_FREE __attribute__((cleanup(auto_free)))

static inline void auto_free(void *pointer)
{
	void *memory;

	memcpy(&memory, pointer, sizeof(memory));
	free(memory);
}

/* malloc, calloc that end the program with a message when there is no memory. */
void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t bytes);
char *xstrdup(const char *text);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
FILE *xmemstream(char **text, size_t *size); /* open_memstream */
/* "text, more", or more where text is empty; frees both. */
char *xjoin(char *text, const char *separator, char *more);
