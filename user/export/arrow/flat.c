/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/arrow/flat.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void flat_begin(struct flat *flat)
{
	flat->used = 0;
}

void flat_free(struct flat *flat)
{
	free(flat->buffer);
	*flat = (struct flat){0};
}

static char *make_room(struct flat *flat, size_t bytes)
{
	if (flat->capacity - flat->used < bytes) {
		size_t capacity = 2 * (flat->capacity + bytes) + 1024;
		char *buffer = xmalloc(capacity);

		if (flat->used)
			memcpy(buffer + capacity - flat->used, flat->buffer + flat->capacity - flat->used, flat->used);
		free(flat->buffer);
		flat->buffer = buffer;
		flat->capacity = capacity;
	}
	flat->used += bytes;
	return flat->buffer + flat->capacity - flat->used;
}

/* Adds zeros so that after `more` further bytes the position is a multiple of `size`. */
static void align_position(struct flat *flat, size_t size, size_t more)
{
	size_t over = (flat->used + more) % size, bytes = over ? size - over : 0;

	if (bytes)
		memset(make_room(flat, bytes), 0, bytes);
}

/* Little-endian. */
static void put_number(struct flat *flat, size_t size, uint64_t value)
{
	char *at = make_room(flat, size);

	for (size_t i = 0; i < size; i++)
		at[i] = (char)(value >> 8 * i);
}

uint32_t flat_text(struct flat *flat, const char *text)
{
	size_t length = strlen(text);

	align_position(flat, 4, length + 1);
	memcpy(make_room(flat, length + 1), text, length + 1);
	put_number(flat, 4, length);
	return (uint32_t)flat->used;
}

static void put_place(struct flat *flat, uint32_t place)
{
	put_number(flat, 4, flat->used + 4 - place);
}

uint32_t flat_places(struct flat *flat, const uint32_t *places, size_t count)
{
	align_position(flat, 4, 0);
	for (size_t i = count; i-- > 0;)
		put_place(flat, places[i]);
	put_number(flat, 4, count);
	return (uint32_t)flat->used;
}

uint32_t flat_structs(struct flat *flat, const void *structs, size_t size, size_t count)
{
	align_position(flat, 8, size * count);
	if (count)
		memcpy(make_room(flat, size * count), structs, size * count);
	put_number(flat, 4, count);
	return (uint32_t)flat->used;
}

void flat_table_begin(struct flat *flat)
{
	memset(flat->fields, 0, sizeof(flat->fields));
	flat->table = flat->used;
}

void flat_field(struct flat *flat, unsigned field, size_t size, uint64_t value)
{
	align_position(flat, size, 0);
	put_number(flat, size, value);
	flat->fields[field] = (uint32_t)flat->used;
}

void flat_field_place(struct flat *flat, unsigned field, uint32_t place)
{
	align_position(flat, 4, 0);
	put_place(flat, place);
	flat->fields[field] = (uint32_t)flat->used;
}

/* A list of the offsets of its fields precedes each table. */
uint32_t flat_table_end(struct flat *flat)
{
	size_t object, distance;

	align_position(flat, 4, 0);
	put_number(flat, 4, 0); /* distance to that list: set below */
	object = flat->used;
	for (unsigned i = FLAT_FIELDS; i-- > 0;)
		put_number(flat, 2, flat->fields[i] ? object - flat->fields[i] : 0);
	put_number(flat, 2, object - flat->table);
	put_number(flat, 2, 4 + 2 * FLAT_FIELDS);
	distance = flat->used - object;
	for (int i = 0; i < 4; i++)
		flat->buffer[flat->capacity - object + (size_t)i] = (char)(distance >> 8 * i);
	return (uint32_t)object;
}

const char *flat_finish(struct flat *flat, uint32_t root, size_t *size)
{
	align_position(flat, 8, 4);
	put_place(flat, root);
	*size = flat->used;
	return flat->buffer + flat->capacity - flat->used;
}
