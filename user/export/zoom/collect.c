/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The round over a trace: slices of a part wait for its end, as they come kind after kind, and are kept as they nest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/zoom/store.h"
#include "model/trace.h"
#include "timeline/nesting.h"

#define LABELS_MAX (4u << 20)
#define AT_ONCE 4096u /* slices that are added before others may ask */
#define ARROWS (1u << 18)
#define RECENT_LABELS 1024u

struct collect {
	struct zoom *zoom;
	struct timeline *timeline;
	struct nesting waiting;
	ARRAY(uint32_t) waiting_labels; /* as they came */
	uint64_t part_from_ns, next_from_ns;
	ARRAY(uint32_t) code_names; /* by code: number of its text + 1, 0: none yet */
	struct tally frames;	    /* more: number of the text + 1 */
	uint32_t nothing;	    /* the text "" */
	uint64_t end_ns;	    /* of the latest slice to end */
	struct recent_label {
		const char *text; /* of its name, NULL: none yet */
		uint32_t label;
	} recent[RECENT_LABELS];
	struct arrow {
		uint64_t flow;
		uint32_t where;
	} * arrows; /* from calls to their GPU work: which line launched it */
};

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

static uint32_t label_of(struct collect *collect, const struct timeline_slice *slice)
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

static void add_waiting(struct collect *collect)
{
	struct zoom *zoom = collect->zoom;
	size_t count = collect->waiting.slices.count;

	nesting_sort(&collect->waiting);
	pthread_mutex_lock(&zoom->lock);
	if (collect->end_ns > zoom->progress.end_ns)
		zoom->progress.end_ns = collect->end_ns;
	pthread_mutex_unlock(&zoom->lock);
	for (size_t i = 0; i < count;) {
		size_t end = i + AT_ONCE < count ? i + AT_ONCE : count;

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

static char *group_label(const struct timeline_group *group)
{
	switch (group->kind) {
	case TIMELINE_GROUP_GPU:
		return xasprintf("GPU %u %s", group->device, group->name);
	case TIMELINE_GROUP_CUPTI:
		return xstrdup("CUPTI's overhead");
	case TIMELINE_GROUP_PROCESS:
		break;
	}
	return xasprintf("%s (pid %u)", group->name, group->pid);
}

static void learn_tracks(struct collect *collect)
{
	const struct timeline *timeline = collect->timeline;
	struct zoom *zoom = collect->zoom;

	for (size_t i = 0; i < timeline->tracks.count; i++) {
		const struct timeline_track *track = &timeline->tracks.items[i];
		const struct timeline_group *group = &timeline->groups.items[track->group];
		char label[256];

		if (i >= zoom->tracks.count)
			array_push(&zoom->tracks, ((struct zoom_track){
							  .kind = track->kind,
							  .group_index = track->group,
							  .owner = track->thread != TIMELINE_NONE  ? track->thread
								   : track->first != TIMELINE_NONE ? track->first
												   : (uint32_t)i,
							  .on_gpu = group->kind == TIMELINE_GROUP_GPU,
						  }));
		/* only the end of a long trace knows what they are called */
		timeline_track_label(timeline, (uint32_t)i, label, sizeof(label));
		free(zoom->tracks.items[i].label);
		free(zoom->tracks.items[i].group);
		zoom->tracks.items[i].label = xstrdup(label);
		zoom->tracks.items[i].group = group_label(group);
	}
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
	learn_tracks(collect);
	pthread_mutex_unlock(&zoom->lock);
}

static bool see_slice(void *context, const struct timeline_slice *slice)
{
	struct collect *collect = context;
	struct zoom *zoom = collect->zoom;
	struct zoom_slice kept = {.start_ns = slice->start_ns, .end_ns = slice->end_ns};
	bool is_long = slice->start_ns < collect->part_from_ns &&
		       (slice->category == TIMELINE_PYTHON || slice->category == TIMELINE_RANGE);

	if (slice->category == TIMELINE_TORCH_MEMORY)
		return true;
	if (kept.end_ns < kept.start_ns)
		kept.end_ns = kept.start_ns;
	kept.label = label_of(collect, slice);
	if (kept.end_ns > collect->end_ns)
		collect->end_ns = kept.end_ns;
	if (is_long) {
		pthread_mutex_lock(&zoom->lock);
		zoom_add_long(zoom, slice->track, &kept);
		pthread_mutex_unlock(&zoom->lock);
	} else {
		nesting_add(&collect->waiting, slice->track, kept.start_ns, kept.end_ns);
		array_push(&collect->waiting_labels, kept.label);
	}
	return !atomic_load_explicit(&zoom->stopped, memory_order_relaxed);
}

/* A value of a counter is no slice. */
static bool see_memory(void *context, const struct timeline_memory *memory)
{
	struct collect *collect = context;

	(void)memory;
	return !atomic_load_explicit(&collect->zoom->stopped, memory_order_relaxed);
}

int zoom_read(struct zoom *zoom, struct trace *trace, int process)
{
	struct timeline *timeline = timeline_new(trace, process);
	struct collect collect = {.zoom = zoom, .timeline = timeline};
	const struct timeline_visitor visitor = {
		.context = &collect, .part = part_at_hand, .slice = see_slice, .memory = see_memory};
	int error;

	if (!timeline)
		return trace->error;
	collect.arrows = xcalloc(ARROWS, sizeof(*collect.arrows));
	pthread_mutex_lock(&zoom->lock);
	collect.nothing = texts_id(&zoom->texts, "", "");
	pthread_mutex_unlock(&zoom->lock);
	error = timeline_visit(timeline, &visitor);
	add_waiting(&collect);
	pthread_mutex_lock(&zoom->lock);
	learn_tracks(&collect);
	if (!error && atomic_load(&zoom->stopped))
		error = -ECANCELED;
	if (!error)
		zoom->progress.read_ns = zoom->progress.is_part ? zoom->part_until_ns : UINT64_MAX;
	zoom->progress.done = !error && !zoom->progress.is_part;
	pthread_mutex_unlock(&zoom->lock);
	nesting_free(&collect.waiting);
	array_free(&collect.waiting_labels);
	array_free(&collect.code_names);
	tally_free(&collect.frames);
	free(collect.arrows);
	timeline_free(timeline);
	return error;
}
