/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges as annotations of the program: those pushed and popped nest on a row of their thread and domain, beside
 * the thread's own, whose slices of Python functions they would cut; those started and ended get lanes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/chrome.h"

/* What only torch.profiler's own steps may be called: consumers read a number behind it. */
#define STEP "ProfilerStep"

/* Pushed ones nest, so only the outermost takes a lane, and that is always the first. */
static uint32_t place(struct tracks *rows, struct tally_key key, const struct model_range *range)
{
	const struct tally_entry *entry = tally_at(&rows->by_key, key);

	if (range->kind != MODEL_RANGE_STARTED && entry->more &&
	    rows->all.items[entry->more - 1].last_end_ns > range->start_ns)
		return (uint32_t)entry->more - 1;
	return tracks_place(rows, key, range->start_ns, range->end_ns);
}

void chrome_number_ranges(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	chrome->range_row = xmalloc(model->range_count * sizeof(*chrome->range_row));
	for (uint32_t i = 0; i < model->range_count; i++) {
		const struct model_range *range = &model->ranges[i];
		struct tally_key key = {{range->thread, range->domain, range->kind == MODEL_RANGE_STARTED}};

		chrome->range_row[i] = TRACK_NONE;
		if (!chrome_has_process(chrome, model->threads[range->thread].process))
			continue;
		chrome->range_row[i] = place(&chrome->range_rows, key, range);
		chrome->ranges_not_plotted += chrome->range_row[i] == TRACK_NONE;
	}
	for (uint32_t i = 0; i < chrome->range_rows.all.count; i++)
		chrome->range_rows.all.items[i].tid = CHROME_RANGE_TID + i;
}

void chrome_name_range_row(const struct chrome *chrome, const struct track *row, char *text, size_t size)
{
	const struct model_thread *thread = &chrome->model->threads[row->key.part[0]];
	const char *domain = row->key.part[1] != NONE ? chrome->model->strings[row->key.part[1]] : "";
	char lane[32] = "";

	if (row->lane)
		snprintf(lane, sizeof(lane), " (overlap %" PRIu32 ")", row->lane);
	snprintf(text, size, "thread %" PRIu32 " NVTX%s%s%.100s%s", thread->tid,
		 row->key.part[2] ? " started ranges" : "", *domain ? " " : "", domain, lane);
}

static void put_name(struct chrome *chrome, const struct model_range *range)
{
	const char *name = chrome->model->strings[range->name];
	struct sink *out = chrome->out;

	sink_char(out, '"');
	if (!strncmp(name, STEP, strlen(STEP)))
		sink_literal(out, "NVTX ");
	sink_json_part(out, *name ? name : "(no name)", true);
	sink_char(out, '"');
}

/* The step over everything has number 1. */
#define FIRST_ID 2u

static void put_args(struct chrome *chrome, const struct model_range *range)
{
	static const char *const kinds[] = {
		[MODEL_RANGE_MARK] = "mark",
		[MODEL_RANGE_PUSHED] = "push, pop",
		[MODEL_RANGE_STARTED] = "start, end",
	};
	struct sink *out = chrome->out;

	sink_literal(out, "\"External id\":");
	sink_u64(out, FIRST_ID + (uint64_t)(range - chrome->model->ranges));
	sink_literal(out, ",\"NVTX\":");
	sink_json(out, kinds[range->kind]);
	if (range->domain != NONE) {
		sink_literal(out, ",\"domain\":");
		sink_json(out, chrome->model->strings[range->domain]);
	}
	if (range->truncated)
		sink_literal(out, ",\"end\":\"not seen\"");
	sink_literal(out, "}}");
}

static void put_range(struct chrome *chrome, const struct model_range *range, uint32_t row)
{
	uint32_t pid = chrome->pids[chrome->model->threads[range->thread].process];
	uint32_t tid = chrome->range_rows.all.items[row].tid;
	struct sink *out = chrome->out;

	if (range->kind != MODEL_RANGE_MARK) {
		sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":");
		put_name(chrome, range);
		chrome_put_slice(chrome, "", 0, pid, tid, range->start_ns, range->end_ns);
	} else {
		sink_literal(out, ",\n{\"ph\":\"i\",\"cat\":\"nvtx_mark\",\"s\":\"t\",\"name\":");
		put_name(chrome, range);
		sink_literal(out, ",\"pid\":");
		sink_u64(out, pid);
		sink_literal(out, ",\"tid\":");
		sink_u64(out, tid);
		sink_literal(out, ",\"ts\":");
		sink_us(out, range->start_ns - chrome->base_ns);
		sink_literal(out, ",\"args\":{");
	}
	put_args(chrome, range);
}

void chrome_put_ranges(struct chrome *chrome)
{
	for (uint32_t i = 0; i < chrome->model->range_count && !chrome->out->error; i++)
		if (chrome->range_row[i] != TRACK_NONE)
			put_range(chrome, &chrome->model->ranges[i], chrome->range_row[i]);
}
