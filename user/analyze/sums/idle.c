/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gaps are charged as soon as the operation comes that ends them. */
#include "analyze/sums/idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/line_tally.h"

/* Shorter gaps are what the hardware needs between two operations. */
#define GAP_LEAST_NS 5000u

/* Waits of a thread that are kept without a look at whether they are needed. */
#define WAITS_KEPT 64u

void idle_init(struct idle *idle, const struct model *model, const struct window *window)
{
	*idle = (struct idle){.model = model, .window = window, .thread_count = model->thread_count};
	idle->threads = xcalloc(model->thread_count, sizeof(*idle->threads));
}

void idle_free(struct idle *idle)
{
	for (uint32_t i = 0; i < idle->thread_count; i++)
		array_free(&idle->threads[i].waits);
	free(idle->threads);
	tally_free(&idle->causes);
	tally_free(&idle->devices);
	free(idle->rows);
}

void idle_begin_part(struct idle *idle, const struct model *part)
{
	idle->model = part;
}

/* Also for no time at all: the caller of a launch is met before those of the waits in front of it. */
static void charge(struct idle *idle, struct tally_key cause, uint64_t ns)
{
	struct tally_entry *entry = tally_at(&idle->causes, cause);

	entry->ns += ns;
	entry->count += ns > 0;
	if (!idle_is_edge(cause.part[1]))
		idle->sum += ns;
}

static struct tally_key without_line(enum idle_cause cause)
{
	return (struct tally_key){{NONE, cause, 0, NONE}};
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

static bool can_block(const struct call_event *event)
{
	const struct model_call *call = event->call;

	return call_stands(event) || call->class == GPT_CLASS_ALLOC || call->class == GPT_CLASS_FREE ||
	       (call->class == GPT_CLASS_NONE && call->end_ns > call->start_ns + MEMCPY_BEGINS_NS);
}

/* No gap that is still to be charged begins before this. */
static uint64_t gaps_from(const struct idle *idle, const struct call_event *event)
{
	uint64_t from_ns = event->operations_from_ns;

	for (size_t i = 0; i < idle->devices.count; i++)
		if (idle->devices.entries[i].ns < from_ns)
			from_ns = idle->devices.entries[i].ns;
	return from_ns;
}

static void forget(struct idle *idle, struct idle_thread *thread, const struct call_event *event)
{
	uint64_t from_ns = gaps_from(idle, event);
	size_t gone = 0;

	while (gone < thread->waits.count && thread->waits.items[gone].next_ns <= from_ns)
		gone++;
	if (gone) {
		thread->waits.count -= gone;
		memmove(thread->waits.items, thread->waits.items + gone,
			thread->waits.count * sizeof(*thread->waits.items));
	}
	thread->forget_at = 2 * thread->waits.count + WAITS_KEPT;
}

void idle_add_call(struct idle *idle, const struct call_event *event)
{
	const struct model_call *call = event->call;
	struct idle_thread *thread = &idle->threads[call->thread];
	size_t count = thread->waits.count;

	if (count && thread->waits.items[count - 1].next_ns == UINT64_MAX)
		thread->waits.items[count - 1].next_ns = call->start_ns;
	if (!can_block(event) || call->end_ns <= call->start_ns)
		return;
	if (count >= thread->forget_at)
		forget(idle, thread, event);
	array_push(&thread->waits, ((struct idle_wait){.start_ns = call->start_ns,
						       .end_ns = call->end_ns,
						       .next_ns = UINT64_MAX,
						       .place = caller_place(idle->model, call->stack, event->caller),
						       .api = call->api}));
}

/* ---- operations -------------------------------------------------------------------------------------------- */

/* How many of a thread's waits began before a call. */
static size_t waits_before(const struct idle_thread *thread, uint64_t start_ns)
{
	size_t low = 0, high = thread->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->waits.items[middle].start_ns < start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Charges what the launching thread spent in blocking calls during [from, to); returns how much that was. */
static uint64_t charge_waits(struct idle *idle, const struct gpu_event *event, uint64_t from, uint64_t to)
{
	const struct idle_thread *thread = &idle->threads[event->launch->thread];
	uint64_t waited = 0;

	for (size_t i = waits_before(thread, event->launch->start_ns); i-- > 0;) {
		const struct idle_wait *wait = &thread->waits.items[i];
		uint64_t start = wait->start_ns > from ? wait->start_ns : from;
		uint64_t end = wait->end_ns < to ? wait->end_ns : to;

		if (wait->next_ns <= from)
			break;
		if (end <= start)
			continue;
		charge(idle, (struct tally_key){{wait->place, IDLE_WAITED, wait->api, event->op->process}},
		       end - start);
		waited += end - start;
		to = start;
	}
	return waited;
}

/* Of a graph the line that was late is the one that replays it. */
static void charge_gap(struct idle *idle, const struct gpu_event *event, uint64_t from, uint64_t to)
{
	uint32_t place = event->launch ? caller_place(idle->model, event->launch->stack, event->launch_caller)
				       : event->launch_caller;
	struct tally_key late = {{place, IDLE_LATE, 0, event->op->process}};

	if (to - from < GAP_LEAST_NS) {
		charge(idle, without_line(IDLE_SHORT), to - from);
	} else if (event->launch && event->launch->start_ns > from) {
		charge(idle, late, 0);
		charge(idle, late, to - from - charge_waits(idle, event, from, to));
	} else {
		charge(idle, (struct tally_key){{place, IDLE_GPU, 0, event->op->process}}, to - from);
	}
}

void idle_add_gpu(struct idle *idle, const struct gpu_event *event)
{
	const struct window *window = idle->window;
	const struct model_gpu *op = event->op;
	uint64_t start = op->start_ns < window->end_ns ? op->start_ns : window->end_ns;
	size_t before = idle->devices.count;
	struct tally_entry *device;

	if (!gpu_ns(op) || op->end_ns <= window->start_ns)
		return;
	device = tally_at(&idle->devices, (struct tally_key){{op->device}});
	if (idle->devices.count != before) {
		device->ns = window->start_ns;
		if (start > device->ns)
			charge(idle, without_line(IDLE_BEFORE), start - device->ns);
	} else if (start > device->ns) {
		charge_gap(idle, event, device->ns, start);
	}
	if (op->end_ns > device->ns)
		device->ns = op->end_ns < window->end_ns ? op->end_ns : window->end_ns;
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

static void add_rows(struct idle *idle, const struct line_tally_row *sorted, size_t count, bool edges)
{
	for (size_t i = 0; i < count; i++) {
		const struct line_tally_row *row = &sorted[i];

		if (idle_is_edge(row->part[0]) != edges)
			continue;
		idle->edges += edges;
		idle->rows[idle->count++] = (struct idle_row){.line = row->line,
							      .process = row->process,
							      .user_line = row->user_line,
							      .user_lines = row->user_lines,
							      .cause = row->part[0],
							      .api = (uint16_t)row->part[1],
							      .ns = row->ns,
							      .count = row->count};
	}
}

void idle_finish(struct idle *idle, struct lines *lines)
{
	const struct place_lines no_one = {NONE, NONE, NONE};
	struct line_tally by_line = {0};
	struct line_tally_row *sorted;
	size_t count;

	for (size_t i = 0; i < idle->devices.count; i++)
		if (idle->window->end_ns > idle->devices.entries[i].ns)
			charge(idle, without_line(IDLE_AFTER), idle->window->end_ns - idle->devices.entries[i].ns);
	for (size_t i = 0; i < idle->causes.count; i++) {
		struct tally_entry *cause = &idle->causes.entries[i];
		const uint32_t *part = cause->key.part;
		struct place_lines at = part[1] < IDLE_SHORT ? lines_of_place(lines, part[0]) : no_one;
		uint64_t untimed_ns = window_untimed_ns(idle->window) * cause->count;

		if (part[1] == IDLE_BEFORE)
			cause->ns -= untimed_ns < cause->ns ? untimed_ns : cause->ns;
		if (cause->ns)
			line_tally_add(&by_line, at, &part[1], part[3], cause->ns, cause->count);
	}
	sorted = line_tally_rows(&by_line, &count);
	idle->rows = xcalloc(count, sizeof(*idle->rows));
	add_rows(idle, sorted, count, false);
	add_rows(idle, sorted, count, true);
	free(sorted);
}
