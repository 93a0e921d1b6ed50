/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page in sections, each held until the whole is known: a table, or what stands between tables.  So a terminal gets a
 * page of at most so many lines, which names the tables that it leaves out, and one table can be printed alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/array.h"

struct section {
	const char *id; /* of a table; NULL: always printed */
	char *text;
	size_t size;
	bool is_small; /* carries less than 1 % */
	bool is_left;  /* sections_choose */
};

struct sections {
	ARRAY(struct section *) all;
	FILE *page;	   /* the caller's */
	const char *first; /* the table that gets room before those above it; NULL: none */
};

/* Returns where the section's text goes, until the next one begins or the page is put: closed then. */
FILE *sections_begin(struct sections *sections, const char *id);

/* The current section has that part of a whole. */
void sections_carry(struct sections *sections, uint64_t part, uint64_t whole);

/* Chooses those that fit into most lines; returns the ids of the others, by why, for the caller to free; "" none. */
struct sections_left {
	char *small, *no_room;
};
struct sections_left sections_choose(struct sections *sections, size_t most);

/* Writes those that were chosen. */
void sections_put(const struct sections *sections);

/* Writes one table; false: there is none of that name.  ids: gets the names of all then, for the caller to free. */
bool sections_put_one(struct sections *sections, const char *id, char **ids);

void sections_free(struct sections *sections);
