/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events that analyses get, one at a time, in the order in which they began, each with what it was joined with.  So
 * an analysis never looks back into the arrays of a model.  An event, and what it points to, is gone with its part of
 * the trace; numbers of processes, threads, devices, strings, codes, frames, stacks and callers stay valid.
 *
 * Events come by the time at which they began; GPU operations without times come first in the part in which they
 * arrived.  Of events that began at the same time, ranges come first, then ops of PyTorch, calls, and operations.  An
 * operation that seems to start before its launch comes before it.  Waits come when they end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/events/attribution.h"
#include "model/model.h"

/*
 * Kinds of events, a row each (struct ONE_event): of events at the same time, those of an earlier row come first.
 *	EVENTS(KIND, one, many, time): those of the part in model.many (MODEL_EVENTS), ordered by that member
 *	OTHER(KIND, one): found in another way
 * feed_ONE (walk_events.c) feeds one to the analyses.
 */
#define EVENT_ROWS(EVENTS, OTHER)                                                                                      \
	OTHER(CROSSING, crossing)                                                                                      \
	OTHER(RANGE, range)                                                                                            \
	OTHER(OP, op)                                                                                                  \
	EVENTS(CALL, call, calls, start_ns)                                                                            \
	EVENTS(GPU, gpu, gpu, start_ns)                                                                                \
	EVENTS(SYNC, sync, syncs, start_ns)                                                                            \
	EVENTS(JIT, jit, jits, start_ns)                                                                               \
	OTHER(SPAN, span)                                                                                              \
	OTHER(EXIT, exit)                                                                                              \
	EVENTS(MEMORY, memory, memories, time_ns)                                                                      \
	EVENTS(SAMPLE, sample, samples, time_ns)                                                                       \
	EVENTS(AWAIT, await, awaits, time_ns)                                                                          \
	EVENTS(WAIT, wait, waits, end_ns)                                                                              \
	EVENTS(GPU_SAMPLE, gpu_sample, gpu_samples, time_ns)                                                           \
	EVENTS(GPU_PROCESS, gpu_process, gpu_processes, time_ns)                                                       \
	EVENTS(GPU_ERROR, gpu_error, gpu_errors, time_ns)                                                              \
	OTHER(TORCH_MEMORY, torch_memory)

/* The recording; shares of time are shares of it. */
struct window {
	uint64_t start_ns;
	uint64_t end_ns;	/* UINT64_MAX until the last event, where the trace has no end of its own */
	uint64_t timed_from_ns; /* start of GPU times: later than start_ns if all processes that launched did so before
				   they had an agent */
};

static inline uint64_t window_untimed_ns(const struct window *window)
{
	return window->timed_from_ns > window->start_ns ? window->timed_from_ns - window->start_ns : 0;
}

/* The part of the recording with GPU times. */
static inline uint64_t window_timed_ns(const struct window *window)
{
	return window->end_ns - window->start_ns - window_untimed_ns(window);
}

struct call_event {
	const struct model_call *call;
	uint32_t process;
	uint32_t caller;		   /* callers.h */
	uint32_t stack;			   /* the stack it counts for; model.stacks, NONE */
	enum launch_fate fate;		   /* what became of the launch */
	uint64_t gpu_ns, gpu_count;	   /* time and number of all its GPU operations */
	const struct model_gpu *operation; /* its GPU operation if it has exactly one, else NULL */
	const struct model_call *captured; /* of a graph's operation: the call that became its node; else NULL */
	bool wait_reported;		   /* CUPTI reported its wait in a sync_event */
	bool returned_early;		   /* a memcpy that returned before its copy ended */
	bool stages;		     /* a memcpy from or to memory that the driver copies through a buffer of its own */
	uint64_t operations_from_ns; /* all GPU operations that are still to come begin at or after this */
};

struct gpu_event {
	const struct model_gpu *op;
	const struct model_call *launch;     /* NULL: not seen */
	const struct model_call *attributed; /* the call whose line it counts on: launch or captured */
	const struct model_call *captured;   /* of a graph: the captured call that became its node, NULL: not seen */
	uint32_t launch_caller;		     /* callers.h; also where launch is NULL */
	uint32_t stack;			     /* of attributed, or the forward op's; model.stacks, NONE */
	uint32_t replay;		     /* stack of the graph's launch, whose total includes it, too; NONE */
	uint32_t caller;		     /* of attributed; the innermost frame of `stack` where it has one */
	bool first;			     /* the first operation of its launch */
};

/*
 * A GPU operation that began before the slice and runs on in it; it comes when the slice begins, and counts in none of
 * the operations.
 */
struct crossing_event {
	struct gpu_event gpu;
};

struct sync_event {
	const struct model_sync *sync;
	uint32_t caller;	  /* of the call that waited */
	uint32_t stack;		  /* the stack of that call, model.stacks; NONE */
	uint32_t recorded_caller; /* of the call that recorded the event in a stream */
	/* the call that waited, if it came in an earlier part, perhaps without call_event.wait_reported; else NULL */
	const struct model_call *earlier;
};

struct jit_event {
	const struct model_jit *jit;
	uint32_t caller; /* of the call that needed the code */
};

/* Memory is handed out or released; of events at the same time, releases come first. */
struct memory_event {
	const struct model_memory *memory;
	const struct model_memory *allocation; /* of a release: its allocation, NULL: not seen */
	uint32_t place;			       /* caller_place of the call that allocated it */
};

/* An allocator of PyTorch handed out memory, took it back, or did not have enough. */
struct torch_memory_event {
	const struct model_torch_memory *memory;
	uint32_t process;
	uint32_t place, op_name; /* caller_place, CALLER_UNSEEN: no stack; of freed memory: of its allocation */
	uint32_t pass;		 /* memory_pass, likewise */
	bool was_seen;		 /* of freed memory: it was allocated in the trace */
};

/* A thread was running at that moment (--cpu). */
struct sample_event {
	const struct model_sample *sample;
	uint32_t process;
	uint32_t caller; /* callers.h */
};

/* Where tasks of asyncio await while their loop's thread waits; comes before that wait. */
struct await_event {
	const struct model_await *await;
};

/* A thread was off the CPU, and runs again (--off-cpu); comes when the wait ends. */
struct wait_event {
	const struct model_wait *wait;
	uint32_t process;
	uint32_t caller, waker_caller; /* callers.h; CALLER_UNSEEN: no traced thread woke it */
};

/* NVML was asked for a GPU's counters, for who has its memory; and it reported an error. */
struct gpu_sample_event {
	const struct model_gpu_sample *sample;
};
struct gpu_process_event {
	const struct model_gpu_process *memory;
};
struct gpu_error_event {
	const struct model_gpu_error *error;
};

/* A process ends; comes before memory events of that time. */
struct exit_event {
	uint64_t time_ns;
	uint32_t process;
};

/* A garbage collection, or an import that is inside no other import; GPU operations that began by then come first. */
struct span_event {
	const struct model_span *span;
	uint32_t process;
};

/*
 * An NVTX range or mark; it comes before the calls made in it.  A range that is open when its part ends comes a second
 * time, with its end and the same number, first in the part in which it ends.
 */
struct range_event {
	const struct model_span *range;
};

/* An op of PyTorch; it comes before the ops and calls inside it. */
struct op_event {
	const struct model_op *op;
};

/* The time that the driver needs to begin a memcpy. */
#define MEMCPY_BEGINS_NS 5000u

static inline bool memcpy_is_long(const struct model_call *call)
{
	return call->class == GPT_CLASS_MEMCPY && call->end_ns > call->start_ns + MEMCPY_BEGINS_NS;
}

/* Whether its thread was blocked in it until the GPU caught up. */
static inline bool call_waits(const struct call_event *event)
{
	/* also an asynchronous memcpy, from pageable memory */
	return event->call->class == GPT_CLASS_SYNC || (memcpy_is_long(event->call) && !event->returned_early);
}

/* Whether its thread was blocked in it, by the GPU or by the driver's copying. */
static inline bool call_stands(const struct call_event *event)
{
	return call_waits(event) || (memcpy_is_long(event->call) && event->stages);
}

/* A query that found the GPU still at work did not fail. */
static inline bool call_failed(const struct model_call *call)
{
	return call->end_ns && call->result && call->result != MODEL_CUDA_NOT_READY;
}

/* Duration of a GPU operation; 0 without times: such operations are counted, not measured. */
static inline uint64_t gpu_ns(const struct model_gpu *op)
{
	return op->end_ns > op->start_ns ? op->end_ns - op->start_ns : 0;
}

/* In place of a row's process index: the row is of several processes.  NONE: no event yet. */
#define PROCESS_MANY (NONE - 1)

static inline void process_note(uint32_t *process, uint32_t another)
{
	if (*process == NONE)
		*process = another;
	else if (*process != another)
		*process = PROCESS_MANY;
}

/* The same in a member of a sum, as index + 1: 0 is NONE. */
static inline uint32_t process_of_sum(uint64_t member)
{
	return (uint32_t)member - 1;
}

static inline void process_note_in_sum(uint64_t *member, uint32_t another)
{
	uint32_t process = process_of_sum(*member);

	process_note(&process, another);
	*member = process + 1;
}
