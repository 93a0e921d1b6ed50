/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The modules of PyTorch that called each other as folded stacks: those of the tree of layers, which sum up to it. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/analyze.h"
#include "export/folded/folded.h"
#include "export/folded/folded_lines.h"

static uint64_t value_of(const struct export_options *options, const struct layer_amount *amount)
{
	return options->by_idle ? amount->idle_ns : options->by_launches ? amount->launches : amount->ns;
}

static void put_layer(struct sink *out, const struct layers *layers, const struct layer_row *row)
{
	const char *label = layer_label(layers, row);
	const char *class = row->kind == LAYER_UNNAMED ? layers->model->modules[row->module].class : "";
	AUTO_FREE char *text = xasprintf("%s%s%s", label, *class ? " " : "", class);

	folded_put_frame(out, text);
}

/* The path to a node, outermost first. */
static void put_path(struct sink *out, const struct layers *layers, uint32_t node)
{
	ARRAY(uint32_t) path = {0};

	for (; node; node = layer_tree_parent(&layers->tree, node))
		array_push(&path, node);
	for (size_t i = path.count; i-- > 0;) {
		const struct layer_row *row = &layers->rows[layers->tree.nodes.items[path.items[i]].row];

		if (i + 1 == path.count)
			folded_put_frame(out, row->process == NONE ? "" : layers->model->processes[row->process].name);
		put_layer(out, layers, row);
	}
	array_free(&path);
}

static bool is_wanted(const struct layers *layers, const struct export_options *options, uint32_t node)
{
	const struct layer_node *of = &layers->tree.nodes.items[node];

	return value_of(options, &of->self) &&
	       (options->process < 0 || layers->rows[of->row].process == (uint32_t)options->process);
}

static void put_nodes(struct sink *sink, const struct layers *layers, const struct export_options *options)
{
	struct folded_lines lines;

	folded_lines_begin(&lines);
	for (uint32_t i = 1; i < layers->tree.nodes.count; i++) {
		if (!is_wanted(layers, options, i))
			continue;
		put_path(&lines.frames, layers, i);
		folded_lines_end_line(&lines, value_of(options, &layers->tree.nodes.items[i].self));
	}
	folded_lines_put(sink, &lines);
}

int folded_layers_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct analyses all;
	int error =
		analyze(&all, trace, ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_LAYERS), &options->attribution);

	if (!error && !all.layers.count)
		error = -ENODATA;
	if (!error)
		put_nodes(sink, &all.layers, options);
	analyses_free(&all);
	return error;
}
