/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dicts of many objects, read together.  Private to python_tree.c and python_tree_dicts.c. */
#pragma once

#include <string.h>

#include "target/python/python_modules.h"
#include "target/python/python_parts.h"

/* The entries of a dict, in the order of insertion. */
struct view {
	uint64_t dict;	       /* 0: keys and values are known without it */
	uint64_t keys, values; /* values 0: they are in the entries */
	struct python_entries entries;
	size_t at, values_at; /* of its entries and its values in the buffer */
	bool cut;	      /* not all of it was read */
};

/* Reading a tree. */
struct reading {
	const struct python_reader *reader;
	const struct python_module_class *class;
	struct python_tree *tree;
	uint64_t end_ns;
	bool has_failed; /* the process cannot be read, or not in time */
	uint64_t key;	 /* address of the str "_modules"; 0: not met yet */
	uint64_t str_type;
	struct lookup names; /* address of a str to its text */
	ARRAY(struct process_piece) pieces;
	ARRAY(uint8_t) bytes;
	ARRAY(struct view) views;
};

static inline uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* Whether the time is over; the tree is late then. */
bool reading_is_over(struct reading *reading);

/* Adds a piece to what is wanted. */
void reading_want(struct reading *reading, uint64_t address, size_t bytes);

/* Reads all that is wanted, into reading->bytes; false: the time is over, or nothing can be read. */
bool reading_get(struct reading *reading);

static inline bool was_read(const struct reading *reading, size_t piece)
{
	return reading->pieces.items[piece].bytes != 0;
}

/* Makes a view of the attributes of each module from `first` on. */
bool reading_find_attributes(struct reading *reading, size_t first, size_t end);

/* Reads the entries of all views, `most` of each; a view of which something cannot be read has none, and is cut. */
bool reading_get_entries(struct reading *reading, uint64_t most);

uint64_t view_key(const struct reading *reading, const struct view *view, uint64_t i);
uint64_t view_value(const struct reading *reading, const struct view *view, uint64_t i);

/* Where that value stands in the target. */
uint64_t view_value_address(const struct view *view, uint64_t i);
