/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts about a rank's collectives and lines that outlive its trace, each kept once. */
#pragma once

#include "analyze/events/lines.h"
#include "base/array.h"
#include "base/tally.h"
#include "model/model.h"

struct kept_texts {
	ARRAY(char *) list;
};

void kept_texts_free(struct kept_texts *texts);

/* While texts are kept. */
struct rank_texts {
	struct kept_texts *kept;
	const struct model *model;
	struct lines *lines;
	const struct tally *places;	     /* stack, caller */
	struct tally lines_kept, names_kept; /* more: index of the text + 1 */
};

/* Each returns an index in kept. */
uint32_t rank_texts_keep(struct rank_texts *texts, char *text); /* takes it over */
/* The innermost line of the user's own code of that entry of places, else the innermost line; NONE: none. */
uint32_t rank_texts_keep_line(struct rank_texts *texts, uint32_t place);
uint32_t rank_texts_keep_of_line(struct rank_texts *texts, uint32_t line); /* lines.all */
/* "allreduce (default_pg)" of that string of the model, which collective_read() reads; NONE: it does not. */
uint32_t rank_texts_keep_collective(struct rank_texts *texts, uint32_t params);

void rank_texts_free(struct rank_texts *texts);
