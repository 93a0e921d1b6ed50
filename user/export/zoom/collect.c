/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The round over a trace: slices of a part wait for its end, as they come kind after kind, and are kept as they nest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/zoom/collect.h"
#include "model/model.h"
#include "model/trace.h"

#define LABELS_MAX (4u << 20)
#define AT_ONCE 4096u /* slices that are added before others may ask */

/* ---- labels ----------------------------------------------------------------------------------------------------- */

/* Who asks meanwhile reads texts and labels; only this thread adds some, so only that takes the lock. */
static uint32_t text_id(struct collect *collect, const char *before, const char *text)
{
	uint32_t id;

	pthread_mutex_lock(&collect->zoom->lock);
	id = texts_id(&collect->zoom->texts, before, text);
	pthread_mutex_unlock(&collect->zoom->lock);
	return id;
}

static uint32_t place_of(struct collect *collect, uint32_t code, uint32_t line)
{
	struct tally_entry *entry = tally_at(&collect->frames, (struct tally_key){{code, line}});

	if (!entry->more) {
		struct timeline_code what = timeline_code(collect->timeline, code);
		char *text = line ? xasprintf("%s:%u", what.file, line) : xstrdup(what.file);

		entry->more = text_id(collect, "", text) + 1ull;
		free(text);
	}
	return (uint32_t)entry->more - 1;
}

static uint32_t code_name(struct collect *collect, uint32_t code)
{
	uint32_t *slot;

	while (collect->code_names.count <= code)
		array_push(&collect->code_names, 0);
	slot = &collect->code_names.items[code];
	if (!*slot)
		*slot = text_id(collect, "", timeline_code(collect->timeline, code).name) + 1;
	return *slot - 1;
}

static bool is_arrow(const struct arrow *arrow, uint64_t flow)
{
	return arrow->flow == flow;
}

/* The line that a slice is of, or that launched it. */
static uint32_t where_of(struct collect *collect, const struct timeline_slice *slice)
{
	if (slice->name.code != TIMELINE_NONE)
		return place_of(collect, slice->name.code,
				timeline_code(collect->timeline, slice->name.code).first_line);
	for (uint32_t i = 0; i < slice->arg_count; i++) {
		const struct timeline_arg *arg = &slice->args[i];

		if (arg->key == TIMELINE_ARG_STACK) {
			for (uint32_t frame = 0; frame < arg->stack->count; frame++)
				if (arg->stack->frames[frame].code != TIMELINE_NONE)
					return place_of(collect, arg->stack->frames[frame].code,
							arg->stack->frames[frame].line);
		} else if ((arg->key == TIMELINE_ARG_OP_LINE || arg->key == TIMELINE_ARG_FORWARD_LINE) &&
			   arg->frame->code != TIMELINE_NONE) {
			return place_of(collect, arg->frame->code, arg->frame->line);
		}
	}
	if (slice->flow_in && is_arrow(&collect->arrows[slice->flow_in % ARROWS], slice->flow_in))
		return collect->arrows[slice->flow_in % ARROWS].where;
	return collect->nothing;
}

static uint32_t add_label(struct collect *collect, const struct zoom_label *label)
{
	struct zoom *zoom = collect->zoom;
	struct tally_entry *entry =
		tally_at(&zoom->label_ids, (struct tally_key){{label->name, label->where, label->category}});

	if (!entry->more) {
		pthread_mutex_lock(&zoom->lock);
		if (zoom->labels.count < LABELS_MAX)
			array_push(&zoom->labels, *label);
		entry->more = zoom->labels.count;
		pthread_mutex_unlock(&zoom->lock);
	}
	return (uint32_t)entry->more - 1;
}

/* Whether a label is of that name and place; what is at a text's place may be another text by now. */
static bool is_label(const struct zoom *zoom, const struct zoom_label *label, const struct timeline_slice *slice,
		     uint32_t where)
{
	return label->where == where && label->category == slice->category && !*slice->name.before &&
	       !strcmp(texts_at(&zoom->texts, label->name), slice->name.text);
}

static uint32_t label_of_text(struct collect *collect, const struct timeline_slice *slice, uint32_t where)
{
	uintptr_t place = (uintptr_t)slice->name.text;
	struct recent_label *recent = &collect->recent[(place >> 4 ^ place >> 12 ^ where * 31u) % RECENT_LABELS];
	struct zoom_label label = {.where = where, .category = slice->category};

	if (recent->text != slice->name.text ||
	    !is_label(collect->zoom, &collect->zoom->labels.items[recent->label], slice, where)) {
		label.name = text_id(collect, slice->name.before, slice->name.text);
		*recent = (struct recent_label){.text = slice->name.text, .label = add_label(collect, &label)};
	}
	return recent->label;
}

uint32_t zoom_label_of(struct collect *collect, const struct timeline_slice *slice)
{
	uint32_t where = where_of(collect, slice);

	for (uint32_t i = 0; i < slice->flow_out_count; i++)
		collect->arrows[slice->flows_out[i] % ARROWS] =
			(struct arrow){.flow = slice->flows_out[i], .where = where};
	if (slice->name.code == TIMELINE_NONE)
		return label_of_text(collect, slice, where);
	return add_label(collect, &(struct zoom_label){.name = code_name(collect, slice->name.code),
						       .where = where,
						       .category = slice->category});
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static void add_longs(struct collect *collect)
{
	struct zoom *zoom = collect->zoom;

	for (size_t i = 0; i < zoom->tracks.count; i++)
		zoom_forget_open(&zoom->tracks.items[i]);
	for (size_t i = 0; i < collect->longs.count; i++)
		zoom_add_long(zoom, collect->longs.items[i].track, &collect->longs.items[i].slice,
			      collect->longs.items[i].is_open);
	collect->longs.count = 0;
}

static void add_waiting(struct collect *collect)
{
	struct zoom *zoom = collect->zoom;
	size_t count = collect->waiting.slices.count;

	nesting_sort(&collect->waiting);
	pthread_mutex_lock(&zoom->lock);
	add_longs(collect);
	if (collect->end_ns > zoom->progress.end_ns)
		zoom->progress.end_ns = collect->end_ns;
	pthread_mutex_unlock(&zoom->lock);
	for (size_t i = 0; i < count;) {
		size_t end = i + AT_ONCE < count ? i + AT_ONCE : count;

		zoom_let_ask(zoom);
		pthread_mutex_lock(&zoom->lock);
		for (; i < end; i++) {
			const struct nested *waiting = nesting_at(&collect->waiting, i);
			uint32_t label = collect->waiting_labels.items[nesting_place(&collect->waiting, i)];

			zoom_add(zoom, waiting->track,
				 &(struct zoom_slice){
					 .start_ns = waiting->start_ns, .end_ns = waiting->end_ns, .label = label});
		}
		pthread_mutex_unlock(&zoom->lock);
	}
	nesting_clear(&collect->waiting);
	collect->waiting_labels.count = 0;
}

static void part_at_hand(void *context)
{
	struct collect *collect = context;
	struct zoom *zoom = collect->zoom;
	const struct timeline *timeline = collect->timeline;

	add_waiting(collect);
	pthread_mutex_lock(&zoom->lock);
	collect->part_from_ns = collect->next_from_ns;
	collect->next_from_ns = timeline->more ? timeline->model->until_ns : UINT64_MAX;
	zoom->progress.read_ns = collect->part_from_ns;
	zoom->progress.start_ns = timeline->start_ns;
	if (timeline->end_ns > zoom->progress.end_ns)
		zoom->progress.end_ns = timeline->end_ns;
	zoom_learn_tracks(collect);
	pthread_mutex_unlock(&zoom->lock);
}

static bool see_slice(void *context, const struct timeline_slice *slice)
{
	struct collect *collect = context;
	struct zoom *zoom = collect->zoom;
	uint32_t track = collect->tracks.items[slice->track];
	struct zoom_slice kept = {.start_ns = slice->start_ns, .end_ns = slice->end_ns};
	bool is_long = slice->start_ns < collect->part_from_ns &&
		       (slice->category == TIMELINE_PYTHON || slice->category == TIMELINE_RANGE);

	if (slice->category == TIMELINE_TORCH_MEMORY)
		return true;
	if (kept.end_ns < kept.start_ns)
		kept.end_ns = kept.start_ns;
	kept.label = zoom_label_of(collect, slice);
	if (kept.end_ns > collect->end_ns)
		collect->end_ns = kept.end_ns;
	if (is_long) {
		array_push(&collect->longs, ((struct waiting_long){.slice = kept, .track = track}));
	} else {
		nesting_add(&collect->waiting, track, kept.start_ns, kept.end_ns);
		array_push(&collect->waiting_labels, kept.label);
	}
	return !atomic_load_explicit(&zoom->stopped, memory_order_relaxed);
}

static void see_open(void *context, const struct timeline_slice *slice)
{
	struct collect *collect = context;
	struct waiting_long open = {.slice = {.start_ns = slice->start_ns, .end_ns = slice->end_ns},
				    .track = collect->tracks.items[slice->track],
				    .is_open = true};

	open.slice.label = zoom_label_of(collect, slice);
	if (open.slice.end_ns >= open.slice.start_ns)
		array_push(&collect->longs, open);
}

/* A value of a counter is no slice. */
static bool see_memory(void *context, const struct timeline_memory *memory)
{
	struct collect *collect = context;

	(void)memory;
	return !atomic_load_explicit(&collect->zoom->stopped, memory_order_relaxed);
}

bool zoom_collect_begin(struct collect *collect, struct zoom *zoom, struct trace *trace, int process)
{
	*collect = (struct collect){.zoom = zoom, .timeline = timeline_new(trace, process)};
	if (!collect->timeline)
		return false;
	collect->arrows = xcalloc(ARROWS, sizeof(*collect->arrows));
	collect->nothing = text_id(collect, "", "");
	return true;
}

void zoom_collect_end(struct collect *collect)
{
	nesting_free(&collect->waiting);
	array_free(&collect->waiting_labels);
	array_free(&collect->longs);
	array_free(&collect->code_names);
	array_free(&collect->tracks);
	tally_free(&collect->frames);
	free(collect->arrows);
	timeline_free(collect->timeline);
}

/* As the receipt says it. */
static bool is_cut(const struct model *last)
{
	const struct model_receipt *receipt = last ? &model_source(last)->receipt : NULL;

	return receipt && (receipt->truncated || !receipt->end_reason);
}

int zoom_read(struct zoom *zoom, struct trace *trace, int process)
{
	struct collect collect;
	const struct timeline_visitor visitor = {
		.context = &collect, .part = part_at_hand, .slice = see_slice, .memory = see_memory, .open = see_open};
	int error;

	if (!zoom_collect_begin(&collect, zoom, trace, process))
		return trace->error;
	error = timeline_visit(collect.timeline, &visitor);
	add_waiting(&collect);
	pthread_mutex_lock(&zoom->lock);
	zoom_learn_tracks(&collect);
	if (!error && atomic_load(&zoom->stopped))
		error = -ECANCELED;
	if (!error) {
		zoom->progress.read_ns = UINT64_MAX;
		zoom->progress.done = true;
		zoom->progress.is_cut = is_cut(trace->part);
		zoom_drop_samples(zoom);
	}
	pthread_mutex_unlock(&zoom->lock);
	zoom_collect_end(&collect);
	return error;
}
