/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The layers of a model as a tree of who called whom, and by class. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"
#include "report/sums/layers.h"

/* ---- choice of nodes --------------------------------------------------------------------------------------------- */

static const struct layer_row *row_of(const struct layer_view *view, uint32_t node)
{
	return node ? &view->layers->rows[layer_node_at(view, node)->row] : NULL;
}

static bool is_part(const struct layer_view *view, uint64_t part, uint64_t whole)
{
	return part && (double)part * 100000 >= (double)whole * view->options->min_percent;
}

static bool is_shown(const struct layer_view *view, uint32_t node)
{
	const struct layer_amount *total = &layer_node_at(view, node)->total;

	const struct layer_amount *all = &view->layers->all;

	return !view->options->min_percent || is_part(view, total->ns, view->layers->sum) ||
	       is_part(view, total->idle_ns, all->idle_ns) || is_part(view, total->memory_bytes, all->memory_bytes) ||
	       is_part(view, total->flops, all->flops);
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
	const struct layer_node *of = layer_node_at(view, node);
	bool is_last = view->options->depth && depth + 1 >= view->options->depth;

	array_push(&view->shown, ((struct shown_layer){.row = row_of(view, node),
						       .process = row_of(view, node)->process,
						       .depth = depth,
						       .is_last = is_last,
						       .name = layer_label(view->layers, row_of(view, node)),
						       .label = name_below(view, node, caller),
						       .self = is_last ? of->total : of->self,
						       .total = of->total}));
	view->line_of[node] = (uint32_t)view->shown.count;
}

static void show_rest(struct layer_view *view, uint32_t caller, struct shown_layer rest)
{
	if (!rest.smaller)
		return;
	rest.name = rest.label = xasprintf("[%s smaller]", number_count(rest.smaller).text);
	rest.self = rest.total;
	array_push(&view->shown, rest);
	view->smaller_of[caller] = (uint32_t)view->shown.count;
}

/* A node whose children are being shown. */
struct layer_level {
	uint32_t node, next;
	struct shown_layer rest; /* its children that are too small */
};

static struct layer_level level_of(const struct layer_view *view, uint32_t node, unsigned depth)
{
	return (struct layer_level){
		.node = node, .next = layer_node_at(view, node)->children, .rest = {.process = NONE, .depth = depth}};
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
			show_rest(view, level->node, level->rest);
			levels.count--;
			continue;
		}
		level->next = layer_node_at(view, node)->next;
		if (!is_shown(view, node)) {
			level->rest.smaller++;
			layer_amount_add(&level->rest.total, &layer_node_at(view, node)->total);
			continue;
		}
		show_node(view, node, level->node, depth);
		if (!view->options->depth || depth + 1 < view->options->depth)
			array_push(&levels, level_of(view, node, depth + 1));
	}
	array_free(&levels);
}

/* ---- amounts ----------------------------------------------------------------------------------------------------- */

static void add_memory(struct report *report, struct table *table, const char *title, const char *key, uint64_t bytes)
{
	bool is_known = report->all->layers.has_memory;

	table_add_memory(table, is_known ? title : NULL, key, bytes);
	table_unset_unless(table, is_known, "");
}

static void add_flops(struct report *report, struct table *table, const char *title, const char *key, uint64_t flops)
{
	static const char *const powers[] = {"", " k", " M", " G", " T", " P", " E"};
	bool is_known = report->all->layers.has_flops;
	double scaled = (double)flops;
	struct number shown;
	size_t power = 0;

	for (; scaled >= 1000 && power + 1 < sizeof(powers) / sizeof(powers[0]); power++)
		scaled /= 1000;
	snprintf(shown.text, sizeof(shown.text), "%.*f%s", power ? 1 : 0, scaled, powers[power]);
	table_add_integer(table, is_known ? title : NULL, key, UNIT_COUNT, shown, flops);
	table_unset_unless(table, is_known, "");
}

/* A page has the columns of passes, memory and FLOPs that the trace has. */
static void add_amounts(struct report *report, struct table *table, const struct layer_amount *total,
			const struct layer_amount *self)
{
	const struct layer_amount *all = &report->all->layers.all;

	table_add_ns(table, "total %s", "total_ns", total->ns);
	table_add_ns(table, "self %s", "self_ns", self->ns);
	table_add_share(table, total->ns);
	table_add_count(table, "calls", "launches", self->launches);
	table_add_ns(table, all->backward_ns ? "backward %s" : NULL, "backward_ns", total->backward_ns);
	table_add_ns(table, all->recomputed_ns ? "recomputed %s" : NULL, "recomputed_ns", total->recomputed_ns);
	table_add_ns(table, "idle %s", "idle_ns", total->idle_ns);
	table_add_data(table, "backward_self_ns", UNIT_NS, self->backward_ns);
	table_add_data(table, "recomputed_self_ns", UNIT_NS, self->recomputed_ns);
	table_add_data(table, "idle_self_ns", UNIT_NS, self->idle_ns);
	add_memory(report, table, "memory", "memory_bytes", total->memory_bytes);
	add_flops(report, table, "FLOPs", "flops", total->flops);
	add_memory(report, table, NULL, "memory_self_bytes", self->memory_bytes);
	add_flops(report, table, NULL, "flops_self", self->flops);
}

/* ---- the tree as a table ----------------------------------------------------------------------------------------- */

static void add_layer(struct report *report, struct table *table, const void *item)
{
	const struct shown_layer *shown = item;
	AUTO_FREE char *class = shown->row ? layer_class_name(report, shown->row) : NULL;

	add_amounts(report, table, &shown->total, &shown->self);
	table_add_id(table, NULL, "depth", shown->depth);
	layers_add_name(table, shown);
	table_add_name(table, "class", "class", TEXT_TRUNCATE_END, class);
	report_add_process(report, table, shown->process);
}

static const struct row_table tree_table = {
	.id = "layer_tree", .title = "GPU time by layer of the model", .add_row = add_layer};

static void put_tree(const struct layer_view *view, struct report *report)
{
	layers_put_rows(report, &tree_table,
			&(struct row_list){ROWS_OF(&view->shown), .sum = view->layers->sum,
					   .remark = "self, calls: without the modules that it calls; % of GPU time"});
	layers_put_backward(report);
}

/* ---- by class ---------------------------------------------------------------------------------------------------- */

static void add_class(struct report *report, struct table *table, const void *item)
{
	const struct layer_class *class = item;
	const char *name = class->kind == LAYER_MODULE ? report->model->modules[class->module].class
						       : layer_kind_label(class->kind);
	AUTO_FREE char *shown = NULL;

	if (!*name)
		name = layer_kind_label(LAYER_UNNAMED);
	/* "LlamaMLP x 32" */
	shown = class->layers > 1 ? xasprintf("%s x %" PRIu32, name, class->layers) : xstrdup(name);
	add_amounts(report, table, &class->total, &class->self);
	table_add_named(table, "class", "class", TEXT_TRUNCATE_MIDDLE, shown, name);
	table_add_data(table, "layers", UNIT_COUNT, class->layers);
	table_unset_unless(table, class->kind == LAYER_MODULE, "");
	report_add_process(report, table, class->process);
}

static const struct row_table class_table = {
	.id = "layer_classes", .title = "GPU time by class of layer", .add_row = add_class};

static void put_tables(struct report *report, const struct layers_options *options)
{
	const struct layers *layers = &report->all->layers;
	struct layer_view view = {.report = report, .options = options, .layers = layers};

	view.line_of = xcalloc(layers->tree.nodes.count, sizeof(*view.line_of));
	view.smaller_of = xcalloc(layers->tree.nodes.count, sizeof(*view.smaller_of));
	choose_nodes(&view);
	put_tree(&view, report);
	layers_put_rows(report, &class_table,
			&(struct row_list){ROWS(layers->classes, layers->class_count), .sum = layers->sum});
	if (report->writer || report->options->table) {
		layers_put_kernels(&view, report);
		layers_put_steps(&view, report);
	}
	for (size_t i = 0; i < view.shown.count; i++)
		free(view.shown.items[i].label);
	array_free(&view.shown);
	free(view.line_of);
	free(view.smaller_of);
}

static void put_layers(struct report *report, void *options)
{
	report->rows = UINT_MAX;
	report->names_tables = false;
	if (report->writer)
		table_writer_want_all_rows(report->writer);
	if (report->all->layers.count) {
		put_tables(report, options);
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
	struct layers_options chosen = *options;
	struct analyses all;
	struct report report;
	const struct analyze_options wanted = {.attribution = &page->attribution};
	int error = analyze_with(&all, trace,
				 ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_TORCH_MEMORY, ANALYZE_LAYER_PARTS),
				 &wanted);

	report_page(&report, out, &all, page);
	if (!error && page->table && !page->format) {
		error = report_write_page(&report, put_layers, &chosen);
	} else if (!error) {
		report_begin_list(&report, tree_table.id);
		put_layers(&report, &chosen);
		error = report_end(&report);
	}
	analyses_free(&all);
	return error;
}
