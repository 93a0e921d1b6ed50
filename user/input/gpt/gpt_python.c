/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Code objects and their line tables; garbage collections, imports and calls inside the interpreter. */
#include "input/gpt/gpt_records.h"

static bool is_kind(uint8_t kind)
{
	return kind != 3 && kind <= 4;
}

/* Reads a string of a GPT_CODE and moves *at past it.  False: it does not fit. */
static bool read_text(const struct gpt_code *record, uint32_t bytes, uint8_t kind, uint32_t most, size_t *at,
		      struct python_text *text)
{
	size_t padded = gpt_padded(bytes);

	if (padded > record->hdr.size - sizeof(*record) - *at || !is_kind(kind))
		return false;
	*text = (struct python_text){.bytes = record->data + *at,
				     .size = bytes,
				     .kind = kind,
				     .truncated = record->hdr.flags & GPT_CODE_TRUNCATED && bytes == most};
	*at += padded;
	return true;
}

bool gpt_add_code(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_code *event = (const struct gpt_code *)record;
	struct new_code code = {.key = event->code,
				.first_line = event->first_line,
				.first_traceable = event->first_traceable,
				.linetable_bytes = event->linetable_bytes,
				.linetable = (enum gpt_linetable)event->linetable};
	size_t at = 0;

	if (!read_text(event, event->name_bytes, event->name_kind, GPT_CODE_NAME_MAX, &at, &code.name) ||
	    !read_text(event, event->qualname_bytes, event->qualname_kind, GPT_CODE_NAME_MAX, &at, &code.qualname) ||
	    !read_text(event, event->filename_bytes, event->filename_kind, GPT_CODE_FILE_MAX, &at, &code.file))
		return false;
	builder_add_code(builder, event->pid, &code);
	return true;
}

bool gpt_add_code_lines(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_code_lines *event = (const struct gpt_code_lines *)record;

	return event->bytes <= record->size - sizeof(*event) &&
	       builder_add_code_lines(builder, event->pid, event->code, event->offset, event->data, event->bytes);
}

bool gpt_add_generated(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_generated *event = (const struct gpt_generated *)record;
	struct new_generated_line line = {.record = event};

	if (!GPT_READ_FIELDS(event, &line.file, &line.kernel, &line.nodes, &line.ops, &line.kernel_file))
		return false;
	builder_add_generated_line(builder, &line);
	return true;
}

bool gpt_add_module(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_module *event = (const struct gpt_module *)record;
	struct new_module module = {.record = event};
	size_t at = 0;

	if (!event->module || event->bytes > record->size - sizeof(*event))
		return false;
	module.name = gpt_field(event->text, event->bytes, &at);
	module.class = gpt_field(event->text, event->bytes, &at);
	module.root_class = gpt_field(event->text, event->bytes, &at);
	module.unnamed = gpt_field(event->text, event->bytes, &at);
	module.other_names = (struct text){event->text + at, event->bytes - (uint32_t)at};
	builder_add_module(builder, &module);
	return true;
}

bool gpt_add_source(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_python_source *event = (const struct gpt_python_source *)record;
	struct text file;
	size_t at = 0;

	if (event->bytes > record->size - sizeof(*event))
		return false;
	file = gpt_field(event->text, event->bytes, &at);
	builder_add_cell(builder, file, (struct text){event->text + at, event->bytes - at});
	return true;
}

bool gpt_add_holders(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_holders *event = (const struct gpt_holders *)record;
	struct text why;

	if (!GPT_READ_FIELDS(event, &why) || event->state < GPT_HOLDERS_COMPLETE || event->state > GPT_HOLDERS_FAILED)
		return false;
	builder_add_holder_search(builder, event, why);
	return true;
}

bool gpt_add_holder(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_holder *event = (const struct gpt_holder *)record;
	struct new_holder holder = {.record = event};
	const struct gpt_held_storage *storages = (const struct gpt_held_storage *)event->data;
	size_t room = record->size - sizeof(*event), at = 0;
	const char *text;

	if (event->storages > room / sizeof(*storages) || event->bytes > room - event->storages * sizeof(*storages))
		return false;
	text = (const char *)(storages + event->storages);
	holder.place = gpt_field(text, event->bytes, &at);
	holder.path = gpt_field(text, event->bytes, &at);
	holder.type = gpt_field(text, event->bytes, &at);
	builder_add_holder(builder, &holder);
	for (uint32_t i = 0; i < event->storages; i++)
		builder_add_held_storage(builder, storages[i].address, storages[i].bytes);
	return true;
}

static bool is_sound(const struct gpt_pyevent *event)
{
	if (event->name_bytes > event->hdr.size - sizeof(*event) || event->name_bytes > GPT_PYEVENT_NAME_MAX)
		return false;
	if (!is_kind(event->name_kind) || (event->name_kind && event->name_bytes % event->name_kind))
		return false;
	return event->kind == GPT_PYEVENT_GC || event->kind == GPT_PYEVENT_IMPORT;
}

bool gpt_add_pyevent(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_pyevent *event = (const struct gpt_pyevent *)record;
	struct python_moment at = {
		.time_ns = event->time_ns, .frame = event->frame, .pid = event->pid, .tid = event->tid};
	struct python_text name = {.bytes = event->name, .size = event->name_bytes, .kind = event->name_kind};

	builder_see_time(builder, event->time_ns);
	if (!is_sound(event))
		return false;
	if (event->ends) {
		builder_end_pyevent(builder, &at, event->kind == GPT_PYEVENT_GC ? MODEL_SPAN_GC : MODEL_SPAN_IMPORT);
		return true;
	}
	if (event->kind == GPT_PYEVENT_IMPORT)
		return builder_begin_import(builder, &at, &name);
	return builder_begin_gc(builder, &at, event->value >= 0 && event->value < 16 ? (int32_t)event->value : -1);
}

bool gpt_add_pycall(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_pycall *event = (const struct gpt_pycall *)record;
	struct python_moment at = {
		.time_ns = event->time_ns, .frame = event->frame, .pid = event->pid, .tid = event->tid};

	if (event->code)
		return builder_enter_function(builder, &at, event->code);
	builder_leave_function(builder, &at);
	return true;
}
