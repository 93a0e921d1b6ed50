/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/layers/layer_parts.h"

#include "analyze/events/callers.h"
#include "analyze/events/operation_pack.h"
#include "analyze/sums/flops.h"
#include "analyze/sums/line_sums.h"

static void add_op(void *context, const struct op_node *node);

void layer_parts_init(struct layer_parts *parts, struct step_blocks *blocks, const struct model *first)
{
	*parts = (struct layer_parts){.model = first, .blocks = blocks};
	op_tree_init(&parts->tree, first, add_op, parts);
}

void layer_parts_free(struct layer_parts *parts)
{
	op_tree_free(&parts->tree);
	tally_free(&parts->sources);
	gpu_tally_free(&parts->kernels);
	gpu_tally_free(&parts->steps);
	tally_free(&parts->flops);
}

void layer_parts_begin_part(struct layer_parts *parts, const struct model *part)
{
	parts->model = part;
	op_tree_begin_part(&parts->tree, part);
}

void layer_parts_add_gpu(struct layer_parts *parts, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	uint64_t ns = gpu_ns(op), at_ns = event->launch ? event->launch->start_ns : op->start_ns;
	uint32_t source = tally_number(&parts->sources, line_sums_key(parts->model, event));
	uint32_t block = step_blocks_at(parts->blocks, op->process, at_ns);
	struct tally_entry *sum = gpu_tally_at(&parts->kernels, op, (struct tally_key){{source, operation_pack(op)}});

	sum->ns += ns;
	sum->count++;
	gpu_tally_at(&parts->steps, op, (struct tally_key){{source, block}})->ns += ns;
}

static struct tally_key key_of_op(const struct model *model, const struct op_node *node)
{
	uint32_t process = model->threads[node->thread].process;

	if (node->called)
		return (struct tally_key){{node->place, process, NONE, node->pass}};
	return (struct tally_key){{caller_place(model, node->stack, CALLER_UNSEEN), process, NONE, PASS_FORWARD}};
}

static void add_op(void *context, const struct op_node *node)
{
	struct layer_parts *parts = context;
	const struct model *model = parts->model;
	uint64_t flops;

	if (node->inputs == NONE || node->name >= OP_NAME_STEPS)
		return;
	parts->has_shapes = true;
	flops = op_flops(model->strings[node->name], model->strings[node->inputs]);
	if (flops)
		tally_at(&parts->flops, key_of_op(model, node))->ns += flops;
}
