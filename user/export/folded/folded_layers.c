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
static char *line_text(const struct layers *layers, uint32_t node)
{
	ARRAY(uint32_t) path = {0};
	struct sink out;
	char *text;

	for (; node; node = layer_tree_parent(&layers->tree, node))
		array_push(&path, node);
	sink_open_memory(&out);
	for (size_t i = path.count; i-- > 0;) {
		const struct layer_row *row = &layers->rows[layers->tree.nodes.items[path.items[i]].row];

		if (i + 1 == path.count)
			folded_put_frame(&out, row->process == NONE ? "" : layers->model->processes[row->process].name);
		put_layer(&out, layers, row);
	}
	sink_char(&out, '\0');
	text = xstrdup(out.buffer);
	sink_close(&out);
	array_free(&path);
	return text;
}

static bool is_wanted(const struct layers *layers, const struct export_options *options, uint32_t node)
{
	const struct layer_node *of = &layers->tree.nodes.items[node];

	return value_of(options, &of->self) &&
	       (options->process < 0 || layers->rows[of->row].process == (uint32_t)options->process);
}

int folded_layers_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	AUTO_FREE struct folded_line *lines = NULL;
	struct analyses all;
	size_t count = 0;
	int error =
		analyze(&all, trace, ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_LAYERS), &options->attribution);

	if (!error && all.layers.count) {
		lines = xmalloc(all.layers.tree.nodes.count * sizeof(*lines));
		for (uint32_t i = 1; i < all.layers.tree.nodes.count; i++)
			if (is_wanted(&all.layers, options, i))
				lines[count++] =
					(struct folded_line){line_text(&all.layers, i),
							     value_of(options, &all.layers.tree.nodes.items[i].self)};
		folded_lines_put(sink, lines, count);
	}
	if (!error && !all.layers.count)
		error = -ENODATA;
	analyses_free(&all);
	return error;
}
