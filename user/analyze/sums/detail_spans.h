/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For how long which detail was not recorded in a trace, or in a slice of one, and why. */
#pragma once

#include "analyze/events/events.h"

struct detail_row {
	enum gpt_detail_kind kind;
	uint64_t ns, times;	 /* not recorded, in all and how often */
	uint64_t first_ns;	 /* since when the first time, or from the start */
	enum gpt_detail_why why; /* and what that time was by: as in model_detail */
	uint64_t measured, limit;
	uint32_t pid, tid;
};

struct detail_spans {
	struct detail_row rows[GPT_DETAIL_COUNT]; /* of such as were left out */
	size_t count;
};

void detail_spans_make(struct detail_spans *spans, const struct model *model, const struct window *window);
