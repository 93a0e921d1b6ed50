/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of Python functions: written millions of times, escaped once. */
#ifndef GPUTRACE_CHROME_CODES_H
#define GPUTRACE_CHROME_CODES_H

#include "export/sink.h"
#include "timeline/timeline.h"

struct chrome_codes {
	struct sink text; /* of each function `file(` and `): name`, escaped */
	size_t *at;	  /* where these begin, in turn, and the end of the last */
};

void chrome_codes_make(struct chrome_codes *codes, const struct timeline *timeline);
void chrome_codes_free(struct chrome_codes *codes);

/* `file(line): function` */
void chrome_put_code(struct sink *out, const struct chrome_codes *codes, uint32_t code, uint32_t line);

#endif
