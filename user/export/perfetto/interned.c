/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names, stacks and their frames: in the file once, before the first packet that refers to them. */
#include <stdio.h>

#include "export/perfetto/file.h"

#define MAPPING 1 /* the only one: frames of Python are of no mapped file */

void perfetto_interned_begin(struct perfetto *file)
{
	texts_begin(&file->names);
	texts_begin(&file->functions);
	texts_begin(&file->sources);
}

void perfetto_interned_free(struct perfetto *file)
{
	texts_free(&file->names);
	texts_free(&file->functions);
	texts_free(&file->sources);
	tally_free(&file->frames);
	tally_free(&file->stacks);
	array_free(&file->code_names);
}

/* A packet with interned data: begin, entries, end. */
static size_t data_begin(struct perfetto *file, size_t *packet)
{
	*packet = packet_begin(file);
	proto_number(&file->packet, PACKET_SEQUENCE, sequence_of(file));
	proto_number(&file->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_INTERNED);
	return proto_begin(&file->packet, PACKET_INTERNED_DATA);
}

static void data_end(struct perfetto *file, size_t begin, size_t packet)
{
	proto_end(&file->packet, begin);
	packet_end(file, packet);
}

static void put_entry(struct sink *packet, uint32_t kind, uint64_t id, const char *text)
{
	size_t begin = proto_begin(packet, kind);

	proto_number(packet, INTERNED_ID, id);
	proto_text(packet, INTERNED_TEXT, text);
	proto_end(packet, begin);
}

static void put_text(struct perfetto *file, uint32_t kind, const struct texts *texts, uint32_t *put)
{
	size_t packet, begin;

	if (*put == texts->at.count)
		return;
	begin = data_begin(file, &packet);
	for (; *put < texts->at.count; ++*put)
		put_entry(&file->packet, kind, *put + 1ull, texts_at(texts, *put));
	data_end(file, begin, packet);
}

static const char *const categories[TIMELINE_CATEGORIES] = {
	[TIMELINE_RUNTIME_CALL] = "cuda_runtime",
	[TIMELINE_DRIVER_CALL] = "cuda_driver",
	[TIMELINE_KERNEL] = "kernel",
	[TIMELINE_MEMCPY] = "gpu_memcpy",
	[TIMELINE_MEMSET] = "gpu_memset",
	[TIMELINE_SYNC] = "cuda_sync",
	[TIMELINE_PYTHON] = "python_function",
	[TIMELINE_GC] = "python_gc",
	[TIMELINE_IMPORT] = "python_import",
	[TIMELINE_RANGE] = "user_annotation",
	[TIMELINE_MARK] = "nvtx_mark",
	[TIMELINE_OP] = "cpu_op",
	[TIMELINE_NAMED_OP] = "user_annotation",
	[TIMELINE_STEP] = "user_annotation",
	[TIMELINE_TORCH_MEMORY] = "cpu_instant_event",
	[TIMELINE_JIT] = "jit",
	[TIMELINE_CUPTI] = "overhead",
};

void perfetto_intern_all_known(struct perfetto *file)
{
	size_t packet, inner, begin = data_begin(file, &packet);

	for (uint32_t i = 0; i < TIMELINE_CATEGORIES; i++)
		put_entry(&file->packet, INTERNED_CATEGORIES, i + 1, categories[i]);
	for (uint32_t i = 0; i < TIMELINE_ARG_COUNT; i++)
		put_entry(&file->packet, INTERNED_ANNOTATIONS, i + 1, perfetto_arg_name((enum timeline_arg_key)i));
	inner = proto_begin(&file->packet, INTERNED_MAPPINGS);
	proto_number(&file->packet, INTERNED_ID, MAPPING);
	proto_end(&file->packet, inner);
	data_end(file, begin, packet);
}

/* ---- names ----------------------------------------------------------------------------------------------------------
 */

static uint64_t named(struct perfetto *file, const char *before, const char *text)
{
	uint32_t id = texts_id(&file->names, before, text);

	put_text(file, INTERNED_NAMES, &file->names, &file->names_put);
	return id + 1ull;
}

/* `file(first line): function`, as in the Chrome trace. */
static uint64_t code_name(struct perfetto *file, uint32_t index)
{
	struct timeline_code code;
	struct sink text;

	while (file->code_names.count <= index)
		array_push(&file->code_names, 0);
	if (!file->code_names.items[index]) {
		code = timeline_code(file->timeline, index);
		sink_open_memory(&text);
		sink_text(&text, *code.file ? code.file : "?");
		sink_char(&text, '(');
		sink_u64(&text, code.first_line);
		sink_literal(&text, "): ");
		sink_text(&text, code.name);
		sink_char(&text, '\0');
		file->code_names.items[index] = (uint32_t)named(file, "", text.buffer);
		sink_close(&text);
	}
	return file->code_names.items[index];
}

uint64_t perfetto_name(struct perfetto *file, const struct timeline_name *name)
{
	return name->code != TIMELINE_NONE ? code_name(file, name->code) : named(file, name->before, name->text);
}

/* ---- stacks ---------------------------------------------------------------------------------------------------------
 */

static void put_frame(struct perfetto *file, const struct timeline_frame *frame, uint64_t id)
{
	size_t packet, inner, begin;
	uint32_t function, source;
	char text[64];

	if (!frame->left_out) {
		struct timeline_code code = timeline_code(file->timeline, frame->code);

		function = texts_id(&file->functions, "", code.name);
		source = texts_id(&file->sources, "", code.file);
	} else {
		if (frame->left_out == TIMELINE_LEFT_OUT_UNKNOWN)
			snprintf(text, sizeof(text), "[frames left out]");
		else
			snprintf(text, sizeof(text), "[%u frames left out]", frame->left_out);
		function = texts_id(&file->functions, "", text);
		source = texts_id(&file->sources, "", "");
	}
	put_text(file, INTERNED_FUNCTIONS, &file->functions, &file->functions_put);
	put_text(file, INTERNED_SOURCES, &file->sources, &file->sources_put);
	begin = data_begin(file, &packet);
	inner = proto_begin(&file->packet, INTERNED_FRAMES);
	proto_number(&file->packet, INTERNED_ID, id);
	proto_number(&file->packet, FRAME_FUNCTION, function + 1ull);
	proto_number(&file->packet, FRAME_MAPPING, MAPPING);
	proto_number(&file->packet, FRAME_ADDRESS, id); /* frames of one address would be one */
	proto_number(&file->packet, FRAME_SOURCE, source + 1ull);
	if (frame->line)
		proto_number(&file->packet, FRAME_LINE, frame->line);
	proto_end(&file->packet, inner);
	data_end(file, begin, packet);
}

static uint64_t frame_id(struct perfetto *file, const struct timeline_frame *frame)
{
	struct tally_key key = {{frame->code, frame->line, frame->left_out}};
	struct tally_entry *entry = tally_at(&file->frames, key);
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
	inner = proto_begin(&file->packet, INTERNED_CALLSTACKS);
	proto_number(&file->packet, INTERNED_ID, id);
	for (uint32_t i = stack->count; i-- > 0;) /* outermost first */
		proto_number(&file->packet, CALLSTACK_FRAMES, frame_id(file, &stack->frames[i]));
	proto_end(&file->packet, inner);
	data_end(file, begin, packet);
	return id;
}
