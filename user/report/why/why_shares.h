/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The charges of a cause, summed up by what samples and waits of threads show. */
#pragma once

#include "analyze/analyze.h"

/*
 * The time of a cause, by one number each: what was done, by which thread, in which function; which untraced process
 * woke a thread.
 */
struct why_shares {
	struct tally inner, culprits, functions, others;
	uint64_t waited_ns; /* while the launching thread waited for the one that did it */
};

struct why_shares why_shares_of(const struct analyses *all, enum why_cause cause);
void why_shares_free(struct why_shares *shares);

/* The number with most time, NONE: the tally is empty.  ns: gets the time; NULL. */
uint32_t why_most_of(const struct tally *tally, uint64_t *ns);
