/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

#include <stdio.h>

#include "export/chrome/file.h"

/* Only torch.profiler's own steps may have this name: consumers read a number after it. */
#define STEP "ProfilerStep"

struct literal {
	const char *text;
	size_t length;
};

#define LITERAL(text)                                                                                                  \
	{                                                                                                              \
		(text), sizeof(text) - 1                                                                               \
	}
/* How the event of a category starts, up to its name. */
#define EVENT_SLICE(category) LITERAL(",\n{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"")
#define EVENT_OF_OP EVENT_SLICE
#define EVENT_INSTANT(category) LITERAL(",\n{\"ph\":\"i\",\"cat\":\"" category "\",\"s\":\"t\",\"name\":\"")

static const struct {
	struct literal event;
	enum {
		SLICE,
		OF_OP, /* its args begin with the op's number */
		INSTANT
	} form;
} heads[TIMELINE_CATEGORIES] = {
#define HEAD(name, form, category, kind) [TIMELINE_##name] = {EVENT_##form(category), form},
	TIMELINE_CATEGORY_ROWS(HEAD)
#undef HEAD
};

static void put_name(struct chrome *chrome, const struct timeline_slice *slice)
{
	const struct timeline_name *name = &slice->name;
	bool is_range = slice->category == TIMELINE_RANGE || slice->category == TIMELINE_MARK;
	bool is_op = slice->category == TIMELINE_OP || slice->category == TIMELINE_NAMED_OP;
	struct sink *out = chrome->out;

	if (name->code != TIMELINE_NONE) {
		chrome_put_code(out, &chrome->codes, chrome->timeline, name->code,
				timeline_code(chrome->timeline, name->code).first_line);
		return;
	}
	if ((is_range || is_op) && !strncmp(name->text, STEP, strlen(STEP)))
		sink_text(out, is_range ? "NVTX " : "torch ");
	sink_json_part(out, name->before, is_range);
	sink_json_part(out, name->text, is_range);
}

/* A later part of a long trace may have events that began before those of the first part. */
static void put_time(struct chrome *chrome, uint64_t time_ns)
{
	uint64_t start_ns = chrome->start_ns;

	if (time_ns < start_ns)
		sink_char(chrome->out, '-');
	sink_us(chrome->out, time_ns < start_ns ? start_ns - time_ns : time_ns - start_ns);
}

/* Writes place and time, after a name (with the quote that ends it) or after something else. */
static void put_place(struct chrome *chrome, uint32_t track, uint64_t time_ns, bool behind_name)
{
	const struct chrome_row *row = &chrome->numbers.rows.items[track];
	const uint32_t begin = behind_name ? 0 : 1;

	memcpy(sink_room(chrome->out, CHROME_ROW_TEXT), row->text + begin, CHROME_ROW_TEXT);
	chrome->out->used += row->text_length - begin;
	put_time(chrome, time_ns);
}

/* An end of an arrow, at the start of its slice. */
static void put_flow(struct chrome *chrome, uint32_t track, uint64_t time_ns, bool begins, uint64_t id)
{
	struct sink *out = chrome->out;

	if (begins)
		sink_literal(out, ",\n{\"ph\":\"s\",\"id\":");
	else
		sink_literal(out, ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
	sink_u64(out, id);
	put_place(chrome, track, time_ns, false);
	sink_literal(out, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"}");
}

/* Writes the arrow from a forward op of PyTorch to this backward op. */
static void put_link(struct chrome *chrome, const struct timeline_slice *slice)
{
	static const char tail[] = ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"}";
	struct sink *out = chrome->out;

	sink_literal(out, ",\n{\"ph\":\"s\",\"id\":");
	sink_u64(out, slice->link.number);
	put_place(chrome, slice->link.from_track, slice->link.from_ns, false);
	sink_text(out, tail);
	sink_literal(out, ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
	sink_u64(out, slice->link.number);
	put_place(chrome, slice->track, slice->start_ns, false);
	sink_text(out, tail);
}

static void put_op(struct sink *out, uint64_t op)
{
	sink_literal(out, "\"External id\":");
	sink_u64(out, op ? CHROME_STEP_ID + op : 0);
}

bool chrome_put_slice(void *context, const struct timeline_slice *slice)
{
	struct chrome *chrome = context;
	const struct literal *event = &heads[slice->category].event;
	bool of_op = heads[slice->category].form == OF_OP, queued = slice->category == TIMELINE_KERNEL;
	struct sink *out = chrome->out;

	sink_short(out, event->text, event->length);
	put_name(chrome, slice);
	put_place(chrome, slice->track, slice->start_ns, true);
	if (heads[slice->category].form != INSTANT) {
		sink_literal(out, ",\"dur\":");
		sink_us(out, slice->end_ns - slice->start_ns);
	}
	sink_literal(out, ",\"args\":{");
	if (of_op)
		put_op(out, slice->op);
	if (queued)
		sink_literal(out, ",\"queued\":0");
	chrome_put_args(chrome, slice, !queued && !of_op);
	sink_literal(out, "}}");
	for (uint32_t i = 0; i < slice->flow_out_count; i++)
		put_flow(chrome, slice->track, slice->start_ns, true, slice->flows_out[i]);
	if (slice->flow_in && slice->flow_from_track != TIMELINE_NONE)
		put_flow(chrome, slice->flow_from_track, slice->flow_from_ns, true, slice->flow_in);
	if (slice->flow_in)
		put_flow(chrome, slice->track, slice->start_ns, false, slice->flow_in);
	if (slice->link.number)
		put_link(chrome, slice);
	return !out->error;
}

/*
 * If no steps were found, writes one over everything, on the thread with most calls: without any step the TensorBoard
 * plugin shows nonsense, and HTA's critical path needs an annotation to start from.
 */
void chrome_put_step(struct chrome *chrome)
{
	const struct timeline *timeline = chrome->timeline;
	uint64_t start_ns = timeline_time(timeline, timeline->start_ns);
	struct sink *out = chrome->out;

	if (timeline->busiest == TIMELINE_NONE || timeline->steps.count)
		return;
	sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"" STEP "#0");
	put_place(chrome, timeline->busiest, start_ns, true);
	sink_literal(out, ",\"dur\":");
	sink_us(out, timeline_time(timeline, timeline->end_ns) - start_ns);
	sink_literal(out, ",\"args\":{\"External id\":");
	sink_u64(out, CHROME_STEP_ID);
	sink_literal(out, ",\"Record function id\":0,\"Ev Idx\":0}}");
}

static void put_number(struct sink *out, const char *name, int64_t value)
{
	sink_literal(out, ",\"");
	sink_text(out, name);
	sink_literal(out, "\":");
	sink_i64(out, value);
}

/*
 * Memory as Kineto's `[memory]` instants, which the TensorBoard plugin's memory view reads.  If PyTorch's allocators
 * reported theirs, those are the instants, and memory that CUDA gave to them has another name.
 */
bool chrome_put_memory(void *context, const struct timeline_memory *memory)
{
	struct chrome *chrome = context;
	const struct timeline_counter *counter = &chrome->timeline->counters.items[memory->counter];
	uint32_t pid = chrome->numbers.pids.items[memory->group];
	struct sink *out = chrome->out;

	sink_literal(out, ",\n{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":");
	sink_text(out, chrome->timeline->has_torch_memory ? "\"[CUDA memory]\"" : "\"[memory]\"");
	sink_literal(out, ",\"pid\":");
	sink_u64(out, pid);
	sink_literal(out, ",\"tid\":");
	sink_u64(out, memory->track != TIMELINE_NONE ? chrome->numbers.rows.items[memory->track].tid : pid);
	sink_literal(out, ",\"ts\":");
	put_time(chrome, memory->time_ns);
	sink_literal(out, ",\"args\":{\"Device Type\":");
	sink_u64(out, counter->of_host ? 0 : 1);
	put_number(out, "Device Id",
		   counter->of_host ? -1 : (int64_t)chrome_device_pid(&chrome->numbers, counter->device));
	sink_literal(out, ",\"Addr\":");
	sink_u64(out, memory->address);
	put_number(out, "Bytes", memory->released ? -(int64_t)memory->bytes : (int64_t)memory->bytes);
	put_number(out, "Total Allocated", (int64_t)memory->held_bytes);
	put_number(out, "Total Reserved", (int64_t)memory->held_bytes);
	sink_literal(out, ",\"kind\":");
	sink_json(out, memory->kind);
	if (memory->correlation) {
		sink_literal(out, ",\"of call\":");
		sink_u64(out, memory->correlation);
	}
	if (memory->pool_bytes) {
		sink_literal(out, ",\"pool bytes\":");
		sink_u64(out, memory->pool_bytes);
		sink_literal(out, ",\"pool bytes used\":");
		sink_u64(out, memory->pool_used_bytes);
	}
	sink_literal(out, "}}");
	return !out->error;
}

/* On the GPU's rows, as a counter of Chrome's. */
bool chrome_put_counter(void *context, const struct timeline_value *value)
{
	struct chrome *chrome = context;
	struct sink *out = chrome->out;
	char number[32];

	sink_literal(out, ",\n{\"ph\":\"C\",\"name\":");
	sink_json(out, value->name);
	sink_literal(out, ",\"pid\":");
	sink_u64(out, chrome_device_pid(&chrome->numbers, value->device));
	sink_literal(out, ",\"tid\":0,\"ts\":");
	put_time(chrome, value->time_ns);
	sink_literal(out, ",\"args\":{");
	sink_json(out, value->unit);
	snprintf(number, sizeof(number), ":%.6g}}", value->value);
	sink_text(out, number);
	return !out->error;
}
