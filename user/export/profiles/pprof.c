/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples, locations, functions, strings: field numbers are profile.proto's. */

#include "export/profiles/profile.h"
#include "export/file/protobuf.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STR = 2,
	MAPPING_ID = 1,
	MAPPING_FILENAME = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
};

/* The string table: "", the strings below, the target, the label's key, then the texts of the profile. */
static const struct {
	const char *type, *unit;
} values[PROFILE_OPERATIONS] = {
	[PROFILE_GPU_NS] = {"gpu_time", "nanoseconds"},	 [PROFILE_LAUNCHES] = {"launches", "count"},
	[PROFILE_IDLE_NS] = {"gpu_idle", "nanoseconds"}, [PROFILE_CPU_NS] = {"cpu_of_ops", "nanoseconds"},
	[PROFILE_SAMPLED_NS] = {"cpu", "nanoseconds"},
};

#define STRING_OF_VALUE(value) (1 + 2 * (uint64_t)(value)) /* its unit follows */
#define STRING_TARGET STRING_OF_VALUE(PROFILE_OPERATIONS)
#define STRING_LAYER (STRING_TARGET + 1)
#define STRING_OF_TEXT(text) (STRING_LAYER + 1 + (text))

struct pprof {
	struct sink *out;
	struct sink memory;
	const struct profile *profile;
};

static bool is_in_file(const struct profile *profile, enum profile_value value)
{
	return profile->has[value] || value == PROFILE_GPU_NS || value == PROFILE_LAUNCHES;
}

static void put_types(struct pprof *pprof)
{
	for (enum profile_value i = 0; i < PROFILE_OPERATIONS; i++) {
		size_t begin;

		if (!is_in_file(pprof->profile, i))
			continue;
		begin = proto_begin(&pprof->memory, PROFILE_SAMPLE_TYPE);
		proto_number(&pprof->memory, VALUE_TYPE_TYPE, STRING_OF_VALUE(i));
		proto_number(&pprof->memory, VALUE_TYPE_UNIT, STRING_OF_VALUE(i) + 1);
		proto_end(&pprof->memory, begin);
	}
	proto_move(pprof->out, &pprof->memory);
}

static void put_sample(struct pprof *pprof, uint32_t node)
{
	const struct profile *profile = pprof->profile;
	const uint64_t *amounts = profile->nodes.items[node].values;
	uint32_t layer = profile->nodes.items[node].layer;
	struct sink *memory = &pprof->memory;
	size_t begin, list;
	bool any = false;

	for (enum profile_value i = 0; i < PROFILE_OPERATIONS; i++)
		any |= amounts[i] != 0;
	if (!any)
		return;
	begin = proto_begin(memory, PROFILE_SAMPLE);
	list = proto_begin(memory, SAMPLE_LOCATION_ID);
	for (; node != PROFILE_ROOT; node = profile->nodes.items[node].parent)
		proto_varint(memory, profile->nodes.items[node].frame + 1ull);
	proto_end(memory, list);
	list = proto_begin(memory, SAMPLE_VALUE);
	for (enum profile_value i = 0; i < PROFILE_OPERATIONS; i++)
		if (is_in_file(profile, i))
			proto_varint(memory, amounts[i]);
	proto_end(memory, list);
	if (layer != PROFILE_NO_LAYER) {
		list = proto_begin(memory, SAMPLE_LABEL);
		proto_number(memory, LABEL_KEY, STRING_LAYER);
		proto_number(memory, LABEL_STR, STRING_OF_TEXT(layer));
		proto_end(memory, list);
	}
	proto_end(memory, begin);
	proto_move(pprof->out, memory);
}

/* The one mapping, which says that nothing is left to be looked up in a program. */
static void put_mapping(struct pprof *pprof)
{
	struct sink *memory = &pprof->memory;
	size_t begin = proto_begin(memory, PROFILE_MAPPING);

	proto_number(memory, MAPPING_ID, 1);
	if (pprof->profile->nodes.count) /* the first node is a process */
		proto_number(memory, MAPPING_FILENAME,
			     STRING_OF_TEXT(pprof->profile->frames.items[pprof->profile->nodes.items[0].frame].name));
	for (uint32_t field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE_FRAMES; field++)
		proto_number(memory, field, 1);
	proto_end(memory, begin);
	proto_move(pprof->out, memory);
}

/*
 * A frame is a location and a function; pprof itself merges those with the same names and files.  Without a system
 * name, pprof does not mistake part of a name for a C++ parameter list and drop it.
 */
static void put_frame(struct pprof *pprof, uint32_t index)
{
	const struct profile_frame *frame = &pprof->profile->frames.items[index];
	struct sink *memory = &pprof->memory;
	size_t begin = proto_begin(memory, PROFILE_LOCATION), line;

	proto_number(memory, LOCATION_ID, index + 1ull);
	proto_number(memory, LOCATION_MAPPING_ID, 1);
	line = proto_begin(memory, LOCATION_LINE);
	proto_number(memory, LINE_FUNCTION_ID, index + 1ull);
	proto_number(memory, LINE_LINE, frame->line);
	proto_end(memory, line);
	proto_end(memory, begin);

	begin = proto_begin(memory, PROFILE_FUNCTION);
	proto_number(memory, FUNCTION_ID, index + 1ull);
	proto_number(memory, FUNCTION_NAME, STRING_OF_TEXT(frame->name));
	proto_number(memory, FUNCTION_FILENAME, STRING_OF_TEXT(frame->file));
	proto_number(memory, FUNCTION_START_LINE, frame->first_line);
	proto_end(memory, begin);
	proto_move(pprof->out, memory);
}

static void put_string(struct pprof *pprof, const char *text)
{
	proto_text(&pprof->memory, PROFILE_STRING_TABLE, text);
	proto_move(pprof->out, &pprof->memory);
}

static void put_strings(struct pprof *pprof)
{
	put_string(pprof, "");
	for (enum profile_value i = 0; i < PROFILE_OPERATIONS; i++) {
		put_string(pprof, values[i].type);
		put_string(pprof, values[i].unit);
	}
	put_string(pprof, pprof->profile->target);
	put_string(pprof, "layer");
	for (uint32_t i = 0; i < pprof->profile->texts.at.count; i++)
		put_string(pprof, profile_text(pprof->profile, i));
}

static void put_rest(struct pprof *pprof)
{
	const struct profile *profile = pprof->profile;
	struct sink *memory = &pprof->memory;

	proto_number(memory, PROFILE_TIME_NANOS, profile->start_ns + (uint64_t)profile->wall_offset_ns);
	proto_number(memory, PROFILE_DURATION_NANOS, profile->end_ns - profile->start_ns);
	proto_number(memory, PROFILE_COMMENT, STRING_TARGET);
	proto_number(memory, PROFILE_DEFAULT_SAMPLE_TYPE,
		     STRING_OF_VALUE(profile->has[PROFILE_GPU_NS] ? PROFILE_GPU_NS : PROFILE_LAUNCHES));
	proto_move(pprof->out, memory);
}

int pprof_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	struct pprof pprof = {.out = sink, .profile = &profile};
	int error = profile_make_with_layers(&profile, trace, options);

	if (!error) {
		sink_open_memory(&pprof.memory);
		put_types(&pprof);
		for (uint32_t i = 0; i < profile.nodes.count; i++)
			put_sample(&pprof, i);
		put_mapping(&pprof);
		for (uint32_t i = 0; i < profile.frames.count; i++)
			put_frame(&pprof, i);
		put_strings(&pprof);
		put_rest(&pprof);
		sink_close(&pprof.memory);
	}
	profile_free(&profile);
	return error;
}
