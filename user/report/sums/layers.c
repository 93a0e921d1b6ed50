/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by module of PyTorch. */
#include "report/sums/layers.h"

#include <string.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

#define NO_BREAK_SPACE "\u00a0"
#define INDENT_MAX 64u

static const struct model_module *module_of(const struct report *report, const struct layer_row *row)
{
	return row->module == NONE ? NULL : &report->model->modules[row->module];
}

static char *layer_text(const struct report *report, const void *row)
{
	return xstrdup(layer_label(&report->all->layers, row));
}

char *layer_class_name(const struct report *report, const struct layer_row *row)
{
	const struct model_module *module = module_of(report, row);

	return module && *module->class ? xstrdup(module->class) : NULL;
}

static char *class_text(const struct report *report, const void *row)
{
	return layer_class_name(report, row);
}

static char *name_text(const struct report *report, const void *item)
{
	const struct layer_row *row = item;

	return row->kind == LAYER_MODULE ? xstrdup(module_of(report, row)->name) : NULL;
}

static char *root_class_text(const struct report *report, const void *item)
{
	const struct layer_row *row = item;

	return row->kind == LAYER_MODULE ? xstrdup(module_of(report, row)->root_class) : NULL;
}

/* Why there is no name. */
static char *unnamed_text(const struct report *report, const void *item)
{
	const struct layer_row *row = item;

	return row->kind == LAYER_UNNAMED ? xstrdup(module_of(report, row)->unnamed) : NULL;
}

static void add_count_or_unknown(struct table *table, uint32_t count)
{
	if (count)
		table_add_count(table, count);
	else
		table_add_unknown(table, "-");
}

static void add_root(struct report *report, struct table *table, const void *row)
{
	const struct model_module *module = module_of(report, row);

	add_count_or_unknown(table, module ? module->number_in_label : 0);
}

static void add_roots(struct report *report, struct table *table, const void *row)
{
	(void)report;
	add_count_or_unknown(table, ((const struct layer_row *)row)->roots);
}

/* The other names of a shared module. */
static char *others_text(const struct report *report, const void *item)
{
	const struct layer_row *row = item;

	return row->kind == LAYER_MODULE ? xstrdup(module_of(report, row)->other_names) : NULL;
}

static void add_notes(struct report *report, struct table *table, const void *item)
{
	const struct layer_row *row = item;
	const struct model_module *module = module_of(report, row);

	if (row->kind == LAYER_MODULE && module->names > 1)
		table_add_note(table, xasprintf("   also %s", module->other_names));
	if (row->kind == LAYER_UNNAMED)
		table_add_note(table, xasprintf("   %s", module->unnamed));
}

static const struct row_table layers_table = {
	.id = "layers",
	.title = "GPU time by layer of the model",
	.remark = "total: with the modules that it calls; idle: for its lines; % of GPU time",
	.more = "layer",
	.add_notes = add_notes,
	.columns =
		(const struct row_column[]){
			ROW_NS("self %s", "self_ns", struct layer_row, self.ns),
			ROW_NS("total %s", "total_ns", struct layer_row, total.ns),
			ROW_PERCENT(struct layer_row, self.ns),
			ROW_COUNT("calls", "launches", struct layer_row, self.launches),
			ROW_NS("backward %s", "backward_self_ns", struct layer_row, self.backward_ns),
			ROW_NS("recomputed %s", "recomputed_self_ns", struct layer_row, self.recomputed_ns),
			ROW_NS("idle %s", "idle_self_ns", struct layer_row, self.idle_ns),
			ROW_NS(COLUMN_NOT_SHOWN, "idle_ns", struct layer_row, total.idle_ns),
			ROW_TEXT("layer", "layer", TEXT_TRUNCATE_START, layer_text),
			ROW_TEXT("class", "class", TEXT_TRUNCATE_END, class_text),
			ROW_PROCESS(struct layer_row, process),
			ROW_TEXT(COLUMN_NOT_SHOWN, "name", TEXT_WHOLE, name_text),
			ROW_TEXT(COLUMN_NOT_SHOWN, "root_class", TEXT_WHOLE, root_class_text),
			ROW_ADD(COLUMN_DATA("root", UNIT_ID), add_root),
			ROW_ADD(COLUMN_DATA("roots", UNIT_COUNT), add_roots),
			ROW_TEXT(COLUMN_NOT_SHOWN, "other_names", TEXT_WHOLE, others_text),
			ROW_TEXT(COLUMN_NOT_SHOWN, "unnamed", TEXT_WHOLE, unnamed_text),
			ROW_END,
		},
};

/* Whether a page has a column, by its key. */
static bool has_column(const struct layers *layers, const char *key)
{
	const struct {
		const char *key;
		bool is_there;
	} columns[] = {
		{"backward_", layers->all.backward_ns != 0},
		{"recomputed_", layers->all.recomputed_ns != 0},
		{"memory_", layers->has_memory},
		{"flops", layers->has_flops},
	};

	for (size_t i = 0; key && i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strncmp(key, columns[i].key, strlen(columns[i].key)))
			return columns[i].is_there;
	return true;
}

void layers_put_rows(struct report *report, const struct row_table *declared, const struct row_list *list)
{
	const struct layers *layers = &report->all->layers;
	struct row_column columns[TABLE_COLUMNS_MAX + 1];
	struct row_table table = *declared;
	struct row_list rows = *list;
	size_t count = 0;

	for (; declared->columns[count].column.title; count++) {
		columns[count] = declared->columns[count];
		if (!has_column(layers, columns[count].column.key))
			columns[count].column.title = COLUMN_NOT_SHOWN;
	}
	columns[count] = declared->columns[count];
	table.columns = columns;
	rows.unit_ns = rows.sum ? 0 : layers->all.idle_ns;
	report_rows(report, &table, &rows);
}

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

void layers_add_name(struct report *report, struct table *table, const void *item)
{
	const struct shown_layer *shown = item;
	AUTO_FREE char *label = indented(shown->label, shown->depth);

	(void)report;
	table_add_named(table, label, shown->name);
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
