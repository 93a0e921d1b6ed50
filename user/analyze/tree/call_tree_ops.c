/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ops come before the calls and ops inside them, so the open ops of a thread are known when a call comes. */
#include "analyze/tree/call_tree_ops.h"

#include <string.h>

#include "analyze/events/callers.h"
#include "analyze/tree/op_tree.h"

#define NUMBERS (1u << 17) /* autograd sequence numbers kept for all threads: 5 MB; a power of two */
#define ENDED_MAX 64u	   /* annotations of a thread that may end between two calls */
#define HASH 0x9e3779b97f4a7c15u

static bool is_path(uint32_t functions)
{
	return functions < TREE_NO_STACK;
}

static uint32_t common_path(const struct call_tree *tree, uint32_t one, uint32_t other)
{
	return python_path_common(&tree->functions, one, other);
}

static uint32_t deeper_path(const struct call_tree *tree, uint32_t one, uint32_t other)
{
	const struct python_path *paths = tree->functions.all.items;

	return one == NONE || paths[other].depth > paths[one].depth ? other : one;
}

void call_tree_add(struct tally *sums, struct tree_place place, uint32_t ops, uint32_t what, uint64_t ns)
{
	struct tally_entry *sum = tally_at(sums, (struct tally_key){{place.thread, ops, place.functions, what}});

	sum->ns += ns;
	sum->count++;
}

/* ---- forward ops ------------------------------------------------------------------------------------------------- */

static uint32_t slot_of(uint32_t process, uint64_t torch_thread, int64_t sequence)
{
	uint64_t hash = (torch_thread + ((uint64_t)process << 32)) * HASH;

	return ((uint32_t)(hash >> 32) + (uint32_t)sequence) & (NUMBERS - 1);
}

static bool is_number(const struct tree_number *number, uint32_t process, uint64_t torch_thread, int64_t sequence)
{
	return number->sequence == sequence && number->torch_thread == torch_thread && number->process == process;
}

static void make_numbers(struct call_tree *tree)
{
	tree->numbers = xmalloc(NUMBERS * sizeof(*tree->numbers));
	for (uint32_t i = 0; i < NUMBERS; i++)
		tree->numbers[i].sequence = -1;
}

static bool may_be_forward(const struct model_op *op)
{
	return op->sequence >= 0 && !op->forward_thread && op->torch_thread && op->node == NONE &&
	       op->scope != GPT_AGENT_OP_BACKWARD_FUNCTION && op->scope != GPT_AGENT_OP_USER_SCOPE;
}

static uint32_t forward_at(struct call_tree *tree, uint32_t ops, uint32_t functions, uint32_t thread)
{
	struct tally_key key = {{ops, functions, thread}};

	return tally_number(&tree->forwards, key);
}

/* Of several ops with one sequence number, the last made the node. */
static void note_number(struct call_tree *tree, const struct model_op *op, struct tree_op *open)
{
	uint32_t process = tree->model->threads[op->thread].process;

	if (!may_be_forward(op))
		return;
	if (!tree->numbers)
		make_numbers(tree);
	open->slot = slot_of(process, op->torch_thread, op->sequence);
	tree->numbers[open->slot] = (struct tree_number){.torch_thread = op->torch_thread,
							 .op = op->number,
							 .sequence = op->sequence,
							 .process = process,
							 .thread = op->thread,
							 .forward = NONE};
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void note_level(struct call_tree *tree, const struct tree_op *op)
{
	if (op->level != NONE)
		tally_at(&tree->levels, (struct tally_key){{op->path, op->level}})->count++;
}

/* If nothing else shows who called a backward pass, its functions are inherited: see call_tree_owner(). */
static uint32_t thread_of(const struct call_tree *tree, uint32_t thread, const struct tree_op *op)
{
	uint32_t process = tree->model->threads[thread].process;

	return op->inherited && op->level != NONE ? TREE_THREAD_INHERITED | process : thread;
}

/* Adds an op whose place is final. */
static void add_final_op(struct call_tree *tree, uint32_t index, const struct tree_op *op)
{
	uint32_t thread = thread_of(tree, index, op);
	uint64_t ns = op->end_ns - op->start_ns;
	uint32_t level = op->level == NONE ? PYTHON_PATH_ROOT : op->level;

	note_level(tree, op);
	ns = op->inside_ns < ns ? ns - op->inside_ns : 0;
	if (call_tree_counts_calls(tree) && ns)
		call_tree_add(&tree->sums, (struct tree_place){thread, level}, op->path, TREE_SELF, ns);
	tree->threads[index].cpu_ns += ns;
	if (op->slot != NONE && tree->numbers[op->slot].op == op->number)
		tree->numbers[op->slot].forward = forward_at(tree, op->path, level, thread);
}

static void settle_ended(struct call_tree *tree, uint32_t index, uint32_t functions)
{
	struct tree_thread *thread = &tree->threads[index];

	array_each (op, &thread->ended) {
		if (is_path(functions) && op->last != NONE)
			op->level = deeper_path(tree, op->level, common_path(tree, op->last, functions));
		add_final_op(tree, index, op);
	}
	thread->ended.count = 0;
}

static void leave_op(struct call_tree *tree, uint32_t index)
{
	struct tree_thread *thread = &tree->threads[index];
	struct tree_op op = thread->open.items[--thread->open.count];

	if (op.annotated && !op.exact && thread->ended.count < ENDED_MAX)
		array_push(&thread->ended, op);
	else
		add_final_op(tree, index, &op);
}

static void leave_until(struct call_tree *tree, uint32_t index, uint64_t time_ns)
{
	struct tree_thread *thread = &tree->threads[index];

	while (thread->open.count && thread->open.items[thread->open.count - 1].end_ns <= time_ns)
		leave_op(tree, index);
}

/* The forward op of a node, call_tree.forwards; ends ops of its thread first, as that may have made no call since. */
static uint32_t find_forward(struct call_tree *tree, const struct model_op *op)
{
	uint32_t process = tree->model->threads[op->thread].process;
	const struct tree_number *number;

	if (!tree->numbers || op->node == NONE || op->sequence < 0 || !op->forward_thread)
		return NONE;
	number = &tree->numbers[slot_of(process, op->forward_thread, op->sequence)];
	if (!is_number(number, process, op->forward_thread, op->sequence))
		return NONE;
	leave_until(tree, number->thread, op->start_ns);
	return number->forward;
}

void call_tree_end_ops(struct call_tree *tree)
{
	for (uint32_t i = 0; tree->has_ops && i < tree->thread_count; i++) {
		leave_until(tree, i, UINT64_MAX);
		settle_ended(tree, i, NONE);
	}
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

static uint32_t path_at(struct call_tree *tree, uint32_t around, const struct model_op *op)
{
	uint32_t name = op->node != NONE ? op->node : op->name;
	struct tally_key key = {{around, name, find_forward(tree, op) + 1}};

	return tally_number(&tree->op_paths, key) + 1;
}

static void add_inside(struct tree_op *around, uint64_t start_ns, uint64_t end_ns)
{
	if (end_ns > around->end_ns)
		end_ns = around->end_ns;
	around->inside_ns += end_ns > start_ns ? end_ns - start_ns : 0;
}

/* Whether the op is a node of a backward pass, and `around` the op that evaluates it. */
static bool is_one_with(const struct call_tree *tree, const struct tree_op *around, const struct model_op *op)
{
	return op->node != NONE && op_path_of(tree, around->path).name == op->node;
}

/*
 * The functions of what runs in a node: the functions that called the node, followed by its own, unless these already
 * contain them, as an inherited stack is the caller's.
 */
static uint32_t join_functions(struct call_tree *tree, const struct tree_thread *thread, uint32_t functions)
{
	for (size_t i = thread->open.count; i-- > 0;) {
		const struct tree_op *op = &thread->open.items[i];
		uint32_t without = 0;

		uint32_t both;

		if (!op->inherited || !op->exact)
			continue;
		both = common_path(tree, op->stack, functions);
		if (both == functions)
			return op->level;
		if (both == op->stack)
			without = tree->functions.all.items[op->stack].depth;
		return python_path_join(&tree->functions, op->level, functions, without);
	}
	return functions;
}

/* What is known of the node also holds for the op that evaluates it. */
static void be_one_with(struct tree_op *around, struct tree_op *node)
{
	node->path = around->path;
	if (!node->exact || around->exact)
		return;
	around->level = node->level;
	around->stack = node->stack;
	around->exact = true;
}

static void find_level(struct call_tree *tree, const struct model_op *op, struct tree_op *open)
{
	uint32_t stack = tree->attribution->forward && op->forward != NONE ? op->forward : op->stack;

	if (!stack_has_frames(tree->model, stack))
		return;
	open->stack = python_path_of_stack(&tree->functions, tree->model, stack);
	open->level = join_functions(tree, &tree->threads[op->thread], open->stack);
	open->exact = true;
}

/* Steps enclose everything and each has its own number: there would be a tree per step. */
static bool is_left_out(const struct call_tree *tree, const struct model_op *op)
{
	const char *name = op->name == NONE ? "" : tree->model->strings[op->name];

	return op_name_is_hidden(name) || op_name_is_step(name);
}

void call_tree_add_op(struct call_tree *tree, const struct op_event *event)
{
	const struct model_op *op = event->op;
	struct tree_thread *thread = &tree->threads[op->thread];
	struct tree_op *around;
	struct tree_op open = {
		.start_ns = op->start_ns,
		.end_ns = op->end_ns,
		.number = op->number,
		.before = thread->last,
		.level = NONE,
		.last = NONE,
		.slot = NONE,
		.annotated = op->scope == GPT_AGENT_OP_USER_SCOPE,
	};

	if (op->overlaps || is_left_out(tree, op))
		return;
	leave_until(tree, op->thread, op->start_ns);
	if (thread->open.count == OP_TREE_OPEN_MAX)
		return;
	around = thread->open.count ? &thread->open.items[thread->open.count - 1] : NULL;
	if (around)
		add_inside(around, op->start_ns, op->end_ns);
	open.inherited = (around && around->inherited) || op->node != NONE;
	find_level(tree, op, &open);
	if (around && is_one_with(tree, around, op))
		be_one_with(around, &open);
	else
		open.path = path_at(tree, around ? around->path : OP_PATH_NONE, op);
	note_number(tree, op, &open);
	array_push(&thread->open, open);
}

/* ---- calls and samples ------------------------------------------------------------------------------------------- */

static void note_call(struct call_tree *tree, struct tree_op *op, uint32_t functions)
{
	if (op->exact) {
		op->last = functions;
		return;
	}
	if (!op->annotated)
		op->level = op->last == NONE ? functions : common_path(tree, op->level, functions);
	else if (op->last == NONE && op->before != NONE)
		op->level = common_path(tree, op->before, functions);
	op->last = functions;
}

/* The functions of the forward op of the innermost node around, where they are known and wanted. */
static uint32_t functions_of_node(const struct call_tree *tree, const struct tree_thread *thread, uint32_t functions)
{
	for (size_t i = thread->open.count; tree->attribution->forward && i-- > 0;) {
		const struct tree_op *op = &thread->open.items[i];

		if (op->inherited && op->exact)
			return op->level;
	}
	return functions;
}

uint32_t call_tree_enter(struct call_tree *tree, struct tree_moment moment, struct tree_place *place)
{
	struct tree_thread *thread = &tree->threads[moment.thread];
	struct tree_op *innermost;
	uint32_t joined;

	leave_until(tree, moment.thread, moment.start_ns);
	settle_ended(tree, moment.thread, place->functions);
	if (moment.of_caller)
		place->functions = functions_of_node(tree, thread, place->functions);
	if (is_path(place->functions)) {
		joined = join_functions(tree, thread, place->functions);
		if (joined != place->functions)
			place->thread = TREE_THREAD_INHERITED | tree->model->threads[moment.thread].process;
		place->functions = joined;
		for (size_t i = 0; i < thread->open.count; i++)
			note_call(tree, &thread->open.items[i], place->functions);
		thread->last = place->functions;
	}
	if (!thread->open.count)
		return OP_PATH_NONE;
	innermost = &thread->open.items[thread->open.count - 1];
	add_inside(innermost, moment.start_ns, moment.end_ns);
	return innermost->path;
}
