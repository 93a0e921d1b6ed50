/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which number every process, thread, stream and call has in the file; knows nothing of JSON. */
#include "export/chrome.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/tally.h"

/* Correlation ids of one process are close together; a wider range is not worth a bitmap (32 MiB). */
#define CORRELATION_RANGE_MAX (1u << 28)

/* A number that is not 0 and that nothing before has: `id` itself, or with as many steps added as it takes. */
static uint32_t unique_id(struct tally *used, uint32_t id)
{
	if (!id || id >= CHROME_OVERHEAD_PID)
		id = id % CHROME_OVERHEAD_PID + CHROME_ID_STEP;
	while (tally_at(used, (struct tally_key){{id}})->count++)
		id += CHROME_ID_STEP;
	return id;
}

uint32_t chrome_device_pid(uint32_t device)
{
	return device < CHROME_DEVICES ? device : CHROME_DEVICE_PID + device % 1000000u;
}

static bool is_device(const struct model *model, uint32_t pid)
{
	for (uint32_t i = 0; i < model->device_count; i++)
		if (model->devices[i].id == pid)
			return true;
	return false;
}

static void number_processes(struct chrome *chrome, int only)
{
	const struct model *model = chrome->model;
	struct tally used = {0};
	uint32_t active = 0;

	chrome->pids = xcalloc(model->process_count, sizeof(*chrome->pids));
	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];

		if (only >= 0 && (uint32_t)only != i)
			continue;
		chrome->pids[i] =
			unique_id(&used, is_device(model, process->pid) ? process->pid + CHROME_ID_STEP : process->pid);
		active += process->calls || process->gpu_ops;
	}
	chrome->several = active > 1;
	tally_free(&used);

	chrome->tids = xcalloc(model->thread_count, sizeof(*chrome->tids));
	for (uint32_t i = 0; i < model->thread_count; i++)
		if (chrome_has_process(chrome, model->threads[i].process))
			chrome->tids[i] = unique_id(&used, model->threads[i].tid);
	chrome->span_tids = xcalloc(model->thread_count, sizeof(*chrome->span_tids));
	for (uint32_t i = 0; i < model->thread_count; i++)
		if (chrome_has_process(chrome, model->threads[i].process) && model->threads[i].pyspans)
			chrome->span_tids[i] = unique_id(&used, model->threads[i].tid);
	tally_free(&used);
}

static void link_calls(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	chrome->first_call = xmalloc(model->thread_count * sizeof(*chrome->first_call));
	chrome->next_call = xmalloc(model->call_count * sizeof(*chrome->next_call));
	for (uint32_t i = 0; i < model->thread_count; i++)
		chrome->first_call[i] = NONE;
	for (uint32_t i = model->call_count; i-- > 0;) {
		uint32_t *first = &chrome->first_call[model->calls[i].thread];

		chrome->next_call[i] = *first;
		*first = i;
	}
}

/* Whether the correlation ids of the file's calls (those that have one) are all different, and the range they span. */
static bool correlations_are_unique(const struct chrome *chrome, uint32_t *highest)
{
	const struct model *model = chrome->model;
	uint32_t low = UINT32_MAX, high = 0;
	bool unique = true;
	uint64_t *seen;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];

		if (!call->corr || !chrome_has_call(chrome, call))
			continue;
		low = call->corr < low ? call->corr : low;
		high = call->corr > high ? call->corr : high;
	}
	*highest = high;
	if (high < low)
		return true;
	if (high - low >= CORRELATION_RANGE_MAX)
		return false;
	seen = xcalloc((high - low) / 64 + 1, sizeof(*seen));
	for (uint32_t i = 0; unique && i < model->call_count; i++) {
		uint32_t corr = model->calls[i].corr, at = corr - low;

		if (!corr || !chrome_has_call(chrome, &model->calls[i]))
			continue;
		unique = !(seen[at / 64] >> (at % 64) & 1);
		seen[at / 64] |= 1ull << (at % 64);
	}
	free(seen);
	return unique;
}

static void number_calls(struct chrome *chrome)
{
	const struct model *model = chrome->model;
	uint32_t highest = 0;

	chrome->renumbered = chrome->several || !correlations_are_unique(chrome, &highest) ||
			     (uint64_t)highest + model->call_count + model->gpu_count + model->sync_count > INT32_MAX;
	chrome->correlations = chrome->renumbered ? 1 : (uint64_t)highest + 1;
}

uint64_t chrome_correlation(const struct chrome *chrome, uint32_t call)
{
	uint32_t corr = chrome->model->calls[call].corr;

	return !chrome->renumbered && corr ? corr : chrome->correlations + call;
}

uint64_t chrome_gpu_correlation(const struct chrome *chrome, uint32_t op)
{
	uint32_t call = chrome->model->gpu[op].call;

	return call != NONE ? chrome_correlation(chrome, call) : chrome->correlations + chrome->model->call_count + op;
}

uint64_t chrome_sync_correlation(const struct chrome *chrome, uint32_t sync)
{
	const struct model *model = chrome->model;
	uint32_t call = model->syncs[sync].call;

	return call != NONE ? chrome_correlation(chrome, call)
			    : chrome->correlations + model->call_count + model->gpu_count + sync;
}

static void number_streams(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	chrome->gpu_process = NONE;
	chrome->gpu_track = xmalloc(model->gpu_count * sizeof(*chrome->gpu_track));
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];

		chrome->gpu_track[i] = TRACK_NONE;
		if (!chrome_has_process(chrome, op->process))
			continue;
		if (!op->end_ns || op->end_ns < op->start_ns) {
			chrome->untimed++;
			continue;
		}
		if (chrome->gpu_process == NONE || op->process < chrome->gpu_process)
			chrome->gpu_process = op->process;
		chrome->gpu_track[i] =
			tracks_place(&chrome->streams, (struct tally_key){{op->process, op->device, op->stream}},
				     op->start_ns, op->end_ns);
		chrome->not_plotted += chrome->gpu_track[i] == TRACK_NONE;
		chrome->unseen += op->call == NONE && !op->before;
	}
	chrome->track_op = xcalloc(chrome->streams.all.count, sizeof(*chrome->track_op));
	for (uint32_t i = model->gpu_count; i-- > 0;)
		if (chrome->gpu_track[i] != TRACK_NONE)
			chrome->track_op[chrome->gpu_track[i]] = i;
	for (uint32_t i = 0; i < chrome->streams.all.count; i++) {
		struct track *track = &chrome->streams.all.items[i];
		uint32_t stream = track->key.part[2];
		bool keeps = !track->lane && track->key.part[0] == chrome->gpu_process && stream &&
			     stream < CHROME_STREAMS && track->key.part[1] < CHROME_DEVICES;

		track->tid = keeps ? stream : CHROME_TRACK_TID + i;
	}
}

static int by_start(const void *left, const void *right, void *context)
{
	const struct model_overhead *overheads = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t start_a = overheads[a].start_ns, start_b = overheads[b].start_ns;

	if (start_a != start_b)
		return start_a < start_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void number_overheads(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	chrome->overhead_order = xmalloc(model->overhead_count * sizeof(*chrome->overhead_order));
	chrome->overhead_track = xmalloc(model->overhead_count * sizeof(*chrome->overhead_track));
	for (uint32_t i = 0; i < model->overhead_count; i++)
		if (chrome_has_process(chrome, model->overheads[i].process) && model->overheads[i].end_ns &&
		    model->overheads[i].end_ns >= model->overheads[i].start_ns)
			chrome->overhead_order[chrome->overhead_count++] = i;
	qsort_r(chrome->overhead_order, chrome->overhead_count, sizeof(*chrome->overhead_order), by_start,
		model->overheads);
	for (uint32_t k = 0; k < chrome->overhead_count; k++) {
		const struct model_overhead *overhead = &model->overheads[chrome->overhead_order[k]];

		chrome->overhead_track[k] =
			tracks_place(&chrome->overheads, (struct tally_key){{overhead->process, overhead->tid}},
				     overhead->start_ns, overhead->end_ns);
	}
	for (uint32_t i = 0; i < chrome->overheads.all.count; i++)
		chrome->overheads.all.items[i].tid = i + 1;
}

static void span_include(struct chrome *chrome, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	if (!chrome_has_process(chrome, chrome->model->threads[thread].process))
		return;
	if (start_ns < chrome->base_ns)
		chrome->base_ns = start_ns;
	if (end_ns > chrome->end_ns)
		chrome->end_ns = end_ns;
}

/* The span of the file: the recording, and whatever lies outside of it. */
static void find_span(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	chrome->base_ns = model->start_ns;
	chrome->end_ns = model->end_ns;
	for (uint32_t i = 0; i < model->call_count; i++) {
		uint64_t end = chrome_call_end(chrome, i);

		if (!chrome_has_call(chrome, &model->calls[i]))
			continue;
		if (model->calls[i].start_ns < chrome->base_ns)
			chrome->base_ns = model->calls[i].start_ns;
		if (end > chrome->end_ns)
			chrome->end_ns = end;
	}
	for (uint32_t i = 0; i < model->pyspan_count; i++)
		span_include(chrome, model->pyspans[i].thread, model->pyspans[i].start_ns, model->pyspans[i].end_ns);
	for (uint32_t i = 0; i < model->pycall_count; i++)
		span_include(chrome, model->pycalls[i].thread, model->pycalls[i].start_ns, model->pycalls[i].end_ns);
	for (uint32_t i = 0; i < model->range_count; i++)
		span_include(chrome, model->ranges[i].thread, model->ranges[i].start_ns, model->ranges[i].end_ns);
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		if (chrome->gpu_track[i] == TRACK_NONE)
			continue;
		if (model->gpu[i].start_ns < chrome->base_ns)
			chrome->base_ns = model->gpu[i].start_ns;
		if (model->gpu[i].end_ns > chrome->end_ns)
			chrome->end_ns = model->gpu[i].end_ns;
	}
	for (uint32_t i = 0; i < model->memory_count; i++) {
		uint64_t time_ns = model->memories[i].time_ns;

		if (!chrome_has_process(chrome, model->memories[i].process))
			continue;
		chrome->base_ns = time_ns < chrome->base_ns ? time_ns : chrome->base_ns;
		chrome->end_ns = time_ns > chrome->end_ns ? time_ns : chrome->end_ns;
	}
	for (uint32_t i = 0; i < model->jit_count; i++) {
		if (chrome->jit_row[i] == TRACK_NONE)
			continue;
		if (model->jits[i].start_ns < chrome->base_ns)
			chrome->base_ns = model->jits[i].start_ns;
		if (model->jits[i].end_ns > chrome->end_ns)
			chrome->end_ns = model->jits[i].end_ns;
	}
	for (uint32_t i = 0; i < model->sync_count; i++) {
		if (chrome->sync_track[i] == TRACK_NONE)
			continue;
		if (model->syncs[i].start_ns < chrome->base_ns)
			chrome->base_ns = model->syncs[i].start_ns;
		if (model->syncs[i].end_ns > chrome->end_ns)
			chrome->end_ns = model->syncs[i].end_ns;
	}
	if (chrome->overhead_count && model->overheads[chrome->overhead_order[0]].start_ns < chrome->base_ns)
		chrome->base_ns = model->overheads[chrome->overhead_order[0]].start_ns;
	if (chrome->end_ns < chrome->base_ns)
		chrome->end_ns = chrome->base_ns;
}

uint64_t chrome_call_end(const struct chrome *chrome, uint32_t call)
{
	const struct model_call *calls = chrome->model->calls;
	uint64_t end = calls[call].end_ns > calls[call].start_ns ? calls[call].end_ns : calls[call].start_ns;
	uint32_t next = chrome->next_call[call];

	return next != NONE && end > calls[next].start_ns ? calls[next].start_ns : end;
}

void chrome_ids_make(struct chrome *chrome, int process)
{
	number_processes(chrome, process);
	link_calls(chrome);
	number_calls(chrome);
	number_streams(chrome);
	number_overheads(chrome);
	chrome_number_syncs(chrome);
	chrome_number_jits(chrome);
	chrome_number_ranges(chrome);
	find_span(chrome);
}

void chrome_ids_free(struct chrome *chrome)
{
	free(chrome->pids);
	free(chrome->tids);
	free(chrome->span_tids);
	free(chrome->first_call);
	free(chrome->next_call);
	free(chrome->gpu_track);
	free(chrome->track_op);
	free(chrome->overhead_order);
	free(chrome->overhead_track);
	free(chrome->sync_track);
	free(chrome->jit_row);
	tracks_free(&chrome->jit_rows);
	free(chrome->range_row);
	tracks_free(&chrome->range_rows);
	tracks_free(&chrome->sync_rows);
	tracks_free(&chrome->streams);
	tracks_free(&chrome->overheads);
}
