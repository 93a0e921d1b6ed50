/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments of slices as debug annotations: all that a timeline has, by type. */
#include "export/perfetto/file.h"

static const uint8_t types[TIMELINE_ARG_COUNT] = {
#define TYPE(enumerator, type, name) [TIMELINE_ARG_##enumerator] = TIMELINE_TYPE_##type,
	TIMELINE_ARGS(TYPE)
#undef TYPE
};

/* More bytes than a numeric argument needs. */
#define NUMBERS_MAX 96u

static char *triple_at(char *at, const uint32_t *values)
{
	char *begin;

	for (int i = 0; i < 3; i++) {
		at = proto_begin_at(at, ANNOTATION_ARRAY, &begin);
		at = proto_number_at(at, ANNOTATION_UINT, values[i]);
		proto_end_at(at, begin);
	}
	return at;
}

/* The value of an argument that is a number, three numbers, or an interned text; NULL: another type. */
static char *value_at(struct perfetto *file, char *at, const struct timeline_arg *arg)
{
	switch ((enum timeline_arg_type)types[arg->key]) {
	case TIMELINE_TYPE_NUMBER:
		return proto_number_at(at, ANNOTATION_UINT, arg->number);
	case TIMELINE_TYPE_SIGNED:
		return proto_number_at(at, ANNOTATION_INT, (uint64_t)arg->integer);
	case TIMELINE_TYPE_TRUTH:
		return proto_number_at(at, ANNOTATION_BOOL, arg->truth);
	case TIMELINE_TYPE_FRACTION:
		return proto_double_at(at, ANNOTATION_DOUBLE, arg->fraction);
	case TIMELINE_TYPE_TRIPLE:
		return triple_at(at, arg->triple);
	case TIMELINE_TYPE_GPU:
		return proto_number_at(at, ANNOTATION_UINT, arg->gpu);
	case TIMELINE_TYPE_STREAM:
		return proto_number_at(at, ANNOTATION_INT,
				       arg->stream.stream == TIMELINE_NONE ? (uint64_t)-1 : arg->stream.stream);
	case TIMELINE_TYPE_TEXT:
		return proto_number_at(at, ANNOTATION_TEXT, perfetto_value(file, arg->text));
	case TIMELINE_TYPE_FRAME:
		return proto_number_at(at, ANNOTATION_TEXT, perfetto_line(file, arg->frame));
	case TIMELINE_TYPE_JSON:
	case TIMELINE_TYPE_NATIVE_STACK:
	case TIMELINE_TYPE_STACK:
		break;
	}
	return NULL;
}

static void put_native(struct sink *event, const struct timeline_native_stack *stack)
{
	size_t begin = proto_begin(event, ANNOTATION_STRING);

	for (uint32_t i = 0; i < stack->count; i++) {
		if (i)
			sink_char(event, ';');
		sink_utf8(event, stack->names[i]);
	}
	proto_end(event, begin);
}

/* Writes texts that mostly occur in one slice only. */
static void put_text(struct sink *event, const struct timeline_arg *arg)
{
	size_t begin = proto_begin(event, EVENT_ANNOTATIONS);

	proto_number(event, ANNOTATION_NAME, arg->key + 1ull);
	switch (types[arg->key]) {
	case TIMELINE_TYPE_JSON: /* checked, so it is ASCII or UTF-8 */
		proto_bytes(event, ANNOTATION_STRING, arg->json.text, arg->json.size);
		break;
	case TIMELINE_TYPE_NATIVE_STACK:
		put_native(event, arg->native);
		break;
	}
	proto_end(event, begin);
}

static void put_arg(struct perfetto *file, struct sink *event, const struct timeline_arg *arg)
{
	char *begin, *at = proto_begin_at(sink_room(event, NUMBERS_MAX), EVENT_ANNOTATIONS, &begin);

	at = value_at(file, proto_number_at(at, ANNOTATION_NAME, arg->key + 1ull), arg);
	if (at) {
		proto_end_at(at, begin);
		proto_wrote(event, at);
	} else if (types[arg->key] == TIMELINE_TYPE_STACK) { /* has a field of its own */
		proto_number(event, EVENT_CALLSTACK, perfetto_stack(file, arg->stack));
	} else {
		put_text(event, arg);
	}
}

void perfetto_put_args(struct perfetto *file, struct sink *event, const struct timeline_slice *slice)
{
	for (uint32_t i = 0; i < slice->arg_count; i++)
		put_arg(file, event, &slice->args[i]);
}
