/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Notes what threads do, from calls, collections, imports, the driver's compiler and ops of PyTorch. */
#include <string.h>

#include "analyze/why/idle_internal.h"
#include "base/distance.h"

/* The kind of an op, by its name. */
enum {
	NAME_NOT_ASKED,
	NAME_PLAIN,
	NAME_DATA,
	NAME_COMPILE, /* covers the whole compilation; newer PyTorch (2.11) has it only while torch.profiler runs */
	/* other ops of torch.compile: a lookup for a matching region, ops that are traced, and the region */
	NAME_LOOKUP,
	NAME_TRACED,
	NAME_REGION,
	NAME_PEER, /* a collective on the CPU, from call to end */
};

/* A launch takes a few us; one that takes longer than this loads code, or waits for room in the stream. */
#define LAUNCH_LONG_NS 200000u

/* The cause that a call is charged to if it does not return at once; WHY_LOSSES: none. */
static enum why_cause cause_of_call(const struct call_event *event)
{
	const struct model_call *call = event->call;

	switch (call->class) {
	case GPT_CLASS_SYNC:
		return WHY_SYNC;
	case GPT_CLASS_MEMCPY:
		if (!call_stands(event))
			return WHY_LOSSES;
		return event->operation && event->operation->memcpy_kind == WHY_HTOD ? WHY_COPY : WHY_SYNC;
	case GPT_CLASS_ALLOC:
	case GPT_CLASS_FREE:
		return WHY_ALLOC;
	case GPT_CLASS_MODULE:
		return WHY_COMPILE;
	case GPT_CLASS_NONE:
		return WHY_CALL;
	case GPT_CLASS_LAUNCH:
	case GPT_CLASS_GRAPH:
		return call->end_ns > call->start_ns + LAUNCH_LONG_NS ? WHY_CALL : WHY_LOSSES;
	default:
		return WHY_LOSSES;
	}
}

/* The time before which no gap is still to be charged. */
static uint64_t gaps_from(struct idle *idle, const struct call_event *event)
{
	uint64_t from_ns = event->operations_from_ns;

	for (size_t i = 0; i < idle->devices.count; i++)
		if (idle->devices.items[i].busy_until_ns < from_ns)
			from_ns = idle->devices.items[i].busy_until_ns;
	if (from_ns != UINT64_MAX)
		idle->gaps_from_ns = from_ns;
	return from_ns;
}

void idle_add_sample(struct idle *idle, const struct sample_event *event)
{
	ran_add_sample(&idle->ran, idle->model, event, idle->gaps_from_ns);
	compiles_add_sample(idle, event->sample, caller_place(idle->model, event->sample->stack, event->caller));
}

void idle_add_await(struct idle *idle, const struct await_event *event)
{
	ran_add_await(&idle->ran, event, idle->gaps_from_ns);
}

void idle_add_wait(struct idle *idle, const struct wait_event *event)
{
	const struct model_wait *wait = event->wait;

	ran_add_wait(&idle->ran, idle->model, event, idle->gaps_from_ns);
	compiles_add_frames(idle, wait->thread, caller_place(idle->model, wait->stack, event->caller), wait->start_ns,
			    wait->end_ns);
}

/* What a call or the driver's compiler compiled inside of a compiler's frames is that compiler's. */
static struct tally_key compile_key(struct idle *idle, uint32_t place, enum why_compile kind, uint32_t extra)
{
	enum compiler compiler = compiler_at(&idle->threads.compilers, idle->model, place);

	return compiler == COMPILER_NONE ? why_key(place, WHY_COMPILE, kind, extra)
					 : why_key(place, WHY_COMPILE, WHY_COMPILE_FRAMES, compiler);
}

static struct tally_key key_of_call(struct idle *idle, const struct why_thread *thread, const struct call_event *event,
				    enum why_cause cause, uint32_t place)
{
	const struct model_call *call = event->call;

	switch (cause) {
	case WHY_SYNC:
		return why_key(place, cause, call->api, call->start_ns < thread->op_end_ns ? thread->op_name : NONE);
	case WHY_COPY:
		return why_key(place, cause, why_copy_detail(event->operation), NONE);
	case WHY_COMPILE:
		return compile_key(idle, place, WHY_COMPILE_MODULE, call->api);
	default:
		return why_key(place, cause, call->api, NONE);
	}
}

/* If nothing else shows where a thread was between two calls: the later call was made inside a DataLoader's next. */
static void note_loading(struct idle *idle, struct why_thread *thread, const struct model_call *call)
{
	struct why_loader loader = {.code = NONE};
	uint64_t end_ns = call->end_ns > call->start_ns ? call->end_ns : call->start_ns; /* 0: not seen */

	if (!idle->has_ops && thread->called_until_ns)
		loader = why_loader(&idle->threads, idle->model, call->stack);
	if (loader.code != NONE)
		why_thread_does(thread,
				(struct why_activity){.start_ns = thread->called_until_ns,
						      .end_ns = call->start_ns,
						      .key = why_key(call->stack, WHY_DATA, loader.code,
								     why_data_extra(WHY_SEEN_BY_FRAMES, loader.loads)),
						      .rank = WHY_RANK_DATA});
	if (end_ns > thread->called_until_ns)
		thread->called_until_ns = end_ns;
}

/* Whether the call is of the process's latest program, and not of one before its exec. */
static bool is_of_latest_program(const struct idle *idle, const struct call_event *event)
{
	return event->call->start_ns >= idle->model->processes[event->process].exec_ns;
}

/* The kernel's name if this is the first launch of it in the trace by the program; NONE. */
static uint32_t new_kernel(struct idle *idle, const struct call_event *event)
{
	const struct model_gpu *kernel = event->operation;
	uint32_t program = is_of_latest_program(idle, event);

	if (event->call->class != GPT_CLASS_LAUNCH || !kernel || kernel->kind != MODEL_KERNEL || kernel->name == NONE)
		return NONE;
	return tally_at(&idle->kernels, (struct tally_key){{event->process, kernel->name, program}})->count++
		       ? NONE
		       : kernel->name;
}

/*
 * Whether the first launch of a kernel in the trace is surely the first since the program began: with
 * CUDA_MODULE_LOADING=LAZY, the default, CUDA loads its code then.  A COMMAND's process is there before the trace, and
 * executes the program in it.
 */
static bool has_begun_in(const struct idle *idle, const struct call_event *event)
{
	const struct model_process *process = &idle->model->processes[event->process];
	uint64_t began_ns = is_of_latest_program(idle, event) ? process_program_ns(process) : process->start_ns;

	return began_ns && began_ns >= idle->reach.start_ns;
}

/*
 * Notes what the thread did in a call.  A first launch that takes long loads code if the GPU has nothing to do
 * meanwhile; else it may also wait for room in its stream.
 */
static void note_call(struct idle *idle, struct why_thread *thread, const struct model_call *call, struct tally_key key,
		      uint32_t kernel)
{
	struct why_activity doing = {.start_ns = call->start_ns,
				     .end_ns = call->end_ns,
				     .key = key,
				     .rank = key.part[1] == WHY_COMPILE ? WHY_RANK_COMPILE : WHY_RANK_CALL};

	if (kernel != NONE)
		doing.key = compile_key(idle, key.part[0], WHY_COMPILE_LAUNCH, kernel);
	if (doing.key.part[1] == WHY_COMPILE)
		compiles_add(idle, &(struct compile_span){.start_ns = call->start_ns,
							  .end_ns = call->end_ns,
							  .thread = call->thread,
							  .kernel = kernel,
							  .key = doing.key});
	why_thread_does(thread, doing);
	why_thread_waits(thread, call->start_ns, call->end_ns, key);
}

/*
 * Calls of a capture do nothing but become nodes of a graph.  It is over at the thread's next call that puts work on a
 * GPU; the calls that begin and end it are not followed.
 */
static void follow_capture(struct idle *idle, struct why_thread *thread, const struct model_call *call, uint32_t place)
{
	const struct compile_span span = {
		.start_ns = thread->captured_from_ns,
		.end_ns = thread->captured_until_ns,
		.thread = call->thread,
		.kernel = NONE,
		.key = why_key(thread->captured_place, WHY_COMPILE, WHY_COMPILE_CAPTURE, NONE)};

	if (call->captured) {
		if (!thread->captured_from_ns) {
			thread->captured_from_ns = call->start_ns;
			thread->captured_place = place;
		}
		thread->captured_until_ns = later_time(thread->captured_until_ns, call->end_ns);
	} else if (call_is_work(call) && thread->captured_from_ns) {
		compiles_add_around(idle, &span);
		why_thread_does(thread, (struct why_activity){.start_ns = span.start_ns,
							      .end_ns = span.end_ns,
							      .key = span.key,
							      .rank = WHY_RANK_COMPILE});
		thread->captured_from_ns = thread->captured_until_ns = 0;
	}
}

/* Around a slice: what begins in it. */
static bool is_counted(const struct idle *idle, uint64_t time_ns)
{
	bool is_around = idle->reach.start_ns < idle->counted.start_ns || idle->reach.end_ns > idle->counted.end_ns;

	return !is_around || (time_ns >= idle->counted.start_ns && time_ns < idle->counted.end_ns);
}

void idle_add_call(struct idle *idle, const struct call_event *event)
{
	const struct model_call *call = event->call;
	struct why_thread *thread = why_thread(&idle->threads, call->thread);
	uint32_t place = caller_place(idle->model, call->stack, event->caller);
	enum why_cause cause = cause_of_call(event);
	uint32_t kernel = new_kernel(idle, event);
	struct tally_entry *sum;
	struct tally_key key;

	why_thread_forget(thread, gaps_from(idle, event));
	if (idle->threads.peers[event->process])
		why_thread_forget(idle->threads.peers[event->process], gaps_from(idle, event));
	why_thread_calls(thread, call, place);
	if (place < CALLER_NO_FRAME)
		idle->threads.latest[event->process] = place;
	note_loading(idle, thread, call);
	follow_capture(idle, thread, call, place);
	compiles_see_call(idle, event, place, kernel != NONE);
	if (call_is_work(call) && !thread->looked_up_ns)
		thread->traced_from_ns = 0;
	if (call_is_work(call) && call->stack_state != GPT_STACK_BACKWARD)
		idle->threads.forward[event->process] = call->thread;
	if (cause == WHY_LOSSES || call->end_ns <= call->start_ns)
		return;
	key = key_of_call(idle, thread, event, cause, place);
	note_call(idle, thread, call, key, has_begun_in(idle, event) ? kernel : NONE);
	if (!idle_looks_at(idle, call->start_ns) || !is_counted(idle, call->start_ns))
		return;
	sum = tally_at(&idle->calls, key);
	sum->ns += call->end_ns - call->start_ns;
	sum->count++;
	sum->more += cause == WHY_ALLOC && call->result == MODEL_CUDA_NO_MEMORY;
}

void idle_add_jit(struct idle *idle, const struct jit_event *event)
{
	const struct model_jit *jit = event->jit;
	const struct model_call *call;
	struct why_thread *thread;
	struct tally_key key;
	uint32_t place;

	if (jit->call == NONE)
		return;
	call = &idle->model->calls[jit->call];
	thread = why_thread(&idle->threads, call->thread);
	place = caller_place(idle->model, call->stack, event->caller);
	key = compile_key(idle, place, WHY_COMPILE_JIT, jit->operation);
	compiles_add(idle, &(struct compile_span){.start_ns = jit->start_ns,
						  .end_ns = jit->end_ns,
						  .thread = call->thread,
						  .kernel = compiles_kernel_of(&idle->compiles, call),
						  .key = key});
	why_thread_does(thread, (struct why_activity){.start_ns = jit->start_ns,
						      .end_ns = jit->end_ns,
						      .key = key,
						      .rank = WHY_RANK_COMPILE});
}

void idle_add_span(struct idle *idle, const struct span_event *event)
{
	const struct model_span *span = event->span;
	bool import = span->kind == MODEL_SPAN_IMPORT;
	struct why_activity doing = {.start_ns = span->start_ns,
				     .end_ns = span->end_ns,
				     .rank = import ? WHY_RANK_IMPORT : WHY_RANK_GC,
				     .key = why_key(WHY_PLACE_NEXT, import ? WHY_IMPORT : WHY_GC,
						    import ? span->name : (uint32_t)span->generation, NONE)};

	why_thread_does(why_thread(&idle->threads, span->thread), doing);
	if (import && is_counted(idle, span->start_ns) &&
	    !(idle->from_ns ? span->start_ns >= idle->from_ns : idle->devices.count != 0))
		idle->imports_before_ns += span->end_ns - span->start_ns;
}

static uint8_t what_name_says(const char *name)
{
	static const char loader[] = "enumerate(DataLoader)#", timed[] = "(dynamo_timed)",
			  region[] = "Torch-Compiled Region: ";
	size_t length = strlen(name);

	if (!strncmp(name, loader, sizeof(loader) - 1))
		return NAME_DATA;
	if (!strncmp(name, "gloo:", 5) || !strncmp(name, "mpi:", 4))
		return NAME_PEER;
	if (length >= sizeof(timed) - 1 && !strcmp(name + length - (sizeof(timed) - 1), timed))
		return NAME_COMPILE;
	if (!strcmp(name, "TorchDynamo Cache Lookup"))
		return NAME_LOOKUP;
	if (!strcmp(name, "PythonDispatchMode"))
		return NAME_TRACED;
	return strncmp(name, region, sizeof(region) - 1) != 0 ? NAME_PLAIN : NAME_REGION;
}

static uint8_t what_op_is(struct idle *idle, uint32_t name)
{
	if (name == NONE)
		return NAME_PLAIN;
	while (idle->names.count <= name)
		array_push(&idle->names, NAME_NOT_ASKED);
	if (idle->names.items[name] == NAME_NOT_ASKED)
		idle->names.items[name] = what_name_says(idle->model->strings[name]);
	return idle->names.items[name];
}

/*
 * A region compiled by torch.compile begins.  The first time, it was compiled just before if ops were traced then:
 * since the lookup for a matching region, where there was one, else since the first traced op.
 */
static void region_begins(struct idle *idle, struct why_thread *thread, const struct model_op *op)
{
	struct tally_key key = {{idle->model->threads[op->thread].process, op->name}};
	bool is_new = !tally_at(&idle->regions, key)->count++;
	const struct compile_span span = {.start_ns =
						  thread->looked_up_ns ? thread->looked_up_ns : thread->traced_from_ns,
					  .end_ns = op->start_ns,
					  .thread = op->thread,
					  .kernel = NONE,
					  .key = why_key(WHY_PLACE_NEXT, WHY_COMPILE, WHY_COMPILE_TORCH, op->name)};

	if (is_new && thread->traced_from_ns) {
		compiles_add_around(idle, &span);
		why_thread_does(thread, (struct why_activity){.start_ns = span.start_ns,
							      .end_ns = span.end_ns,
							      .key = span.key,
							      .rank = WHY_RANK_COMPILE});
	}
	thread->looked_up_ns = thread->traced_from_ns = 0;
}

/* Returns whether the op is one of torch.compile's. */
static bool follow_compiler(struct idle *idle, struct why_thread *thread, const struct model_op *op, uint8_t what)
{
	if (what == NAME_LOOKUP) {
		thread->looked_up_ns = op->end_ns;
		thread->traced_from_ns = 0;
	} else if (what == NAME_TRACED && !thread->traced_from_ns) {
		thread->traced_from_ns = op->start_ns;
	} else if (what == NAME_REGION) {
		region_begins(idle, thread, op);
	}
	return what >= NAME_LOOKUP && what <= NAME_REGION;
}

/*
 * The process waits for others, whichever of gloo's threads the collective began on.  The place in the program is that
 * of the op's stack, or else of the latest CUDA call.
 */
static void collective_begins(struct idle *idle, const struct model_op *op)
{
	uint32_t process = idle->model->threads[op->thread].process, latest = idle->threads.latest[process];
	struct why_activity doing = {.start_ns = op->start_ns, .end_ns = op->end_ns, .rank = WHY_RANK_PEER};

	latest = caller_place(idle->model, op->stack, latest == NONE ? WHY_PLACE_NEXT : latest);
	doing.key = why_key(latest, WHY_PEER, op->name, NONE);
	why_thread_does(why_peers(&idle->threads, process), doing);
}

static struct tally_key key_of_loader(const struct idle *idle, uint32_t name)
{
	return why_key(WHY_PLACE_NEXT, WHY_DATA, name,
		       why_data_extra(WHY_SEEN_BY_OP, why_loads_of_op(idle->model->strings[name])));
}

void idle_add_op(struct idle *idle, const struct op_event *event)
{
	const struct model_op *op = event->op;
	struct why_thread *thread = why_thread(&idle->threads, op->thread);
	uint8_t what = what_op_is(idle, op->name);
	struct why_activity doing = {.start_ns = op->start_ns, .end_ns = op->end_ns};

	idle->has_ops = true;
	if (what == NAME_PEER) {
		collective_begins(idle, op);
		return;
	}
	if (op->scope != GPT_AGENT_OP_USER_SCOPE && op->start_ns >= thread->op_end_ns) {
		thread->op_end_ns = op->end_ns;
		thread->op_name = op->name;
	}
	if (what == NAME_PLAIN || follow_compiler(idle, thread, op, what))
		return;
	doing.rank = what == NAME_DATA ? WHY_RANK_DATA : WHY_RANK_COMPILE;
	doing.key = what == NAME_DATA ? key_of_loader(idle, op->name)
				      : why_key(WHY_PLACE_NEXT, WHY_COMPILE, WHY_COMPILE_TORCH, op->name);
	if (what != NAME_DATA)
		compiles_add(idle, &(struct compile_span){.start_ns = op->start_ns,
							  .end_ns = op->end_ns,
							  .thread = op->thread,
							  .kernel = NONE,
							  .key = doing.key});
	why_thread_does(thread, doing);
}
