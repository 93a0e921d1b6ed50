/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collective fields in the agent's form; see kineto_event.h. */
#include "input/kineto/kineto_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/collectives.h"

#define FIELD_MAX 256u /* as the agent truncates names */
#define NUMBER_MAX 24u

static void put_separator(text_buffer *out)
{
	text_append(out, GPT_COLLECTIVE_SEPARATOR, sizeof(GPT_COLLECTIVE_SEPARATOR) - 1);
}

static void put_text(text_buffer *out, const struct json_text *text)
{
	size_t begin = out->count;

	if (text->size)
		json_unescape(out, text);
	if (out->count > begin + FIELD_MAX)
		out->count = begin + FIELD_MAX;
	put_separator(out);
}

static void put_number(text_buffer *out, int64_t value)
{
	char digits[NUMBER_MAX];
	int size = snprintf(digits, sizeof(digits), "%" PRId64, value);

	text_append(out, digits, (size_t)size);
}

static int64_t number_of(const struct kineto_event *event, enum kineto_number which, int64_t unknown)
{
	return event->numbers[which] == KINETO_NO_NUMBER ? unknown : event->numbers[which];
}

uint32_t kineto_collective(struct foreign_file *file, const struct kineto_event *event, text_buffer *scratch)
{
	const struct json_text *dtype = &event->collective[KINETO_COLLECTIVE_DTYPE];
	const int64_t numbers[] = {
		number_of(event, KINETO_IN_ELEMENTS, 0),
		number_of(event, KINETO_OUT_ELEMENTS, 0),
		dtype->size ? collective_dtype_number(dtype->bytes, dtype->size) : -1,
		number_of(event, KINETO_RANK, -1),
		number_of(event, KINETO_GROUP_SIZE, 0),
		number_of(event, KINETO_RANK_START, -1),
		number_of(event, KINETO_RANK_STRIDE, -1),
		number_of(event, KINETO_SOURCE_RANK, number_of(event, KINETO_TARGET_RANK, -1)),
		-1, /* point to point */
		event->async,
	};
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);

	_Static_assert(sizeof(numbers) / sizeof(numbers[0]) + GPT_COLLECTIVE_IN_ELEMENTS == GPT_COLLECTIVE_FIELDS,
		       "every field");
	if (!event->collective[GPT_COLLECTIVE_NAME].size)
		return ROW_NO_TEXT;
	scratch->count = 0;
	for (int i = GPT_COLLECTIVE_NAME; i <= GPT_COLLECTIVE_OUT_SPLIT; i++)
		put_text(scratch, &event->collective[i]);
	for (size_t i = 0; i < count; i++) {
		put_number(scratch, numbers[i]);
		if (i + 1 < count)
			put_separator(scratch);
	}
	return rows_text(&file->rows, scratch->items, scratch->count);
}
