/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "top/stacks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "report/table/text.h"

#define STACKS_SHOWN 20u

struct folded {
	const char *text;
	size_t length; /* without the value */
	uint64_t value;
};

DEFINE_ORDER(compare_values, struct folded, most_first(a->value, b->value))

/* Innermost first, one frame per line. */
static void put_stack(FILE *out, const struct folded *stack)
{
	const char *end = stack->text + stack->length;

	fprintf(out, "%s\n", number_time(stack->value).text);
	while (end > stack->text) {
		const char *begin = memrchr(stack->text, ';', (size_t)(end - stack->text));

		begin = begin ? begin + 1 : stack->text;
		fprintf(out, "    %.*s\n", (int)(end - begin), begin);
		end = begin == stack->text ? begin : begin - 1;
	}
}

/* Whether the stack has the text where it counts. */
static bool has_needle(const struct folded *stack, const char *needle, enum top_time time)
{
	const char *from = stack->text, *end = stack->text + stack->length;

	/* "python;main;step;[ran];work": the cause stands between the launch and what kept the GPU waiting. */
	for (const char *at = from; time == TOP_IDLE_TIME && (at = memmem(at, (size_t)(end - at), "];", 2)); at += 2)
		from = at + 2;
	return memmem(from, (size_t)(end - from), needle, strlen(needle));
}

char *top_stacks(const char *folded, const char *needle, enum top_time time)
{
	ARRAY(struct folded) stacks = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while (*folded) {
		size_t length = strcspn(folded, "\n");
		const char *value = memrchr(folded, ' ', length);
		struct folded stack = {folded, value ? (size_t)(value - folded) : 0,
				       value ? strtoull(value + 1, NULL, 10) : 0};

		if (value && has_needle(&stack, needle, time))
			array_push(&stacks, stack);
		folded += length + (folded[length] == '\n');
	}
	array_sort(&stacks, compare_values);
	for (size_t i = 0; out && i < stacks.count && i < STACKS_SHOWN; i++)
		put_stack(out, &stacks.items[i]);
	if (out && !stacks.count)
		fprintf(out, "no stack with %s in this time\n", needle);
	if (out)
		fclose(out);
	array_free(&stacks);
	return text;
}
