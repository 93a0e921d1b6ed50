/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ops come before the calls made in them, so the open ops of a thread are known when a call comes. */
#include "analyze/tree/op_tree.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/events/callers.h"

void op_tree_init(struct op_tree *tree, const struct model *first, op_tree_fn *take, void *context)
{
	*tree = (struct op_tree){.model = first, .thread_count = first->thread_count, .take = take, .context = context};
	for (uint32_t i = 0; i < first->thread_count && !tree->threads; i++)
		if (first->threads[i].has_ops)
			tree->threads = xcalloc(first->thread_count, sizeof(*tree->threads));
}

static void free_node(struct op_node *node)
{
	if (node->only)
		free_node(node->only);
	free(node->only);
	array_free(&node->spans.list);
}

void op_tree_free(struct op_tree *tree)
{
	for (uint32_t i = 0; tree->threads && i < tree->thread_count; i++) {
		for (size_t k = 0; k < tree->threads[i].open.count; k++)
			free_node(&tree->threads[i].open.items[k]);
		array_free(&tree->threads[i].open);
	}
	free(tree->threads);
	array_free(&tree->busy);
}

void op_tree_begin_part(struct op_tree *tree, const struct model *part)
{
	tree->model = part;
}

bool op_name_is_hidden(const char *name)
{
	static const char *const names[] = {
		"profiler::_record_function_enter",
		"profiler::_record_function_enter_new",
		"profiler::_record_function_exit",
		"aten::is_leaf",
		"aten::output_nr",
		"aten::_version",
	};

	return any_of(sizeof(names) / sizeof(names[0]), i, !strcmp(name, names[i]));
}

bool op_name_is_step(const char *name)
{
	static const char steps[] = "ProfilerStep#";

	return !strncmp(name, steps, sizeof(steps) - 1);
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

static void report_node(struct op_tree *tree, struct op_node *node)
{
	tree->take(tree->context, node);
	free_node(node);
}

/* Reports `only`: the node has more inside it than one op of its name. */
static void report_only(struct op_tree *tree, struct op_node *node)
{
	struct op_node *only = node->only;

	if (!only)
		return;
	node->only = NULL;
	report_node(tree, only);
	free(only);
}

/* Merges the node with the only op inside it. */
static void be_one_with_only(struct op_node *node)
{
	struct op_node *only = node->only;

	node->inside_ns = only->inside_ns;
	node->memory_inside = only->memory_inside;
	node->gpu_self_ns = only->gpu_self_ns;
	node->only = NULL;
	if (!node->spans.list.count) {
		node->spans = only->spans;
		only->spans = (struct op_gpu_spans){0};
	}
	free_node(only);
	free(only);
}

static bool may_be_one(const struct op_node *node, const struct op_node *inner)
{
	return node->children == 1 && node->name != NONE && node->name == inner->name;
}

/* Ends the innermost op. */
static void leave_op(struct op_tree *tree, struct op_tree_thread *thread)
{
	struct op_node node = thread->open.items[--thread->open.count];
	struct op_node *around = thread->open.count ? &thread->open.items[thread->open.count - 1] : NULL;

	if (node.only)
		be_one_with_only(&node);
	if (around) {
		around->gpu_ns += node.gpu_ns;
		op_memory_add(&around->memory_inside, node.memory);
	}
	if (around && may_be_one(around, &node)) {
		around->only = xmalloc(sizeof(*around->only));
		*around->only = node;
	} else {
		report_node(tree, &node);
	}
}

static void leave_until(struct op_tree *tree, struct op_tree_thread *thread, uint64_t time_ns)
{
	while (thread->open.count && thread->open.items[thread->open.count - 1].end_ns <= time_ns)
		leave_op(tree, thread);
}

void op_tree_finish(struct op_tree *tree)
{
	for (uint32_t i = 0; tree->threads && i < tree->thread_count; i++)
		leave_until(tree, &tree->threads[i], UINT64_MAX);
}

/* ---- starts ----------------------------------------------------------------------------------------------------- */

static uint32_t name_of(const struct model *model, const struct model_op *op)
{
	return op->name != NONE && op_name_is_step(model->strings[op->name]) ? OP_NAME_STEPS : op->name;
}

/* Notes that something is directly inside the innermost open op. */
static void add_inside(struct op_tree *tree, struct op_tree_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	struct op_node *around = &thread->open.items[thread->open.count - 1];

	if (end_ns > around->end_ns)
		end_ns = around->end_ns;
	around->children++;
	around->inside_ns += end_ns > start_ns ? end_ns - start_ns : 0;
	report_only(tree, around);
}

void op_tree_add_op(struct op_tree *tree, const struct op_event *event)
{
	const struct model_op *op = event->op;
	struct op_tree_thread *thread = &tree->threads[op->thread];
	struct op_node node = {
		.start_ns = op->start_ns,
		.end_ns = op->end_ns,
		.name = name_of(tree->model, op),
		.inputs = op->inputs,
		.stack = op->forward != NONE ? op->forward : op->stack,
		.thread = op->thread,
		.annotated = op->scope == GPT_AGENT_OP_USER_SCOPE,
		.async = op->overlaps,
	};

	if (op->name != NONE && op_name_is_hidden(tree->model->strings[op->name]))
		return;
	leave_until(tree, thread, op->start_ns);
	if (node.async || thread->open.count == OP_TREE_OPEN_MAX) {
		tree->left_out += !node.async;
		node.inside = !node.async;
		report_node(tree, &node);
		return;
	}
	node.inside = thread->open.count > 0;
	if (node.inside)
		add_inside(tree, thread, op->start_ns, op->end_ns);
	array_push(&thread->open, node);
	if (!thread->is_busy)
		array_push(&tree->busy, op->thread);
	thread->is_busy = true;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static void add_to_span(struct op_node *node, const struct model_gpu *op)
{
	struct op_gpu_span *span = NULL;

	for (size_t i = 0; i < node->spans.list.count && !span; i++) {
		span = &node->spans.list.items[i];
		if (span->device != op->device || span->context != op->context || span->stream != op->stream)
			span = i + 1 == OP_GPU_SPANS_MAX ? span : NULL;
	}
	if (!span) {
		array_push(&node->spans.list,
			   ((struct op_gpu_span){op->start_ns, op->end_ns, op->device, op->context, op->stream}));
		return;
	}
	if (op->start_ns < span->start_ns)
		span->start_ns = op->start_ns;
	if (op->end_ns > span->end_ns)
		span->end_ns = op->end_ns;
}

static void add_to_annotation(struct op_tree *tree, struct op_tree_thread *thread, const struct model_call *call)
{
	const struct model *model = tree->model;

	for (size_t i = thread->open.count; i-- > 0;) {
		struct op_node *node = &thread->open.items[i];

		if (!node->annotated)
			continue;
		for (uint32_t gpu = call->first_gpu; gpu != NONE; gpu = model->gpu[gpu].next)
			if (gpu_ns(&model->gpu[gpu]))
				add_to_span(node, &model->gpu[gpu]);
		return;
	}
}

static void add_gpu(struct op_tree *tree, struct op_tree_thread *thread, const struct call_event *event)
{
	add_to_annotation(tree, thread, event->call);
	for (size_t i = thread->open.count; i-- > 0;) {
		struct op_node *node = &thread->open.items[i];

		if (node->annotated)
			continue;
		node->gpu_self_ns += event->gpu_ns;
		node->gpu_ns += event->gpu_ns;
		return;
	}
}

/* Gives the call's stack to open ops that had no call before. */
static void note_stack(const struct model *model, struct op_tree_thread *thread, const struct call_event *event)
{
	const struct model_call *call = event->call;

	for (size_t i = thread->open.count; i-- > 0 && !thread->open.items[i].called;) {
		struct op_node *node = &thread->open.items[i];

		node->called = true;
		node->place = caller_place(model, event->stack, event->caller);
		node->pass = call_pass(model, call);
		if (node->stack == NONE)
			node->stack = call->forward != NONE ? call->forward : call->stack;
	}
}

bool op_tree_add_call(struct op_tree *tree, const struct call_event *event)
{
	const struct model_call *call = event->call;
	struct op_tree_thread *thread = tree->threads ? &tree->threads[call->thread] : NULL;

	if (!thread)
		return false;
	leave_until(tree, thread, call->start_ns);
	if (!thread->open.count)
		return false;
	add_inside(tree, thread, call->start_ns, call->end_ns);
	note_stack(tree->model, thread, event);
	if (event->gpu_ns)
		add_gpu(tree, thread, event);
	return true;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

bool op_tree_add_memory(struct op_tree *tree, const struct torch_memory_event *event, struct op_memory memory)
{
	bool inside = false;
	size_t kept = 0;

	for (size_t i = 0; i < tree->busy.count; i++) {
		uint32_t index = tree->busy.items[i];
		struct op_tree_thread *thread = &tree->threads[index];

		leave_until(tree, thread, event->memory->time_ns);
		thread->is_busy = thread->open.count > 0;
		if (!thread->is_busy)
			continue;
		tree->busy.items[kept++] = index;
		if (tree->model->threads[index].process != event->process)
			continue;
		inside = true;
		for (size_t k = 0; k < thread->open.count; k++)
			op_memory_add(&thread->open.items[k].memory, memory);
	}
	tree->busy.count = kept;
	return inside;
}
