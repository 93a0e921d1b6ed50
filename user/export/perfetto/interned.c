/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names, stacks and their frames: once in the file, before the first packet that refers to them. */
#include <stdio.h>

#include "export/perfetto/file.h"

#define MAPPING 1 /* the only one: Python frames are in no mapped file */

static void texts_of_kind(struct interned_texts *interned, uint32_t kind)
{
	texts_begin(&interned->texts);
	interned->kind = kind;
}

void perfetto_interned_begin(struct perfetto *file)
{
	sink_open_memory(&file->interned);
	texts_of_kind(&file->names, INTERNED_NAMES);
	texts_of_kind(&file->values, INTERNED_VALUES);
	texts_of_kind(&file->functions, INTERNED_FUNCTIONS);
	texts_of_kind(&file->sources, INTERNED_SOURCES);
}

void perfetto_interned_free(struct perfetto *file)
{
	texts_free(&file->names.texts);
	texts_free(&file->values.texts);
	texts_free(&file->functions.texts);
	texts_free(&file->sources.texts);
	tally_free(&file->frames);
	tally_free(&file->stacks);
	array_free(&file->code_names);
	sink_close(&file->interned);
}

/* A packet with interned data: begin, add entries to file->interned, end. */
static size_t data_begin(struct perfetto *file, size_t *packet)
{
	*packet = proto_begin(&file->interned, TRACE_PACKET);
	proto_number(&file->interned, PACKET_SEQUENCE, sequence_of(file));
	proto_number(&file->interned, PACKET_SEQUENCE_FLAGS, SEQUENCE_INTERNED);
	return proto_begin(&file->interned, PACKET_INTERNED_DATA);
}

static void data_end(struct perfetto *file, size_t begin, size_t packet)
{
	proto_end(&file->interned, begin);
	proto_end(&file->interned, packet);
	proto_move(file->out, &file->interned);
}

static void put_entry(struct sink *packet, uint32_t kind, uint64_t id, const char *text)
{
	size_t begin = proto_begin(packet, kind);

	proto_number(packet, INTERNED_ID, id);
	proto_text(packet, INTERNED_TEXT, text);
	proto_end(packet, begin);
}

static void put_new(struct perfetto *file, struct interned_texts *interned)
{
	size_t packet, begin = data_begin(file, &packet);

	for (; interned->put < interned->texts.at.count; interned->put++)
		put_entry(&file->interned, interned->kind, interned->put + 1ull,
			  texts_at(&interned->texts, interned->put));
	data_end(file, begin, packet);
}

/* The number of a text given in two parts. */
static uint64_t text_id(struct perfetto *file, struct interned_texts *interned, const char *before, const char *text)
{
	uint32_t id = texts_id(&interned->texts, before, text);

	if (interned->put < interned->texts.at.count)
		put_new(file, interned);
	return id + 1ull;
}

static const char *const categories[TIMELINE_CATEGORIES] = {
#define CATEGORY(name, form, category, kind) [TIMELINE_##name] = category,
	TIMELINE_CATEGORY_ROWS(CATEGORY)
#undef CATEGORY
};

static const char *const arg_names[TIMELINE_ARG_COUNT] = {
#define NAME(enumerator, type, name) [TIMELINE_ARG_##enumerator] = name,
	TIMELINE_ARGS(NAME)
#undef NAME
};

void perfetto_intern_all_known(struct perfetto *file)
{
	size_t packet, inner, begin = data_begin(file, &packet);

	for (uint32_t i = 0; i < TIMELINE_CATEGORIES; i++)
		put_entry(&file->interned, INTERNED_CATEGORIES, i + 1, categories[i]);
	for (uint32_t i = 0; i < TIMELINE_ARG_COUNT; i++)
		put_entry(&file->interned, INTERNED_ANNOTATIONS, i + 1, arg_names[i]);
	inner = proto_begin(&file->interned, INTERNED_MAPPINGS);
	proto_number(&file->interned, INTERNED_ID, MAPPING);
	proto_end(&file->interned, inner);
	data_end(file, begin, packet);
}

/* ---- names ----------------------------------------------------------------------------------------------------------
 */

/* `file(line): function`, as in the Chrome trace. */
static uint64_t place_id(struct perfetto *file, struct interned_texts *interned, const struct timeline_code *code,
			 uint32_t line)
{
	struct sink text;
	uint64_t id;

	sink_open_memory(&text);
	sink_text(&text, *code->file ? code->file : "?");
	sink_char(&text, '(');
	sink_u64(&text, line);
	sink_literal(&text, "): ");
	sink_text(&text, code->name);
	sink_char(&text, '\0');
	id = text_id(file, interned, "", text.buffer);
	sink_close(&text);
	return id;
}

static uint64_t code_name(struct perfetto *file, uint32_t index)
{
	struct timeline_code code;

	while (file->code_names.count <= index)
		array_push(&file->code_names, 0);
	if (!file->code_names.items[index]) {
		code = timeline_code(file->timeline, index);
		file->code_names.items[index] = (uint32_t)place_id(file, &file->names, &code, code.first_line);
	}
	return file->code_names.items[index];
}

uint64_t perfetto_name(struct perfetto *file, const struct timeline_name *name)
{
	return name->code != TIMELINE_NONE ? code_name(file, name->code)
					   : text_id(file, &file->names, name->before, name->text);
}

uint64_t perfetto_value(struct perfetto *file, const char *text)
{
	return text_id(file, &file->values, "", text);
}

/* ---- stacks ---------------------------------------------------------------------------------------------------------
 */

static void put_frame(struct perfetto *file, const struct timeline_frame *frame, uint64_t id)
{
	size_t packet, inner, begin;
	uint64_t function, source;
	char text[64];

	if (!frame->left_out) {
		struct timeline_code code = timeline_code(file->timeline, frame->code);

		function = text_id(file, &file->functions, "", code.name);
		source = text_id(file, &file->sources, "", code.file);
	} else {
		if (frame->left_out == TIMELINE_LEFT_OUT_UNKNOWN)
			snprintf(text, sizeof(text), "[frames left out]");
		else
			snprintf(text, sizeof(text), "[%u frames left out]", frame->left_out);
		function = text_id(file, &file->functions, "", text);
		source = text_id(file, &file->sources, "", "");
	}
	begin = data_begin(file, &packet);
	inner = proto_begin(&file->interned, INTERNED_FRAMES);
	proto_number(&file->interned, INTERNED_ID, id);
	proto_number(&file->interned, FRAME_FUNCTION, function);
	proto_number(&file->interned, FRAME_MAPPING, MAPPING);
	proto_number(&file->interned, FRAME_ADDRESS, id); /* frames with the same address would be merged */
	proto_number(&file->interned, FRAME_SOURCE, source);
	if (frame->line)
		proto_number(&file->interned, FRAME_LINE, frame->line);
	proto_end(&file->interned, inner);
	data_end(file, begin, packet);
}

static struct tally_entry *frame_entry(struct perfetto *file, const struct timeline_frame *frame)
{
	return tally_at(&file->frames, (struct tally_key){{frame->code, frame->line, frame->left_out}});
}

uint64_t perfetto_line(struct perfetto *file, const struct timeline_frame *frame)
{
	struct tally_entry *entry = frame_entry(file, frame);
	struct timeline_code code;

	if (!entry->more && frame->left_out) {
		entry->more = perfetto_value(file, "[frames left out]");
	} else if (!entry->more) {
		code = timeline_code(file->timeline, frame->code);
		entry->more = place_id(file, &file->values, &code, frame->line);
	}
	return entry->more;
}

static uint64_t frame_id(struct perfetto *file, const struct timeline_frame *frame)
{
	struct tally_entry *entry = frame_entry(file, frame);
	uint64_t id = (uint64_t)(entry - file->frames.entries) + 1;

	if (!entry->count++)
		put_frame(file, frame, id);
	return id;
}

uint64_t perfetto_stack(struct perfetto *file, const struct timeline_stack *stack)
{
	struct tally_entry *entry = tally_at(&file->stacks, (struct tally_key){{stack->id}});
	uint64_t id = (uint64_t)(entry - file->stacks.entries) + 1;
	size_t packet, inner, begin;

	if (entry->count++)
		return id;
	for (uint32_t i = 0; i < stack->count; i++)
		frame_id(file, &stack->frames[i]);
	begin = data_begin(file, &packet);
	inner = proto_begin(&file->interned, INTERNED_CALLSTACKS);
	proto_number(&file->interned, INTERNED_ID, id);
	for (uint32_t i = stack->count; i-- > 0;) /* outermost first */
		proto_number(&file->interned, CALLSTACK_FRAMES, frame_id(file, &stack->frames[i]));
	proto_end(&file->interned, inner);
	data_end(file, begin, packet);
	return id;
}
