/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the tables, then calls, then the events that calls cause. */
#include "random_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define START_NS 1000000000ull
#define THREADS 5u
#define STRINGS 24u
#define STACKS 12u
#define FRAMES 16u
#define ALLOCATED_MAX 8u

struct maker {
	struct model *model;
	uint64_t state;
	uint64_t now_ns[THREADS], last_ns;
	uint32_t captured; /* the latest call that became a node, NONE */
	ARRAY(struct model_call) calls;
	ARRAY(struct model_gpu) gpu;
	ARRAY(struct model_jit) jits;
	ARRAY(struct model_sync) syncs;
	ARRAY(struct model_memory) memories;
	ARRAY(struct model_overhead) overheads;
	ARRAY(struct model_sample) samples;
	ARRAY(struct model_wait) waits;
	ARRAY(struct model_span) pyspans, ranges, pycalls;
};

/* A random number below the limit (splitmix64). */
static uint64_t random_below(struct maker *maker, uint64_t limit)
{
	uint64_t z = maker->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % limit;
}

static bool happens_in_percent(struct maker *maker, unsigned share)
{
	return random_below(maker, 100) < share;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void make_tables(struct maker *maker)
{
	struct model *model = maker->model;

	model->string_count = STRINGS;
	model->strings = xcalloc(STRINGS, sizeof(*model->strings));
	for (uint32_t i = 0; i < STRINGS; i++)
		model->strings[i] = i % 3 ? xasprintf("name_%u", i) : xasprintf("op, seq = %u", i);
	model->code_count = model->frame_count = FRAMES;
	model->codes = xcalloc(FRAMES, sizeof(*model->codes));
	model->frames = xcalloc(FRAMES, sizeof(*model->frames));
	for (uint32_t i = 0; i < FRAMES; i++) {
		bool compiles = i == 2;

		model->codes[i] =
			(struct model_code){.name = compiles ? xstrdup("compile") : xasprintf("f%u", i / 2),
					    .file = compiles ? xstrdup("/src/triton/compiler/compiler.py")
							     : xasprintf("/src/%s%u.py", i % 2 ? "a" : "b/a", i / 4)};
		model->codes[i].raw_file = model->codes[i].file;
		model->frames[i] = (struct model_frame){.code = i, .line = i % 3};
	}
	model->stack_count = STACKS;
	model->stack_frame_count = 3 * STACKS;
	model->stacks = xcalloc(STACKS, sizeof(*model->stacks));
	model->stack_frames = xcalloc(model->stack_frame_count, sizeof(*model->stack_frames));
	for (uint32_t i = 0; i < STACKS; i++)
		model->stacks[i] = (struct model_stack){.first = 3 * i, .depth = 1 + i % 3};
	for (uint32_t i = 0; i < model->stack_frame_count; i++)
		model->stack_frames[i] = (uint32_t)random_below(maker, 1 + i / 3 * FRAMES / STACKS);
}

static void make_processes(struct maker *maker)
{
	static const struct model_process empty = {.exe = "",
						   .cmdline = "",
						   .python_path = "",
						   .agent_detail = "",
						   .cupti_path = "",
						   .agent_activity_sets = "kernels"};
	struct model *model = maker->model;

	model->process_count = 2;
	model->processes = xcalloc(2, sizeof(*model->processes));
	for (uint32_t i = 0; i < 2; i++) {
		model->processes[i] = empty;
		model->processes[i].pid = 100 + i;
		model->processes[i].name = i ? "second" : "first";
		model->processes[i].agent_ready_ns = START_NS;
	}
	model->thread_count = THREADS;
	model->threads = xcalloc(THREADS, sizeof(*model->threads));
	for (uint32_t i = 0; i < THREADS; i++)
		model->threads[i] =
			(struct model_thread){.process = i / 3, .tid = 100 + i, .name = i % 2 ? "odd" : "even"};
	model->device_count = 2;
	model->devices = xcalloc(2, sizeof(*model->devices));
	for (uint32_t i = 0; i < 2; i++)
		model->devices[i] = (struct model_device){.id = i, .name = "GPU"};
	model->source_count = 1;
	model->sources = xcalloc(1, sizeof(*model->sources));
	model->sources[0] = (struct model_source){.version = "", .host = "", .kernel = "", .target = ""};
}

/* ---- calls and operations ---------------------------------------------------------------------------------------- */

static const struct {
	uint16_t api;
	uint8_t class;
	unsigned share; /* percent */
} apis[] = {
	{GPT_API(GPT_DOMAIN_RUNTIME, 211), GPT_CLASS_LAUNCH, 40},
	{GPT_API(GPT_DOMAIN_RUNTIME, 41), GPT_CLASS_MEMCPY, 15},
	{GPT_API(GPT_DOMAIN_RUNTIME, 51), GPT_CLASS_MEMSET, 5},
	{GPT_API(GPT_DOMAIN_RUNTIME, 311), GPT_CLASS_GRAPH, 5},
	{GPT_API(GPT_DOMAIN_RUNTIME, 131), GPT_CLASS_SYNC, 15},
	{GPT_API(GPT_DOMAIN_RUNTIME, 20), GPT_CLASS_ALLOC, 10},
	{GPT_API(GPT_DOMAIN_RUNTIME, 22), GPT_CLASS_FREE, 10},
};

static void make_call(struct maker *maker)
{
	uint32_t thread = (uint32_t)random_below(maker, THREADS), stack = (uint32_t)random_below(maker, STACKS + 3);
	uint64_t share = random_below(maker, 100), start_ns = maker->now_ns[thread] + 1 + random_below(maker, 3000);
	struct model_call call = {.start_ns = start_ns,
				  .thread = thread,
				  .stack = stack < STACKS ? stack : NONE,
				  .native = NONE,
				  .node = NONE,
				  .forward = NONE,
				  .args = NONE,
				  .corr = (uint32_t)maker->calls.count + 1,
				  .first_gpu = NONE,
				  .stack_state =
					  stack < STACKS ? GPT_STACK_OK : (uint8_t)(GPT_STACK_NO_PYTHON + stack % 3)};
	size_t row = 0;

	for (; share >= apis[row].share; row++)
		share -= apis[row].share;
	call.api = apis[row].api;
	call.class = apis[row].class;
	call.end_ns = start_ns + random_below(maker, call.class == GPT_CLASS_SYNC ? 60000 : 4000);
	if (call.class == GPT_CLASS_MEMCPY && happens_in_percent(maker, 20))
		call.end_ns += 20000;
	maker->now_ns[thread] = call.end_ns;
	maker->last_ns = call.end_ns > maker->last_ns ? call.end_ns : maker->last_ns;
	if (happens_in_percent(maker, 4))
		call.result = 2;
	if (happens_in_percent(maker, 4))
		call.end_ns = 0;
	call.captured = call.class == GPT_CLASS_LAUNCH && happens_in_percent(maker, 10);
	if (call.stack_state == GPT_STACK_OK && happens_in_percent(maker, 5))
		call.stack_state = GPT_STACK_BACKWARD;
	if (happens_in_percent(maker, 10)) {
		call.node = 0;
		call.forward = stack < STACKS ? STACKS - 1 - stack : NONE;
	}
	array_push(&maker->calls, call);
}

static int by_start(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right; /* the first member of the sorted structs */

	return (*a > *b) - (*a < *b);
}

#define SORT(array)                                                                                                    \
	do {                                                                                                           \
		if ((array)->count)                                                                                    \
			qsort((array)->items, (array)->count, sizeof((array)->items[0]), by_start);                    \
	} while (0)

static void add_operation(struct maker *maker, uint32_t call, uint8_t kind, bool graph)
{
	uint64_t from_ns = call == NONE ? START_NS + random_below(maker, 1000000) : maker->calls.items[call].start_ns;
	struct model_gpu op = {.start_ns = from_ns + random_below(maker, 40000) - random_below(maker, 100),
			       .bytes = kind == MODEL_KERNEL ? 0 : random_below(maker, 4) * 1000,
			       .call = call,
			       .next = NONE,
			       .captured_by = graph && happens_in_percent(maker, 80) ? maker->captured : NONE,
			       .device = (uint32_t)random_below(maker, 2),
			       .stream = 7 + (uint32_t)random_below(maker, 2),
			       .name = kind == MODEL_KERNEL ? (uint32_t)random_below(maker, STRINGS) : NONE,
			       .kind = kind,
			       .before = call == NONE && happens_in_percent(maker, 50),
			       .memcpy_kind = (uint8_t)(1 + random_below(maker, 3)),
			       .from = (uint8_t)(1 + random_below(maker, 3)),
			       .to = 3};

	op.process = call == NONE ? 0 : maker->model->threads[maker->calls.items[call].thread].process;
	op.end_ns = op.start_ns + random_below(maker, 4) * 5000;
	if (happens_in_percent(maker, 5))
		op.start_ns = op.end_ns = 0;
	array_push(&maker->gpu, op);
}

static void make_operations(struct maker *maker)
{
	for (uint32_t i = 0; i < maker->calls.count; i++) {
		const struct model_call *call = &maker->calls.items[i];

		if (call->captured)
			maker->captured = i;
		if (call->captured || call->result || happens_in_percent(maker, 5))
			continue;
		if (call->class == GPT_CLASS_LAUNCH)
			add_operation(maker, i, MODEL_KERNEL, false);
		else if (call->class == GPT_CLASS_MEMCPY)
			add_operation(maker, i, MODEL_MEMCPY, false);
		else if (call->class == GPT_CLASS_MEMSET)
			add_operation(maker, i, MODEL_MEMSET, false);
		for (uint64_t k = random_below(maker, 5); call->class == GPT_CLASS_GRAPH && k; k--)
			add_operation(maker, i, MODEL_KERNEL, true);
		if (happens_in_percent(maker, 3))
			add_operation(maker, NONE, MODEL_KERNEL, false);
	}
	SORT(&maker->gpu);
	for (uint32_t i = (uint32_t)maker->gpu.count; i-- > 0;) {
		struct model_gpu *op = &maker->gpu.items[i];

		maker->model->processes[op->process].gpu_ops++;
		if (op->call == NONE)
			continue;
		op->next = maker->calls.items[op->call].first_gpu;
		maker->calls.items[op->call].first_gpu = i;
		maker->calls.items[op->call].gpu_count++;
	}
}

/* ---- other events that calls cause ------------------------------------------------------------------------------- */

static void add_sync(struct maker *maker, uint32_t index)
{
	const struct model_call *call = &maker->calls.items[index];
	uint64_t length = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 1;
	struct model_sync sync = {.start_ns = call->start_ns + random_below(maker, length),
				  .call = happens_in_percent(maker, 95) ? index : NONE,
				  .process = maker->model->threads[call->thread].process,
				  .stream = (uint32_t)random_below(maker, 2),
				  .recorded_by = NONE,
				  .kind = (uint8_t)(GPT_AGENT_SYNC_EVENT + random_below(maker, 4))};

	if (sync.kind == GPT_AGENT_SYNC_EVENT && happens_in_percent(maker, 80))
		sync.recorded_by = (uint32_t)random_below(maker, index + 1);
	if (happens_in_percent(maker, 20)) /* clocks err */
		sync.start_ns = call->start_ns - 50;
	sync.end_ns = sync.start_ns + random_below(maker, 10000);
	array_push(&maker->syncs, sync);
}

static void add_wait(struct maker *maker, uint32_t index)
{
	const struct model_call *call = &maker->calls.items[index], *other;
	struct model_wait wait = {.start_ns = call->start_ns + random_below(maker, 500),
				  .thread = call->thread,
				  .stack = call->stack,
				  .native = NONE,
				  .waker = NONE,
				  .waker_stack = NONE,
				  .holder = NONE,
				  .syscall = 202,
				  .reason = (uint8_t)random_below(maker, GPT_WAIT_REASONS),
				  .stack_state = call->stack_state};

	wait.woken_ns = happens_in_percent(maker, 90) ? wait.start_ns + random_below(maker, 500) : 0;
	wait.end_ns = wait.start_ns + 500 + random_below(maker, 500);
	if (happens_in_percent(maker, 50)) {
		other = &maker->calls.items[random_below(maker, maker->calls.count)];
		wait.woken_by = GPT_WAKER_THREAD;
		wait.waker = other->thread;
		wait.waker_stack = other->stack;
		wait.waker_stack_state = other->stack_state;
	}
	array_push(&maker->waits, wait);
}

static int by_end(const void *left, const void *right)
{
	const struct model_wait *a = left, *b = right;

	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static void make_records(struct maker *maker)
{
	for (uint32_t i = 0; i < maker->calls.count; i++) {
		const struct model_call *call = &maker->calls.items[i];
		uint32_t process = maker->model->threads[call->thread].process;
		bool waits = call->class == GPT_CLASS_SYNC || call->class == GPT_CLASS_MEMCPY;

		for (uint64_t k = waits && happens_in_percent(maker, 50) ? 1 + random_below(maker, 2) : 0; k; k--)
			add_sync(maker, i);
		if (happens_in_percent(maker, 3))
			array_push(&maker->jits,
				   ((struct model_jit){.start_ns = call->start_ns + 10,
						       .end_ns = call->start_ns + 10 + random_below(maker, 900),
						       .call = happens_in_percent(maker, 80) ? i : NONE,
						       .process = process,
						       .operation = 1 + random_below(maker, 3)}));
		if (happens_in_percent(maker, 3))
			array_push(&maker->overheads,
				   ((struct model_overhead){.start_ns = call->start_ns + random_below(maker, 5000),
							    .end_ns = call->start_ns + 9000,
							    .process = process}));
		if (happens_in_percent(maker, 20))
			array_push(&maker->samples,
				   ((struct model_sample){.time_ns = call->start_ns + random_below(maker, 5000),
							  .thread = call->thread,
							  .stack = call->stack,
							  .native = NONE,
							  .period_ns = 1000,
							  .stack_state = call->stack_state,
							  .place = GPT_SAMPLE_USER}));
		if (happens_in_percent(maker, 20))
			add_wait(maker, i);
		if (call->class == GPT_CLASS_ALLOC || call->class == GPT_CLASS_FREE)
			array_push(&maker->memories,
				   ((struct model_memory){.time_ns = call->start_ns + random_below(maker, 500),
							  .bytes = 100 * (1 + random_below(maker, 9)),
							  .call = happens_in_percent(maker, 90) ? i : NONE,
							  .other = NONE,
							  .process = process,
							  .device = (uint32_t)random_below(maker, 2),
							  .kind = (uint8_t)(2 + random_below(maker, 2)),
							  .released = call->class == GPT_CLASS_FREE}));
	}
	SORT(&maker->syncs);
	SORT(&maker->jits);
	SORT(&maker->memories);
	SORT(&maker->samples);
	if (maker->waits.count)
		qsort(maker->waits.items, maker->waits.count, sizeof(maker->waits.items[0]), by_end);
}

/* A release frees any of the allocations that the process holds. */
static void pair_memories(struct maker *maker)
{
	uint32_t held[2][ALLOCATED_MAX], count[2] = {0, 0};

	for (uint32_t i = 0; i < maker->memories.count; i++) {
		struct model_memory *memory = &maker->memories.items[i];
		uint32_t process = memory->process, at;

		if (!memory->released && count[process] < ALLOCATED_MAX)
			held[process][count[process]++] = i;
		if (!memory->released || !count[process])
			continue;
		at = (uint32_t)random_below(maker, count[process]);
		memory->other = held[process][at];
		memory->bytes = maker->memories.items[memory->other].bytes;
		maker->memories.items[memory->other].other = i;
		held[process][at] = held[process][--count[process]];
	}
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

static void make_pyspans(struct maker *maker, uint32_t thread)
{
	struct model_thread *owner = &maker->model->threads[thread];
	uint64_t at = START_NS;

	owner->first_pyspan = (uint32_t)maker->pyspans.count;
	while ((at += 1 + random_below(maker, 60000)) < maker->last_ns) {
		struct model_span span = {
			.start_ns = at, .end_ns = at + random_below(maker, 30000), .thread = thread, .name = NONE};

		span.kind = happens_in_percent(maker, 50) ? MODEL_SPAN_GC : MODEL_SPAN_IMPORT;
		if (span.kind == MODEL_SPAN_GC)
			span.generation = (int32_t)random_below(maker, 3);
		else
			span.name = (uint32_t)random_below(maker, STRINGS);
		array_push(&maker->pyspans, span);
		if (span.kind == MODEL_SPAN_IMPORT && span.end_ns > at + 10) {
			span.start_ns += 5;
			span.end_ns -= 5;
			array_push(&maker->pyspans, span);
		}
		at = span.end_ns + 5;
	}
	owner->pyspans = (uint32_t)maker->pyspans.count - owner->first_pyspan;
}

static void make_ranges(struct maker *maker, uint32_t thread)
{
	struct model_thread *owner = &maker->model->threads[thread];
	uint64_t at = START_NS;

	owner->first_range = (uint32_t)maker->ranges.count;
	if (thread == 1)
		return;
	while ((at += 1 + random_below(maker, 20000)) < maker->last_ns) {
		struct model_span range = {
			.start_ns = at,
			.end_ns = at + random_below(maker, happens_in_percent(maker, 10) ? 400000 : 20000),
			.thread = thread,
			.name = (uint32_t)random_below(maker, STRINGS),
			.domain = happens_in_percent(maker, 20) ? 1 : NONE,
			.kind = MODEL_SPAN_STARTED};

		if (happens_in_percent(maker, 20)) {
			range.kind = MODEL_SPAN_MARK;
			range.end_ns = at;
		}
		array_push(&maker->ranges, range);
	}
	owner->ranges = (uint32_t)maker->ranges.count - owner->first_range;
}

/* Functions nest. */
static void make_pycalls(struct maker *maker, uint32_t thread)
{
	struct model_thread *owner = &maker->model->threads[thread];
	uint64_t at = START_NS, outer_end_ns = 0;

	owner->first_pycall = (uint32_t)maker->pycalls.count;
	while (thread != 2 && (at += 1 + random_below(maker, 20000)) < maker->last_ns) {
		struct model_span call = {.start_ns = at,
					  .end_ns = at + random_below(maker, 100000),
					  .thread = thread,
					  .name = NONE,
					  .code = (uint32_t)random_below(maker, FRAMES),
					  .kind = MODEL_SPAN_FUNCTION};

		if (at >= outer_end_ns)
			outer_end_ns = call.end_ns;
		else if (call.end_ns > outer_end_ns)
			call.end_ns = outer_end_ns;
		array_push(&maker->pycalls, call);
		at = happens_in_percent(maker, 50) ? at : call.end_ns;
	}
	owner->pycalls = (uint32_t)maker->pycalls.count - owner->first_pycall;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void count_calls(struct maker *maker)
{
	struct model *model = maker->model;

	for (uint32_t i = 0; i < maker->calls.count; i++) {
		struct model_thread *thread = &model->threads[maker->calls.items[i].thread];

		thread->calls++;
		model->processes[thread->process].calls++;
	}
	model->sources[0].receipt.calls = maker->calls.count;
	model->sources[0].receipt.gpu_ops = maker->gpu.count;
	for (uint32_t i = 0; i < maker->gpu.count; i++)
		model->sources[0].receipt.gpu_ns += maker->gpu.items[i].end_ns - maker->gpu.items[i].start_ns;
}

#define GIVE(maker, plural, singular)                                                                                  \
	((maker)->model->plural = (maker)->plural.items,                                                               \
	 (maker)->model->singular##_count = (uint32_t)(maker)->plural.count)

static void give_all(struct maker *maker)
{
	GIVE(maker, calls, call);
	GIVE(maker, gpu, gpu);
	GIVE(maker, jits, jit);
	GIVE(maker, syncs, sync);
	GIVE(maker, memories, memory);
	GIVE(maker, overheads, overhead);
	GIVE(maker, samples, sample);
	GIVE(maker, waits, wait);
	GIVE(maker, pyspans, pyspan);
	GIVE(maker, pycalls, pycall);
	GIVE(maker, ranges, range);
}

struct model *random_model(uint64_t number, uint32_t calls)
{
	struct maker maker = {.state = number, .captured = NONE};
	struct model *model = maker.model = xcalloc(1, sizeof(*model));

	model->start_ns = START_NS;
	model->gpu_times = MODEL_GPU_TIMES_MEANT;
	make_tables(&maker);
	make_processes(&maker);
	for (uint32_t i = 0; i < THREADS; i++)
		maker.now_ns[i] = START_NS;
	for (uint32_t i = 0; i < calls; i++)
		make_call(&maker);
	model->end_ns = maker.last_ns + 1000;
	model->processes[1].exit_ns = START_NS + (maker.last_ns - START_NS) * 3 / 4;
	SORT(&maker.calls);
	for (uint32_t i = 0; i < calls; i++)
		maker.calls.items[i].number = i;
	make_operations(&maker);
	make_records(&maker);
	pair_memories(&maker);
	for (uint32_t i = 0; i < THREADS; i++) {
		make_pyspans(&maker, i);
		make_ranges(&maker, i);
		make_pycalls(&maker, i);
	}
	count_calls(&maker);
	give_all(&maker);
	return model;
}

void random_model_free(struct model *model)
{
	void *arrays[] = {model->strings, model->codes,	       model->frames,
			  model->stacks,  model->stack_frames, model->processes,
			  model->threads, model->devices,      model->sources,
			  model->calls,	  model->gpu,	       model->jits,
			  model->syncs,	  model->memories,     model->overheads,
			  model->samples, model->waits,	       model->pyspans,
			  model->pycalls, model->ranges,       model};

	for (uint32_t i = 0; i < model->string_count; i++)
		free((char *)model->strings[i]);
	for (uint32_t i = 0; i < model->code_count; i++) {
		free((char *)model->codes[i].name);
		free((char *)model->codes[i].file);
	}
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		free(arrays[i]);
}
