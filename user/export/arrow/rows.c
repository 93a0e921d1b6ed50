/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts slices and memory of a timeline to rows. */
#include <stdlib.h>

#include "export/arrow/file.h"
#include "model/model.h"

static const uint8_t bytes_of_columns[ARROW_COLUMN_COUNT] = {
#define COLUMN_BYTES(enumerator, name, bytes, is_signed, dictionary) [ARROW_COLUMN_##enumerator] = (bytes),
	ARROW_COLUMNS(COLUMN_BYTES)
#undef COLUMN_BYTES
};

#define KIND_MEMORY TIMELINE_CATEGORIES

static const char *const kinds[] = {
#define KIND(name, form, category, kind) [TIMELINE_##name] = kind,
	TIMELINE_CATEGORY_ROWS(KIND)
#undef KIND
		[KIND_MEMORY] = "memory",
};

void arrow_rows_begin(struct arrow *arrow)
{
	for (unsigned i = 0; i < ARROW_COLUMN_COUNT; i++) {
		arrow->columns[i].data = xcalloc(ARROW_ROWS, bytes_of_columns[i]);
		arrow->columns[i].valid = xcalloc(ARROW_ROWS / 8, 1);
	}
	for (unsigned i = 0; i < ARROW_DICTIONARY_COUNT; i++)
		texts_begin(&arrow->dictionaries[i]);
	for (unsigned i = 0; i <= KIND_MEMORY; i++)
		texts_id(&arrow->dictionaries[ARROW_KINDS], "", kinds[i]);
	sink_open_memory(&arrow->text);
}

void arrow_rows_free(struct arrow *arrow)
{
	for (unsigned i = 0; i < ARROW_COLUMN_COUNT; i++) {
		free(arrow->columns[i].data);
		free(arrow->columns[i].valid);
	}
	for (unsigned i = 0; i < ARROW_DICTIONARY_COUNT; i++)
		texts_free(&arrow->dictionaries[i]);
	sink_close(&arrow->text);
	tally_free(&arrow->stacks);
	tally_free(&arrow->frames);
	array_free(&arrow->code_names);
}

static void end_row(struct arrow *arrow)
{
	if (++arrow->rows == ARROW_ROWS)
		arrow_put_batch(arrow);
}

static uint32_t text_in(struct arrow *arrow, enum arrow_dictionary dictionary, const char *before, const char *text)
{
	return texts_id(&arrow->dictionaries[dictionary], before, text);
}

/* ---- Python ---------------------------------------------------------------------------------------------------------
 */

static struct tally_entry *frame_entry(struct arrow *arrow, const struct timeline_frame *frame)
{
	struct tally_entry *entry = tally_at(&arrow->frames, (struct tally_key){{frame->code, frame->line}});

	if (!entry->more++) {
		struct timeline_code code = timeline_code(arrow->timeline, frame->code);

		entry->ns = text_in(arrow, ARROW_FUNCTIONS, "", code.name);
		entry->count = text_in(arrow, ARROW_FILES, "", code.file);
	}
	return entry;
}

static void set_frame(struct arrow *arrow, const struct tally_entry *frame)
{
	ARROW_SET(arrow, FUNCTION, frame->ns);
	ARROW_SET(arrow, FILE, frame->count);
	if (frame->key.part[1])
		ARROW_SET(arrow, LINE, frame->key.part[1]);
}

static void add_frame_text(struct arrow *arrow, const struct timeline_frame *frame)
{
	struct sink *text = &arrow->text;
	struct timeline_code code;

	if (frame->left_out) {
		sink_literal(text, "[frames left out]");
		return;
	}
	code = timeline_code(arrow->timeline, frame->code);
	sink_text(text, *code.file ? code.file : "?");
	sink_char(text, '(');
	sink_u64(text, frame->line);
	sink_literal(text, "): ");
	sink_text(text, code.name);
}

static void set_stack(struct arrow *arrow, const struct timeline_stack *stack)
{
	struct tally_entry *entry = tally_at(&arrow->stacks, (struct tally_key){{stack->id}});

	if (!entry->count++ && stack->count && !stack->frames[0].left_out)
		entry->ns = (uint64_t)(frame_entry(arrow, &stack->frames[0]) - arrow->frames.entries) + 1;
	if (entry->count == 1 && arrow->dictionaries[ARROW_STACKS].characters.used < ARROW_STACKS_MAX) {
		arrow->text.used = 0;
		for (uint32_t i = 0; i < stack->count; i++) {
			if (i)
				sink_char(&arrow->text, ';');
			add_frame_text(arrow, &stack->frames[i]);
		}
		sink_char(&arrow->text, '\0');
		entry->more = text_in(arrow, ARROW_STACKS, "", arrow->text.buffer) + 1ull;
	}
	if (entry->more)
		ARROW_SET(arrow, STACK, entry->more - 1);
	if (entry->ns)
		set_frame(arrow, &arrow->frames.entries[entry->ns - 1]);
}

/* ---- slices ---------------------------------------------------------------------------------------------------------
 */

static uint32_t name_of(struct arrow *arrow, const struct timeline_name *name)
{
	if (name->code == TIMELINE_NONE)
		return text_in(arrow, ARROW_NAMES, name->before, name->text);
	while (arrow->code_names.count <= name->code)
		array_push(&arrow->code_names, 0);
	if (!arrow->code_names.items[name->code])
		arrow->code_names.items[name->code] =
			text_in(arrow, ARROW_NAMES, "", timeline_code(arrow->timeline, name->code).name) + 1;
	return arrow->code_names.items[name->code] - 1;
}

static void set_triple(struct arrow *arrow, enum arrow_column first, const uint32_t *values)
{
	for (unsigned i = 0; i < 3; i++)
		arrow_set(arrow, (enum arrow_column)(first + i), ARROW_BYTES_GRID_X, values[i]);
}

/* Sets the column of an argument, if it has one; the line of an op is in its stack. */
static void set_arg(struct arrow *arrow, const struct timeline_arg *arg)
{
	switch (arg->key) {
	case TIMELINE_ARG_CORRELATION:
		ARROW_SET(arrow, CORRELATION, arg->number);
		break;
	case TIMELINE_ARG_DEVICE:
		ARROW_SET(arrow, DEVICE, arg->gpu);
		break;
	case TIMELINE_ARG_CONTEXT:
		ARROW_SET(arrow, CONTEXT, arg->number);
		break;
	case TIMELINE_ARG_STREAM:
		if (arg->stream.stream != TIMELINE_NONE)
			ARROW_SET(arrow, STREAM, arg->stream.stream);
		break;
	case TIMELINE_ARG_RESULT:
		ARROW_SET(arrow, RESULT, arg->integer);
		break;
	case TIMELINE_ARG_BYTES:
	case TIMELINE_ARG_LAUNCH_BYTES:
		ARROW_SET(arrow, BYTES, arg->number);
		break;
	case TIMELINE_ARG_TORCH_BYTES:
		ARROW_SET(arrow, BYTES, arg->integer);
		break;
	case TIMELINE_ARG_GRID:
		set_triple(arrow, ARROW_COLUMN_GRID_X, arg->triple);
		break;
	case TIMELINE_ARG_BLOCK:
		set_triple(arrow, ARROW_COLUMN_BLOCK_X, arg->triple);
		break;
	case TIMELINE_ARG_REGISTERS:
		ARROW_SET(arrow, REGISTERS, arg->number);
		break;
	case TIMELINE_ARG_SHARED:
		ARROW_SET(arrow, SHARED, arg->number);
		break;
	case TIMELINE_ARG_GRAPH_NODE:
		ARROW_SET(arrow, GRAPH_NODE, arg->number);
		break;
	case TIMELINE_ARG_OP_SEQUENCE:
		ARROW_SET(arrow, SEQUENCE, arg->integer);
		break;
	case TIMELINE_ARG_STACK:
		set_stack(arrow, arg->stack);
		break;
	default:
		break;
	}
}

/* Sets the process and thread; a row of a GPU also has a process, if its track has one. */
static void set_place(struct arrow *arrow, const struct timeline_track *track)
{
	const struct timeline_group *group = &arrow->timeline->groups.items[track->group];

	if (group->kind == TIMELINE_GROUP_PROCESS)
		ARROW_SET(arrow, PID, group->pid);
	else if (track->process != TIMELINE_NONE)
		ARROW_SET(arrow, PID, arrow->timeline->model->processes[track->process].pid);
	if (track->tid)
		ARROW_SET(arrow, TID, track->tid);
}

bool arrow_put_slice(void *context, const struct timeline_slice *slice)
{
	struct arrow *arrow = context;
	const struct timeline *timeline = arrow->timeline;

	ARROW_SET(arrow, KIND, slice->category);
	ARROW_SET(arrow, NAME, name_of(arrow, &slice->name));
	ARROW_SET(arrow, START, slice->start_ns - timeline->start_ns);
	ARROW_SET(arrow, DURATION, slice->end_ns - slice->start_ns);
	set_place(arrow, &timeline->tracks.items[slice->track]);
	if (slice->op)
		ARROW_SET(arrow, OP, slice->op);
	for (uint32_t i = 0; i < slice->arg_count; i++)
		set_arg(arrow, &slice->args[i]);
	if (slice->category == TIMELINE_PYTHON && slice->name.code != TIMELINE_NONE) {
		const struct timeline_frame frame = {.code = slice->name.code,
						     .line = timeline_code(timeline, slice->name.code).first_line};

		set_frame(arrow, frame_entry(arrow, &frame));
	}
	end_row(arrow);
	return !arrow->out->error;
}

bool arrow_put_memory(void *context, const struct timeline_memory *memory)
{
	struct arrow *arrow = context;
	const struct timeline *timeline = arrow->timeline;
	const struct timeline_counter *counter = &timeline->counters.items[memory->counter];

	ARROW_SET(arrow, KIND, KIND_MEMORY);
	ARROW_SET(arrow, NAME, text_in(arrow, ARROW_NAMES, "", memory->kind));
	ARROW_SET(arrow, START, memory->time_ns - timeline->start_ns);
	ARROW_SET(arrow, DURATION, 0);
	ARROW_SET(arrow, PID, timeline->groups.items[memory->group].pid);
	if (memory->track != TIMELINE_NONE && timeline->tracks.items[memory->track].tid)
		ARROW_SET(arrow, TID, timeline->tracks.items[memory->track].tid);
	if (!counter->of_host)
		ARROW_SET(arrow, DEVICE, counter->device);
	ARROW_SET(arrow, BYTES, memory->released ? 0 - memory->bytes : memory->bytes);
	end_row(arrow);
	return !arrow->out->error;
}
