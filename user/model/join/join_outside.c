/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent also delivers work from outside of the trace: its buffers hold earlier work, and while another gputrace
 * listens it continues after this one's probes are gone.  Correlation ids increase with calls, so they show which work
 * is outside.
 */
#include "model/join/tables.h"

#include <string.h>

/* Goes by time, not by id: an id taken before the trace may be reported in it if its thread was delayed. */
void corr_range_add(struct corr_range *range, uint32_t corr, uint64_t start_ns)
{
	if (!range->any || start_ns < range->first_ns) {
		range->first = corr;
		range->first_ns = start_ns;
	}
	if (!range->any || start_ns >= range->last_ns) {
		range->last = corr;
		range->last_ns = start_ns;
	}
	range->any = true;
}

static void add_collected(const struct collected *collected, struct corr_range *ranges, size_t count)
{
	for (size_t i = 0; i < collected->corr_ranges.count && i < count; i++) {
		const struct corr_range *range = &collected->corr_ranges.items[i];

		if (!range->any)
			continue;
		corr_range_add(&ranges[i], range->first, range->first_ns);
		corr_range_add(&ranges[i], range->last, range->last_ns);
	}
}

struct corr_range *corr_ranges(const struct builder *builder)
{
	/* deferred work may be of a process that pass 2 has not come to yet */
	size_t count = known_facts(builder)->processes.list.count;
	struct corr_range *ranges = xcalloc(count, sizeof(*ranges));

	if (builder->first) {
		add_collected(&builder->first->collected, ranges, count);
		add_collected(&builder->collected, ranges, count);
		return ranges;
	}
	array_each (call, &builder->calls.list) {
		if (call->corr)
			corr_range_add(&ranges[builder->processes.threads.items[call->thread].process], call->corr,
				       call->start_ns);
	}
	return ranges;
}

bool corr_is_before(const struct corr_range *range, uint32_t corr)
{
	return !range->any || (int32_t)(corr - range->first) < 0;
}

bool corr_is_after(const struct corr_range *range, uint32_t corr)
{
	return range->any && (int32_t)(corr - range->last) > 0;
}

bool lies_outside(const struct builder *builder, uint32_t call, struct clock_span span)
{
	const struct model *model = known_facts(builder)->model;

	return call == NONE &&
	       (span.end_ns < model->start_ns || (known_facts(builder)->ended && span.start_ns >= model->end_ns));
}

/* ---- records that two logs of a recording have ------------------------------------------------------------------- */

/*
 * The writer knows by the ids of calls which work is the next log's.  It does not know ids that came only with API
 * activity records: times decide for such a process.
 */
static bool is_known_by_call(const struct builder *builder, uint32_t process, uint32_t corr)
{
	return corr && !api_activities_any(&known_facts(builder)->api_activities, process);
}

/* Without a call here, but launched before the end: the next log has all of what was launched later. */
static bool is_left_here(const struct builder *builder, uint32_t process, uint32_t corr)
{
	return known_facts(builder)->continued && is_known_by_call(builder, process, corr);
}

/* An event without a call here, whose record a log before has, too. */
static bool is_in_log_before(const struct builder *builder, uint32_t process, uint32_t corr, uint64_t start_ns)
{
	return is_known_by_call(builder, process, corr) || start_ns < known_facts(builder)->model->start_ns;
}

static bool event_is_outside(const struct builder *builder, const struct event_origin *origin, struct clock_span span)
{
	if (origin->call != NONE)
		return false;
	if (origin->shared && is_in_log_before(builder, origin->process, origin->corr, span.start_ns))
		return true;
	if (is_left_here(builder, origin->process, origin->corr))
		return span.end_ns < known_facts(builder)->model->start_ns;
	return lies_outside(builder, NONE, span);
}

enum event_place place_event(struct builder *builder, const struct event_origin *origin, struct clock_span *span,
			     uint64_t complete_ns)
{
	if (!convert_span(builder, origin->process, origin->clock, *span, calls_start(&builder->calls, origin->call),
			  span)) {
		builder_count_bad(builder, BAD_TIME, 1);
		return EVENT_OUTSIDE;
	}
	if (origin->call == NONE && origin->waits && span->start_ns >= complete_ns)
		return EVENT_WAITS;
	return event_is_outside(builder, origin, *span) ? EVENT_OUTSIDE : EVENT_IN_TRACE;
}

/* Launched after the trace ended, by its correlation id, even if on the GPU's clock it began just before the end. */
static bool is_launched_after(const struct builder *builder, const struct corr_range *range, const struct model_gpu *op)
{
	return op->corr && corr_is_after(range, op->corr) && known_facts(builder)->ended &&
	       op->end_ns >= known_facts(builder)->model->end_ns;
}

/*
 * Whether an operation without a call ended before the trace began, or was launched after it ended.  A file of another
 * tool has nothing else than its trace.
 */
static bool is_outside(const struct builder *builder, const struct corr_range *range, const struct model_gpu *op)
{
	bool is_left = is_left_here(builder, op->process, op->corr);

	if (op->foreign || model_is_foreign(known_facts(builder)->model))
		return false;
	if (!op->end_ns)
		return !is_left && op->corr && corr_is_after(range, op->corr);
	if (op->end_ns <= builder->model->start_ns)
		return true;
	return !is_left &&
	       (is_launched_after(builder, range, op) ||
		lies_outside(builder, op->call, (struct clock_span){.start_ns = op->start_ns, .end_ns = op->end_ns}));
}

/* Whether it was launched before the trace.  No work is older than a process whose start was seen. */
static bool is_older(const struct builder *builder, const struct corr_range *range, const struct model_gpu *op)
{
	uint64_t start_ns = known_facts(builder)->processes.list.items[op->process].start_ns;
	uint32_t earlier = known_facts(builder)->processes.states.items[op->process].earlier_corr;
	/*
	 * threads can be delayed between id and call: one may have reported a higher id before the trace than another
	 * in it
	 */
	bool is_before = corr_is_before(range, op->corr) || (earlier && (int32_t)(op->corr - earlier) <= 0);

	return op->corr && is_before && (!start_ns || start_ns < builder->model->start_ns);
}

/* Of work without times only its id says where it belongs. */
static bool op_is_in_log_before(const struct builder *builder, const struct model_gpu *op)
{
	uint64_t start_ns = op->end_ns ? op->start_ns : UINT64_MAX;

	return op->shared && (op->before || is_in_log_before(builder, op->process, op->corr, start_ns));
}

size_t leave_out_outside(const struct builder *builder, struct model_gpu *ops, size_t count)
{
	struct corr_range *ranges = corr_ranges(builder);
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct corr_range *range = &ranges[ops[i].process];

		if (ops[i].call == NONE) {
			if (is_outside(builder, range, &ops[i]))
				continue;
			ops[i].before = !gpu_is_migration(&ops[i]) && is_older(builder, range, &ops[i]);
			if (op_is_in_log_before(builder, &ops[i]))
				continue;
		}
		if (kept++ < i)
			ops[kept - 1] = ops[i];
	}
	free(ranges);
	return kept;
}
