/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs begins with ends.  What began before the trace has no begin and is left out; what has not ended is truncated
 * there.
 */
#include "model/python_spans.h"

#include <string.h>

#include "model/string_pool.h"

#define DEPTH_MAX 65536u /* open at once in a thread: above what any recursion limit lets happen on a stack */

void python_spans_init(struct python_spans *spans, struct process_table *processes, struct codes *codes,
		       struct string_pool *strings)
{
	memset(spans, 0, sizeof(*spans));
	spans->processes = processes;
	spans->codes = codes;
	spans->strings = strings;
}

void python_spans_free(struct python_spans *spans)
{
	for (size_t i = 0; i < spans->threads.count; i++) {
		array_free(&spans->threads.items[i].events);
		array_free(&spans->threads.items[i].calls);
	}
	array_free(&spans->threads);
}

static struct thread_spans *thread_of(struct python_spans *spans, uint32_t thread)
{
	while (spans->threads.count <= thread)
		array_push(&spans->threads, ((struct thread_spans){0}));
	return &spans->threads.items[thread];
}

static void mark_unpaired(struct python_spans *spans, const struct open_span *open)
{
	if (open->kind)
		spans->events.items[open->index].end_ns = 0;
	else
		spans->calls.items[open->index].end_ns = 0;
	spans->unpaired++;
}

/* The open spans that are left when something at `frame` is the deepest; those dropped have lost their ends. */
static size_t drop_deeper(struct python_spans *spans, const struct open_span *open, size_t count, uint64_t frame,
			  bool same_too)
{
	while (count && (open[count - 1].frame < frame || (same_too && open[count - 1].frame == frame)))
		mark_unpaired(spans, &open[--count]);
	return count;
}

/* Until its end is seen a span has this one: 0 would say that it was lost. */
#define END_OPEN UINT64_MAX

/* Never before the begin, whatever a damaged log says, and never 0. */
static uint64_t end_of(uint64_t start_ns, uint64_t end_ns)
{
	if (end_ns == END_OPEN || end_ns < start_ns)
		end_ns = start_ns;
	return end_ns ? end_ns : 1;
}

static struct thread_spans *thread_at(struct python_spans *spans, const struct python_moment *at, uint32_t *thread)
{
	uint32_t process = process_table_find(spans->processes, at->pid);

	*thread = process_table_find_thread(spans->processes, process, at->tid);
	return thread_of(spans, *thread);
}

bool python_spans_begin(struct python_spans *spans, const struct python_moment *at, enum gpt_pyevent_kind kind,
			uint32_t name, int32_t generation)
{
	uint32_t thread;
	struct thread_spans *open = thread_at(spans, at, &thread);

	open->events.count = drop_deeper(spans, open->events.items, open->events.count, at->frame, true);
	if (open->events.count >= DEPTH_MAX || spans->events.count >= NONE - 1)
		return false;
	array_push(&open->events, ((struct open_span){at->frame, (uint32_t)spans->events.count, kind}));
	array_push(&spans->events, ((struct model_pyspan){.start_ns = at->time_ns,
							  .end_ns = END_OPEN,
							  .thread = thread,
							  .kind = (uint8_t)kind,
							  .generation = generation,
							  .name = name}));
	return true;
}

bool python_spans_end(struct python_spans *spans, const struct python_moment *at, enum gpt_pyevent_kind kind)
{
	uint32_t thread;
	struct thread_spans *open = thread_at(spans, at, &thread);
	struct open_span *top;

	open->events.count = drop_deeper(spans, open->events.items, open->events.count, at->frame, false);
	top = open->events.count ? &open->events.items[open->events.count - 1] : NULL;
	if (!top || top->frame != at->frame || top->kind != kind)
		return true; /* it began before the trace, or its begin was lost */
	spans->events.items[top->index].end_ns = end_of(spans->events.items[top->index].start_ns, at->time_ns);
	open->events.count--;
	return true;
}

bool python_spans_enter(struct python_spans *spans, const struct python_moment *at, uint64_t code)
{
	struct program program = process_table_program(spans->processes, at->pid);
	uint32_t thread;
	struct thread_spans *open = thread_at(spans, at, &thread);

	open->calls.count = drop_deeper(spans, open->calls.items, open->calls.count, at->frame, true);
	if (open->calls.count >= DEPTH_MAX || spans->calls.count >= NONE - 1)
		return false;
	array_push(&open->calls, ((struct open_span){at->frame, (uint32_t)spans->calls.count, 0}));
	array_push(&spans->calls, ((struct model_pycall){.start_ns = at->time_ns,
							 .end_ns = END_OPEN,
							 .thread = thread,
							 .code = codes_at(spans->codes, program.space, code)}));
	return true;
}

bool python_spans_leave(struct python_spans *spans, const struct python_moment *at)
{
	uint32_t thread;
	struct thread_spans *open = thread_at(spans, at, &thread);
	struct open_span *top;

	open->calls.count = drop_deeper(spans, open->calls.items, open->calls.count, at->frame, false);
	top = open->calls.count ? &open->calls.items[open->calls.count - 1] : NULL;
	if (!top || top->frame != at->frame)
		return true;
	spans->calls.items[top->index].end_ns = end_of(spans->calls.items[top->index].start_ns, at->time_ns);
	open->calls.count--;
	return true;
}

static void end_open(struct python_spans *spans, struct thread_spans *thread, uint64_t end_ns)
{
	while (thread->events.count) {
		struct model_pyspan *span = &spans->events.items[thread->events.items[--thread->events.count].index];

		span->end_ns = end_of(span->start_ns, end_ns);
		span->truncated = true;
	}
	while (thread->calls.count) {
		struct model_pycall *call = &spans->calls.items[thread->calls.items[--thread->calls.count].index];

		call->end_ns = end_of(call->start_ns, end_ns);
		call->truncated = true;
	}
}

void python_spans_process_execs(struct python_spans *spans, uint32_t pid, uint64_t time_ns)
{
	uint32_t process = process_table_find(spans->processes, pid);

	for (uint32_t i = 0; i < spans->threads.count; i++)
		if (spans->processes->threads.items[i].process == process)
			end_open(spans, &spans->threads.items[i], time_ns);
}

/* What orders one list: in, the thread of each item; out, each thread's place and count. */
struct ordering {
	size_t threads;
	uint32_t *of, *first, *counts;
};

/* Leaves out the items without a thread, puts each thread's together and in the order in which they began. */
static size_t order_by_thread(void *items, size_t item_size, size_t count, struct ordering *ordering)
{
	uint8_t *copy = xmalloc(count * item_size);
	uint32_t *next = xmalloc(ordering->threads * sizeof(*next));
	size_t kept = 0;

	if (count)
		memcpy(copy, items, count * item_size);
	for (size_t t = 0; t < ordering->threads; t++)
		ordering->counts[t] = 0;
	for (size_t i = 0; i < count; i++)
		if (ordering->of[i] != NONE)
			ordering->counts[ordering->of[i]]++;
	for (size_t t = 0; t < ordering->threads; t++) {
		ordering->first[t] = next[t] = (uint32_t)kept;
		kept += ordering->counts[t];
	}
	for (size_t i = 0; i < count; i++)
		if (ordering->of[i] != NONE)
			memcpy((uint8_t *)items + item_size * next[ordering->of[i]]++, copy + item_size * i, item_size);
	free(next);
	free(copy);
	return kept;
}

static void order_events(struct python_spans *spans, struct ordering *ordering)
{
	struct model_thread *threads = spans->processes->threads.items;

	for (size_t i = 0; i < spans->events.count; i++)
		ordering->of[i] = spans->events.items[i].end_ns ? spans->events.items[i].thread : NONE;
	spans->events.count =
		order_by_thread(spans->events.items, sizeof(*spans->events.items), spans->events.count, ordering);
	for (size_t t = 0; t < ordering->threads; t++) {
		threads[t].first_pyspan = ordering->first[t];
		threads[t].pyspans = ordering->counts[t];
	}
}

static void order_calls(struct python_spans *spans, struct ordering *ordering)
{
	struct model_thread *threads = spans->processes->threads.items;

	for (size_t i = 0; i < spans->calls.count; i++)
		ordering->of[i] = spans->calls.items[i].end_ns ? spans->calls.items[i].thread : NONE;
	spans->calls.count =
		order_by_thread(spans->calls.items, sizeof(*spans->calls.items), spans->calls.count, ordering);
	for (size_t t = 0; t < ordering->threads; t++) {
		threads[t].first_pycall = ordering->first[t];
		threads[t].pycalls = ordering->counts[t];
	}
}

void python_spans_finish(struct python_spans *spans, uint64_t end_ns)
{
	size_t most = spans->events.count > spans->calls.count ? spans->events.count : spans->calls.count;
	struct ordering ordering = {.threads = spans->processes->threads.count};

	for (uint32_t i = 0; i < spans->threads.count; i++) {
		uint64_t exit_ns = spans->processes->list.items[spans->processes->threads.items[i].process].exit_ns;

		end_open(spans, &spans->threads.items[i], exit_ns && exit_ns < end_ns ? exit_ns : end_ns);
	}
	ordering.of = xmalloc(most * sizeof(*ordering.of));
	ordering.first = xmalloc(ordering.threads * sizeof(*ordering.first));
	ordering.counts = xmalloc(ordering.threads * sizeof(*ordering.counts));
	order_events(spans, &ordering);
	order_calls(spans, &ordering);
	free(ordering.of);
	free(ordering.first);
	free(ordering.counts);
}
