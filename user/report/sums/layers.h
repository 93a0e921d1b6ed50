/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree of layers of the model, in place of the report. */
#pragma once

#include "analyze/layers/layers.h"
#include "model/trace.h"
#include "report/page/row_table.h"

struct layers_options {
	uint32_t min_percent; /* layers below this are left out; thousandths of a percent */
	unsigned depth;	      /* levels that are shown; what is deeper is part of the last one; 0: all */
};

/* A line of the tree. */
struct shown_layer {
	const struct layer_row *row; /* NULL: several that are too small */
	uint32_t process;
	unsigned depth;
	bool is_last;	  /* all that it called is part of it */
	uint64_t smaller; /* their number, where `row` is NULL */
	const char *name; /* the whole name of the layer */
	char *label;	  /* what it has after its caller's */
	struct layer_amount self, total;
};

/* The lines of the tree that are shown. */
struct layer_view {
	const struct report *report;
	const struct layers_options *options;
	const struct layers *layers;
	ARRAY(struct shown_layer) shown;
	/* by node of the tree, a number in `shown` + 1; 0: it has no line; smaller_of: of what it called that is small
	 */
	uint32_t *line_of, *smaller_of;
};

static inline const struct layer_node *layer_node_at(const struct layer_view *view, uint32_t node)
{
	return &view->layers->tree.nodes.items[node];
}

/* Adds the name of a line's layer, indented. */
void layers_add_name(struct table *table, const struct shown_layer *shown);

/* The GPU time of the lines by kernel, and by step; all rows add up to it. */
void layers_put_kernels(const struct layer_view *view, struct report *report);
void layers_put_steps(const struct layer_view *view, struct report *report);

/* NULL: it has none, or it is not known.  The caller frees it. */
char *layer_class_name(const struct report *report, const struct layer_row *row);

/* Rows of layers, whose times are in the unit of all idle time where there is no GPU time. */
void layers_put_rows(struct report *report, const struct row_table *declared, const struct row_list *list);
/* If no backward work is known to be of a layer: what records where it belongs. */
void layers_put_backward(struct report *report);

/* Returns 0 or -errno when the trace could not be read, or out not written. */
int report_write_layers(FILE *out, struct trace *trace, const struct report_options *page,
			const struct layers_options *options);
