/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts that a file holds once each and refers to by number, from 0 on.  UTF-8; invalid bytes are replaced. */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "export/file/sink.h"

#define TEXTS_RECENT 256u

struct texts {
	struct sink characters;
	ARRAY(size_t) at;  /* offset of each in characters */
	struct lookup ids; /* (1 or more, hash) to number */
	struct texts_recent {
		const char *text; /* its address, not its content */
		uint32_t id;
	} recent[TEXTS_RECENT];
};

void texts_begin(struct texts *texts);
void texts_free(struct texts *texts);

/* The number of a text given in two parts. */
uint32_t texts_id(struct texts *texts, const char *before, const char *text);

static inline const char *texts_at(const struct texts *texts, uint32_t id)
{
	return texts->characters.buffer + texts->at.items[id];
}
