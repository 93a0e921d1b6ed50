/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds which process a pid means at this point of the log, what every segment with a record of the process repeats,
 * and what records refer to by the process's numbers.
 */
#include "log/descriptions_state.h"

#include <string.h>

#include "base/distance.h"

/* As the model tells apart processes with one pid (process_table.c): /proc has the start in ticks of 10 ms. */
#define SAME_START_NS 100000000ull

void descriptions_need_all(struct descriptions *descriptions, uint32_t space, enum description_kind kind,
			   uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		description_need(&descriptions->store, description_find(&descriptions->store, space, kind, i));
}

/* The descriptions that every segment with a record of the process repeats. */
static void need_process(struct descriptions *descriptions, const struct process_numbers *process)
{
	uint32_t processes = process->processes < SLOTS ? process->processes : SLOTS;
	uint32_t hellos = process->hellos < SLOTS ? process->hellos : SLOTS;

	descriptions_need_all(descriptions, process->space, DESCRIPTION_OPS, 3);
	descriptions_need_all(descriptions, process->space, DESCRIPTION_BEGIN, 1);
	descriptions_need_all(descriptions, process->space, DESCRIPTION_PROCESS, processes);
	descriptions_need_all(descriptions, process->space, DESCRIPTION_CUPTI_USER, 1);
	if (!hellos)
		return;
	descriptions_need_all(descriptions, process->space, DESCRIPTION_HELLO, hellos);
	descriptions_need_all(descriptions, process->space, DESCRIPTION_SIZES, 1);
	descriptions_need_all(descriptions, process->space, DESCRIPTION_AGENT_CLOCK, 1);
	descriptions_need_all(descriptions, process->space, DESCRIPTION_STATS, 1);
}

struct process_numbers *descriptions_process(struct descriptions *descriptions, uint32_t pid)
{
	struct description_store *store = &descriptions->store;
	struct description *state;
	struct process_numbers *process;

	if (descriptions->last_process && descriptions->last_pid == pid)
		return descriptions->last_process;
	state = description_find(store, 0, DESCRIPTION_STATE, pid);
	if (!state) {
		struct process_numbers new = {.space = ++descriptions->last_space};

		state = description_make(store, 0, DESCRIPTION_STATE, pid, &new, sizeof(new));
		if (!state)
			return NULL;
	}
	state->used = store->chunk;
	process = (struct process_numbers *)state->data;
	descriptions->last_pid = pid;
	descriptions->last_process = process;
	if (process->chunk != store->chunk) {
		process->chunk = store->chunk;
		need_process(descriptions, process);
	}
	return process;
}

void descriptions_need_symbols(struct descriptions *descriptions, const struct description *stack)
{
	const struct gpt_native_stack *record = (const struct gpt_native_stack *)stack->data;
	size_t room = (stack->bytes - sizeof(*record)) / sizeof(record->ip[0]);

	for (size_t i = 0; i < record->depth && i < room; i++)
		description_need(&descriptions->store, description_find(&descriptions->store, stack->space,
									DESCRIPTION_NATIVE_SYM, record->ip[i]));
}

void descriptions_refer(struct descriptions *descriptions, uint32_t pid, enum description_kind kind, uint64_t id)
{
	uint64_t hash = (id ^ (uint64_t)pid << 40 ^ (uint64_t)kind << 32) * 0x9e3779b97f4a7c15ull;
	struct asked *asked = &descriptions->asked[hash >> 32 & (ASKED_COUNT - 1)];
	struct process_numbers *process;
	struct description *description;

	/* What changes within a chunk is described in it, so only the first reference of a chunk matters. */
	if (asked->id == id && asked->pid == pid && asked->kind == kind && asked->chunk == descriptions->store.chunk)
		return;
	*asked = (struct asked){.id = id, .pid = pid, .kind = (uint16_t)kind, .chunk = descriptions->store.chunk};
	process = descriptions_process(descriptions, pid);
	description = process ? description_find(&descriptions->store, process->space, kind, id) : NULL;
	if (!description)
		descriptions->missed = true;
	else if (description_need(&descriptions->store, description) && kind == DESCRIPTION_NATIVE_STACK)
		descriptions_need_symbols(descriptions, description);
}

/* A new process epoch or another process: the numbers so far mean nothing any more. */
static void start_over(struct descriptions *descriptions, struct process_numbers *process)
{
	descriptions_end_space(descriptions, process->space);
	*process = (struct process_numbers){.space = ++descriptions->last_space, .chunk = process->chunk};
}

static bool is_same(const struct process_numbers *process, uint64_t start_ns)
{
	if (process->exit_ns && start_ns > process->exit_ns)
		return false;
	return !process->start_ns || time_distance(process->start_ns, start_ns) <= SAME_START_NS;
}

void descriptions_look_at_fork(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;
	struct process_numbers *child;

	descriptions_process(descriptions, event->other_pid);
	child = descriptions_process(descriptions, event->pid);
	if (!child)
		return;
	if (child->forked || !is_same(child, event->time_ns))
		start_over(descriptions, child);
	child->forked = true;
	child->start_ns = event->time_ns;
	description_make(&descriptions->store, child->space, DESCRIPTION_BEGIN, 0, record, record->size);
}

void descriptions_look_at_exec(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;
	struct process_numbers *process = descriptions_process(descriptions, event->pid);
	uint64_t start_ns;

	if (!process)
		return;
	start_ns = process->start_ns;
	start_over(descriptions, process);
	process->start_ns = start_ns;
	process->exec_ns = event->time_ns;
	description_make(&descriptions->store, process->space, DESCRIPTION_BEGIN, 0, record, record->size);
}

void descriptions_look_at_exit(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;
	struct process_numbers *process = descriptions_process(descriptions, event->pid);

	if (!process)
		return;
	process->exit_ns = event->time_ns;
	descriptions_end_space(descriptions, process->space);
}

void descriptions_look_at_process(struct descriptions *descriptions, const struct gpt_record *record)
{
	const struct gpt_process *event = (const struct gpt_process *)record;
	struct process_numbers *process = descriptions_process(descriptions, event->pid);

	if (!process)
		return;
	if (event->start_ns && !is_same(process, event->start_ns))
		start_over(descriptions, process);
	/* It may have been read from /proc before the last exec. */
	if (event->time_ns < process->exec_ns)
		return;
	if (event->start_ns && !process->start_ns)
		process->start_ns = event->start_ns;
	description_make(&descriptions->store, process->space, DESCRIPTION_PROCESS,
			 description_slot(process->processes++), record, record->size);
}
