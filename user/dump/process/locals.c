/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Nothing is called.  A number, a string and None are shown by value, a container by its number of items, all else by
 * its type.  The thread may change a value while it is read.
 */
#include "dump/process/locals.h"

#include <string.h>

#include "base/safe_text.h"
#include "dump/process/memory.h"
#include "target/python/python_objects.h"

#define TEXT_MAX_CHARS 1024
#define TEXT_CHARS 60
#define NAME_CHARS 64
#define TYPE_NAME_AT 24 /* PyTypeObject.tp_name (cpython/object.h) */
/* Objects/..., the same from 3.6 to 3.15: the members after the PyObject */
#define VALUE_AT 16		    /* PyFloatObject.ob_fval, PyCellObject.ob_ref, ob_size, PyDictObject.ma_used */
#define SET_USED_AT 24		    /* PySetObject.used (cpython/setobject.h) */
#define DIGITS_AT 24		    /* PyLongObject: ob_size or lv_tag, then digits of 30 bits */
#define TAGGED_SINCE (3u << 8 | 12) /* lv_tag (cpython/longintrepr.h): count << 3 | sign, 2: negative */

const char *python_text(struct python_look *look, uint64_t object, unsigned most)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint8_t bytes[4 * TEXT_MAX_CHARS];
	text_buffer safe = {0};
	const char *text = NULL;
	uint64_t length = memory_word(look->pid, object + layout->str_length), data;
	uint32_t state = memory_int(look->pid, object + layout->str_state);
	unsigned kind = state >> layout->str_kind_shift & layout->str_kind_mask;
	bool cut;

	if (!object || !(state >> layout->str_compact_shift & 1) || (kind != 1 && kind != 2 && kind != 4))
		return NULL;
	data = object + (state >> layout->str_ascii_shift & 1 ? layout->str_ascii_data : layout->str_compact_data);
	most = most < TEXT_MAX_CHARS ? most : TEXT_MAX_CHARS;
	cut = length > most;
	length = cut ? most : length;
	if (!memory_read(look->pid, data, bytes, length * kind))
		return NULL;
	safe_text_append_kind(&safe, bytes, length * kind, kind);
	if (safe.count <= look->text_left) {
		look->text_left -= safe.count;
		text = arena_text(look->arena, "%.*s%s", (int)safe.count, safe.count ? safe.items : "",
				  cut ? "..." : "");
	}
	array_free(&safe);
	return text;
}

static bool is_type(const char *name, const char *wanted)
{
	return !strcmp(name, wanted);
}

static const char *int_text(struct python_look *look, uint64_t object, bool is_bool)
{
	int64_t word = (int64_t)memory_word(look->pid, object + VALUE_AT);
	bool tagged = look->info.walk.layout.version >= TAGGED_SINCE;
	bool negative = tagged ? (word & 3) == 2 : word < 0;
	uint64_t count = tagged ? (uint64_t)word >> 3 : (uint64_t)(negative ? -word : word);
	unsigned long long value = count > 0 ? memory_int(look->pid, object + DIGITS_AT) : 0;

	if (count > 2)
		return arena_text(look->arena, "<int of %llu digits of 30 bits>", (unsigned long long)count);
	if (count > 1)
		value |= (unsigned long long)memory_int(look->pid, object + DIGITS_AT + 4) << 30;
	if (is_bool)
		return value ? "True" : "False";
	return arena_text(look->arena, "%s%llu", negative ? "-" : "", value);
}

static const char *float_text(struct python_look *look, uint64_t object)
{
	double value = 0;

	return memory_read(look->pid, object + VALUE_AT, &value, sizeof(value))
		       ? arena_text(look->arena, "%.17g", value)
		       : "<float>";
}

static const char *count_text(struct python_look *look, const char *type, uint64_t object)
{
	static const struct {
		const char *type;
		unsigned at;
	} containers[] = {{"list", VALUE_AT},  {"tuple", VALUE_AT},  {"dict", VALUE_AT},
			  {"bytes", VALUE_AT}, {"set", SET_USED_AT}, {"frozenset", SET_USED_AT}};

	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++)
		if (is_type(type, containers[i].type))
			return arena_text(look->arena, "<%s of %llu>", type,
					  (unsigned long long)memory_word(look->pid, object + containers[i].at));
	return arena_text(look->arena, "<%s>", type);
}

void object_type_name(struct python_look *look, uint64_t object, char *name)
{
	uint64_t type = object ? memory_word(look->pid, object + look->info.walk.layout.object_type) : 0;
	uint64_t at = type ? memory_word(look->pid, type + TYPE_NAME_AT) : 0;

	memset(name, 0, TYPE_NAME_BYTES);
	for (size_t bytes = TYPE_NAME_BYTES - 1; at && bytes && !memory_read(look->pid, at, name, bytes); bytes /= 2)
		; /* the name may end close to the end of its page */
}

static const char *value_text(struct python_look *look, uint64_t object)
{
	char name[TYPE_NAME_BYTES];
	const char *text;

	object_type_name(look, object, name);
	if (!*name)
		return "<not readable>";
	if (is_type(name, "int") || is_type(name, "bool"))
		return int_text(look, object, is_type(name, "bool"));
	if (is_type(name, "float"))
		return float_text(look, object);
	if (is_type(name, "NoneType"))
		return "None";
	text = is_type(name, "str") ? python_text(look, object, TEXT_CHARS) : NULL;
	return text ? arena_text(look->arena, "'%s'", text) : count_text(look, name, object);
}

static bool is_cell(struct python_look *look, uint64_t object)
{
	uint64_t type = memory_word(look->pid, object + look->info.walk.layout.object_type);
	uint64_t at = type ? memory_word(look->pid, type + TYPE_NAME_AT) : 0;
	char name[sizeof("cell")] = "";

	return at && memory_read(look->pid, at, name, sizeof(name)) && !memcmp(name, "cell", sizeof(name));
}

/* A variable's value; for a cell, its content. */
static uint64_t variable_at(struct python_look *look, const struct raw_frame *raw, uint64_t index)
{
	uint64_t object =
		memory_word(look->pid, raw->frame + look->info.walk.layout.frame_localsplus + 8 * index) & ~7ULL;

	return object && is_cell(look, object) ? memory_word(look->pid, object + VALUE_AT) : object;
}

uint64_t locals_find(struct python_look *look, const struct raw_frame *raw, const char *name)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	struct python_reader reader = {.pid = look->pid, .layout = layout};
	uint64_t names = memory_word(look->pid, raw->code + layout->code_local_names);
	uint64_t count = names ? memory_word(look->pid, names + layout->var_size) : 0;

	for (uint64_t i = 0; i < count && i < DUMP_LOCALS_MAX; i++)
		if (python_is_str(&reader, memory_word(look->pid, names + layout->tuple_items + 8 * i), name))
			return variable_at(look, raw, i);
	return 0;
}

const char *locals_value(struct python_look *look, uint64_t object)
{
	return object ? value_text(look, object) : NULL;
}

void locals_read(struct python_look *look, const struct raw_frame *raw, struct dump_frame *frame)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t names = memory_word(look->pid, raw->code + layout->code_local_names);
	uint64_t count = names ? memory_word(look->pid, names + layout->var_size) : 0;
	struct dump_local *locals;

	count = count < DUMP_LOCALS_MAX ? count : DUMP_LOCALS_MAX;
	locals = arena_take(look->arena, count * sizeof(*locals));
	for (uint64_t i = 0; locals && i < count; i++) {
		uint64_t object = variable_at(look, raw, i);
		uint64_t name = memory_word(look->pid, names + layout->tuple_items + 8 * i);
		struct dump_local *local = &locals[frame->local_count];

		if (!object) /* not set yet, or deleted */
			continue;
		local->name = python_text(look, name, NAME_CHARS);
		local->value = value_text(look, object);
		if (local->name)
			frame->local_count++;
	}
	frame->locals = locals;
}
