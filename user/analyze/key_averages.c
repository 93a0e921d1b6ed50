/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/key_averages.h"

#include <stdlib.h>
#include <string.h>

void key_averages_free(struct key_averages *keys)
{
	tally_free(&keys->calls);
	tally_free(&keys->gpu);
	for (size_t i = 0; i < keys->rows.count; i++)
		free(keys->rows.items[i].name);
	array_free(&keys->rows);
}

void key_averages_add_call(struct key_averages *keys, const struct call_event *event)
{
	struct tally_entry *sum = tally_at(&keys->calls, (struct tally_key){{event->call->api}});

	sum->count++;
	if (event->call->end_ns > event->call->start_ns)
		sum->ns += event->call->end_ns - event->call->start_ns;
}

void key_averages_add_gpu(struct key_averages *keys, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	uint32_t how = (uint32_t)op->kind << 24 | (uint32_t)op->memcpy_kind << 16 | (uint32_t)op->from << 8 | op->to;
	uint32_t name = op->kind == MODEL_KERNEL ? op->name : NONE;
	struct tally_entry *sum = tally_at(&keys->gpu, (struct tally_key){{name, name == NONE ? how : 0}});

	sum->count++;
	sum->ns += gpu_ns(op);
}

static void add_gpu_row(struct key_averages *keys, const struct model *model, const struct tally_entry *sum)
{
	uint32_t how = sum->key.part[1];
	struct model_gpu op = {.name = sum->key.part[0],
			       .kind = (uint8_t)(how >> 24),
			       .memcpy_kind = (uint8_t)(how >> 16),
			       .from = (uint8_t)(how >> 8),
			       .to = (uint8_t)how};
	char text[256];

	array_push(&keys->rows, ((struct key_row){.name = xstrdup(gpu_name(model, &op, text, sizeof(text))),
						  .count = sum->count,
						  .gpu_self_ns = sum->ns,
						  .gpu_ns = sum->ns}));
	keys->gpu_ns += sum->ns;
}

static void add_op_row(struct key_averages *keys, const struct model *model, const struct op_row *row)
{
	array_push(&keys->rows, ((struct key_row){.name = xstrdup(row->name == NONE ? "(name not known)"
										    : model->strings[row->name]),
						  .count = row->calls,
						  .cpu_self_ns = row->cpu_self_ns,
						  .cpu_ns = row->cpu_ns,
						  .gpu_self_ns = row->gpu_self_ns,
						  .gpu_ns = row->gpu_ns}));
}

static int by_time(const void *left, const void *right)
{
	const struct key_row *a = left, *b = right;

	if (a->gpu_self_ns != b->gpu_self_ns)
		return a->gpu_self_ns > b->gpu_self_ns ? -1 : 1;
	if (a->cpu_self_ns != b->cpu_self_ns)
		return a->cpu_self_ns > b->cpu_self_ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

void key_averages_finish(struct key_averages *keys, const struct ops_by_name *ops)
{
	for (size_t i = 0; i < ops->rows.count; i++)
		add_op_row(keys, ops->model, &ops->rows.items[i]);
	for (size_t i = 0; i < keys->calls.count; i++)
		array_push(&keys->rows,
			   ((struct key_row){.name = xstrdup(api_name((uint16_t)keys->calls.entries[i].key.part[0])),
					     .count = keys->calls.entries[i].count,
					     .cpu_self_ns = keys->calls.entries[i].ns,
					     .cpu_ns = keys->calls.entries[i].ns}));
	for (size_t i = 0; i < keys->rows.count; i++)
		keys->cpu_self_ns += keys->rows.items[i].cpu_self_ns;
	for (size_t i = 0; i < keys->gpu.count; i++)
		add_gpu_row(keys, ops->model, &keys->gpu.entries[i]);
	if (keys->rows.count)
		qsort(keys->rows.items, keys->rows.count, sizeof(*keys->rows.items), by_time);
}
