/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/stacks.h"

#include <string.h>

void chrome_stack_keep(struct chrome_stack *slot, uint32_t id, const char *text, size_t length)
{
	slot->text.items = array_reserve(slot->text.items, 1, 0, length, &slot->text.capacity);
	memcpy(slot->text.items, text, length);
	slot->text.count = length;
	slot->id = id;
}

void chrome_stacks_free(struct chrome_stacks *stacks)
{
	for (size_t i = 0; i < CHROME_STACKS; i++)
		array_free(&stacks->slots[i].text);
}
