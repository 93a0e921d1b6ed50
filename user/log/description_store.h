/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of descriptions.c: copies of records that describe something, found by what they describe.  The store
 * lists the descriptions that the present chunk needs, until the next chunk, in the order of the log. Bounded in bytes:
 * the least recently needed are forgotten first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/lookup.h"

enum description_kind {
	DESCRIPTION_STATE, /* id: pid; space 0. No record, but what is known of the process that has the pid now */
	DESCRIPTION_SESSION,
	DESCRIPTION_CLOCK,
	DESCRIPTION_BEGIN,   /* the FORK or EXEC that began the process epoch */
	DESCRIPTION_PROCESS, /* id: a slot, as for HELLO */
	DESCRIPTION_THREAD,  /* id: tid */
	DESCRIPTION_OWN_TID, /* an alias of a thread, without a record: its tid in its own namespace */
	DESCRIPTION_POINTER, /* another alias: half its pthread_self() */
	DESCRIPTION_CODE,    /* id: address. The CODE and its CODE_LINES, or a CODE_DEAD */
	DESCRIPTION_PYSTACK,
	DESCRIPTION_NATIVE_STACK,
	DESCRIPTION_NATIVE_SYM, /* id: address */
	DESCRIPTION_CUPTI_USER, /* the CUPTI client that registered last */
	DESCRIPTION_HELLO,	/* from here on: a batch with one record of the agent */
	DESCRIPTION_SIZES,
	DESCRIPTION_AGENT_CLOCK,
	DESCRIPTION_STATS,
	DESCRIPTION_OPS, /* id: 0 of ops, 1 of the events of allocators, 2 of the schedule */
	DESCRIPTION_NAME,
	DESCRIPTION_DEVICE,
	DESCRIPTION_CONTEXT,
	DESCRIPTION_STREAM, /* id: context in the upper half */
};

#define DESCRIPTION_KIND_BITS 5

struct description {
	uint64_t id;
	uint64_t position; /* in the log */
	uint32_t space;	   /* the process epoch whose numbers these are */
	uint16_t kind;
	uint32_t holders;    /* references: one while it can be found, and one for each that refers to it */
	uint32_t used;	     /* the chunk that needed or made it last */
	uint32_t made;	     /* the chunk that made it */
	uint32_t needed;     /* the last chunk that needed it */
	uint32_t grown;	     /* the last chunk that made it longer */
	uint32_t grown_from; /* its bytes before that */
	uint32_t bytes, capacity;
	uint8_t *data;
	struct description **refers_to; /* some NULL */
	uint32_t refers_count;
};

struct description_store {
	ARRAY(struct description *) all; /* that can be found, in any order */
	struct lookup by_name;		 /* (space and kind, id) to an index of all, NONE: forgotten */
	uint64_t position;
	size_t bytes, bytes_max; /* memory of all descriptions */
	uint32_t chunk;		 /* number of the present one, from 1 */
	uint32_t crowded;	 /* the last chunk in which nothing more could be forgotten */
	size_t needed_bytes, needed_bytes_max;
	bool left_out; /* the present chunk needs more than needed_bytes_max */
	uint64_t forgotten;
	ARRAY(struct description *) needed;
	ARRAY(struct description *) gone; /* to be freed with the next chunk */
};

/* bytes_max: the most for all; needed_bytes_max: the most that one chunk may need. */
void description_store_init(struct description_store *store, size_t bytes_max, size_t needed_bytes_max);
void description_store_free(struct description_store *store);

/* Whether nothing will refer to a description any more. */
typedef bool description_is_over(const struct description *description, const void *context);

/* Removes those that are over.  They do not count as forgotten. */
void description_store_remove(struct description_store *store, description_is_over *is_over, const void *context);

/* Begins a new chunk: clears the list of what the last one needed. */
void description_store_begin(struct description_store *store);

/* NULL: there is none. */
struct description *description_find(const struct description_store *store, uint32_t space, enum description_kind kind,
				     uint64_t id);

/* Adds a description, in place of one with the same name.  NULL: no memory is left for it. */
struct description *description_make(struct description_store *store, uint32_t space, enum description_kind kind,
				     uint64_t id, const void *data, size_t bytes);
/* Makes room for `count` references, all NULL. */
void description_refer(struct description_store *store, struct description *description, uint32_t count);
void description_set_reference(struct description *description, uint32_t index, struct description *to);
void description_grow(struct description_store *store, struct description *description, const void *data, size_t bytes);

/*
 * Notes that the present chunk needs it, and what it refers to.  Does nothing for NULL or if it was made in this chunk.
 * True when it was not needed before.
 */
bool description_need(struct description_store *store, struct description *description);

/* The bytes of it that the chunk needs: without those that came with this chunk. */
static inline uint32_t description_needed_bytes(const struct description_store *store,
						const struct description *description)
{
	return description->grown == store->chunk ? description->grown_from : description->bytes;
}

/* Sorts needed[] into the order of the log. */
void description_store_sort(struct description_store *store);
