/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of a pickle; texts, stacks and frames are written once. */
#include <string.h>

#include "export/snapshot_state.h"

static const char *const texts[] = {
#define TEXT(name, text) text,
	TEXTS(TEXT)
#undef TEXT
};

static void put_le(struct sink *out, uint64_t value, unsigned bytes)
{
	char *at = sink_room(out, 8);

	for (unsigned i = 0; i < bytes; i++)
		at[i] = (char)(value >> 8 * i);
	out->used += bytes;
}

void snapshot_put_integer(struct sink *out, int64_t value)
{
	if (value >= INT32_MIN && value <= INT32_MAX) {
		sink_char(out, 'J');
		put_le(out, (uint64_t)value, 4);
	} else {
		sink_char(out, '\x8a');
		sink_char(out, 8);
		put_le(out, (uint64_t)value, 8);
	}
}

static void put_number(struct sink *out, uint64_t value)
{
	snapshot_put_integer(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void put_string(struct sink *out, const char *text)
{
	size_t length = strlen(text);

	sink_char(out, 'X');
	put_le(out, length, 4);
	sink_put(out, text, length);
}

uint32_t snapshot_memoize(struct snapshot *snapshot)
{
	sink_char(snapshot->out, 'r');
	put_le(snapshot->out, snapshot->memo, 4);
	return ++snapshot->memo;
}

void snapshot_put_again(struct snapshot *snapshot, uint32_t remembered)
{
	sink_char(snapshot->out, 'j');
	put_le(snapshot->out, remembered - 1, 4);
}

void snapshot_put_text(struct snapshot *snapshot, enum text text)
{
	if (snapshot->texts[text]) {
		snapshot_put_again(snapshot, snapshot->texts[text]);
	} else {
		put_string(snapshot->out, texts[text]);
		snapshot->texts[text] = snapshot_memoize(snapshot);
	}
}

void snapshot_put_pair(struct snapshot *snapshot, enum text key, uint64_t value)
{
	snapshot_put_text(snapshot, key);
	put_number(snapshot->out, value);
}

void snapshot_put_text_pair(struct snapshot *snapshot, enum text key, enum text value)
{
	snapshot_put_text(snapshot, key);
	snapshot_put_text(snapshot, value);
}

static void put_frame(struct snapshot *snapshot, uint32_t index)
{
	const struct model_frame *frame = &snapshot->part->frames[index];
	const struct model_code *code = &snapshot->part->codes[frame->code];

	while (snapshot->frames.count <= index)
		array_push(&snapshot->frames, 0);
	if (snapshot->frames.items[index]) {
		snapshot_put_again(snapshot, snapshot->frames.items[index]);
		return;
	}
	sink_char(snapshot->out, '}');
	snapshot->frames.items[index] = snapshot_memoize(snapshot);
	sink_char(snapshot->out, '(');
	snapshot_put_text(snapshot, TEXT_NAME);
	put_string(snapshot->out, code->name);
	snapshot_put_text(snapshot, TEXT_FILENAME);
	put_string(snapshot->out, code->file);
	snapshot_put_pair(snapshot, TEXT_LINE, model_shown_line(snapshot->part, frame));
	sink_char(snapshot->out, 'u');
}

void snapshot_put_frames(struct snapshot *snapshot, uint32_t stack)
{
	size_t place = stack == NONE ? 0 : (size_t)stack + 1;

	snapshot_put_text(snapshot, TEXT_FRAMES);
	while (snapshot->stacks.count <= place)
		array_push(&snapshot->stacks, 0);
	if (snapshot->stacks.items[place]) {
		snapshot_put_again(snapshot, snapshot->stacks.items[place]);
		return;
	}
	sink_char(snapshot->out, ']');
	snapshot->stacks.items[place] = snapshot_memoize(snapshot);
	if (stack == NONE)
		return;
	sink_char(snapshot->out, '(');
	for (uint32_t i = 0; i < snapshot->part->stacks[stack].depth; i++)
		put_frame(snapshot, snapshot->part->stack_frames[snapshot->part->stacks[stack].first + i]);
	sink_char(snapshot->out, 'e');
}
