/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/folded/folded_lines.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/path.h"
#include "export/file/stack_frames.h"

DEFINE_ORDER(by_text, struct folded_line, strcmp(a->text, b->text))

void folded_lines_begin(struct folded_lines *lines)
{
	*lines = (struct folded_lines){0};
	sink_open_memory(&lines->frames);
}

void folded_lines_end_line(struct folded_lines *lines, uint64_t value)
{
	sink_char(&lines->frames, '\0');
	array_push(&lines->list, ((struct folded_line){xstrdup(lines->frames.buffer), value}));
	lines->frames.used = 0;
}

void folded_lines_put(struct sink *sink, struct folded_lines *lines)
{
	array_sort(&lines->list, by_text);
	for (size_t i = 0; i < lines->list.count; i++) {
		struct folded_line *line = &lines->list.items[i], *next = line + 1;

		if (i + 1 < lines->list.count && !strcmp(line->text, next->text)) {
			next->value += line->value;
		} else {
			sink_text(sink, line->text);
			sink_char(sink, ' ');
			sink_u64(sink, line->value);
			sink_char(sink, '\n');
		}
		free(line->text);
	}
	array_free(&lines->list);
	sink_close(&lines->frames);
}

/* Whether text ends in a blank and a number, which flamegraph.pl would take for a count. */
static bool ends_like_count(const char *text, size_t length)
{
	size_t at = length;

	while (at && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == '.'))
		at--;
	return at && at < length && text[at - 1] == ' ';
}

void folded_put_frame(struct sink *out, const char *text)
{
	size_t begin;

	if (out->used)
		sink_char(out, ';');
	begin = out->used;
	for (; *text; text++)
		sink_char(out, *text == ';' || (unsigned char)*text < 0x20 || *text == 0x7f ? '_' : *text);
	if (out->used == begin)
		sink_char(out, '?');
	if (ends_like_count(out->buffer + begin, out->used - begin)) {
		char *blank = memrchr(out->buffer + begin, ' ', out->used - begin);

		*blank = '_';
	}
}

static void put_python_frame(struct sink *out, const struct stack_frame *frame)
{
	struct sink text;

	sink_open_memory(&text);
	sink_text(&text, frame->before);
	sink_text(&text, frame->name);
	sink_literal(&text, " (");
	sink_text(&text, path_base(frame->file));
	sink_char(&text, ':');
	sink_u64(&text, frame->line);
	sink_short(&text, ")", 2); /* with its NUL */
	folded_put_frame(out, text.buffer);
	sink_close(&text);
}

void folded_take_frame(void *out, const struct stack_frame *frame)
{
	if (frame->kind == STACK_FRAME_PYTHON)
		put_python_frame(out, frame);
	else
		folded_put_frame(out, frame->name);
}
