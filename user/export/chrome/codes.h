/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of Python functions, escaped once and written millions of times. */
#pragma once

#include "base/array.h"
#include "export/file/sink.h"
#include "timeline/timeline.h"

struct chrome_codes {
	struct sink text; /* for each function `file(` and `): name`, escaped */
	ARRAY(size_t) at; /* offsets of these in turn, and the end of the last */
};

void chrome_codes_begin(struct chrome_codes *codes);
void chrome_codes_free(struct chrome_codes *codes);

/* `file(line): function` */
void chrome_put_code(struct sink *out, struct chrome_codes *codes, const struct timeline *timeline, uint32_t code,
		     uint32_t line);
