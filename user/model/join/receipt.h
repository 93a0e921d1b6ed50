/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts events to find out how complete a trace or a slice of it is (struct model_receipt), part by part.  Only a
 * part's own events are counted.  Losses have no known time or thread: they are in the recording's receipt already, and
 * stay there.
 *
 *	struct receipt_count count = {0};
 *
 *	receipt_add_part(&count, part);			for each part, in order of time
 * receipt_finish(&count, last, &receipt);		receipt: the recording's
 *	receipt_count_free(&count);
 */
#pragma once

#include "model/join/cut_launches.h"
#include "model/join/gap_launches.h"
#include "model/model.h"

struct receipt_count {
	struct model_receipt sums; /* of events; without losses */
	struct gap_launches gaps;
	struct cut_launches cuts;
	struct gap_limits limits; /* of a slice */
};

/* The part must have the processes, gaps and clock error of the whole trace. */
void receipt_add_part(struct receipt_count *count, const struct model *part);

/* Writes the sums into a receipt and adds up its losses.  last: the last part. */
void receipt_finish(struct receipt_count *count, const struct model *last, struct model_receipt *receipt);
void receipt_count_free(struct receipt_count *count);
