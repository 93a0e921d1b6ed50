/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/halts.h"

#include "attach/emit/emit.h"
#include "base/msg.h"
#include "target/halt.h"

/* The time since the look before counts for what is seen at this one. */
static void look_at_process(struct followed *process, uint64_t now_ns)
{
	const char *how = process_halted(process->pid);

	if (how && process->halt.now)
		process->halt.ns += now_ns - process->halt.looked_ns;
	if (how && !process->halt.now)
		msg_debug("pid %d: is %s", (int)process->pid, how);
	if (how)
		process->halt.how = how;
	process->halt.now = how != NULL;
	process->halt.looked_ns = now_ns;
}

void halts_look(struct processes *processes, uint64_t now_ns)
{
	for (size_t i = 0; i < processes->list.count; i++)
		if (processes->list.items[i]->agent_live)
			look_at_process(processes->list.items[i], now_ns);
}

void halts_report(const struct processes *processes, struct followed *process)
{
	if (process->halt.how)
		emit_note(processes->emit, processes->emit_context, (uint32_t)process->pid,
			  "pid %d: was %s for %.0f s or a little longer: nothing of it ran, and GPU records of work "
			  "before that came late",
			  (int)process->pid, process->halt.how, (double)process->halt.ns / 1e9);
	process->halt.how = NULL;
}

void halts_report_all(struct processes *processes)
{
	for (size_t i = 0; i < processes->list.count; i++) {
		struct followed *process = processes->list.items[i];
		const char *how = process->agent_live ? process_halted(process->pid) : NULL;

		if (how)
			emit_note(processes->emit, processes->emit_context, (uint32_t)process->pid,
				  "pid %d: is %s: its agent cannot answer, and what it has not sent is missing",
				  (int)process->pid, how);
		else
			halts_report(processes, process);
	}
}
