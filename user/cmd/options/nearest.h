/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The name that was probably meant by a mistyped word: of subcommands, options, and values that have names. */
#pragma once

#include <stddef.h>

#define NEAREST_NAME_MAX 32u /* no such name is longer */

struct nearest {
	const char *word; /* what was typed */
	unsigned distance;
	char name[NEAREST_NAME_MAX + 1]; /* the nearest name yet; "": none is near */
};

/* Starts a search for the word, to which names are offered one by one. */
struct nearest nearest_to(const char *word);

/* Takes the name if it is near the word, and nearer than those before. */
void nearest_offer(struct nearest *nearest, const char *name);

/* The same for a list such as "gpu, cpu and idle" or "gpu|cpu". */
void nearest_offer_list(struct nearest *nearest, const char *names);

/* The end of a message about an unknown word: ": did you mean kernels?", or "" if no name of the list is near. */
struct nearest_question {
	char text[NEAREST_NAME_MAX + 32];
};
struct nearest_question nearest_question(const char *word, const char *names);
