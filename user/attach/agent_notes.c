/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/agent_notes.h"

#include <stddef.h>
#include <stdio.h>

#include "attach/emit/emit.h"
#include "base/msg.h"

bool agent_has_ops(const struct agents *agents, const struct followed *process)
{
	return agents->ops && followed_maps(process, LIBRARY_TORCH) && !(process->forked && process->fork.observed);
}

static const char *what_is_missing(const struct agents *agents, const struct followed *process)
{
	if (!agent_has_ops(agents, process))
		return "no GPU times";
	return process->brought || !followed_maps(process, LIBRARY_CUDA) ? "no ops of PyTorch"
									 : "no GPU times, no ops of PyTorch";
}

void agent_report_not_in(const struct agents *agents, const struct followed *process, const char *why)
{
	char note[384];

	snprintf(note, sizeof(note), "pid %d: %s, the agent could not be let in: %s", process->pid,
		 what_is_missing(agents, process), why);
	emit_text(agents->emit, agents->emit_context, GPT_NOTE, (uint32_t)process->pid, note);
	msg_debug("%s", note);
}

void agent_report_unentered(const struct agents *agents, struct followed *process, const char *why)
{
	agent_report_not_in(agents, process, why);
	if (!agents->processes->shares || process->unentered || !followed_maps(process, LIBRARY_CUDA))
		return;
	process->unentered = true;
	agents->processes->unentered++;
	if (process->named && !agents->processes->unentered_named) {
		agents->processes->unentered_named = process->pid;
		snprintf(agents->processes->unentered_why, sizeof(agents->processes->unentered_why), "%s", why);
	}
}

bool agent_is_first_said(const struct agents *agents, const struct followed *process, size_t said)
{
	struct followed *parent = processes_find(agents->processes, process->fork.of);
	bool *before = parent ? (bool *)((char *)parent + said) : NULL, first = !before || !*before;

	if (before)
		*before = true;
	return first;
}

void agent_report_cuda_lost(const struct agents *agents, struct followed *process, uint64_t now_ns)
{
	char why[sizeof(process->entry.last_why) + 64];

	if (!process->fork.not_noted || !process->forked || !process->called_ns || now_ns < process->entry.next_ns)
		return;
	process->entry.next_ns = now_ns + LAST_PAUSE_NS;
	if (!processes_has_called(agents->processes, process))
		return;
	process->fork.not_noted = false;
	if (!agent_is_first_said(agents, process, offsetof(struct followed, forks_said)))
		return;
	snprintf(why, sizeof(why), "%s (so with others that it forks)", process->entry.last_why);
	agent_report_not_in(agents, process, why);
}

void agent_report_hidden_runtime(const struct agents *agents, const struct followed *process)
{
	char note[320], more[32] = "";

	if (!process->hidden_runtimes || process->agent_live || process->agent_heard || process->agent_stopped ||
	    (process->forked && !processes_has_called(agents->processes, process)))
		return;
	if (process->hidden_runtimes > 1)
		snprintf(more, sizeof(more), " (and in %u more)", process->hidden_runtimes - 1);
	snprintf(note, sizeof(note),
		 "pid %d: no agent, and in %s%s a CUDA runtime is linked whose names were stripped: of its calls only "
		 "those are seen that reach libcuda by its exported functions",
		 process->pid, process->hidden_runtime, more);
	emit_text(agents->emit, agents->emit_context, GPT_NOTE, (uint32_t)process->pid, note);
}

void agent_report_no_ops(const struct agents *agents, struct followed *process, uint64_t now_ns)
{
	char note[192];

	if (!agents->ops || !process->forked || !process->fork.observed || !process->fork.ns ||
	    now_ns - process->fork.ns < LEFT_OUT_SAID_NS)
		return;
	process->fork.ns = 0;
	if (!agent_is_first_said(agents, process, offsetof(struct followed, forks_without_ops_said)))
		return;
	snprintf(note, sizeof(note),
		 "pid %d: no ops of PyTorch in what it forks (workers, pid %d the first): observing does not survive a "
		 "fork",
		 process->fork.of, process->pid);
	emit_text(agents->emit, agents->emit_context, GPT_NOTE, (uint32_t)process->fork.of, note);
}
