/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Places calls and GPU operations in the tree; open ops are in call_tree_ops.c. */
#include "analyze/tree/call_tree.h"

#include <stdlib.h>

#include "analyze/tree/call_tree_ops.h"
#include "analyze/events/callers.h"

void call_tree_init(struct call_tree *tree, const struct model *first, const struct attribution *attribution,
		    enum tree_by by)
{
	*tree = (struct call_tree){
		.model = first, .attribution = attribution, .by = by, .thread_count = first->thread_count};
	python_paths_init(&tree->functions);
	tree->threads = xcalloc(first->thread_count, sizeof(*tree->threads));
	for (uint32_t i = 0; i < first->thread_count; i++) {
		tree->threads[i].last = NONE;
		tree->has_ops |= first->threads[i].has_ops;
	}
}

void call_tree_free(struct call_tree *tree)
{
	for (uint32_t i = 0; i < tree->thread_count; i++) {
		array_free(&tree->threads[i].open);
		array_free(&tree->threads[i].ended);
	}
	free(tree->threads);
	python_paths_free(&tree->functions);
	tally_free(&tree->op_paths);
	tally_free(&tree->levels);
	tally_free(&tree->forwards);
	tally_free(&tree->owners);
	tally_free(&tree->sums);
	tally_free(&tree->sampled);
	array_free(&tree->growth);
	free(tree->numbers);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool is_inherited(const struct call_tree *tree, const struct model_call *call)
{
	return call->stack_state == GPT_STACK_BACKWARD || (tree->attribution->forward && call->forward != NONE);
}

static struct tree_place place_of(struct call_tree *tree, const struct model_call *call)
{
	const struct model *model = tree->model;
	uint32_t stack = attributed_stack(tree->attribution, call), process = model->threads[call->thread].process;
	struct tree_place place = {.thread = call->thread, .functions = TREE_NO_STACK | call->stack_state};

	if (!stack_has_frames(model, stack))
		return place;
	place.functions = python_path_of_stack(&tree->functions, model, stack);
	if (is_inherited(tree, call))
		place.thread = TREE_THREAD_INHERITED | process;
	return place;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* The captured call that work of a graph is put on; the op in which it was made is not kept. */
static const struct model_call *captured_call(const struct call_tree *tree, const struct model_gpu *op)
{
	const struct model *model = tree->model;
	uint32_t index = op->captured_by;

	if (tree->attribution->graphs != GRAPHS_CAPTURE || index == NONE || model->calls[index].stack == NONE)
		return NULL;
	return &model->calls[index];
}

static void add_operation(struct call_tree *tree, struct tree_place place, uint32_t ops, const struct model_gpu *op)
{
	const struct model_call *captured = captured_call(tree, op);

	if (captured) {
		place = place_of(tree, captured);
		ops = OP_PATH_NONE;
	}
	call_tree_add(&tree->sums, place, ops, operation_pack_label(op), gpu_ns(op));
}

static void note_own(struct call_tree *tree, uint32_t thread, struct tree_place place)
{
	if (place.thread == thread && place.functions < TREE_NO_STACK)
		call_tree_own(tree, thread, place.functions);
}

/* A call inside another one, as of the driver in one of the runtime, is part of that. */
static void note_call(struct tree_thread *thread, const struct model_call *call)
{
	if (call->end_ns <= thread->call_end_ns)
		return;
	thread->call_end_ns = call->end_ns;
	thread->call_api = call->api;
}

void call_tree_add_call(struct call_tree *tree, const struct call_event *event)
{
	const struct model_call *call = event->call;
	struct tree_place place = place_of(tree, call);
	uint64_t cpu_ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
	uint32_t ops = OP_PATH_NONE;

	if (tree->has_ops)
		ops = call_tree_enter(tree,
				      (struct tree_moment){.thread = call->thread,
							   .start_ns = call->start_ns,
							   .end_ns = call->end_ns},
				      &place);
	note_own(tree, call->thread, place);
	if (call_tree_counts_calls(tree)) {
		call_tree_add(&tree->sums, place, ops, call->api, cpu_ns);
		tree->threads[call->thread].cpu_ns += cpu_ns;
		note_call(&tree->threads[call->thread], call);
	}
	for (uint32_t op = call->first_gpu; tree->by == TREE_BY_GPU && op != NONE; op = tree->model->gpu[op].next)
		add_operation(tree, place, ops, &tree->model->gpu[op]);
}

void call_tree_add_sample(struct call_tree *tree, const struct sample_event *event)
{
	const struct model_sample *sample = event->sample;
	const struct tree_thread *thread = &tree->threads[sample->thread];
	struct tree_moment moment = {.thread = sample->thread, .start_ns = sample->time_ns, .end_ns = sample->time_ns};
	struct tree_place place = {.thread = sample->thread, .functions = TREE_NO_STACK | sample->stack_state};
	uint32_t ops = OP_PATH_NONE;

	if (tree->by != TREE_BY_CPU)
		return;
	if (stack_has_frames(tree->model, sample->stack)) {
		place.functions = python_path_of_stack(&tree->functions, tree->model, sample->stack);
		moment.of_caller = sample->stack_state == GPT_STACK_BACKWARD;
		if (moment.of_caller)
			place.thread = TREE_THREAD_INHERITED | event->process;
	}
	if (tree->has_ops)
		ops = call_tree_enter(tree, moment, &place);
	note_own(tree, sample->thread, place);
	call_tree_add(&tree->sampled, place, ops, sample->time_ns < thread->call_end_ns ? thread->call_api : TREE_SELF,
		      sample_ns(sample));
}

/* Only work without a call here: the rest was added with its calls. */
void call_tree_add_gpu(struct call_tree *tree, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	struct tree_place unseen = {.thread = TREE_THREAD_UNSEEN | op->process,
				    .functions = gpu_is_migration(op) ? TREE_DRIVER
						 : op->before	      ? TREE_BEFORE
								      : TREE_UNSEEN};

	if (tree->by != TREE_BY_GPU)
		return;
	if (!event->launch)
		add_operation(tree, unseen, OP_PATH_NONE, op);
	else if (event->launch->number == CALL_OUTSIDE)
		add_operation(tree, place_of(tree, event->launch), OP_PATH_NONE, op);
}

void call_tree_finish(struct call_tree *tree)
{
	call_tree_end_ops(tree);
	if (tree->by != TREE_BY_CPU)
		return;
	if (!tree->sampled.count) {
		tree->by = TREE_BY_CALLS;
		return;
	}
	tally_free(&tree->sums);
	tree->sums = tree->sampled;
	tree->sampled = (struct tally){0};
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static struct tree_place place_of_holder(struct call_tree *tree, uint32_t stack, uint32_t process)
{
	if (stack == CALLER_UNSEEN)
		return (struct tree_place){.thread = TREE_THREAD_UNSEEN | process, .functions = TREE_UNSEEN};
	return (struct tree_place){.thread = TREE_THREAD_INHERITED | process,
				   .functions = python_path_of_stack(&tree->functions, tree->model, stack)};
}

/* Adds to the growth of the sum that a holder was just added to. */
static void add_growth(struct call_tree *tree, const struct tally_entry *sum, double growth)
{
	while (tree->growth.count < tree->sums.count)
		array_push(&tree->growth, 0.0);
	tree->growth.items[sum - tree->sums.entries] += growth;
}

void call_tree_add_memory(struct call_tree *tree, const struct torch_memory_sums *memory)
{
	for (size_t i = 0; i < memory->spaces.count; i++)
		tree->is_of_gpu_memory |= memory->spaces.items[i].device_type != GPT_TORCH_CPU;
	for (size_t i = 0; i < memory->holders.count; i++) {
		const uint32_t *part = memory->by_holder.entries[i].key.part;
		const struct torch_space *space = &memory->spaces.items[part[2]];
		const struct torch_holder *holder = &memory->holders.items[i];
		struct tree_place place;
		struct tally_entry *sum;

		if ((space->device_type != GPT_TORCH_CPU) != tree->is_of_gpu_memory)
			continue;
		place = place_of_holder(tree, part[0], space->process);
		sum = tally_at(&tree->sums, (struct tally_key){{place.thread, OP_PATH_NONE, place.functions, part[1]}});
		sum->ns += holder->at_peak;
		sum->count += holder->blocks;
		sum->more += holder->now;
		if (memory->has_steps)
			add_growth(tree, sum, holder->growth);
	}
}

/* ---- whose functions --------------------------------------------------------------------------------------------- */

static uint32_t outermost_function(const struct call_tree *tree, uint32_t functions)
{
	return python_path_cut(&tree->functions, functions, 1);
}

void call_tree_own(struct call_tree *tree, uint32_t thread, uint32_t functions)
{
	struct tally_key key = {{tree->model->threads[thread].process, outermost_function(tree, functions)}};
	struct tally_entry *owner = tally_at(&tree->owners, key);

	if (!owner->more)
		owner->more = thread + 1;
}

uint32_t call_tree_owner(struct call_tree *tree, uint32_t process, uint32_t functions)
{
	return (uint32_t)tally_at(&tree->owners, (struct tally_key){{process, outermost_function(tree, functions)}})
		       ->more -
	       1;
}
