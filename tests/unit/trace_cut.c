/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a trace is cut, and in which part each event is. */
#include <stdlib.h>

#include "trace_cut_internal.h"

const struct cut_kind cut_kinds[KINDS] = {
#define KIND(items, count, in_part, type, time)                                                                        \
	{                                                                                                              \
		offsetof(struct model, items), offsetof(struct model, count), offsetof(struct model, in_part),         \
			sizeof(type), offsetof(type, time)                                                             \
	}
	[CALLS] = KIND(calls, call_count, calls_in_part, struct model_call, start_ns),
	[GPU] = KIND(gpu, gpu_count, gpu_in_part, struct model_gpu, start_ns),
	[JITS] = KIND(jits, jit_count, jits_in_part, struct model_jit, start_ns),
	[SYNCS] = KIND(syncs, sync_count, syncs_in_part, struct model_sync, start_ns),
	[MEMORIES] = KIND(memories, memory_count, memories_in_part, struct model_memory, time_ns),
	[OVERHEADS] = KIND(overheads, overhead_count, overheads_in_part, struct model_overhead, start_ns),
	[SAMPLES] = KIND(samples, sample_count, samples_in_part, struct model_sample, time_ns),
	[WAITS] = KIND(waits, wait_count, waits_in_part, struct model_wait, end_ns),
	[GPU_SAMPLES] = KIND(gpu_samples, gpu_sample_count, gpu_samples_in_part, struct model_gpu_sample, time_ns),
#undef KIND
};

static struct cut *cut_of(struct trace *trace)
{
	return (struct cut *)((char *)trace - offsetof(struct cut, trace));
}

/* ---- which part ------------------------------------------------------------------------------------------------ */

static uint32_t part_at(const struct cut *cut, uint64_t time_ns)
{
	size_t low = 0, high = cut->times.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cut->times.items[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}

/* Operations without times arrive one after the other, each at the latest in the part of its call. */
static void place_untimed(struct cut *cut)
{
	uint32_t latest = (uint32_t)cut->times.count, count = 0;

	while (count < cut->whole->gpu_count && !cut->whole->gpu[count].start_ns)
		count++;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t call = cut->whole->gpu[i].call;
		uint32_t part =
			call != NONE ? cut->part_of[CALLS][call] : (uint32_t)(i * (cut->times.count + 1ull) / count);

		latest = part < latest ? part : latest;
		cut->part_of[GPU][i] = latest;
	}
}

static void place_events(struct cut *cut)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		uint32_t count = cut_count(cut->whole, kind);

		cut->part_of[kind] = xcalloc(count + 1, sizeof(*cut->part_of[kind]));
		cut->needed[kind] = xcalloc(count + 1, 1);
		cut->place[kind] = xcalloc(count + 1, sizeof(*cut->place[kind]));
		for (uint32_t i = 0; i < count; i++)
			cut->part_of[kind][i] = part_at(cut, cut_time(cut, kind, i));
	}
	place_untimed(cut);
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

static const struct model *first_part(struct trace *trace)
{
	struct cut *cut = cut_of(trace);

	cut->at = 0;
	cut->strings = cut->codes = cut->frames = cut->stacks = cut->natives = 0;
	return cut_make_part(cut);
}

static const struct model *next_part(struct trace *trace)
{
	struct cut *cut = cut_of(trace);

	if (cut->at == cut->times.count)
		return NULL;
	cut->at++;
	return cut_make_part(cut);
}

static const struct trace_kind kind_cut = {.first = first_part, .next = next_part};

static void find_totals(struct totals *totals, const struct model *whole)
{
	for (uint32_t i = 0; i < whole->call_count; i++)
		totals_add_call(totals, whole->threads[whole->calls[i].thread].process, whole->calls[i].corr, false);
	for (uint32_t i = 0; i < whole->gpu_count; i++)
		totals_add_gpu_work(totals, whole->gpu[i].process);
	for (uint32_t i = 0; i < whole->sync_count; i++)
		totals_add_sync(totals);
	totals_finish(totals, whole->process_count);
}

static struct cut *cut_new(const struct model *whole)
{
	struct cut *cut = xcalloc(1, sizeof(*cut));

	cut->trace.kind = &kind_cut;
	cut->whole = whole;
	find_totals(&cut->totals, whole);
	return cut;
}

struct trace *trace_cut_at(const struct model *whole, const uint64_t *times_ns, size_t count)
{
	struct cut *cut = cut_new(whole);

	for (size_t i = 0; i < count; i++)
		array_push(&cut->times, times_ns[i]);
	place_events(cut);
	return &cut->trace;
}

static int by_time(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

struct trace *trace_cut_each(const struct model *whole, uint32_t events)
{
	struct cut *cut = cut_new(whole);
	ARRAY(uint64_t) begins = {0};
	size_t last = 0;

	for (enum kind kind = 0; kind < KINDS; kind++)
		for (uint32_t i = 0; i < cut_count(whole, kind); i++)
			array_push(&begins, cut_time(cut, kind, i));
	for (uint32_t i = 0; i < whole->range_count; i++)
		array_push(&begins, whole->ranges[i].start_ns);
	for (uint32_t i = 0; i < whole->pycall_count; i++)
		array_push(&begins, whole->pycalls[i].start_ns);
	if (begins.count)
		qsort(begins.items, begins.count, sizeof(begins.items[0]), by_time);
	for (size_t i = 1; i < begins.count; i++)
		if (begins.items[i] != begins.items[i - 1] && i - last >= events) {
			array_push(&cut->times, begins.items[i]);
			last = i;
		}
	array_free(&begins);
	place_events(cut);
	return &cut->trace;
}

size_t trace_cut_parts(const struct trace *trace)
{
	return cut_of((struct trace *)trace)->times.count + 1;
}

void trace_cut_free(struct trace *trace)
{
	struct cut *cut = cut_of(trace);

	cut_drop_part(cut);
	totals_free(&cut->totals);
	array_free(&cut->blocks);
	array_free(&cut->times);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		free(cut->part_of[kind]);
		free(cut->needed[kind]);
		free(cut->place[kind]);
	}
	free(cut);
}
