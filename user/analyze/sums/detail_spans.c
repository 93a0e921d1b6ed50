/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/detail_spans.h"

#include "base/distance.h"

/* The part of a span that is in the window; 0: nothing, or the window is empty. */
static uint64_t clip_to_window(const struct window *window, uint64_t from_ns, uint64_t to_ns)
{
	from_ns = later_time(from_ns, window->start_ns);
	to_ns = earlier_time(to_ns, window->end_ns);
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

static void add_span(struct detail_row *row, const struct window *window, const struct model_detail *by, uint64_t to_ns)
{
	uint64_t ns = clip_to_window(window, by->time_ns, to_ns);

	if (!ns)
		return;
	if (!row->times++) {
		row->first_ns = later_time(by->time_ns, window->start_ns);
		row->why = by->why;
		row->measured = by->measured;
		row->limit = by->limit;
		row->pid = by->pid;
		row->tid = by->tid;
	}
	row->ns += ns;
}

static struct detail_row row_of(const struct model *model, const struct window *window, enum gpt_detail_kind kind)
{
	struct detail_row row = {.kind = kind};
	const struct model_detail *since = NULL;

	for (uint32_t i = 0; i < model->detail_count; i++) {
		const struct model_detail *change = &model->details[i];
		bool is_off = change->off >> kind & 1;

		if (since && !is_off)
			add_span(&row, window, since, change->time_ns);
		if (!since || !is_off)
			since = is_off ? change : NULL;
	}
	if (since)
		add_span(&row, window, since, UINT64_MAX);
	return row;
}

void detail_spans_make(struct detail_spans *spans, const struct model *model, const struct window *window)
{
	spans->count = 0;
	for (unsigned kind = 0; kind < GPT_DETAIL_COUNT; kind++) {
		struct detail_row row = row_of(model, window, (enum gpt_detail_kind)kind);

		if (row.times)
			spans->rows[spans->count++] = row;
	}
}
