/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/file.h"

#define KEY_MAX 40

/* `,"name":` of each argument, and its type; copied at full size, which is faster than by length. */
static const struct {
	char text[KEY_MAX + 1];
	uint8_t length, type; /* enum timeline_arg_type */
} keys[] = {
#define KEY(enumerator, type, name) {",\"" name "\":", sizeof(",\"" name "\":") - 1, TIMELINE_TYPE_##type},
	TIMELINE_ARGS(KEY)
#undef KEY
};

#define KEY_FITS(enumerator, type, name) _Static_assert(sizeof(",\"" name "\":") <= KEY_MAX, name);
TIMELINE_ARGS(KEY_FITS)
#undef KEY_FITS

static void put_key(struct sink *out, enum timeline_arg_key key, bool bare)
{
	memcpy(sink_room(out, KEY_MAX), keys[key].text + bare, KEY_MAX);
	out->used += (size_t)keys[key].length - bare;
}

static void put_triple(struct sink *out, const uint32_t values[3])
{
	sink_char(out, '[');
	for (int i = 0; i < 3; i++) {
		if (i)
			sink_char(out, ',');
		sink_u64(out, values[i]);
	}
	sink_char(out, ']');
}

static void put_frame(struct chrome *chrome, struct sink *out, const struct timeline_frame *frame)
{
	if (!frame->left_out) {
		chrome_put_code(out, &chrome->codes, chrome->timeline, frame->code, frame->line);
	} else if (frame->left_out == TIMELINE_LEFT_OUT_UNKNOWN) {
		sink_literal(out, "[frames left out]");
	} else {
		sink_char(out, '[');
		sink_u64(out, frame->left_out);
		sink_literal(out, " frames left out]");
	}
}

static void put_new_stack(struct chrome *chrome, struct sink *out, const struct timeline_stack *stack)
{
	sink_char(out, '"');
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i)
			sink_char(out, ';');
		put_frame(chrome, out, &stack->frames[i]);
	}
	sink_char(out, '"');
	if (stack->truncated)
		sink_literal(out, ",\"Call stack cut\":true");
}

static void put_stack(struct chrome *chrome, const struct timeline_stack *stack)
{
	struct chrome_stack *slot = chrome_stack_slot(&chrome->stacks, stack->id);

	if (slot->text.count && slot->id == stack->id) {
		sink_put(chrome->out, slot->text.items, slot->text.count);
		return;
	}
	chrome->text.used = 0;
	put_new_stack(chrome, &chrome->text, stack);
	sink_put(chrome->out, chrome->text.buffer, chrome->text.used);
	if (chrome->text.used <= CHROME_STACK_TEXT_MAX)
		chrome_stack_keep(slot, stack->id, chrome->text.buffer, chrome->text.used);
}

static void put_native(struct sink *out, const struct timeline_native_stack *stack)
{
	sink_char(out, '"');
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i)
			sink_char(out, ';');
		sink_json_part(out, stack->names[i], true);
	}
	sink_char(out, '"');
}

static void put_value(struct chrome *chrome, const struct timeline_slice *slice, const struct timeline_arg *arg)
{
	struct sink *out = chrome->out;

	switch ((enum timeline_arg_type)keys[arg->key].type) {
	case TIMELINE_TYPE_NUMBER:
		sink_u64(out, arg->number);
		break;
	case TIMELINE_TYPE_SIGNED:
		sink_i64(out, arg->integer);
		break;
	case TIMELINE_TYPE_TRUTH:
		sink_text(out, arg->truth ? "true" : "false");
		break;
	case TIMELINE_TYPE_FRACTION:
		sink_fraction(out, arg->fraction);
		break;
	case TIMELINE_TYPE_TEXT:
		sink_json(out, arg->text);
		break;
	case TIMELINE_TYPE_JSON:
		sink_put(out, arg->json.text, arg->json.size);
		break;
	case TIMELINE_TYPE_TRIPLE:
		put_triple(out, arg->triple);
		break;
	case TIMELINE_TYPE_FRAME:
		sink_char(out, '"');
		put_frame(chrome, chrome->out, arg->frame);
		sink_char(out, '"');
		break;
	case TIMELINE_TYPE_STACK:
		put_stack(chrome, arg->stack);
		break;
	case TIMELINE_TYPE_NATIVE_STACK:
		put_native(out, arg->native);
		break;
	case TIMELINE_TYPE_GPU:
		sink_u64(out, chrome_device_pid(&chrome->numbers, arg->gpu));
		break;
	case TIMELINE_TYPE_STREAM:
		sink_i64(out, chrome_stream_number(&chrome->numbers,
						   chrome->timeline->tracks.items[slice->track].process, arg->stream));
		break;
	}
}

/* The stream number of a GPU operation, as in its `stream` arg. */
static uint32_t own_stream(const struct chrome *chrome, const struct timeline_slice *slice)
{
	return chrome->numbers.rows.items[chrome->timeline->tracks.items[slice->track].first].tid;
}

/* Writes an arg that Kineto writes in another way; returns whether it was one. */
static bool put_peculiar(struct chrome *chrome, const struct timeline_slice *slice, const struct timeline_arg *arg,
			 bool bare)
{
	switch (arg->key) {
	case TIMELINE_ARG_RANGE:
		sink_text(chrome->out, &",\"External id\":"[bare]);
		sink_u64(chrome->out, (chrome->timeline->has_ops ? CHROME_RANGE_ID : CHROME_STEP_ID + 1) + arg->number);
		return true;
	case TIMELINE_ARG_EVENT_RECORD:
		if (arg->number)
			return false;
		sink_literal(chrome->out, ",\"wait_on_cuda_event_record_corr_id\":-1");
		return true;
	case TIMELINE_ARG_DEVICE_ID:
		if (arg->integer < 0)
			return false;
		sink_literal(chrome->out, ",\"Device Id\":");
		sink_u64(chrome->out, chrome_device_pid(&chrome->numbers, (uint32_t)arg->integer));
		return true;
	case TIMELINE_ARG_CUPTI_STREAM:
		return own_stream(chrome, slice) == arg->number;
	default:
		return false;
	}
}

void chrome_put_args(struct chrome *chrome, const struct timeline_slice *slice, bool bare)
{
	for (uint32_t i = 0; i < slice->arg_count; i++, bare = false) {
		const struct timeline_arg *arg = &slice->args[i];

		if (put_peculiar(chrome, slice, arg, bare))
			continue;
		put_key(chrome->out, arg->key, bare);
		put_value(chrome, slice, arg);
	}
}
