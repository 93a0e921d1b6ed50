/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A slice is two packets, its start and its end, and readers sort packets by time; at the same time the order in the
 * file decides, and an end closes what was opened last.  So nested slices are written in nesting order: they wait for
 * their part to end.  Slices on a stream, or off the CPU, overlap nothing else there and are written at once.
 */
#include "export/perfetto/file.h"

/* Arrows from forward ops to backward ops have numbers of their own. */
#define LINKS (1ull << 62)

/* More bytes than a packet has without the arguments, arrows and texts of its event. */
#define EVENT_MAX 96u

static char *head_at(const struct perfetto *file, char *at, uint64_t time_ns)
{
	at = proto_number_at(at, PACKET_TIMESTAMP, time_ns);
	at = proto_number_at(at, PACKET_SEQUENCE, sequence_of(file));
	return proto_number_at(at, PACKET_SEQUENCE_FLAGS, SEQUENCE_INTERNED);
}

static size_t event_begin(const struct perfetto *file, struct sink *packet, uint64_t time_ns, enum event_type type,
			  uint64_t uuid)
{
	char *begin, *at = head_at(file, sink_room(packet, EVENT_MAX), time_ns);

	at = proto_begin_at(at, PACKET_TRACK_EVENT, &begin);
	at = proto_number_at(at, EVENT_TYPE, type);
	proto_wrote(packet, proto_number_at(at, EVENT_TRACK, uuid));
	return (size_t)(begin - packet->buffer);
}

static void put_end(struct perfetto *file, uint64_t time_ns, uint64_t uuid)
{
	char *packet, *event, *at = proto_begin_at(sink_room(file->out, EVENT_MAX), TRACE_PACKET, &packet);

	at = head_at(file, at, time_ns);
	at = proto_begin_at(at, PACKET_TRACK_EVENT, &event);
	at = proto_number_at(at, EVENT_TYPE, EVENT_ENDS);
	at = proto_number_at(at, EVENT_TRACK, uuid);
	proto_end_at(at, event);
	proto_end_at(at, packet);
	proto_wrote(file->out, at);
}

/* Writes a point in time for an arrow that does not start at a slice. */
static void put_origin(struct perfetto *file, uint32_t track, uint64_t time_ns, uint64_t flow)
{
	const struct timeline_name name = {.before = "", .text = "arrow", .code = TIMELINE_NONE};
	uint64_t id = perfetto_name(file, &name);
	size_t packet = packet_begin(file), event;

	event = event_begin(file, &file->packet, time_ns, EVENT_INSTANT, track_uuid(file, track));
	proto_number(&file->packet, EVENT_NAME, id);
	proto_fixed64(&file->packet, EVENT_FLOWS, flow);
	proto_end(&file->packet, event);
	packet_end(file, packet);
}

static bool is_instant(const struct timeline_slice *slice)
{
	return slice->category == TIMELINE_MARK || slice->category == TIMELINE_TORCH_MEMORY;
}

/* Writes the packet of a slice's start to memory. */
static void make_begin(struct perfetto *file, struct sink *memory, const struct timeline_slice *slice, uint64_t uuid)
{
	uint64_t name = perfetto_name(file, &slice->name);
	size_t packet, event;

	packet = proto_begin(memory, TRACE_PACKET);
	event = event_begin(file, memory, slice->start_ns, is_instant(slice) ? EVENT_INSTANT : EVENT_BEGINS, uuid);
	proto_number(memory, EVENT_CATEGORY, slice->category + 1ull);
	proto_number(memory, EVENT_NAME, name);
	for (uint32_t i = 0; i < slice->flow_out_count; i++)
		proto_fixed64(memory, EVENT_FLOWS, slice->flows_out[i]);
	if (slice->flow_in)
		proto_fixed64(memory, EVENT_ENDING_FLOWS, slice->flow_in);
	if (slice->link.number)
		proto_fixed64(memory, EVENT_ENDING_FLOWS, LINKS + slice->link.number);
	perfetto_put_args(file, memory, slice);
	proto_end(memory, event);
	proto_end(memory, packet);
}

/* ---- slices that began before their part ----------------------------------------------------------------------------
 */

static bool is_long(const struct perfetto *file, const struct timeline_slice *slice)
{
	return slice->start_ns < file->part_from_ns &&
	       (slice->category == TIMELINE_PYTHON || slice->category == TIMELINE_RANGE);
}

/* They arrive by end, inner ones first, so none that arrives later ends before one on its row. */
static uint64_t row_of_long(struct perfetto *file, const struct timeline_slice *slice)
{
	for (uint32_t i = 0; i < file->long_rows.count; i++) {
		struct long_row *row = &file->long_rows.items[i];

		if (row->track != slice->track)
			continue;
		if (row->end_ns <= slice->start_ns) {
			row->end_ns = slice->end_ns;
			return long_row_uuid(file, i);
		}
	}
	array_push(&file->long_rows, ((struct long_row){.track = slice->track, .end_ns = slice->end_ns}));
	perfetto_put_long_row(file, (uint32_t)file->long_rows.count - 1);
	return long_row_uuid(file, (uint32_t)file->long_rows.count - 1);
}

/* ---- slices that wait -----------------------------------------------------------------------------------------------
 */

static void wait_for_part(struct perfetto *file, const struct timeline_slice *slice)
{
	size_t at = file->waiting_text.used;

	make_begin(file, &file->waiting_text, slice, track_uuid(file, slice->track));
	nesting_add(&file->waiting, slice->track, slice->start_ns, slice->end_ns);
	array_push(&file->waiting_at, at);
}

static void close_open(struct perfetto *file, uint32_t track, uint64_t until_ns)
{
	while (file->open.count && file->open.items[file->open.count - 1] <= until_ns)
		put_end(file, file->open.items[--file->open.count], track_uuid(file, track));
}

void perfetto_put_waiting(struct perfetto *file)
{
	uint32_t track = 0;

	if (!file->waiting.slices.count)
		return;
	nesting_sort(&file->waiting);
	array_push(&file->waiting_at, file->waiting_text.used);
	for (size_t i = 0; i < file->waiting.slices.count; i++) {
		const struct nested *waiting = nesting_at(&file->waiting, i);
		size_t place = nesting_place(&file->waiting, i), at = file->waiting_at.items[place];

		close_open(file, track, waiting->track != track ? UINT64_MAX : waiting->start_ns);
		track = waiting->track;
		sink_put(file->out, file->waiting_text.buffer + at, file->waiting_at.items[place + 1] - at);
		array_push(&file->open, waiting->end_ns);
	}
	close_open(file, track, UINT64_MAX);
	nesting_clear(&file->waiting);
	file->waiting_at.count = 0;
	file->waiting_text.used = 0;
}

/* ---- visitors -------------------------------------------------------------------------------------------------------
 */

bool perfetto_put_slice(void *context, const struct timeline_slice *slice)
{
	struct perfetto *file = context;
	enum timeline_track_kind kind = file->timeline->tracks.items[slice->track].kind;

	if (slice->flow_in && slice->flow_from_track != TIMELINE_NONE)
		put_origin(file, slice->flow_from_track, slice->flow_from_ns, slice->flow_in);
	if (slice->link.number)
		put_origin(file, slice->link.from_track, slice->link.from_ns, LINKS + slice->link.number);
	if (is_instant(slice) || kind == TIMELINE_TRACK_STREAM || kind == TIMELINE_TRACK_OFF_CPU ||
	    kind == TIMELINE_TRACK_CPU_SAMPLES || is_long(file, slice)) {
		uint64_t uuid = is_long(file, slice) ? row_of_long(file, slice) : track_uuid(file, slice->track);

		make_begin(file, &file->packet, slice, uuid);
		proto_move(file->out, &file->packet);
		if (!is_instant(slice))
			put_end(file, slice->end_ns, uuid);
	} else {
		wait_for_part(file, slice);
	}
	return !file->out->error;
}

bool perfetto_put_memory(void *context, const struct timeline_memory *memory)
{
	struct perfetto *file = context;
	size_t packet = packet_begin(file), event;

	event = event_begin(file, &file->packet, memory->time_ns, EVENT_COUNTER, counter_uuid(file, memory->counter));
	proto_number(&file->packet, EVENT_COUNTER_VALUE, memory->held_bytes);
	proto_end(&file->packet, event);
	packet_end(file, packet);
	return !file->out->error;
}

bool perfetto_put_value(void *context, const struct timeline_value *value)
{
	struct perfetto *file = context;
	uint64_t uuid = perfetto_gpu_counter(file, value);
	size_t packet = packet_begin(file), event;

	event = event_begin(file, &file->packet, value->time_ns, EVENT_COUNTER, uuid);
	proto_double(&file->packet, EVENT_DOUBLE_VALUE, value->value);
	proto_end(&file->packet, event);
	packet_end(file, packet);
	return !file->out->error;
}
