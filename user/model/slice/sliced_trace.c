/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walk over the parts of a slice, and what is found once about it; see sliced_trace.h. */
#include "model/slice/sliced_trace.h"

#include "model/slice/sliced_part.h"

/* Whether a part ends before the slice begins, so that none of it is in the slice. */
static bool is_before(const struct slice *slice, const struct model *inner)
{
	return inner->more && inner->until_ns <= slice->from_ns;
}

static const struct model *pass_over(struct sliced_trace *sliced, const struct model *inner)
{
	sliced->crossings.count = 0;
	while (inner && is_before(&sliced->slice, inner)) {
		sliced_find_crossings(sliced, inner);
		inner = trace_next(sliced->inner);
	}
	sliced->trace.error = sliced->inner->error;
	return inner ? sliced_make_part(sliced, inner) : NULL;
}

static void begin_round(struct sliced_trace *sliced)
{
	sliced->is_first = true;
	sliced->is_last = false;
#define BEGIN(one, many, ...) sliced->many##_number = 0;
	MODEL_EVENTS(BEGIN)
#undef BEGIN
}

static struct sliced_trace *of_trace(struct trace *trace)
{
	return (struct sliced_trace *)((char *)trace - offsetof(struct sliced_trace, trace));
}

static const struct model *first_of_slice(struct trace *trace)
{
	struct sliced_trace *sliced = of_trace(trace);

	if (sliced->is_made)
		return &sliced->part;
	begin_round(sliced);
	return pass_over(sliced, trace_first(sliced->inner));
}

static const struct model *next_of_slice(struct trace *trace)
{
	struct sliced_trace *sliced = of_trace(trace);

	return sliced->is_last ? NULL : pass_over(sliced, trace_next(sliced->inner));
}

static void read_tables_of_slice(struct trace *trace)
{
	struct sliced_trace *sliced = of_trace(trace);

	if (sliced->is_made)
		return;
	while (trace_next(sliced->inner))
		;
	trace_read_tables(sliced->inner);
	trace->error = sliced->inner->error;
	if (!trace->error)
		sliced_take_tables(sliced, sliced->inner->part);
}

/* ---- the whole slice -------------------------------------------------------------------------------------------- */

static void count_part(struct sliced_trace *sliced, const struct model *part)
{
	receipt_add_part(&sliced->counts, part);
	for (uint32_t i = part->calls_in_part.from; i < in_part_end(&part->calls_in_part, part->call_count); i++) {
		const struct model_call *call = &part->calls[i];
		struct sliced_process *process = &sliced->process_counts[part->threads[call->thread].process];

		sliced->thread_calls[call->thread]++;
		process->calls++;
		if (!process->first_call_ns || call->start_ns < process->first_call_ns)
			process->first_call_ns = call->start_ns;
		if (call->start_ns > process->last_call_ns)
			process->last_call_ns = call->start_ns;
	}
	for (uint32_t i = part->gpu_in_part.from; i < in_part_end(&part->gpu_in_part, part->gpu_count); i++)
		sliced->process_counts[part->gpu[i].process].gpu_ops++;
}

static void make_tables(struct sliced_trace *sliced, const struct model *inner)
{
	sliced->threads = xcalloc(inner->thread_count, sizeof(*sliced->threads));
	sliced->thread_calls = xcalloc(inner->thread_count, sizeof(*sliced->thread_calls));
	sliced->processes = xcalloc(inner->process_count, sizeof(*sliced->processes));
	sliced->process_counts = xcalloc(inner->process_count, sizeof(*sliced->process_counts));
	sliced->sources = xcalloc(inner->source_count, sizeof(*sliced->sources));
	sliced->pyspans = xcalloc(inner->pyspan_count, sizeof(*sliced->pyspans));
}

static int find_givers(struct sliced_trace *sliced)
{
	const struct model *inner = trace_first(sliced->inner);

	if (inner)
		sliced->givers = xcalloc(inner->thread_count, sizeof(*sliced->givers));
	for (; inner; inner = trace_next(sliced->inner))
		slice_find_givers(sliced->slice.device, inner, sliced->givers);
	sliced->slice.givers = sliced->givers;
	return sliced->inner->error;
}

/* Correlation ids and bounds remain the recording's; which processes have events is the slice's. */
static void narrow_totals(struct sliced_trace *sliced, const struct model *inner)
{
	sliced->totals = *inner->totals;
	sliced->totals.processes = xcalloc(inner->process_count, sizeof(*sliced->totals.processes));
	for (uint32_t i = 0; i < inner->process_count; i++) {
		struct process_totals *totals = &sliced->totals.processes[i];

		*totals = inner->totals->processes[i];
		totals->has_calls = sliced->process_counts[i].calls;
		totals->has_gpu_work = sliced->process_counts[i].gpu_ops;
	}
}

/* Walks through all parts; if the last one is known (else NULL), only through the slice's. */
static int count_slice(struct sliced_trace *sliced, const struct model *known_last)
{
	const struct model *inner = trace_first(sliced->inner), *last = inner;

	if (!inner)
		return sliced->inner->error;
	make_tables(sliced, inner);
	sliced->receipt.clock_error_ns = model_source(inner)->receipt.clock_error_ns;
	sliced->counts.limits =
		(struct gap_limits){.from_ns = sliced->slice.from_ns,
				    .to_ns = sliced->slice.to_ns == UINT64_MAX ? 0 : sliced->slice.to_ns,
				    .processes = sliced->slice.processes};
	begin_round(sliced);
	for (; inner; inner = trace_next(sliced->inner)) {
		last = inner;
		sliced->crossings.count = 0;
		if (!sliced->is_last && !is_before(&sliced->slice, inner))
			count_part(sliced, sliced_make_part(sliced, inner));
		if (known_last && sliced->is_last)
			break;
	}
	if (sliced->inner->error)
		return sliced->inner->error;
	sliced->is_counted = true;
	last = known_last ? known_last : last;
	sliced->is_made = !last->continued;
	/* only the last part has the losses */
	sliced->receipt = model_source(last)->receipt;
	receipt_finish(&sliced->counts, last, &sliced->receipt);
	receipt_count_free(&sliced->counts);
	if (last->totals)
		narrow_totals(sliced, last);
	if (sliced->is_made)
		sliced_take_counts(sliced, last);
	return 0;
}

int sliced_trace_open_before(struct sliced_trace *sliced, struct trace *inner, const struct slice *slice,
			     const char *words, const struct model *last)
{
	static const struct trace_kind kind = {
		.first = first_of_slice, .next = next_of_slice, .read_tables = read_tables_of_slice};
	int err = 0;

	*sliced = (struct sliced_trace){.trace = {.kind = &kind},
					.inner = inner,
					.slice = *slice,
					.words = words,
					.to_ns = slice->to_ns,
					.first_call = UINT64_MAX};
	if (slice->device != NONE)
		err = find_givers(sliced);
	return err ? err : count_slice(sliced, last);
}

static int open_around(struct sliced_trace *sliced)
{
	struct slice slice = sliced->slice;

	if (slice.spans || slice.by_launch || (!slice.from_ns && slice.to_ns == UINT64_MAX))
		return 0;
	sliced->trace.around = sliced->inner;
	sliced->trace.around_to_ns = slice.to_ns;
	if (!slice.processes && !slice.threads && slice.device == NONE)
		return 0;
	slice.from_ns = 0;
	slice.to_ns = UINT64_MAX;
	slice.givers = NULL;
	sliced->unbounded = xcalloc(1, sizeof(*sliced->unbounded));
	sliced->trace.around = &sliced->unbounded->trace;
	return sliced_trace_open(sliced->unbounded, sliced->inner, &slice, sliced->words);
}

int sliced_trace_open(struct sliced_trace *sliced, struct trace *inner, const struct slice *slice, const char *words)
{
	int err = sliced_trace_open_before(sliced, inner, slice, words, NULL);

	return err ? err : open_around(sliced);
}

void sliced_trace_close(struct sliced_trace *sliced)
{
	if (sliced->unbounded)
		sliced_trace_close(sliced->unbounded);
	free(sliced->unbounded);
	sliced_part_free(sliced);
	free(sliced->pyspans);
	free(sliced->threads);
	free(sliced->thread_calls);
	free(sliced->processes);
	free(sliced->process_counts);
	free(sliced->sources);
	free(sliced->givers);
	free(sliced->totals.processes);
}
