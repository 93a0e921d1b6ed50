/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by block of steps. */
#include "analyze/steps/per_step.h"

#include "analyze/events/callers.h"
#include "analyze/events/operation_pack.h"
#include "model/communication.h"

static void add_op(void *context, const struct op_node *node);

void per_step_init(struct per_step *all, struct step_blocks *blocks, const struct model *first,
		   const struct comm_kernels *comm)
{
	*all = (struct per_step){.model = first, .blocks = blocks, .comm_names = {.own = comm}};
	op_tree_init(&all->tree, first, add_op, all);
}

void per_step_free(struct per_step *all)
{
	op_tree_free(&all->tree);
	comm_names_free(&all->comm_names);
	gpu_tally_free(&all->gpu);
	tally_free(&all->layer_sources);
	gpu_tally_free(&all->layers);
	tally_free(&all->calls);
	tally_free(&all->waits);
	tally_free(&all->ops);
}

void per_step_begin_part(struct per_step *all, const struct model *part)
{
	all->model = part;
	op_tree_begin_part(&all->tree, part);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static uint32_t place_of(const struct per_step *all, uint32_t stack, uint32_t caller)
{
	return stack_has_frames(all->model, stack) ? stack : caller;
}

static enum per_step_work work_of(struct per_step *all, const struct gpu_event *event)
{
	const struct model_call *call = event->captured ? event->captured : event->launch;

	if (event->op->kind != MODEL_KERNEL)
		return PER_STEP_COPY;
	return gpu_is_communication(&all->comm_names, all->model, event->op, call) ? PER_STEP_COMMUNICATION
										   : PER_STEP_COMPUTATION;
}

static void add_to_layer(struct per_step *all, const struct gpu_event *event, uint32_t block, uint32_t what)
{
	uint32_t place = place_of(all, event->stack, event->caller);
	struct tally_key source = {
		{place, place < CALLER_NO_FRAME ? event->replay : NONE, call_pass(all->model, event->attributed)}};
	struct tally_key key = {{tally_number(&all->layer_sources, source), operation_pack(event->op), block, what}};
	struct tally_entry *sum = gpu_tally_at(&all->layers, event->op, key);

	sum->ns += gpu_ns(event->op);
	sum->count++;
}

void per_step_add_gpu(struct per_step *all, const struct gpu_event *event)
{
	uint64_t ns = gpu_ns(event->op), at_ns = event->launch ? event->launch->start_ns : event->op->start_ns;
	uint32_t block = step_blocks_at(all->blocks, event->op->process, at_ns), what;
	struct tally_entry *sum;

	if (block == STEP_BLOCK_NONE) {
		all->outside_ns += ns;
		return;
	}
	what = per_step_what(work_of(all, event), event->op->device);
	sum = gpu_tally_at(&all->gpu, event->op,
			   (struct tally_key){{place_of(all, event->stack, event->caller), operation_pack(event->op),
					       block, what}});
	sum->ns += ns;
	sum->count++;
	add_to_layer(all, event, block, what);
}

void per_step_add_call(struct per_step *all, const struct call_event *event)
{
	const struct model_call *call = event->call;
	bool work = call_is_work(call), waits = call_waits(event) && call->end_ns > call->start_ns;
	uint32_t place = place_of(all, event->stack, event->caller), block;
	struct tally_entry *sum;

	op_tree_add_call(&all->tree, event);
	if (!work && !waits)
		return;
	block = step_blocks_at(all->blocks, event->process, call->start_ns);
	if (block == STEP_BLOCK_NONE)
		return;
	if (work) {
		sum = tally_at(&all->calls, (struct tally_key){{place, call_pass(all->model, call), block}});
		sum->count++;
		sum->more += call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH;
	}
	if (waits) {
		sum = tally_at(&all->waits, (struct tally_key){{place, call->api, block}});
		sum->ns += call->end_ns - call->start_ns;
		sum->count++;
	}
}

static void add_op(void *context, const struct op_node *node)
{
	struct per_step *all = context;
	uint32_t block = step_blocks_at(all->blocks, all->model->threads[node->thread].process, node->start_ns);
	struct tally_entry *sum;

	if (block == STEP_BLOCK_NONE || node->name >= OP_NAME_STEPS)
		return;
	sum = tally_at(&all->ops, (struct tally_key){{node->name, node->annotated, block}});
	sum->ns += node->gpu_self_ns;
	sum->more += op_node_self_ns(node);
	sum->count++;
}

void per_step_finish(struct per_step *all, const struct window *window)
{
	op_tree_finish(&all->tree);
	gpu_tally_all(&all->gpu);
	gpu_tally_all(&all->layers);
	all->wall_ns = step_blocks_has_steps(all->blocks) ? all->blocks->wall_ns : window->end_ns - window->start_ns;
}
