/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Works thread by thread: compares its calls as seen by symbol probes (`seen`, one time each) and as recorded by CUPTI
 * (`activity`, with start and end).  A probe on the recorded function itself fires just before the start.  If that
 * function cannot be probed (a statically linked libcudart without symbols), a driver function inside it may have been
 * seen instead.
 */
#include "model/tables/api_activity.h"
#include "model/tables/captures.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/*
 * Between the probe and CUPTI's start are the stack walk and the function's prologue: 2 to 30 us, or longer if the
 * thread was preempted.  Up to NEAR_NS the latest earlier call matches; up to FAR_NS only if neither side has another
 * candidate.
 */
#define NEAR_NS 200000
#define FAR_NS 100000000

struct seen {
	uint64_t time_ns;
	uint32_t process, key;
	uint32_t call; /* in calls->list */
};

/* One thread, as identified by CUPTI's key; both lists are in order of time. */
struct timeline {
	const struct seen *seen;
	const struct api_activity *activity;
	size_t seen_count, activity_count;
	size_t used;	   /* seen[0 .. used) belong to earlier records or to none */
	size_t passed;	   /* seen[0 .. passed) are not after the start of the current record */
	uint64_t error_ns; /* error bound of activity's times */
};

struct joining {
	struct api_activities *table;
	const struct api_activity_terms *terms;
	struct captures captures;
};

void api_activities_free(struct api_activities *table)
{
	array_free(&table->pending);
	array_free(&table->list);
	array_free(&table->ranges);
	array_free(&table->thread_states);
	lookup_free(&table->threads);
}

void api_activities_place(struct api_activities *table, const struct pending_api_activity *pending, uint64_t start_ns,
			  uint64_t end_ns)
{
	const struct gpt_agent_api_activity *from = &pending->record;
	uint32_t process = pending->program.process;
	struct api_activity activity = {.start_ns = start_ns,
					.end_ns = end_ns,
					.process = process,
					.epoch = pending->program.epoch,
					.key = from->thread,
					.corr = from->corr,
					.result = from->result,
					.api = from->api,
					.by_pointer =
						!process_table_has_own_tid(table->processes, process, from->thread)};

	array_push(&table->list, activity);
}

/* ---- one record ------------------------------------------------------------------------------------------------ */

static struct model_call *call_of(const struct joining *joining, const struct seen *seen)
{
	return &joining->table->calls->list.items[seen->call];
}

/* Calls may be missing between seen[index - 1] and seen[index]. */
static bool lost_before(const struct joining *joining, const struct timeline *line, size_t index)
{
	return index < line->seen_count ? call_of(joining, &line->seen[index])->after_loss : joining->terms->calls_lost;
}

/* Another call before seen[at] could also be the record's: it is unused, and after the previous record. */
static bool has_rival(const struct timeline *line, const struct api_activity *activity, size_t at, uint64_t after_ns)
{
	return at > line->used && line->seen[at - 1].time_ns + line->error_ns >= after_ns;
}

/* Whether a call far from its record has no alternative: no other call, and no other record before the next call. */
static bool stands_alone(const struct timeline *line, size_t record, size_t at, uint64_t after_ns)
{
	const struct api_activity *activity = &line->activity[record];

	if (activity->start_ns - line->seen[at].time_ns > FAR_NS || has_rival(line, activity, at, after_ns))
		return false;
	return record + 1 >= line->activity_count || at + 1 >= line->seen_count ||
	       line->activity[record + 1].start_ns + line->error_ns >= line->seen[at + 1].time_ns;
}

/*
 * Whether seen[at], the last one that is not after the record's start, is the recorded call; after_ns: the end of the
 * previous record.
 */
static bool is_entry(const struct joining *joining, const struct timeline *line, size_t record, size_t at,
		     uint64_t after_ns)
{
	const struct api_activity *activity = &line->activity[record];
	const struct seen *seen = &line->seen[at];

	if (call_of(joining, seen)->api != activity->api || seen->time_ns + line->error_ns < after_ns ||
	    seen->time_ns > activity->start_ns + line->error_ns)
		return false;
	/* The call's own record may be missing, and this record may be of a lost call. */
	if (lost_before(joining, line, at + 1))
		return false;
	/* Within the clock error it may also be the next call after the recorded one. */
	if (seen->time_ns + line->error_ns > activity->start_ns)
		return !has_rival(line, activity, at, after_ns);
	return activity->start_ns - seen->time_ns < NEAR_NS || stands_alone(line, record, at, after_ns);
}

/* Finds a call of the same class inside the recorded one; such a call is not seen if the recorded one itself was. */
static size_t find_inside(const struct joining *joining, const struct timeline *line,
			  const struct api_activity *activity, size_t from)
{
	enum gpt_api_class class = api_class(activity->api);

	for (size_t i = from; i < line->seen_count && line->seen[i].time_ns + line->error_ns < activity->end_ns; i++)
		if (line->seen[i].time_ns > activity->start_ns + line->error_ns &&
		    call_of(joining, &line->seen[i])->class == class)
			return i;
	return line->seen_count;
}

/* The index in seen of the record's call, seen_count for none. */
static size_t find_call(const struct joining *joining, struct timeline *line, size_t record, uint64_t after_ns)
{
	const struct api_activity *activity = &line->activity[record];
	size_t inside;

	while (line->passed < line->seen_count &&
	       line->seen[line->passed].time_ns <= activity->start_ns + line->error_ns)
		line->passed++;
	inside = find_inside(joining, line, activity, line->passed > line->used ? line->passed : line->used);
	if (inside < line->seen_count)
		return inside;
	if (line->passed > line->used && is_entry(joining, line, record, line->passed - 1, after_ns))
		return line->passed - 1;
	return line->seen_count;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

void api_activities_note_range(struct api_activities *table, uint32_t process, uint32_t corr, uint64_t end_ns)
{
	struct api_activity_range *range;

	while (table->ranges.count <= process)
		array_push(&table->ranges, (struct api_activity_range){});
	range = &table->ranges.items[process];
	if (!range->any || (int32_t)(corr - range->first) < 0)
		range->first = corr;
	if (!range->any || (int32_t)(corr - range->last) > 0)
		range->last = corr;
	if (end_ns > range->end_ns)
		range->end_ns = end_ns;
	range->any = true;
}

static struct api_activity_thread *thread_of(struct api_activities *table, const struct api_activity *activity)
{
	uint32_t *index = lookup_put(&table->threads, 2 * activity->process + activity->by_pointer + 1, activity->key,
				     (uint32_t)table->thread_states.count);

	if (*index == table->thread_states.count)
		array_push(&table->thread_states, (struct api_activity_thread){});
	return &table->thread_states.items[*index];
}

static void give_times(struct api_activities *table, const struct api_activity *activity, uint32_t index,
		       bool outermost)
{
	struct model_call *call = &table->calls->list.items[index];

	if (!calls_name(table->calls, activity->epoch, activity->corr, index))
		return; /* a repeated id */
	if (!outermost)
		return;
	call->corr = activity->corr;
	call->result = activity->result;
	call->end_ns = activity->end_ns > call->start_ns ? activity->end_ns : call->start_ns;
}

/*
 * A record inside the previous one is the driver call of a runtime call, if CUPTI records both: it is the same call.  A
 * record that merely overlaps the previous one cannot be of the same thread.
 */
static void join_timeline(struct joining *joining, struct timeline *line)
{
	struct api_activity_thread *thread = thread_of(joining->table, line->activity);
	uint64_t end_ns = thread->end_ns;
	uint32_t outer = NONE;

	joining->captures.since_ns = thread->capture_ns;
	for (size_t i = 0; i < line->activity_count; i++) {
		const struct api_activity *activity = &line->activity[i];
		size_t at;

		if (activity->start_ns < end_ns) {
			if (outer != NONE && activity->end_ns <= end_ns)
				give_times(joining->table, activity, outer, false);
			continue;
		}
		captures_note(&joining->captures, activity);
		at = find_call(joining, line, i, end_ns);
		end_ns = activity->end_ns;
		outer = at < line->seen_count ? line->seen[at].call : NONE;
		if (outer == NONE)
			continue;
		give_times(joining->table, activity, outer, true);
		line->used = at + 1;
	}
	thread->end_ns = end_ns;
	thread->capture_ns = captures_end_thread(&joining->captures, line->activity->process, joining->terms->part_ns);
}

DEFINE_ORDER(compare_seen, struct seen,
	     least_first(a->process, b->process) ?: least_first(a->key, b->key) ?:
	     least_first(a->time_ns, b->time_ns) ?: least_first(a->call, b->call))

/* Outer records come before those inside them. */
DEFINE_ORDER(compare_activities, struct api_activity,
	     least_first(a->by_pointer, b->by_pointer) ?: least_first(a->process, b->process) ?:
	     least_first(a->key, b->key) ?: least_first(a->start_ns, b->start_ns) ?: most_first(a->end_ns, b->end_ns) ?:
	     least_first(a->corr, b->corr))

/* Collects calls without a correlation id, with CUPTI's key of their thread; returns their number. */
static size_t collect_seen(const struct api_activities *table, bool by_pointer, struct seen *seen)
{
	const struct process_table *processes = table->processes;
	size_t count = 0;

	for (size_t i = 0; i < table->calls->list.count; i++) {
		const struct model_call *call = &table->calls->list.items[i];
		const struct thread_names *names = &processes->thread_names.items[call->thread];
		uint32_t key = by_pointer ? names->pointer : names->own_tid;

		if (call->corr || !key)
			continue;
		seen[count++] = (struct seen){.time_ns = call->start_ns,
					      .process = processes->threads.items[call->thread].process,
					      .key = key,
					      .call = (uint32_t)i};
	}
	sort_items(seen, count, sizeof(*seen), compare_seen);
	return count;
}

static bool same_thread(const struct api_activity *activity, uint32_t process, uint32_t key)
{
	return activity->process == process && activity->key == key;
}

/* All of activity[0 .. count) and `seen` have the same kind of thread keys, and are sorted. */
static void join_all(struct joining *joining, const struct api_activity *activity, size_t count,
		     const struct seen *seen, size_t seen_count)
{
	size_t at = 0;

	for (size_t i = 0; i < count;) {
		struct seen from = {.process = activity[i].process, .key = activity[i].key};
		struct timeline line = {.activity = &activity[i], .error_ns = joining->terms->error_ns};

		for (; i < count && same_thread(&activity[i], from.process, from.key); i++)
			line.activity_count += activity[i].start_ns < joining->terms->part_ns;
		while (at < seen_count && compare_seen(&seen[at], &from) < 0)
			at++;
		line.seen = &seen[at];
		while (at < seen_count && same_thread(line.activity, seen[at].process, seen[at].key))
			at++, line.seen_count++;
		if (line.activity_count)
			join_timeline(joining, &line);
	}
}

/* Keeps records that begin in a later part. */
static void keep_later(struct api_activities *table, uint64_t part_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->list.count; i++)
		if (table->list.items[i].start_ns >= part_ns)
			table->list.items[kept++] = table->list.items[i];
	table->list.count = kept;
}

void api_activities_join(struct api_activities *table, const struct api_activity_terms *terms)
{
	struct joining joining = {.table = table, .terms = terms};
	size_t count = table->list.count, by_id = 0, seen_count;
	struct api_activity *activity = table->list.items;
	AUTO_FREE struct seen *seen = NULL;

	if (!count)
		return;
	qsort(activity, count, sizeof(*activity), compare_activities);
	while (by_id < count && !activity[by_id].by_pointer)
		by_id++;
	seen = xmalloc((table->calls->list.count + 1) * sizeof(*seen));
	seen_count = collect_seen(table, false, seen);
	join_all(&joining, activity, by_id, seen, seen_count);
	if (by_id < count) {
		seen_count = collect_seen(table, true, seen);
		join_all(&joining, activity + by_id, count - by_id, seen, seen_count);
	}
	captures_mark(&joining.captures, table->processes, table->calls);
	array_free(&joining.captures.list);
	keep_later(table, terms->part_ns);
}

bool api_activities_any(const struct api_activities *table, uint32_t process)
{
	return process < table->ranges.count && table->ranges.items[process].any;
}

bool api_activity_is_outside(const struct api_activities *table, uint32_t process, uint32_t corr)
{
	const struct api_activity_range *range =
		api_activities_any(table, process) ? &table->ranges.items[process] : NULL;

	return range && ((int32_t)(corr - range->first) < 0 || (int32_t)(corr - range->last) > 0);
}
