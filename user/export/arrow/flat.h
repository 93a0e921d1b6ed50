/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FlatBuffers, the form of Arrow's metadata (flatbuffers.dev, "Internals"): built from the end to the start, so that
 * what refers stands before what it refers to.  A place is how far from the end something begins.
 *
 *	name = flat_text(flat, "start");
 *	flat_table_begin(flat);
 *	flat_field(flat, 0, 2, 7);
 *	flat_field_place(flat, 1, name);
 *	table = flat_table_end(flat);
 */
#ifndef GPUTRACE_ARROW_FLAT_H
#define GPUTRACE_ARROW_FLAT_H

#include <stddef.h>
#include <stdint.h>

#define FLAT_FIELDS 8 /* as many as a gputrace table has at most */

struct flat {
	char *buffer; /* filled from its end */
	size_t capacity, used;
	size_t table; /* where the one that is being made begins */
	uint32_t fields[FLAT_FIELDS];
};

/* Starts zeroed; what was built is forgotten. */
void flat_begin(struct flat *flat);
void flat_free(struct flat *flat);

uint32_t flat_text(struct flat *flat, const char *text);
uint32_t flat_places(struct flat *flat, const uint32_t *places, size_t count);
/* Structs of numbers of 8 bytes, as they lie in memory. */
uint32_t flat_structs(struct flat *flat, const void *structs, size_t size, size_t count);

/* A table at a time; what it refers to must be there before. */
void flat_table_begin(struct flat *flat);
void flat_field(struct flat *flat, unsigned field, size_t size, uint64_t value);
void flat_field_place(struct flat *flat, unsigned field, uint32_t place);
uint32_t flat_table_end(struct flat *flat);

/* The whole, of a multiple of 8 bytes, good until the next begin. */
const char *flat_finish(struct flat *flat, uint32_t root, size_t *size);

#endif
