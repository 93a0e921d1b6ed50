/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree of layers of the model, in place of the report. */
#pragma once

#include "analyze/sums/layers.h"
#include "model/trace.h"
#include "report/page/row_table.h"

struct layers_options {
	uint32_t min_percent; /* layers below this are left out; thousandths of a percent */
	unsigned depth;	      /* levels that are shown; what is deeper is part of the last one; 0: all */
};

/* NULL: it has none, or it is not known.  The caller frees it. */
char *layer_class_name(const struct report *report, const struct layer_row *row);

/* Rows of layers; without the columns of passes that the trace does not have. */
void layers_put_rows(struct report *report, const struct row_table *declared, const struct row_list *list);
/* If no backward work is known to be of a layer: what records where it belongs. */
void layers_put_backward(struct report *report);

/* Returns 0 or -errno when the trace could not be read, or out not written. */
int report_write_layers(FILE *out, struct trace *trace, const struct report_options *page,
			const struct layers_options *options);
