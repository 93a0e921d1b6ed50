/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exposed communication (analyze/breakdown/) as a sentence. */
#pragma once

#include "analyze/analyze.h"

struct exposed {
	uint64_t ns, whole_ns; /* of all GPUs */
	bool is_of_steps;      /* else from each GPU's first operation to its last */
};

/* In the steps, where there are some.  all: the analyses of the report. */
struct exposed exposed_of(const struct analyses *all);

/* "Exposed communication: 21.0 % of the steps: all-reduce at train.py:88, and 2 more lines"; the caller frees it. */
char *exposed_text(const struct analyses *all, const struct exposed *exposed);
