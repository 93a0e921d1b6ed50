/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slices of a pass: names and places; they wait for the end of their part. */
#include <stdlib.h>
#include <string.h>

#include "base/library_file.h"
#include "export/zoom/collect.h"

#define LABELS_MAX (4u << 20)

/* Threads that ask read texts and labels; only this thread adds any, so it locks only for that. */
uint32_t zoom_text_id(struct collect *collect, const char *before, const char *text)
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
		AUTO_FREE char *text = line ? xasprintf("%s:%u", what.file, line) : xstrdup(what.file);

		entry->more = zoom_text_id(collect, "", text) + 1ull;
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
		*slot = zoom_text_id(collect, "", timeline_code(collect->timeline, code).name) + 1;
	return *slot - 1;
}

/* The place of a slice: its line, or the line that launched it; and the stack around that, as in zoom_label. */
struct place {
	uint32_t where, stack;
};

#define STACK_FRAMES_MAX 64u

static uint32_t frame_text(struct collect *collect, const struct timeline_frame *frame)
{
	struct timeline_code what = timeline_code(collect->timeline, frame->code);
	struct tally_entry *entry = tally_at(&collect->frames, (struct tally_key){{frame->code, frame->line, 1}});

	if (!entry->more) {
		AUTO_FREE char *text = xasprintf("%s (%s:%u)", what.name, *what.file ? what.file : "?", frame->line);

		entry->more = zoom_text_id(collect, "", text) + 1ull;
	}
	return (uint32_t)entry->more - 1;
}

static uint32_t stack_text(struct collect *collect, const struct timeline_stack *stack)
{
	struct tally_entry *entry = tally_at(&collect->stacks, (struct tally_key){{stack->id}});
	int own = -1, shown = 0;
	struct sink frames;

	if (entry->more)
		return (uint32_t)entry->more - 1;
	sink_open_memory(&frames);
	for (uint32_t i = 0; i < stack->count && shown < (int)STACK_FRAMES_MAX; i++) {
		if (stack->frames[i].code == TIMELINE_NONE)
			continue;
		if (own < 0 && !file_is_library(timeline_code(collect->timeline, stack->frames[i].code).file))
			own = shown;
		sink_char(&frames, ',');
		sink_u64(&frames, frame_text(collect, &stack->frames[i]));
		shown++;
	}
	sink_char(&frames, '\0');
	if (shown) {
		AUTO_FREE char *text = xasprintf("%d%s", own, frames.buffer);

		entry->more = zoom_text_id(collect, "", text) + 1ull;
	} else {
		entry->more = collect->nothing + 1ull;
	}
	sink_close(&frames);
	return (uint32_t)entry->more - 1;
}

static struct place place_of_stack(struct collect *collect, const struct timeline_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++)
		if (stack->frames[i].code != TIMELINE_NONE)
			return (struct place){place_of(collect, stack->frames[i].code, stack->frames[i].line),
					      stack_text(collect, stack)};
	return (struct place){collect->nothing, collect->nothing};
}

static struct place place_of_slice(struct collect *collect, const struct timeline_slice *slice)
{
	const struct arrow *arrow = &collect->arrows[slice->flow_in % ARROWS];
	struct place place = {collect->nothing, collect->nothing};

	for (uint32_t i = 0; i < slice->arg_count && place.where == collect->nothing; i++) {
		const struct timeline_arg *arg = &slice->args[i];

		if (arg->key == TIMELINE_ARG_STACK)
			place = place_of_stack(collect, arg->stack);
		else if ((arg->key == TIMELINE_ARG_OP_LINE || arg->key == TIMELINE_ARG_FORWARD_LINE) &&
			 arg->frame->code != TIMELINE_NONE)
			place.where = place_of(collect, arg->frame->code, arg->frame->line);
	}
	if (place.where == collect->nothing && slice->name.code != TIMELINE_NONE)
		place.where = place_of(collect, slice->name.code,
				       timeline_code(collect->timeline, slice->name.code).first_line);
	if (place.where == collect->nothing && slice->flow_in && arrow->flow == slice->flow_in)
		place = (struct place){arrow->where, arrow->stack};
	return place;
}

uint32_t zoom_label_id(struct collect *collect, const struct zoom_label *label)
{
	struct zoom *zoom = collect->zoom;
	struct tally_entry *entry = tally_at(
		&zoom->label_ids, (struct tally_key){{label->name, label->where, label->category, label->stack}});
	struct zoom_label kept = *label;

	kept.leads_to = ZOOM_NONE;
	if (!entry->more) {
		pthread_mutex_lock(&zoom->lock);
		if (zoom->labels.count < LABELS_MAX)
			array_push(&zoom->labels, kept);
		entry->more = zoom->labels.count;
		pthread_mutex_unlock(&zoom->lock);
	}
	return (uint32_t)entry->more - 1;
}

/* Whether a label has that name and place; another text may be at a text's address by now. */
static bool is_label(const struct zoom *zoom, const struct zoom_label *label, const struct timeline_slice *slice,
		     struct place place)
{
	return label->where == place.where && label->stack == place.stack && label->category == slice->category &&
	       !*slice->name.before && !strcmp(texts_at(&zoom->texts, label->name), slice->name.text);
}

static uint32_t label_of_text(struct collect *collect, const struct timeline_slice *slice, struct place place)
{
	uintptr_t at = (uintptr_t)slice->name.text;
	struct recent_label *recent =
		&collect->recent[(at >> 4 ^ at >> 12 ^ place.where * 31u ^ place.stack * 17u) % RECENT_LABELS];
	struct zoom_label label = {.where = place.where, .category = slice->category, .stack = place.stack};

	if (recent->text != slice->name.text ||
	    !is_label(collect->zoom, &collect->zoom->labels.items[recent->label], slice, place)) {
		label.name = zoom_text_id(collect, slice->name.before, slice->name.text);
		*recent = (struct recent_label){.text = slice->name.text, .label = zoom_label_id(collect, &label)};
	}
	return recent->label;
}

uint32_t zoom_label_of(struct collect *collect, const struct timeline_slice *slice)
{
	struct place place = place_of_slice(collect, slice);

	for (uint32_t i = 0; i < slice->flow_out_count; i++)
		collect->arrows[slice->flows_out[i] % ARROWS] =
			(struct arrow){.flow = slice->flows_out[i], .where = place.where, .stack = place.stack};
	if (slice->name.code == TIMELINE_NONE)
		return label_of_text(collect, slice, place);
	return zoom_label_id(collect, &(struct zoom_label){.name = code_name(collect, slice->name.code),
							   .where = place.where,
							   .category = slice->category,
							   .stack = place.stack});
}

uint64_t zoom_number_of(const struct timeline_slice *slice)
{
	for (uint32_t i = 0; i < slice->arg_count; i++)
		if (slice->args[i].key == TIMELINE_ARG_CORRELATION)
			return slice->args[i].number;
	return 0;
}

void zoom_wait(struct collect *collect, uint32_t track, const struct zoom_slice *slice)
{
	nesting_add(&collect->waiting, track, slice->start_ns, slice->end_ns);
	array_push(&collect->waiting_rest, ((struct waiting_slice){.number = slice->number, .label = slice->label}));
}

bool zoom_collect_begin(struct collect *collect, struct zoom *zoom, struct trace *trace, int process)
{
	*collect = (struct collect){.zoom = zoom, .timeline = timeline_new(trace, process)};
	if (!collect->timeline)
		return false;
	collect->arrows = xcalloc(ARROWS, sizeof(*collect->arrows));
	collect->nothing = zoom_text_id(collect, "", "");
	return true;
}

void zoom_collect_end(struct collect *collect)
{
	nesting_free(&collect->waiting);
	array_free(&collect->waiting_rest);
	array_free(&collect->memory);
	array_free(&collect->long_slices);
	array_free(&collect->code_names);
	array_free(&collect->tracks);
	tally_free(&collect->frames);
	tally_free(&collect->stacks);
	free(collect->arrows);
	timeline_free(collect->timeline);
}
