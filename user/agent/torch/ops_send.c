/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A text precedes the ops that refer to it in a buffer, and gets its id here. */
#include "agent/torch/ops_send.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "agent/process/clock.h"
#include "agent/torch/observer.h"
#include "agent/torch/op_clock.h"
#include "agent/torch/op_buffer.h"
#include "agent/torch/op_names.h"
#include "agent/torch/ops_memory.h"

static void keep_inputs(struct ops_sender *sender, const struct op_entry_inputs *entry)
{
	static char text[OP_NAME_MAX];
	size_t bytes;

	if (op_names_has(entry->hash))
		return;
	bytes = op_inputs_write(sender->types, entry->words, (uint32_t)entry->count, text, sizeof(text));
	if (bytes && !op_names_add_inputs(&sender->batch, entry->hash, text, (uint32_t)bytes))
		observer_repeat_names();
}

static void keep_entry(struct ops_sender *sender, const struct op_entry *entry)
{
	const struct op_entry_name *name = (const struct op_entry_name *)entry;

	if (entry->kind == OP_ENTRY_INPUTS)
		keep_inputs(sender, (const struct op_entry_inputs *)entry);
	else if (entry->kind == OP_ENTRY_NAME &&
		 !op_names_add(&sender->batch, name->hash, name->text, name->bytes, name->is_longer))
		observer_repeat_names();
}

/*
 * An op may end on another thread than the one it started on, and the buffer with its names may be read later: reads
 * ahead all names that are in the buffers by now.
 */
static void look_ahead(struct ops_sender *sender)
{
	uint32_t count = op_buffers_count(), i;
	const struct op_entry *entry;
	uint64_t position, end;

	sender->looked_ahead = true;
	for (i = 0; i < count; i++) {
		if (!op_buffer_at(i))
			continue;
		position = atomic_load(&op_buffer_at(i)->head);
		end = atomic_load(&op_buffer_at(i)->tail);
		while ((entry = op_buffer_next(op_buffer_at(i), &position, end)))
			keep_entry(sender, entry);
	}
}

/* Id of the op's inputs; 0: none, or lost. */
static uint32_t inputs_of(struct ops_sender *sender, const struct op_facts *facts, bool is_async)
{
	uint32_t id = op_names_id(facts->inputs);

	if (id || !facts->inputs)
		return id;
	if (is_async && !sender->looked_ahead) {
		look_ahead(sender);
		id = op_names_id(facts->inputs);
	}
	sender->inputs_lost += !id;
	return id;
}

static struct gpt_agent_op *add_op(struct ops_sender *sender, const struct op_facts *facts, uint64_t start_ns)
{
	struct gpt_agent_op *record = batch_add(&sender->batch, GPT_AGENT_OP, sizeof(*record));

	record->start_ns = start_ns;
	record->sequence = facts->sequence;
	record->handle = facts->handle;
	record->thread = facts->thread;
	record->forward_thread = facts->forward_thread;
	record->tid = facts->tid;
	record->name = op_names_id(facts->name);
	record->stack = facts->stack;
	record->scope = facts->scope;
	return record;
}

static struct op_facts facts_of(const struct op_entry_op *entry)
{
	struct op_facts facts = {0};

	if (entry->entry.kind != OP_ENTRY_OP_SHORT)
		return entry->facts;
	memcpy(&facts, &entry->facts, offsetof(struct op_facts, stack));
	facts.tid = entry->end_tid;
	facts.scope = entry->scope;
	return facts;
}

static struct gpt_agent_op *send_op(struct ops_sender *sender, const struct op_entry_op *entry)
{
	struct op_facts facts = facts_of(entry);
	uint32_t inputs = inputs_of(sender, &facts, entry->is_async);
	uint64_t start_ns = entry->is_reported ? facts.start : op_clock_ns(facts.start);
	uint64_t end_ns = op_clock_ns(entry->end);
	struct gpt_agent_op *record = add_op(sender, &facts, start_ns);

	record->inputs = inputs;
	record->end_ns = end_ns > start_ns ? end_ns : start_ns;
	record->end_tid = entry->end_tid;
	record->flags = entry->is_async ? GPT_AGENT_OP_ASYNC : 0;
	sender->sent++;
	return record;
}

static void send_collective(struct ops_sender *sender, const struct op_entry_collective *entry)
{
	struct gpt_agent_op *record = send_op(sender, &entry->op);

	record->collective = op_names_id(entry->collective.text);
	record->collective_sequence = entry->collective.sequence;
}

/* Returns how many bytes were in the buffer. */
static uint64_t send_buffer(struct ops_sender *sender, struct op_buffer *buffer)
{
	uint64_t position = atomic_load(&buffer->head), end = atomic_load(&buffer->tail), bytes = 0;
	const struct op_entry *entry;

	while ((entry = op_buffer_next(buffer, &position, end))) {
		bytes += entry->bytes;
		if (entry->kind == OP_ENTRY_OP || entry->kind == OP_ENTRY_OP_SHORT)
			send_op(sender, (const struct op_entry_op *)entry);
		else if (entry->kind == OP_ENTRY_COLLECTIVE)
			send_collective(sender, (const struct op_entry_collective *)entry);
		else if (entry->kind == OP_ENTRY_MEMORY)
			ops_memory_send(&sender->batch, (const struct op_entry_memory *)entry);
		else if (entry->kind == OP_ENTRY_MEMORY_SHORT)
			ops_memory_send_short(&sender->batch, (const struct op_entry_memory_short *)entry, buffer->tid);
		else
			keep_entry(sender, entry);
	}
	op_buffer_read_to(buffer, position);
	op_buffer_recycle(buffer);
	return bytes;
}

uint64_t ops_send_buffers(struct ops_sender *sender)
{
	uint32_t count = op_buffers_count(), i;
	uint64_t most = 0, bytes;

	sender->looked_ahead = false;
	op_clock_sample();
	for (i = 0; i < count; i++) {
		bytes = op_buffer_at(i) ? send_buffer(sender, op_buffer_at(i)) : 0;
		most = bytes > most ? bytes : most;
	}
	return most;
}

static void send_open_op(struct ops_sender *sender, struct op_slot *slot, uint32_t session, uint64_t before_ns,
			 bool again)
{
	struct op_facts facts;
	uint64_t turn = observer_open_op(slot, session, &facts), start_ns;
	bool was_reported = atomic_load(&slot->reported_turn) == turn;
	struct gpt_agent_op *record;

	if (!turn || (was_reported && !again))
		return;
	start_ns = was_reported ? slot->reported_start_ns : op_clock_ns(facts.start);
	if (start_ns >= before_ns)
		return;
	if (!was_reported) {
		slot->reported_start_ns = start_ns;
		atomic_store(&slot->reported_turn, turn);
	}
	record = add_op(sender, &facts, start_ns);
	record->end_ns = clock_now_ns();
	record->end_tid = facts.tid;
	record->inputs = op_names_id(facts.inputs);
	record->flags = GPT_AGENT_OP_OPEN;
}

void ops_send_open(struct ops_sender *sender, uint32_t session, uint64_t before_ns, bool again)
{
	uint32_t count = op_buffers_count(), made, i, j;
	struct op_buffer *buffer;

	for (i = 0; i < count; i++) {
		buffer = op_buffer_at(i);
		made = buffer ? atomic_load(&buffer->slots_made) : 0;
		for (j = 0; j < made; j++)
			send_open_op(sender, &buffer->slots[j], session, before_ns, again);
	}
}
