/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For each record of the kernel side and of the collector: what it describes. */
#include "log/descriptions.h"

#include <stdlib.h>
#include <string.h>

#include "log/descriptions_state.h"

/* A CODE with all its lines: names, file, and the table in pieces. */
#define CODE_BYTES_MAX (512u << 10)

/* How many of the collector's clock samples are kept. */
#define CLOCKS 2u

struct descriptions *descriptions_new(size_t bytes_max, size_t repeated_max)
{
	struct descriptions *descriptions = xcalloc(1, sizeof(*descriptions));

	description_store_init(&descriptions->store, bytes_max, repeated_max);
	return descriptions;
}

void descriptions_free(struct descriptions *descriptions)
{
	if (!descriptions)
		return;
	description_store_free(&descriptions->store);
	array_free(&descriptions->ended);
	free(descriptions);
}

/* ---- what the rows of the records do not say ----------------------------------------------------------------------
 */

/* Its other numbers are this process's: see the rows of the record. */
static void look_at_wait(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_wait *wait = (const struct gpt_wait *)record;

	if (wait->waker != GPT_WAKER_THREAD)
		return;
	descriptions_refer(descriptions, wait->waker_pid, DESCRIPTION_THREAD, wait->waker_tid);
	if (wait->waker_stack_id)
		descriptions_refer(descriptions, wait->waker_pid, DESCRIPTION_PYSTACK, wait->waker_stack_id);
}

static void look_at_cupti_use(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_cupti_use *use = (const struct gpt_cupti_use *)record;
	struct process_numbers *process = descriptions_process(descriptions, use->pid);

	if (process && use->what == GPT_CUPTI_REGISTER)
		description_make(&descriptions->store, process->space, DESCRIPTION_CUPTI_USER, 0, record, record->size);
}

/* ---- descriptions ---------------------------------------------------------------------------------------------- */

static void describe_record(struct descriptions *descriptions, uint32_t pid, enum description_kind kind, uint64_t id,
			    const struct gpt_record *record)
{
	struct process_numbers *process = descriptions_process(descriptions, pid);

	if (process)
		description_make(&descriptions->store, process->space, kind, id, record, record->size);
}

static void look_at_thread(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_thread *thread = (const struct gpt_thread *)record;
	struct process_numbers *process = descriptions_process(descriptions, thread->pid);
	uint64_t ids[] = {thread->tid, thread->own_tid, thread->pointer};
	struct description *made = NULL;

	if (!process)
		return;
	made = description_make(&descriptions->store, process->space, DESCRIPTION_THREAD, ids[0], record, record->size);
	for (int i = 1; made && i < 3; i++) {
		struct description *name;

		if (!ids[i])
			continue;
		name = description_make(&descriptions->store, process->space,
					i == 1 ? DESCRIPTION_OWN_TID : DESCRIPTION_POINTER, ids[i], NULL, 0);
		if (!name)
			continue;
		description_refer(&descriptions->store, name, 1);
		description_set_reference(name, 0, made);
	}
}

static void look_at_code(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_code *code = (const struct gpt_code *)record;

	describe_record(descriptions, code->pid, DESCRIPTION_CODE, code->code, record);
}

static void look_at_code_lines(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_code_lines *lines = (const struct gpt_code_lines *)record;
	struct process_numbers *process = descriptions_process(descriptions, lines->pid);
	struct description *code =
		process ? description_find(&descriptions->store, process->space, DESCRIPTION_CODE, lines->code) : NULL;

	if (!code)
		return;
	description_need(&descriptions->store, code);
	if (((const struct gpt_record *)code->data)->type == GPT_CODE && record->size <= CODE_BYTES_MAX - code->bytes)
		description_grow(&descriptions->store, code, record, record->size);
}

/* Keeps the CODE_DEAD, too: the stacks that follow have no code object at that address. */
static void look_at_code_dead(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_code_dead *dead = (const struct gpt_code_dead *)record;
	struct process_numbers *process = descriptions_process(descriptions, dead->pid);

	if (!process)
		return;
	if (description_find(&descriptions->store, process->space, DESCRIPTION_CODE, dead->code))
		description_make(&descriptions->store, process->space, DESCRIPTION_CODE, dead->code, record,
				 record->size);
	process->death = descriptions->store.position;
}

/* A stack refers to the code objects that are at its addresses now. */
static void look_at_pystack(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_pystack *stack = (const struct gpt_pystack *)record;
	struct process_numbers *process = descriptions_process(descriptions, stack->pid);
	size_t room = (record->size - sizeof(*stack)) / sizeof(stack->frames[0]);
	uint32_t depth = stack->depth < room ? stack->depth : (uint32_t)room;
	struct description *made;

	if (!process)
		return;
	made = description_make(&descriptions->store, process->space, DESCRIPTION_PYSTACK, stack->id, record,
				record->size);
	if (made)
		description_refer(&descriptions->store, made, depth);
	for (uint32_t i = 0; i < depth; i++) {
		struct description *code =
			description_find(&descriptions->store, process->space, DESCRIPTION_CODE, stack->frames[i].code);

		if (!code && stack->frames[i].code)
			descriptions->missed = true;
		if (made)
			description_set_reference(made, i, code);
		description_need(&descriptions->store, code);
	}
}

static void look_at_native_stack(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_native_stack *stack = (const struct gpt_native_stack *)record;
	struct process_numbers *process = descriptions_process(descriptions, stack->pid);
	struct description *made;

	if (!process)
		return;
	made = description_make(&descriptions->store, process->space, DESCRIPTION_NATIVE_STACK, stack->id, record,
				record->size);
	if (made)
		descriptions_need_symbols(descriptions, made);
}

static void look_at_native_sym(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_native_sym *symbol = (const struct gpt_native_sym *)record;

	describe_record(descriptions, symbol->pid, DESCRIPTION_NATIVE_SYM, symbol->ip, record);
}

static void look_at_session(struct descriptions *descriptions, const struct gpt_record *record)
{
	description_make(&descriptions->store, 0, DESCRIPTION_SESSION, 0, record, record->size);
}

static void look_at_clock(struct descriptions *descriptions, const struct gpt_record *record)
{
	description_make(&descriptions->store, 0, DESCRIPTION_CLOCK, descriptions->clocks++ % CLOCKS, record,
			 record->size);
}

static const struct {
	void (*look)(struct descriptions *descriptions, const struct gpt_record *record);
	size_t least; /* bytes that it reads; what is shorter is damaged and describes nothing */
} looks[] = {
	[GPT_PYSTACK] = {look_at_pystack, sizeof(struct gpt_pystack)},
	[GPT_CODE] = {look_at_code, sizeof(struct gpt_code)},
	[GPT_CODE_LINES] = {look_at_code_lines, sizeof(struct gpt_code_lines)},
	[GPT_CODE_DEAD] = {look_at_code_dead, sizeof(struct gpt_code_dead)},
	[GPT_NATIVE_STACK] = {look_at_native_stack, sizeof(struct gpt_native_stack)},
	[GPT_THREAD] = {look_at_thread, sizeof(struct gpt_thread)},
	[GPT_FORK] = {descriptions_look_at_fork, sizeof(struct gpt_process_event)},
	[GPT_EXEC] = {descriptions_look_at_exec, sizeof(struct gpt_process_event)},
	[GPT_EXIT] = {descriptions_look_at_exit, sizeof(struct gpt_process_event)},
	[GPT_AGENT_BATCH] = {descriptions_look_at_batch, sizeof(struct gpt_agent_batch)},
	[GPT_CUPTI_USE] = {look_at_cupti_use, sizeof(struct gpt_cupti_use)},
	[GPT_WAIT] = {look_at_wait, sizeof(struct gpt_wait)},
	[GPT_SESSION] = {look_at_session, sizeof(struct gpt_session)},
	[GPT_PROCESS] = {descriptions_look_at_process, sizeof(struct gpt_process)},
	[GPT_NATIVE_SYM] = {look_at_native_sym, sizeof(struct gpt_native_sym)},
	[GPT_CLOCK] = {look_at_clock, sizeof(struct gpt_clock)},
};

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

static uint32_t count_records(const struct description_store *store)
{
	uint32_t count = 0;

	for (size_t i = 0; i < store->needed.count; i++) {
		const struct description *description = store->needed.items[i];
		uint32_t bytes = description_needed_bytes(store, description);

		for (uint32_t at = 0; at < bytes; at += ((const struct gpt_record *)(description->data + at))->size)
			count++;
	}
	return count;
}

void descriptions_look(struct descriptions *descriptions, const uint8_t *records, size_t bytes,
		       struct descriptions_repeated *repeated)
{
	struct description_store *store = &descriptions->store;

	description_store_begin(store);
	descriptions->last_process = NULL;
	descriptions_remove_over(descriptions);
	descriptions->missed = false;
	descriptions_need_all(descriptions, 0, DESCRIPTION_SESSION, 1);
	descriptions_need_all(descriptions, 0, DESCRIPTION_CLOCK, CLOCKS);
	for (size_t at = 0; at < bytes;) {
		const struct gpt_record *record = (const struct gpt_record *)(records + at);

		descriptions_note_references(descriptions, record, 0);
		if (record->type < sizeof(looks) / sizeof(looks[0]) && looks[record->type].look &&
		    record->size >= looks[record->type].least)
			looks[record->type].look(descriptions, record);
		at += record->size;
	}
	description_store_sort(store);
	repeated->bytes = store->needed_bytes;
	repeated->records = count_records(store);
	repeated->complete = !store->left_out && !(descriptions->missed && store->forgotten);
}

void descriptions_write(const struct descriptions *descriptions, uint8_t *to)
{
	const struct description_store *store = &descriptions->store;

	for (size_t i = 0; i < store->needed.count; i++) {
		uint32_t bytes = description_needed_bytes(store, store->needed.items[i]);

		memcpy(to, store->needed.items[i]->data, bytes);
		to += bytes;
	}
}
