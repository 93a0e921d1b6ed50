/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One walk through the events of a model in the order of their begins; each is given with what it was joined with. */
#include "analyze/analyze.h"

#include <stdlib.h>

/* Of several events at one time these come first. */
enum kind {
	KIND_RANGE,
	KIND_CALL,
	KIND_GPU,
	KIND_SYNC,
	KIND_JIT,
	KIND_SPAN,
	KIND_EXIT,
	KIND_MEMORY,
	KINDS,
};

struct walk {
	struct analyses *all;
	uint32_t next[KINDS];	/* in the array of that kind */
	uint64_t due_ns[KINDS]; /* when that begins, UINT64_MAX: there are no more */
	uint32_t *exits;	/* processes that ended, by that time */
	uint32_t *ranges;	/* model.ranges by start */
	uint32_t span_count, exit_count, range_count;
	uint32_t *spans;    /* model.pyspans by start; NULL: nobody wants them */
	uint8_t *wait_told; /* by model.calls; NULL: of none */
};

/* When the next event of a kind begins. */
static uint64_t due(const struct walk *walk, enum kind kind)
{
	const struct model *model = walk->all->model;
	uint32_t next = walk->next[kind];

	switch (kind) {
	case KIND_CALL:
		return next < model->call_count ? model->calls[next].start_ns : UINT64_MAX;
	case KIND_GPU:
		return next < model->gpu_count ? model->gpu[next].start_ns : UINT64_MAX;
	case KIND_SYNC:
		return next < model->sync_count ? model->syncs[next].start_ns : UINT64_MAX;
	case KIND_JIT:
		return next < model->jit_count ? model->jits[next].start_ns : UINT64_MAX;
	case KIND_MEMORY:
		return next < model->memory_count ? model->memories[next].time_ns : UINT64_MAX;
	case KIND_RANGE:
		return next < walk->range_count ? model->ranges[walk->ranges[next]].start_ns : UINT64_MAX;
	case KIND_SPAN:
		return next < walk->span_count ? model->pyspans[walk->spans[next]].start_ns : UINT64_MAX;
	case KIND_EXIT:
		return next < walk->exit_count ? model->processes[walk->exits[next]].exit_ns : UINT64_MAX;
	default:
		return UINT64_MAX;
	}
}

/* Takes the next one of a kind: its index. */
static uint32_t take(struct walk *walk, enum kind kind)
{
	uint32_t index = walk->next[kind]++;

	walk->due_ns[kind] = due(walk, kind);
	return index;
}

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
	const struct model *model = walk->all->model;

	for (uint32_t op = event->call->first_gpu; op != NONE; op = model->gpu[op].next) {
		event->gpu_ns += gpu_ns(&model->gpu[op]);
		event->gpu_count++;
	}
}

static void feed_call(struct walk *walk)
{
	struct analyses *all = walk->all;
	const struct model *model = all->model;
	uint32_t index = take(walk, KIND_CALL);
	const struct model_call *call = &model->calls[index];
	struct call_event event = {
		.call = call,
		.number = index,
		.process = model->threads[call->thread].process,
		.caller = caller_of(&all->callers, call),
		.fate = all->which & ANALYZE_UNTIMED ? launch_fate(model, call) : LAUNCH_NONE,
		.wait_told = walk->wait_told && walk->wait_told[index],
		.operations_from_ns = walk->due_ns[KIND_GPU],
	};

	if (walk->range_count)
		add_operations(walk, &event);
	if (all->which & ANALYZE_CALL_STACKS && call->gpu_count == 1) {
		event.operation = &model->gpu[call->first_gpu];
		event.captured = call_of(model, event.operation->captured_by);
	}
	analyses_add_call(all, &event);
}

/* Of a GPU operation whose call was not seen, too. */
static uint32_t caller_of_op(struct analyses *all, const struct model_gpu *op, uint32_t call)
{
	return call == NONE && op->before ? CALLER_BEFORE : caller_of_index(all, call);
}

static void feed_gpu(struct walk *walk)
{
	struct analyses *all = walk->all;
	const struct model *model = all->model;
	uint32_t index = take(walk, KIND_GPU);
	const struct model_gpu *op = &model->gpu[index];
	uint32_t attributed = gpu_attributed_call(model, op);
	struct gpu_event event = {
		.op = op,
		.launch = call_of(model, op->call),
		.attributed = call_of(model, attributed),
		.captured = call_of(model, op->captured_by),
		.launch_number = op->call,
		.caller = caller_of_op(all, op, attributed),
	};

	event.first = event.launch && event.launch->first_gpu == index;
	event.launch_caller = attributed == op->call ? event.caller : caller_of_op(all, op, op->call);
	analyses_add_gpu(all, &event);
}

static void feed_sync(struct walk *walk)
{
	struct analyses *all = walk->all;
	const struct model_sync *sync = &all->model->syncs[take(walk, KIND_SYNC)];
	struct sync_event event = {
		.sync = sync,
		.caller = caller_of_index(all, sync->call),
		.recorded_caller = caller_of_index(all, sync->recorded_by),
	};

	analyses_add_sync(all, &event);
}

static void feed_jit(struct walk *walk)
{
	struct analyses *all = walk->all;
	const struct model_jit *jit = &all->model->jits[take(walk, KIND_JIT)];
	struct jit_event event = {.jit = jit, .caller = caller_of_index(all, jit->call)};

	analyses_add_jit(all, &event);
}

static void feed_memory(struct walk *walk)
{
	struct analyses *all = walk->all;
	const struct model_memory *memory = &all->model->memories[take(walk, KIND_MEMORY)];
	struct memory_event event = {.memory = memory};

	if (memory->released && memory->other != NONE)
		event.allocation = &all->model->memories[memory->other];
	event.caller = caller_of_index(all, event.allocation ? event.allocation->call : memory->call);
	analyses_add_memory(all, &event);
}

static void feed_exit(struct walk *walk)
{
	uint32_t process = walk->exits[take(walk, KIND_EXIT)];
	struct exit_event event = {.time_ns = walk->all->model->processes[process].exit_ns, .process = process};

	analyses_add_exit(walk->all, &event);
}

static void feed_span(struct walk *walk)
{
	const struct model *model = walk->all->model;
	const struct model_span *span = &model->pyspans[walk->spans[take(walk, KIND_SPAN)]];
	struct span_event event = {.span = span, .process = model->threads[span->thread].process};

	analyses_add_span(walk->all, &event);
}

static void feed_range(struct walk *walk)
{
	uint32_t index = walk->ranges[take(walk, KIND_RANGE)];
	struct range_event event = {.range = &walk->all->model->ranges[index]};

	analyses_add_range(walk->all, &event);
}

static enum kind next_kind(const struct walk *walk)
{
	enum kind next = 0;

	for (enum kind kind = 1; kind < KINDS; kind++)
		if (walk->due_ns[kind] < walk->due_ns[next])
			next = kind;
	return next;
}

static void feed_all(struct walk *walk)
{
	for (;;) {
		enum kind kind = next_kind(walk);

		if (walk->due_ns[kind] == UINT64_MAX)
			return;
		switch (kind) {
		case KIND_RANGE:
			feed_range(walk);
			break;
		case KIND_CALL:
			feed_call(walk);
			break;
		case KIND_GPU:
			feed_gpu(walk);
			break;
		case KIND_SYNC:
			feed_sync(walk);
			break;
		case KIND_JIT:
			feed_jit(walk);
			break;
		case KIND_SPAN:
			feed_span(walk);
			break;
		case KIND_EXIT:
			feed_exit(walk);
			break;
		default:
			feed_memory(walk);
			break;
		}
	}
}

/* Calls of whose waiting CUPTI told. */
static void find_told(struct walk *walk)
{
	const struct model *model = walk->all->model;

	if (!model->sync_count)
		return;
	walk->wait_told = xcalloc(model->call_count, sizeof(*walk->wait_told));
	for (uint32_t i = 0; i < model->sync_count; i++)
		if (model->syncs[i].call != NONE)
			walk->wait_told[model->syncs[i].call] = 1;
}

/* An index, and when what it stands for happened. */
struct moment {
	uint64_t time_ns;
	uint32_t index;
};

static int by_time(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* The indices by time, and in their own order at one time; frees the moments. */
static uint32_t *sorted(struct moment *moments, uint32_t count)
{
	uint32_t *indices = xmalloc(count * sizeof(*indices));

	qsort(moments, count, sizeof(*moments), by_time);
	for (uint32_t i = 0; i < count; i++)
		indices[i] = moments[i].index;
	free(moments);
	return indices;
}

static void sort_exits(struct walk *walk)
{
	const struct model *model = walk->all->model;
	struct moment *exits = xmalloc(model->process_count * sizeof(*exits));

	for (uint32_t i = 0; i < model->process_count; i++)
		if (model->processes[i].exit_ns)
			exits[walk->exit_count++] = (struct moment){model->processes[i].exit_ns, i};
	walk->exits = sorted(exits, walk->exit_count);
}

/* The model has them by thread, in the order in which they began there; what is inside of an import comes behind it. */
static void sort_spans(struct walk *walk)
{
	const struct model *model = walk->all->model;
	uint32_t thread = NONE;
	uint64_t import_end_ns = 0;
	struct moment *spans;

	if (!(walk->all->which & ANALYZE_INTERPRETER))
		return;
	spans = xmalloc(model->pyspan_count * sizeof(*spans));
	for (uint32_t i = 0; i < model->pyspan_count; i++) {
		const struct model_span *span = &model->pyspans[i];

		if (span->thread != thread)
			import_end_ns = 0;
		thread = span->thread;
		if (span->kind == MODEL_SPAN_IMPORT && span->start_ns < import_end_ns)
			continue;
		if (span->kind == MODEL_SPAN_IMPORT)
			import_end_ns = span->end_ns;
		spans[walk->span_count++] = (struct moment){span->start_ns, i};
	}
	walk->spans = sorted(spans, walk->span_count);
}

/* Those, too. */
static void sort_ranges(struct walk *walk)
{
	const struct model *model = walk->all->model;
	struct moment *ranges;

	if (!(walk->all->which & ANALYZE_NVTX))
		return;
	walk->range_count = model->range_count;
	ranges = xmalloc(model->range_count * sizeof(*ranges));
	for (uint32_t i = 0; i < model->range_count; i++)
		ranges[i] = (struct moment){model->ranges[i].start_ns, i};
	walk->ranges = sorted(ranges, model->range_count);
}

void analyze(struct analyses *all, const struct model *model, unsigned which)
{
	struct walk walk = {.all = all};

	analyses_begin(all, model, which);
	find_told(&walk);
	sort_exits(&walk);
	sort_spans(&walk);
	sort_ranges(&walk);
	for (enum kind kind = 0; kind < KINDS; kind++)
		walk.due_ns[kind] = due(&walk, kind);
	feed_all(&walk);
	analyses_finish(all);
	free(walk.wait_told);
	free(walk.exits);
	free(walk.spans);
	free(walk.ranges);
}
