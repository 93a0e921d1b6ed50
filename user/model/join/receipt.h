/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts what the events of a trace say of how complete it is (struct model_receipt): part by part, or those of a slice
 * of it.  Only events of the part itself are counted.  What was lost has no time and no thread that would be
 * known: that is in the receipt of the recording already, and stays.
 *
 *	struct receipt_count count = {0};
 *
 *	receipt_add_part(&count, part);			for each part, in order of time
 *	receipt_finish(&count, last, &receipt);		receipt: as the recording has it
 *	receipt_count_free(&count);
 */
#ifndef GPUTRACE_RECEIPT_H
#define GPUTRACE_RECEIPT_H

#include "model/join/gap_launches.h"
#include "model/model.h"

struct receipt_count {
	struct model_receipt sums; /* of events; nothing of what was lost */
	struct gap_launches gaps;
	struct gap_limits limits; /* of a slice */
};

/* The part knows of its processes, gaps and the clock's error what the whole trace says. */
void receipt_add_part(struct receipt_count *count, const struct model *part);

/* Writes the sums into a receipt; its losses become one sum.  last: the last part. */
void receipt_finish(struct receipt_count *count, const struct model *last, struct model_receipt *receipt);
void receipt_count_free(struct receipt_count *count);

#endif
