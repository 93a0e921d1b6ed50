/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The layers of a model as a tree of who called whom, and by class. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"
#include "report/sums/layers.h"

#define NO_BREAK_SPACE "\u00a0"
#define INDENT_MAX 64u

/* A line of the tree. */
struct shown_layer {
	const struct layer_row *row; /* NULL: several that are too small */
	uint32_t process;
	unsigned depth;
	uint64_t smaller; /* their number, where `row` is NULL */
	char *label;
	struct layer_amount self, total;
};

struct layer_view {
	const struct report *report;
	const struct layers_options *options;
	const struct layers *layers;
	ARRAY(struct shown_layer) shown;
};

/* ---- choice of nodes --------------------------------------------------------------------------------------------- */

static const struct layer_node *node_at(const struct layer_view *view, uint32_t node)
{
	return &view->layers->tree.nodes.items[node];
}

static const struct layer_row *row_of(const struct layer_view *view, uint32_t node)
{
	return node ? &view->layers->rows[node_at(view, node)->row] : NULL;
}

static bool is_part(const struct layer_view *view, uint64_t part, uint64_t whole)
{
	return part && (double)part * 100000 >= (double)whole * view->options->min_percent;
}

static bool is_shown(const struct layer_view *view, uint32_t node)
{
	const struct layer_amount *total = &node_at(view, node)->total;

	return !view->options->min_percent || is_part(view, total->ns, view->layers->sum) ||
	       is_part(view, total->idle_ns, view->layers->all.idle_ns);
}

/* "layers.17" under "LlamaModel", "mlp" under that: what the name has after the caller's. */
static char *name_below(const struct layer_view *view, uint32_t node, uint32_t caller)
{
	const struct layer_row *row = row_of(view, node), *outer = row_of(view, caller);
	const char *name = layer_label(view->layers, row), *prefix = outer ? layer_label(view->layers, outer) : "";
	size_t length = strlen(prefix);

	if (length && row->process == outer->process && !strncmp(name, prefix, length) && name[length] == '.')
		return xstrdup(name + length + 1);
	return xstrdup(name);
}

static void show_node(struct layer_view *view, uint32_t node, uint32_t caller, unsigned depth)
{
	const struct layer_node *of = node_at(view, node);
	bool is_last = view->options->depth && depth + 1 >= view->options->depth;

	array_push(&view->shown, ((struct shown_layer){.row = row_of(view, node),
						       .process = row_of(view, node)->process,
						       .depth = depth,
						       .label = name_below(view, node, caller),
						       .self = is_last ? of->total : of->self,
						       .total = of->total}));
}

static void show_rest(struct layer_view *view, struct shown_layer rest)
{
	if (!rest.smaller)
		return;
	rest.label = xasprintf("[%s smaller]", number_count(rest.smaller).text);
	rest.self = rest.total;
	array_push(&view->shown, rest);
}

/* A node whose children are being shown. */
struct layer_level {
	uint32_t node, next;
	struct shown_layer rest; /* its children that are too small */
};

static struct layer_level level_of(const struct layer_view *view, uint32_t node, unsigned depth)
{
	return (struct layer_level){
		.node = node, .next = node_at(view, node)->children, .rest = {.process = NONE, .depth = depth}};
}

static void choose_nodes(struct layer_view *view)
{
	ARRAY(struct layer_level) levels = {0};

	array_push(&levels, level_of(view, 0, 0));
	while (levels.count) {
		struct layer_level *level = &levels.items[levels.count - 1];
		unsigned depth = (unsigned)levels.count - 1;
		uint32_t node = level->next;

		if (node == NONE) {
			show_rest(view, level->rest);
			levels.count--;
			continue;
		}
		level->next = node_at(view, node)->next;
		if (!is_shown(view, node)) {
			level->rest.smaller++;
			layer_amount_add(&level->rest.total, &node_at(view, node)->total);
			continue;
		}
		show_node(view, node, level->node, depth);
		if (!view->options->depth || depth + 1 < view->options->depth)
			array_push(&levels, level_of(view, node, depth + 1));
	}
	array_free(&levels);
}

/* ---- the tree as a table ----------------------------------------------------------------------------------------- */

/* Indented with characters that are shown where blanks would not be. */
static char *indented(const char *label, unsigned depth)
{
	static const char level[] = NO_BREAK_SPACE NO_BREAK_SPACE;
	size_t levels = depth < INDENT_MAX ? depth : INDENT_MAX, bytes = sizeof(level) - 1;
	char *text = xmalloc(levels * bytes + strlen(label) + 1);

	for (size_t i = 0; i < levels; i++)
		memcpy(text + i * bytes, level, bytes);
	memcpy(text + levels * bytes, label, strlen(label) + 1);
	return text;
}

static void add_layer(struct report *report, struct table *table, const void *item)
{
	const struct shown_layer *shown = item;
	AUTO_FREE char *label = indented(shown->label, shown->depth);

	table_add_named(table, label, shown->row ? layer_label(&report->all->layers, shown->row) : shown->label);
}

static char *class_text(const struct report *report, const void *item)
{
	const struct layer_row *row = ((const struct shown_layer *)item)->row;

	return row ? layer_class_name(report, row) : NULL;
}

static void add_depth(struct report *report, struct table *table, const void *item)
{
	(void)report;
	table_add_id(table, ((const struct shown_layer *)item)->depth);
}

static const struct row_table tree_table = {
	.id = "layer_tree",
	.title = "GPU time by layer of the model",
	.columns =
		(const struct row_column[]){
			ROW_NS("total %s", "total_ns", struct shown_layer, total.ns),
			ROW_NS("self %s", "self_ns", struct shown_layer, self.ns),
			ROW_PERCENT(struct shown_layer, total.ns),
			ROW_COUNT("calls", "launches", struct shown_layer, self.launches),
			ROW_NS("backward %s", "backward_ns", struct shown_layer, total.backward_ns),
			ROW_NS("recomputed %s", "recomputed_ns", struct shown_layer, total.recomputed_ns),
			ROW_NS("idle %s", "idle_ns", struct shown_layer, total.idle_ns),
			ROW_NS(COLUMN_NOT_SHOWN, "backward_self_ns", struct shown_layer, self.backward_ns),
			ROW_NS(COLUMN_NOT_SHOWN, "recomputed_self_ns", struct shown_layer, self.recomputed_ns),
			ROW_NS(COLUMN_NOT_SHOWN, "idle_self_ns", struct shown_layer, self.idle_ns),
			ROW_ADD(COLUMN_DATA("depth", UNIT_ID), add_depth),
			ROW_ADD(COLUMN_NAME("layer", "layer", TEXT_TRUNCATE_MIDDLE), add_layer),
			ROW_TEXT("class", "class", TEXT_TRUNCATE_END, class_text),
			ROW_PROCESS(struct shown_layer, process),
			ROW_END,
		},
};

static void put_tree(struct report *report, const struct layers *layers, const struct layers_options *options)
{
	struct layer_view view = {.report = report, .options = options, .layers = layers};

	choose_nodes(&view);
	layers_put_rows(report, &tree_table,
			&(struct row_list){ROWS(view.shown.items, view.shown.count), .sum = layers->sum,
					   .remark = "self, calls: without the modules that it calls; % of GPU time"});
	layers_put_backward(report);
	for (size_t i = 0; i < view.shown.count; i++)
		free(view.shown.items[i].label);
	array_free(&view.shown);
}

/* ---- by class ---------------------------------------------------------------------------------------------------- */

/* "LlamaMLP x 32" */
static void add_class(struct report *report, struct table *table, const void *item)
{
	const struct layer_class *class = item;
	const char *name = class->kind == LAYER_MODULE ? report->model->modules[class->module].class
						       : layer_kind_label(class->kind);
	AUTO_FREE char *shown = NULL;

	if (!*name)
		name = layer_kind_label(LAYER_UNNAMED);
	shown = class->layers > 1 ? xasprintf("%s x %" PRIu32, name, class->layers) : xstrdup(name);
	table_add_named(table, shown, name);
}

static void add_layers(struct report *report, struct table *table, const void *item)
{
	const struct layer_class *class = item;

	(void)report;
	if (class->kind == LAYER_MODULE)
		table_add_count(table, class->layers);
	else
		table_add_unknown(table, "");
}

static const struct row_table class_table = {
	.id = "layer_classes",
	.title = "GPU time by class of layer",
	.columns =
		(const struct row_column[]){
			ROW_NS("total %s", "total_ns", struct layer_class, total.ns),
			ROW_NS("self %s", "self_ns", struct layer_class, self.ns),
			ROW_PERCENT(struct layer_class, total.ns),
			ROW_COUNT("calls", "launches", struct layer_class, self.launches),
			ROW_NS("backward %s", "backward_ns", struct layer_class, total.backward_ns),
			ROW_NS("recomputed %s", "recomputed_ns", struct layer_class, total.recomputed_ns),
			ROW_NS("idle %s", "idle_ns", struct layer_class, total.idle_ns),
			ROW_NS(COLUMN_NOT_SHOWN, "backward_self_ns", struct layer_class, self.backward_ns),
			ROW_NS(COLUMN_NOT_SHOWN, "recomputed_self_ns", struct layer_class, self.recomputed_ns),
			ROW_NS(COLUMN_NOT_SHOWN, "idle_self_ns", struct layer_class, self.idle_ns),
			ROW_ADD(COLUMN_NAME("class", "class", TEXT_TRUNCATE_MIDDLE), add_class),
			ROW_ADD(COLUMN_DATA("layers", UNIT_COUNT), add_layers),
			ROW_PROCESS(struct layer_class, process),
			ROW_END,
		},
};

static void put_layers(struct report *report, const struct layers_options *options)
{
	const struct layers *layers = &report->all->layers;

	if (report->writer)
		table_writer_want_all_rows(report->writer);
	if (layers->count) {
		put_tree(report, layers, options);
		layers_put_rows(report, &class_table,
				&(struct row_list){ROWS(layers->classes, layers->class_count), .sum = layers->sum});
		return;
	}
	report_title(report, tree_table.id, tree_table.title, NULL);
	report_line(report, analyses_know_gpus(report->all)
				    ? "  no call of a torch.nn.Module is on a stack with GPU time or idle time"
				    : "  no GPU times were recorded");
}

int report_write_layers(FILE *out, struct trace *trace, const struct report_options *page,
			const struct layers_options *options)
{
	struct analyses all;
	struct report report;
	const struct analyze_options wanted = {.attribution = &page->attribution};
	int error = analyze_with(&all, trace, ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_LAYERS), &wanted);

	report_page(&report, out, &all, page);
	if (!error) {
		report_begin_list(&report, tree_table.id);
		report.rows = UINT_MAX;
		put_layers(&report, options);
		error = report_end(&report);
	}
	analyses_free(&all);
	return error;
}
