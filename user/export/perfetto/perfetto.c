/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes a file from its first packet to its last. */
#include "export/perfetto/perfetto.h"

#include "export/perfetto/file.h"
#include "model/model.h"

enum {
	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
};

static void put_clock(struct sink *packet, uint64_t clock, uint64_t time_ns)
{
	size_t begin = proto_begin(packet, SNAPSHOT_CLOCKS);

	proto_number(packet, CLOCK_ID, clock);
	proto_number(packet, CLOCK_TIMESTAMP, time_ns);
	proto_end(packet, begin);
}

/* Says which clock all times are on. */
static void put_head(struct perfetto *file)
{
	size_t packet = packet_begin(file), inner;

	proto_number(&file->packet, PACKET_SEQUENCE, sequence_of(file));
	proto_number(&file->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	inner = proto_begin(&file->packet, PACKET_DEFAULTS);
	proto_number(&file->packet, PACKET_TIMESTAMP_CLOCK, CLOCK_OF_TRACE);
	proto_end(&file->packet, inner);
	packet_end(file, packet);
}

/*
 * What that clock and the wall clock showed when the trace began; and CLOCK_BOOTTIME, which trace_processor assumes as
 * the clock of every file of this form: without a conversion to the file's own clock it reports that events were
 * dropped.
 */
static void put_clocks(struct perfetto *file)
{
	uint64_t start_ns = timeline_time(file->timeline, file->timeline->start_ns);
	size_t packet = packet_begin(file), inner;

	proto_number(&file->packet, PACKET_SEQUENCE, sequence_of(file));
	inner = proto_begin(&file->packet, PACKET_CLOCK_SNAPSHOT);
	put_clock(&file->packet, CLOCK_OF_TRACE, start_ns);
	put_clock(&file->packet, CLOCK_OF_WALL, start_ns + (uint64_t)file->wall_offset_ns);
	put_clock(&file->packet, CLOCK_SINCE_BOOT, start_ns + (uint64_t)file->slept_ns);
	proto_number(&file->packet, SNAPSHOT_PRIMARY, CLOCK_OF_TRACE);
	proto_end(&file->packet, inner);
	packet_end(file, packet);
}

static void begin_part(void *context)
{
	struct perfetto *file = context;

	perfetto_put_waiting(file);
	file->part_from_ns = file->next_from_ns;
	file->next_from_ns =
		file->timeline->more ? timeline_time(file->timeline, file->timeline->model->until_ns) : UINT64_MAX;
	perfetto_put_tracks(file);
}

int perfetto_put_timeline(struct perfetto *file)
{
	const struct timeline_visitor visitor = {.context = file,
						 .part = begin_part,
						 .slice = perfetto_put_slice,
						 .memory = perfetto_put_memory,
						 .counter = perfetto_put_value};
	bool several_parts = file->timeline->more;
	int error;

	sink_open_memory(&file->packet);
	sink_open_memory(&file->waiting_text);
	perfetto_interned_begin(file);
	put_head(file);
	if (!file->member)
		put_clocks(file);
	perfetto_intern_all_known(file);
	error = timeline_visit(file->timeline, &visitor);
	perfetto_put_waiting(file);
	if (several_parts)
		perfetto_put_tracks_again(file);
	perfetto_interned_free(file);
	nesting_free(&file->waiting);
	array_free(&file->waiting_at);
	array_free(&file->open);
	array_free(&file->long_rows);
	tally_free(&file->gpu_counters);
	array_free(&file->pids);
	array_free(&file->tids);
	sink_close(&file->waiting_text);
	sink_close(&file->packet);
	return error;
}

int perfetto_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	const struct export_place *place = options->place;
	struct timeline *timeline = timeline_new(trace, options->process);
	struct perfetto file = {.out = sink, .timeline = timeline};
	int error;

	if (!timeline)
		return trace->error;
	file.wall_offset_ns = model_source(timeline->model)->wall_offset_ns;
	file.slept_ns = model_source(timeline->model)->slept_ns;
	if (place) {
		file.process_labels = place->process_labels;
		file.gpu_label = place->gpu_label;
		file.used = place->used;
	}
	if (place && place->is_aligned) {
		file.wall_offset_ns = place->wall_offset_ns;
		file.slept_ns = place->slept_ns;
		timeline_put_among(timeline, &(struct timeline_among){.clock = place->clock, .splits = place->splits});
	}
	error = perfetto_put_timeline(&file);
	timeline_free(timeline);
	return error;
}
