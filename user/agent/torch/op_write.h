/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Writes ops, and names and inputs before the first op that has them, to the thread's op buffer.  In a header, as every
 * op runs it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/torch/op_buffer.h"

/* Has names and inputs written again for a new reader, or for one that has forgotten them. */
static inline void op_forget_written(struct op_buffer *buffer, uint32_t session, uint32_t epoch)
{
	if (buffer->names_session == session && buffer->names_epoch == epoch)
		return;
	memset(buffer->names, 0, sizeof(buffer->names));
	memset(buffer->inputs, 0, sizeof(buffer->inputs));
	buffer->names_session = session;
	buffer->names_epoch = epoch;
}

/* Rounds up to whole cache lines: most ops take one line, and start on one then. */
static inline uint32_t op_write_lines(size_t bytes)
{
	return (uint32_t)(bytes + CACHE_LINE - 1) & ~(CACHE_LINE - 1);
}

/* False: no room. */
static inline bool op_write_name(struct op_buffer *buffer, uint64_t hash, const char *text, size_t bytes)
{
	uint64_t *known = &buffer->names[hash & (OP_BUFFER_NAMES - 1)];
	uint32_t kept = bytes > OP_NAME_MAX ? OP_NAME_MAX : (uint32_t)bytes;
	uint32_t room = op_write_lines(sizeof(struct op_entry_name) + kept);
	struct op_entry_name *name;

	if (*known == hash)
		return true;
	name = op_buffer_reserve(buffer, room, OP_ENTRY_NAME);
	if (!name)
		return false;
	name->hash = hash;
	name->bytes = kept;
	name->is_longer = bytes > OP_NAME_MAX;
	memcpy(name->text, text, kept);
	op_buffer_commit(buffer, room);
	*known = hash;
	return true;
}

/* Writes `count` words from buffer->words; false: no room. */
static inline bool op_write_inputs(struct op_buffer *buffer, uint64_t hash, uint32_t count)
{
	uint64_t *known = &buffer->inputs[hash & (OP_BUFFER_INPUTS - 1)];
	uint32_t bytes = op_write_lines(sizeof(struct op_entry_inputs) + count * sizeof(uint64_t));
	struct op_entry_inputs *entry;

	if (*known == hash)
		return true;
	entry = op_buffer_reserve(buffer, bytes, OP_ENTRY_INPUTS);
	if (!entry)
		return false;
	entry->hash = hash;
	entry->count = count;
	memcpy(entry->words, buffer->words, count * sizeof(uint64_t));
	op_buffer_commit(buffer, bytes);
	*known = hash;
	return true;
}

static inline bool op_is_short(const struct op_buffer *buffer, const struct op_slot *slot)
{
	return !(slot->facts.stack | slot->facts.handle | slot->facts.forward_thread) && buffer == slot->buffer;
}

static inline struct op_entry_op *op_write_collective(struct op_buffer *buffer, const struct op_slot *slot)
{
	struct op_entry_collective *entry =
		op_buffer_reserve(buffer, op_write_lines(sizeof(*entry)), OP_ENTRY_COLLECTIVE);

	if (!entry)
		return NULL;
	entry->collective = slot->collective;
	entry->op.facts = slot->facts;
	return &entry->op;
}

/* An entry with the facts of the slot, which the caller commits; NULL: no room. */
static inline struct op_entry_op *op_write_op(struct op_buffer *buffer, const struct op_slot *slot)
{
	struct op_entry_op *entry;

	if (slot->collective.text)
		return op_write_collective(buffer, slot);
	if (op_is_short(buffer, slot)) {
		entry = op_buffer_reserve(buffer, OP_ENTRY_SHORT_BYTES, OP_ENTRY_OP_SHORT);
		if (!entry)
			return NULL;
		memcpy(&entry->facts, &slot->facts, offsetof(struct op_facts, stack));
		entry->scope = slot->facts.scope;
	} else {
		entry = op_buffer_reserve(buffer, op_write_lines(sizeof(*entry)), OP_ENTRY_OP);
		if (entry)
			entry->facts = slot->facts;
	}
	return entry;
}
