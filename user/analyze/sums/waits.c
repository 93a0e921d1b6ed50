/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by caller and what it waits for: CUPTI's records and calls separately. */
#include "analyze/sums/waits.h"

#include <stdlib.h>

#include "analyze/events/line_tally.h"

void waits_free(struct waits *waits)
{
	tally_free(&waits->reported);
	tally_free(&waits->calls);
	array_free(&waits->open);
	free(waits->rows);
}

/* ---- across the end of a part -------------------------------------------------------------------------------- */

/* CUPTI's time of a wait may lie this much after its call, from the error of the clocks. */
#define BEHIND_NS 1000000u

/* More threads than this do not wait at once; a target cannot make this slow. */
#define OPEN_MAX 4096u

static bool may_still_come(uint64_t end_ns, uint64_t time_ns)
{
	return end_ns >= time_ns || time_ns - end_ns < BEHIND_NS;
}

void waits_begin_part(struct waits *waits, const struct model *part)
{
	size_t kept = 0;

	waits->model = part;
	for (size_t i = 0; i < waits->open.count; i++)
		if (may_still_come(waits->open.items[i].end_ns, waits->until_ns))
			waits->open.items[kept++] = waits->open.items[i];
	waits->open.count = kept;
	waits->until_ns = part->more ? part->until_ns : UINT64_MAX;
}

static void take_back(struct waits *waits, const struct model_call *call)
{
	for (size_t i = 0; i < waits->open.count; i++) {
		struct wait_open *open = &waits->open.items[i];
		struct tally_entry *sum;

		if (open->number != call->number)
			continue;
		sum = tally_at(&waits->calls, open->key);
		sum->ns -= open->end_ns - open->start_ns;
		sum->count--;
		waits->ns -= open->end_ns - open->start_ns;
		*open = waits->open.items[--waits->open.count];
		return;
	}
}

/* ---- events -------------------------------------------------------------------------------------------------- */

static void add_wait(struct waits *waits, struct tally *sums, struct tally_key key, uint64_t ns)
{
	struct tally_entry *sum = tally_at(sums, key);

	sum->ns += ns;
	sum->count++;
	waits->ns += ns;
}

/*
 * Bits above the kind: the api of the call, as files of other tools name calls that wait among others; and whether the
 * call that recorded the awaited event is known.
 */
#define KIND_API 8
#define KIND_RECORDED (1u << 24)

static uint32_t kind_of(const struct model *model, const struct model_sync *sync)
{
	uint32_t api = model_has_all_calls(model) && sync->call != NONE ? model->calls[sync->call].api : 0;

	return (sync->recorded_by != NONE ? KIND_RECORDED : 0) | api << KIND_API | sync->kind;
}

void waits_add_sync(struct waits *waits, const struct sync_event *event)
{
	const struct model_sync *sync = event->sync;
	bool recorded = sync->recorded_by != NONE;
	struct tally_key key = {{caller_place(waits->model, event->stack, event->caller), kind_of(waits->model, sync),
				 recorded ? event->recorded_caller : sync->stream, sync->process}};

	if (event->earlier)
		take_back(waits, event->earlier);
	/* that kind makes a stream wait, and returns at once */
	if (sync->kind != GPT_AGENT_SYNC_STREAM_WAITS_EVENT)
		add_wait(waits, &waits->reported, key, sync->end_ns - sync->start_ns);
}

void waits_add_call(struct waits *waits, const struct call_event *event)
{
	const struct model_call *call = event->call;
	struct tally_key key = {{caller_place(waits->model, call->stack, event->caller), call->api, 0, event->process}};

	if (!call->end_ns || event->wait_reported || !call_waits(event))
		return;
	add_wait(waits, &waits->calls, key, call->end_ns - call->start_ns);
	if (may_still_come(call->end_ns, waits->until_ns) && waits->open.count < OPEN_MAX)
		array_push(&waits->open, ((struct wait_open){.number = call->number,
							     .start_ns = call->start_ns,
							     .end_ns = call->end_ns,
							     .key = key}));
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

/* By line, kind and what is waited for: stream, line that recorded the event, or api. */
static struct line_tally waits_by_line(const struct waits *waits, struct lines *lines)
{
	struct line_tally by_line = {0};

	for (size_t i = 0; i < waits->reported.count + waits->calls.count; i++) {
		bool reported = i < waits->reported.count;
		const struct tally_entry *sum =
			reported ? &waits->reported.entries[i] : &waits->calls.entries[i - waits->reported.count];
		const uint32_t *part = sum->key.part;
		uint32_t kind[2] = {reported ? part[1] & ~KIND_RECORDED : WAIT_CALL, reported ? part[2] : part[1]};

		if (!sum->count)
			continue;
		if (reported && part[1] & KIND_RECORDED)
			kind[1] = line_of(lines, kind[1]);
		line_tally_add(&by_line, lines_of_place(lines, part[0]), kind, part[3], sum->ns, sum->count);
	}
	return by_line;
}

static struct wait_row row_of(const struct line_tally_row *sum)
{
	struct wait_row row = {.line = sum->line,
			       .process = sum->process,
			       .user_line = sum->user_line,
			       .user_lines = sum->user_lines,
			       .kind = sum->part[0] == WAIT_CALL ? WAIT_CALL : (uint8_t)sum->part[0],
			       .stream = NONE,
			       .recorded_line = NONE,
			       .ns = sum->ns,
			       .count = sum->count};

	row.api = (uint16_t)(row.kind == WAIT_CALL ? sum->part[1] : sum->part[0] >> KIND_API);
	if (row.kind == WAIT_CALL)
		return row;
	if (row.kind == GPT_AGENT_SYNC_STREAM)
		row.stream = sum->part[1];
	else if (row.kind != GPT_AGENT_SYNC_CONTEXT)
		row.recorded_line = sum->part[1];
	return row;
}

void waits_finish(struct waits *waits, struct lines *lines)
{
	struct line_tally by_line = waits_by_line(waits, lines);
	AUTO_FREE struct line_tally_row *sorted = line_tally_rows(&by_line, &waits->count);

	waits->rows = xcalloc(waits->count, sizeof(*waits->rows));
	for (size_t i = 0; i < waits->count; i++)
		waits->rows[i] = row_of(&sorted[i]);
}
