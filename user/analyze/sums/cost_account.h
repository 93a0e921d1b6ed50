/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a recording took of the traced programs, by parts that add up to the sum of what is known. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/model.h"

struct cost_row {
	enum gpt_cost_part part;
	const char *name, *words;
	enum gpt_cost_state state; /* GPT_COST_NOT_MEASURED: its time is not in any sum */
	uint64_t count;		   /* 0: not known */
	uint64_t ns;
	uint64_t long_count, long_ns; /* of these, such as other work may have interrupted */
};

struct cost_account {
	bool is_known;	   /* the recording says what it cost */
	bool is_of_longer; /* of all of the recording, which is longer than the model: a slice, or a log of its end */
	struct cost_row rows[GPT_PART_COUNT];
	size_t count;
	uint64_t ns, long_ns; /* of all rows whose time is known */
	/* The thread that paid most to BPF programs; entries_ns: for the way into them, at their average. */
	struct model_cost_thread thread;
	uint64_t thread_entries_ns;
	uint64_t collector_ns, span_ns; /* gputrace's own CPU time, and how long it recorded; 0: this is a slice */
};

void cost_account_make(struct cost_account *account, const struct model *model);
