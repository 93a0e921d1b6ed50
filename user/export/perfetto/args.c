/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments of slices as debug annotations: whatever a timeline has, by its type. */
#include "export/perfetto/file.h"

static const struct {
	const char *name;
	uint8_t type;
} keys[TIMELINE_ARG_COUNT] = {
#define KEY(enumerator, type, name) [TIMELINE_ARG_##enumerator] = {name, TIMELINE_TYPE_##type},
	TIMELINE_ARGS(KEY)
#undef KEY
};

const char *perfetto_arg_name(enum timeline_arg_key key)
{
	return keys[key].name;
}

static void put_triple(struct sink *event, const uint32_t *values)
{
	for (int i = 0; i < 3; i++) {
		size_t begin = proto_begin(event, ANNOTATION_ARRAY);

		proto_number(event, ANNOTATION_UINT, values[i]);
		proto_end(event, begin);
	}
}

/* `file(line): function` */
static void put_frame(struct perfetto *file, struct sink *event, const struct timeline_frame *frame)
{
	size_t begin = proto_begin(event, ANNOTATION_STRING);
	struct timeline_code code;

	if (frame->left_out) {
		sink_literal(event, "[frames left out]");
	} else {
		code = timeline_code(file->timeline, frame->code);
		sink_utf8(event, *code.file ? code.file : "?");
		sink_char(event, '(');
		sink_u64(event, frame->line);
		sink_literal(event, "): ");
		sink_utf8(event, code.name);
	}
	proto_end(event, begin);
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

static void put_value(struct perfetto *file, struct sink *event, const struct timeline_arg *arg)
{
	switch ((enum timeline_arg_type)keys[arg->key].type) {
	case TIMELINE_TYPE_NUMBER:
		proto_number(event, ANNOTATION_UINT, arg->number);
		break;
	case TIMELINE_TYPE_SIGNED:
		proto_number(event, ANNOTATION_INT, (uint64_t)arg->integer);
		break;
	case TIMELINE_TYPE_TRUTH:
		proto_number(event, ANNOTATION_BOOL, arg->truth);
		break;
	case TIMELINE_TYPE_FRACTION:
		proto_double(event, ANNOTATION_DOUBLE, arg->fraction);
		break;
	case TIMELINE_TYPE_TEXT:
		proto_text(event, ANNOTATION_STRING, arg->text);
		break;
	case TIMELINE_TYPE_JSON: /* checked, so it is ASCII or UTF-8 */
		proto_bytes(event, ANNOTATION_STRING, arg->json.text, arg->json.size);
		break;
	case TIMELINE_TYPE_TRIPLE:
		put_triple(event, arg->triple);
		break;
	case TIMELINE_TYPE_FRAME:
		put_frame(file, event, arg->frame);
		break;
	case TIMELINE_TYPE_NATIVE_STACK:
		put_native(event, arg->native);
		break;
	case TIMELINE_TYPE_GPU:
		proto_number(event, ANNOTATION_UINT, arg->gpu);
		break;
	case TIMELINE_TYPE_STREAM:
		if (arg->stream.stream == TIMELINE_NONE)
			proto_number(event, ANNOTATION_INT, (uint64_t)-1);
		else
			proto_number(event, ANNOTATION_INT, arg->stream.stream);
		break;
	case TIMELINE_TYPE_STACK: /* has a field of its own */
		break;
	}
}

void perfetto_put_arg(struct perfetto *file, struct sink *event, const struct timeline_arg *arg)
{
	size_t begin;

	if (keys[arg->key].type == TIMELINE_TYPE_STACK) {
		proto_number(event, EVENT_CALLSTACK, perfetto_stack(file, arg->stack));
		return;
	}
	begin = proto_begin(event, EVENT_ANNOTATIONS);
	proto_number(event, ANNOTATION_NAME, arg->key + 1ull);
	put_value(file, event, arg);
	proto_end(event, begin);
}
