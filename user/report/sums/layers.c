/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by module of PyTorch. */
#include "report/sums/layers.h"

#include <string.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

#define INDENT_MAX 64u

static const struct model_module *module_of(const struct report *report, const struct layer_row *row)
{
	return row->module == NONE ? NULL : &report->model->modules[row->module];
}

char *layer_class_name(const struct report *report, const struct layer_row *row)
{
	const struct model_module *module = module_of(report, row);

	return module && *module->class ? xstrdup(module->class) : NULL;
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct layer_row *row = item;
	const struct layers *layers = &report->all->layers;
	const struct model_module *module = module_of(report, row);
	bool is_module = module && row->kind == LAYER_MODULE, is_unnamed = module && row->kind == LAYER_UNNAMED;
	AUTO_FREE char *class = layer_class_name(report, row);

	table_add_ns(table, "self %s", "self_ns", row->self.ns);
	table_add_ns(table, "total %s", "total_ns", row->total.ns);
	table_add_share(table, row->self.ns);
	table_add_count(table, "calls", "launches", row->self.launches);
	table_add_ns(table, layers->all.backward_ns ? "backward %s" : NULL, "backward_self_ns", row->self.backward_ns);
	table_add_ns(table, layers->all.recomputed_ns ? "recomputed %s" : NULL, "recomputed_self_ns",
		     row->self.recomputed_ns);
	table_add_ns(table, "idle %s", "idle_self_ns", row->self.idle_ns);
	table_add_data(table, "idle_ns", UNIT_NS, row->total.idle_ns);
	table_add_name(table, "layer", "layer", TEXT_TRUNCATE_START, layer_label(layers, row));
	table_add_name(table, "class", "class", TEXT_TRUNCATE_END, class);
	report_add_process(report, table, row->process);
	table_add_word(table, "name", is_module ? module->name : NULL);
	table_add_word(table, "root_class", is_module ? module->root_class : NULL);
	table_add_id(table, NULL, "root", module ? module->number_in_label : 0);
	table_unset_unless(table, module && module->number_in_label, "-");
	table_add_data(table, "roots", UNIT_COUNT, row->roots);
	table_unset_unless(table, row->roots, "-");
	table_add_word(table, "other_names", is_module ? module->other_names : NULL);
	table_add_word(table, "unnamed", is_unnamed ? module->unnamed : NULL);
	if (is_module && module->names > 1)
		table_add_note(table, xasprintf("   also %s", module->other_names));
	if (is_unnamed)
		table_add_note(table, xasprintf("   %s", module->unnamed));
}

static const struct row_table layers_table = {
	.id = "layers",
	.title = "GPU time by layer of the model",
	.remark = "total: with the modules that it calls; idle: for its lines; % of GPU time",
	.add_row = add_row,
	.amount = offsetof(struct layer_row, self.ns),
	.more = "layer",
};

void layers_put_rows(struct report *report, const struct row_table *declared, const struct row_list *list)
{
	struct row_list rows = *list;

	rows.unit_ns = rows.sum ? 0 : report->all->layers.all.idle_ns;
	report_rows(report, declared, &rows);
}

void layers_add_name(struct table *table, const struct shown_layer *shown)
{
	unsigned depth = shown->depth < INDENT_MAX ? shown->depth : INDENT_MAX;
	AUTO_FREE char *label = text_indent(2 * depth, shown->label);

	table_add_named(table, "layer", "layer", TEXT_TRUNCATE_MIDDLE, label, shown->name);
}

void layers_put_backward(struct report *report)
{
	const struct layers *layers = &report->all->layers;

	if (report->all->gpu_lines.backward[BACKWARD_ON_FORWARD])
		return;
	for (size_t i = 0; i < layers->count; i++)
		if (layers->rows[i].kind == LAYER_BACKWARD && layers->rows[i].self.ns) {
			report_line(report, "  [backward]: the layer of a backward pass is known where "
					    "--forward-lines recorded the forward ops");
			return;
		}
}

void report_gpu_by_layer(struct report *report)
{
	const struct layers *layers = &report->all->layers;

	layers_put_rows(report, &layers_table,
			&(struct row_list){ROWS(layers->rows, layers->count), .sum = layers->sum});
	layers_put_backward(report);
}
