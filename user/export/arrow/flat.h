/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FlatBuffers, the form of Arrow's metadata (flatbuffers.dev, "Internals"): built from the end to the start, so that
 * an object precedes what it refers to.  A place is the distance from the end to an object's start.
 *
 *	name = flat_text(flat, "start");
 *	flat_table_begin(flat);
 *	flat_field(flat, 0, 2, 7);
 *	flat_field_place(flat, 1, name);
 *	table = flat_table_end(flat);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FLAT_FIELDS 8 /* the most fields that a table of gputrace has */

struct flat {
	char *buffer; /* filled from its end */
	size_t capacity, used;
	size_t table; /* start of the current table */
	uint32_t fields[FLAT_FIELDS];
};

/* flat starts zeroed; drops what was built before. */
void flat_begin(struct flat *flat);
void flat_free(struct flat *flat);

uint32_t flat_text(struct flat *flat, const char *text);
uint32_t flat_places(struct flat *flat, const uint32_t *places, size_t count);
/* Structs of 8-byte numbers, as they are in memory. */
uint32_t flat_structs(struct flat *flat, const void *structs, size_t size, size_t count);

/* One table at a time; what it refers to must be built before it. */
void flat_table_begin(struct flat *flat);
void flat_field(struct flat *flat, unsigned field, size_t size, uint64_t value);
void flat_field_place(struct flat *flat, unsigned field, uint32_t place);
uint32_t flat_table_end(struct flat *flat);

/* The finished buffer, a multiple of 8 bytes, valid until the next flat_begin. */
const char *flat_finish(struct flat *flat, uint32_t root, size_t *size);
