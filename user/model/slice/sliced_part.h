/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One part of a sliced trace (sliced_trace.h), made of a part of the inner trace: `sliced->part`. */
#pragma once

#include "model/slice/sliced_trace.h"

/* Notes the operations that began before the slice and run on in it, also of parts that end before it begins. */
void sliced_find_crossings(struct sliced_trace *sliced, const struct model *inner);

/* Its events, with the tables of the inner part. */
const struct model *sliced_make_part(struct sliced_trace *sliced, const struct model *inner);

/* Sets the slice's counts in the copied tables. */
void sliced_take_counts(struct sliced_trace *sliced, const struct model *inner);

/* The part has the tables of the inner trace's last part instead of its own, and no events any more. */
void sliced_take_tables(struct sliced_trace *sliced, const struct model *last);

void sliced_part_free(struct sliced_trace *sliced);
