/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins each event with what analyses need and feeds it to them. */
#include "analyze/walk.h"

#define MEMORY_PAGEABLE 1u /* CUpti_ActivityMemoryKind */

static uint32_t caller_of_index(struct analyses *all, uint32_t call)
{
	return call == NONE ? CALLER_UNSEEN : caller_of(&all->callers, &all->model->calls[call]);
}

static const struct model_call *call_of(const struct model *model, uint32_t call)
{
	return call == NONE ? NULL : &model->calls[call];
}

static void add_operations(const struct walk *walk, struct call_event *event)
{
	const struct model *model = walk->part;

	for (uint32_t op = event->call->first_gpu; op != NONE; op = model->gpu[op].next) {
		event->gpu_ns += gpu_ns(&model->gpu[op]);
		event->gpu_count++;
	}
}

/* Calls and copies have times of two clocks. */
#define CLOCKS_DIFFER_NS 1000u

static void look_at_copy(const struct walk *walk, struct call_event *event)
{
	const struct model *model = walk->part;
	uint64_t error_ns = model_source(model)->receipt.clock_error_ns, end_ns = 0;

	for (uint32_t op = event->call->first_gpu; op != NONE; op = model->gpu[op].next) {
		const struct model_gpu *copy = &model->gpu[op];

		if (copy->end_ns > end_ns)
			end_ns = copy->end_ns;
		event->stages |= copy->from == MEMORY_PAGEABLE || copy->to == MEMORY_PAGEABLE;
	}
	error_ns = error_ns > CLOCKS_DIFFER_NS ? error_ns : CLOCKS_DIFFER_NS;
	event->returned_early = end_ns > event->call->end_ns + error_ns;
}

static void feed_call(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model *model = walk->part;
	const struct model_call *call = &model->calls[index];
	uint64_t operation_ns = walk->next_ns[WALK_GPU];
	struct call_event event = {
		.call = call,
		.process = model->threads[call->thread].process,
		.caller = caller_of(&all->callers, call),
		.stack = attributed_stack(&all->attribution, call),
		.fate = all->has[ANALYZE_UNTIMED] ? launch_fate(model, call) : LAUNCH_NONE,
		.wait_reported = walk->wait_reported && walk->wait_reported[index],
		.operations_from_ns = operation_ns < walk->until_ns ? operation_ns : walk->until_ns,
	};

	if (analyses_want_operations(all))
		add_operations(walk, &event);
	if ((all->has[ANALYZE_CALL_STACKS] || all->has[ANALYZE_IDLE]) && call->gpu_count == 1) {
		event.operation = &model->gpu[call->first_gpu];
		event.captured = call_of(model, event.operation->captured_by);
	}
	if (call->class == GPT_CLASS_MEMCPY && call->first_gpu != NONE)
		look_at_copy(walk, &event);
	analyses_see_time(all, call->start_ns);
	analyses_add_call(all, &event);
}

/* Also of a GPU operation whose call was not seen: NULL. */
static uint32_t caller_of_op(struct analyses *all, const struct model_gpu *op, const struct model_call *call)
{
	if (call)
		return caller_of(&all->callers, call);
	if (gpu_is_migration(op))
		return CALLER_DRIVER;
	return op->before ? CALLER_BEFORE : CALLER_UNSEEN;
}

/* Sets the callers, and the stack that it counts for. */
static void attribute_event(struct analyses *all, struct gpu_event *event)
{
	const struct model *model = all->model;
	bool both = all->attribution.graphs == GRAPHS_DEFAULT && event->attributed != event->launch;

	event->caller = caller_of_op(all, event->op, event->attributed);
	event->launch_caller =
		event->attributed == event->launch ? event->caller : caller_of_op(all, event->op, event->launch);
	event->stack = event->attributed ? attributed_stack(&all->attribution, event->attributed) : NONE;
	event->replay = both && event->launch ? event->launch->stack : NONE;
	if (stack_has_frames(model, event->stack))
		event->caller = model->stack_frames[model->stacks[event->stack].first];
}

static void feed_gpu(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model *model = walk->part;
	const struct model_gpu *op = &model->gpu[index];
	struct gpu_event event = {
		.op = op,
		.launch = call_of(model, op->call),
		.attributed = call_of(model, attributed_call(&all->attribution, model, op)),
		.captured = call_of(model, op->captured_by),
	};

	event.first = event.launch && event.launch->first_gpu == index;
	attribute_event(all, &event);
	analyses_see_time(all, op->end_ns);
	analyses_add_gpu(all, &event);
	analyses_show_gpu(all, &event);
}

static void feed_crossing(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model_crossing *crossing = &walk->crossings.items[index];
	struct crossing_event event = {.gpu = {
					       .op = &crossing->op,
					       .launch = crossing->has_launch ? &crossing->launch : NULL,
					       .captured = crossing->has_captured ? &crossing->captured : NULL,
				       }};

	event.gpu.attributed = attributed_of(&all->attribution, event.gpu.launch, event.gpu.captured);
	attribute_event(all, &event.gpu);
	analyses_see_time(all, crossing->op.end_ns);
	analyses_add_crossing(all, &event);
}

static void feed_sync(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model_sync *sync = &walk->part->syncs[index];
	struct sync_event event = {
		.sync = sync,
		.caller = caller_of_index(all, sync->call),
		.stack = sync->call == NONE ? NONE : walk->part->calls[sync->call].stack,
		.recorded_caller = caller_of_index(all, sync->recorded_by),
	};

	if (sync->call < walk->part->calls_in_part.from)
		event.earlier = &walk->part->calls[sync->call];
	analyses_add_sync(all, &event);
}

static void feed_jit(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model_jit *jit = &walk->part->jits[index];
	struct jit_event event = {.jit = jit, .caller = caller_of_index(all, jit->call)};

	analyses_add_jit(all, &event);
}

static void feed_memory(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model_memory *memory = &walk->part->memories[index];
	struct memory_event event = {.memory = memory};
	uint32_t call;

	if (memory->released && memory->other != NONE)
		event.allocation = &walk->part->memories[memory->other];
	call = event.allocation ? event.allocation->call : memory->call;
	event.place = caller_place(walk->part, call == NONE ? NONE : walk->part->calls[call].stack,
				   caller_of_index(all, call));
	analyses_add_memory(all, &event);
}

static void feed_sample(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model_sample *sample = &walk->part->samples[index];
	struct sample_event event = {
		.sample = sample,
		.process = walk->part->threads[sample->thread].process,
		.caller = caller_of_thread(&all->callers, sample->thread, sample->stack, sample->stack_state),
	};

	analyses_add_sample(all, &event);
}

static void feed_await(struct walk *walk, uint32_t index)
{
	struct await_event event = {.await = &walk->part->awaits[index]};

	analyses_add_await(walk->all, &event);
}

static void feed_wait(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model_wait *wait = &walk->part->waits[index];
	struct wait_event event = {
		.wait = wait,
		.process = walk->part->threads[wait->thread].process,
		.caller = caller_of_thread(&all->callers, wait->thread, wait->stack, wait->stack_state),
		.waker_caller = CALLER_UNSEEN,
	};

	if (wait->waker != NONE)
		event.waker_caller =
			caller_of_thread(&all->callers, wait->waker, wait->waker_stack, wait->waker_stack_state);
	analyses_add_wait(all, &event);
}

static void feed_gpu_sample(struct walk *walk, uint32_t index)
{
	struct gpu_sample_event event = {.sample = &walk->part->gpu_samples[index]};

	analyses_add_gpu_sample(walk->all, &event);
}

static void feed_gpu_process(struct walk *walk, uint32_t index)
{
	struct gpu_process_event event = {.memory = &walk->part->gpu_processes[index]};

	analyses_add_gpu_process(walk->all, &event);
}

static void feed_gpu_error(struct walk *walk, uint32_t index)
{
	struct gpu_error_event event = {.error = &walk->part->gpu_errors[index]};

	analyses_add_gpu_error(walk->all, &event);
}

static void feed_torch_memory(struct walk *walk, uint32_t index)
{
	struct analyses *all = walk->all;
	const struct model *model = walk->part;
	const struct model_torch_memory *memory = &model->torch_memories[index];
	bool freed = memory->kind == GPT_AGENT_TORCH_MEMORY_FREED;
	uint32_t stack = freed ? memory->since_stack : memory->stack;
	struct torch_memory_event event = {
		.memory = memory,
		.process = model->threads[memory->thread].process,
		.place = caller_place(model, stack, CALLER_UNSEEN),
		.pass = memory_pass(model, stack, freed ? memory->since_forward : memory->forward),
		.op_name = freed ? memory->since_op_name : memory->op_name,
		.was_seen = memory->since_ns && memory->since_ns >= all->window.start_ns,
	};

	analyses_add_torch_memory(all, &event);
}

static void feed_exit(struct walk *walk, uint32_t index)
{
	uint32_t process = walk->exits[index];
	struct exit_event event = {.time_ns = walk->part->processes[process].exit_ns, .process = process};

	analyses_add_exit(walk->all, &event);
}

static void feed_span(struct walk *walk, uint32_t index)
{
	const struct model *model = walk->part;
	const struct model_span *span = &model->pyspans[walk->spans[index]];
	struct span_event event = {.span = span, .process = model->threads[span->thread].process};

	analyses_add_span(walk->all, &event);
}

static void feed_range(struct walk *walk, uint32_t index)
{
	uint32_t range = walk->ranges[index];

	analyses_add_range(walk->all, &(struct range_event){.range = &walk->part->ranges[range]});
}

static void feed_op(struct walk *walk, uint32_t index)
{
	uint32_t op = walk->ops[index];

	analyses_add_op(walk->all, &(struct op_event){.op = &walk->part->ops[op]});
}

void walk_feed(struct walk *walk, enum walk_kind kind, uint32_t index)
{
	static void (*const feed[WALK_KINDS])(struct walk *, uint32_t) = {
#define FEED(kind, one, ...) [WALK_##kind] = feed_##one,
		EVENT_ROWS(FEED, FEED)
#undef FEED
	};

	feed[kind](walk, index);
}
