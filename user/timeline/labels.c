/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What tracks are called. */
#include "timeline/timeline.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/model.h"
#include "timeline/placement.h"

/* " (default, priority -5)": what kind of stream it is, as far as that is not the ordinary. */
static void describe_stream(const struct timeline_track *track, char *text, size_t size)
{
	text[0] = '\0';
	if (track->is_default && track->priority)
		snprintf(text, size, " (default, priority %d)", track->priority);
	else if (track->is_default)
		snprintf(text, size, " (default)");
	else if (track->priority)
		snprintf(text, size, " (priority %d)", track->priority);
}

void label_row(const struct timeline *timeline, const struct timeline_track *track, bool of_gpu, char *text,
	       size_t size)
{
	const struct model_process *process = &timeline->model->processes[track->process];
	char of[64] = "", row[32] = "";

	if (of_gpu && timeline->several)
		snprintf(of, sizeof(of), " of %.20s %" PRIu32, process->name, process->pid);
	if (track->row)
		snprintf(row, sizeof(row), " (overlap %" PRIu32 ")", track->row);
	snprintf(text, size, "%s%s", of, row);
}

void label_gpu(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char kind[48], rest[96];

	describe_stream(track, kind, sizeof(kind));
	label_row(timeline, track, true, rest, sizeof(rest));
	snprintf(text, size, "stream %" PRIu32 "%s%s", track->stream, kind, rest);
}

void label_syncs(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char rest[96];

	label_row(timeline, track, true, rest, sizeof(rest));
	if (track->stream == TIMELINE_NONE)
		snprintf(text, size, "waits for events and for all of GPU %" PRIu32 "%s", track->device, rest);
	else
		snprintf(text, size, "stream %" PRIu32 " (sync)%s", track->stream, rest);
}

void label_ranges(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char rest[96];

	label_row(timeline, track, false, rest, sizeof(rest));
	snprintf(text, size, "thread %" PRIu32 " NVTX%s%s%.100s%s", track->tid, track->started ? " started ranges" : "",
		 *track->name ? " " : "", track->name, rest);
}

void label_overheads(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	snprintf(text, size, "thread %" PRIu32 " CUPTI", track->tid);
}

void timeline_track_label(const struct timeline *timeline, uint32_t index, char *text, size_t size)
{
	const struct timeline_track *track = &timeline->tracks.items[index];

	switch (track->kind) {
	case TIMELINE_TRACK_THREAD:
		snprintf(text, size, "thread %" PRIu32 " (%.200s)", track->tid, track->name);
		break;
	case TIMELINE_TRACK_INTERPRETER:
		snprintf(text, size, "thread %" PRIu32 " collections, imports", track->tid);
		break;
	case TIMELINE_TRACK_PYTHON:
		snprintf(text, size, "thread %" PRIu32 " Python", track->tid);
		break;
	case TIMELINE_TRACK_STEPS:
		snprintf(text, size, "thread %" PRIu32 " steps", track->tid);
		break;
#define LABEL(one, many, time, kind, ...)                                                                              \
	case TIMELINE_TRACK_##kind:                                                                                    \
		label_##many(timeline, track, text, size);                                                             \
		break;
		TIMELINE_PLACED(LABEL)
#undef LABEL
	}
}
