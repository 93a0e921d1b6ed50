/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of a thread are consecutive, so a table indexed by number fills up before entries collide. */
#include "model/tables/forward_ops.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 4096u
#define NUMBERS_FIRST 256u
#define ROOM_MAX (4u << 20) /* entries of all threads: 64 MB */
#define BELOW_MAX 16	    /* how many numbers below a node's are looked at */

void forward_ops_free(struct forward_ops *ops)
{
	for (size_t i = 0; i < ops->threads.count; i++)
		free(ops->threads.items[i].entries);
	array_free(&ops->threads);
	lookup_free(&ops->by_thread);
}

static struct forward_entry *make_entries(uint32_t count)
{
	struct forward_entry *entries = xmalloc(count * sizeof(*entries));

	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct forward_entry){.stack = NONE};
	return entries;
}

static struct forward_entry *entry_of(const struct forward_thread *thread, int64_t sequence)
{
	return &thread->entries[(uint64_t)sequence & thread->mask];
}

static struct forward_thread *find_thread(struct forward_ops *ops, uint32_t epoch, uint64_t torch_thread)
{
	const uint32_t *index = lookup_get(&ops->by_thread, epoch, torch_thread);

	return index ? &ops->threads.items[*index] : NULL;
}

static struct forward_thread *make_thread(struct forward_ops *ops, uint32_t epoch, uint64_t torch_thread)
{
	struct forward_thread thread = {.mask = NUMBERS_FIRST - 1};

	if (ops->threads.count == THREADS_MAX)
		return NULL;
	*lookup_put(&ops->by_thread, epoch, torch_thread, 0) = (uint32_t)ops->threads.count;
	thread.entries = make_entries(NUMBERS_FIRST);
	ops->room += NUMBERS_FIRST;
	return array_push(&ops->threads, thread);
}

static bool grow_thread(struct forward_ops *ops, struct forward_thread *thread)
{
	uint32_t count = thread->mask + 1;
	struct forward_thread larger = {.mask = 2 * count - 1};

	if (count >= FORWARD_NUMBERS_MAX || ops->room + count > ROOM_MAX)
		return false;
	larger.entries = make_entries(2 * count);
	for (uint32_t i = 0; i < count; i++)
		if (thread->entries[i].stack != NONE)
			*entry_of(&larger, thread->entries[i].sequence) = thread->entries[i];
	free(thread->entries);
	*thread = larger;
	ops->room += count;
	return true;
}

void forward_ops_note(struct forward_ops *ops, uint32_t epoch, const struct model_op *op)
{
	struct forward_thread *thread;
	struct forward_entry *entry;

	if (op->stack == NONE || op->sequence < 0 || op->forward_thread || !op->torch_thread ||
	    op->scope == GPT_AGENT_OP_BACKWARD_FUNCTION || op->scope == GPT_AGENT_OP_USER_SCOPE)
		return;
	thread = find_thread(ops, epoch, op->torch_thread);
	if (!thread)
		thread = make_thread(ops, epoch, op->torch_thread);
	if (!thread)
		return;
	entry = entry_of(thread, op->sequence);
	while (entry->stack != NONE && entry->sequence != op->sequence && grow_thread(ops, thread))
		entry = entry_of(thread, op->sequence);
	*entry = (struct forward_entry){.sequence = op->sequence, .stack = op->stack};
}

static const struct forward_entry *find_entry(struct forward_ops *ops, uint32_t epoch, const struct model_op *node)
{
	const struct forward_thread *thread;

	if (node->sequence < 0 || !node->forward_thread)
		return NULL;
	thread = find_thread(ops, epoch, node->forward_thread);
	return thread ? entry_of(thread, node->sequence) : NULL;
}

uint32_t forward_ops_find(struct forward_ops *ops, uint32_t epoch, const struct model_op *node)
{
	const struct forward_entry *entry = find_entry(ops, epoch, node);

	if (!entry || entry->stack == NONE)
		return NONE;
	if (entry->sequence == node->sequence)
		return entry->stack;
	ops->forgotten += entry->sequence > node->sequence;
	return NONE;
}

uint8_t forward_ops_find_below(struct forward_ops *ops, uint32_t epoch, const struct model_op *node, uint32_t *stack)
{
	struct model_op below = *node;

	for (uint8_t by = 1; by <= BELOW_MAX && by <= node->sequence; by++) {
		const struct forward_entry *entry;

		below.sequence = node->sequence - by;
		entry = find_entry(ops, epoch, &below);
		if (entry && entry->stack != NONE && entry->sequence == below.sequence) {
			*stack = entry->stack;
			return by;
		}
	}
	return 0;
}
