/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moments of which a flight recorder was asked to write a file, in the order of their ends. Private to flight.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/flight.h"

#define ASKED_MOST 64u

/* A moment whose GPU work is waited for. */
struct asked {
	uint64_t at_ns;	    /* where the file ends */
	uint64_t first_ns;  /* where that was before something else joined it */
	uint64_t moment_ns; /* when it happened */
	uint64_t span_ns;   /* how long it is at most */
	bool by_itself;	    /* no one asked */
	char why[FLIGHT_WHY_MAX];
};

struct asked_list {
	struct asked items[ASKED_MOST];
	unsigned count;
};

/*
 * Whether it is in a file that is still to be written, which then goes on until its end: if it was asked for just after
 * that; if it happened before that file's end, no one asked for either, and the file has both whole; if there is no
 * room for another one.  A file has at most span_ns.
 */
bool asked_join(struct asked_list *list, const struct asked *asked, uint64_t span_ns);

void asked_add(struct asked_list *list, const struct asked *asked);

/* Removes the first ones. */
void asked_remove(struct asked_list *list, unsigned count);

/* All of them end at that moment. */
void asked_move(struct asked_list *list, uint64_t at_ns);
