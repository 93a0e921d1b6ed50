/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent goes where libcuda is mapped: what only has libcudart has not used the GPU yet.  Processes that we
 * started get it from the driver, and children of a fork cannot use CUDA until they execute something.
 */
#include "attach/agents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/emit.h"
#include "attach/inject.h"
#include "base/msg.h"

#define FIRST_PAUSE_NS 5000000ULL /* doubles up to LAST_PAUSE_NS */
#define LAST_PAUSE_NS 640000000ULL
#define MAX_TRIES 24		/* 12 s in all */
#define ANSWER_NS 5000000000ULL /* CUPTI starts in 0.2 s, and waits for the driver's locks */
#define OLDER_ANSWER_NS 100000000ULL
#define SETTLE_PAUSE_NS 2000000L

static bool maps(const struct followed *process, enum library_kind kind)
{
	for (size_t i = 0; i < process->files.count; i++)
		if (process->files.items[i]->kind == kind)
			return true;
	return false;
}

/* Then it begins inside cuInit, before the first launch. */
static bool driver_brings_it(const struct followed *process)
{
	char *path;
	bool brings;

	if (maps(process, LIBRARY_AGENT))
		return false; /* it has come, and nobody listened */
	path = process_variable(process->pid, "CUDA_INJECTION64_PATH");
	brings = path && library_kind_of_name(path) == LIBRARY_AGENT;
	free(path);
	return brings;
}

static void give_up(struct agents *agents, struct followed *process, const char *why)
{
	char note[384];

	process->entry.state = ENTRY_REFUSED;
	neighbour_forget(&process->neighbour);
	snprintf(process->entry.why, sizeof(process->entry.why), "%s", why);
	snprintf(note, sizeof(note), "pid %d: no GPU times, the agent could not be let in: %s", process->pid, why);
	emit_text(agents->emit, agents->emit_context, GPT_NOTE, (uint32_t)process->pid, note);
	msg_debug("%s", note);
}

/* Every CUPTI of the process: there may be several, and only who calls knows which. */
static bool watch(struct files *files, const struct followed *process)
{
	bool any = false;

	for (size_t i = 0; i < process->files.count; i++)
		if (process->files.items[i]->kind == LIBRARY_CUPTI)
			any |= file_attach_pushes(files, process->files.items[i]) == 0;
	return any;
}

/*
 * CUPTI has one set of buffers: to register ours in the middle of another's session would be to take its records.  Of
 * those who use it only PyTorch does not subscribe, which the agent would be told.
 */
static int suspect_others(struct agents *agents, struct followed *process)
{
	if (process->neighbour.state != NEIGHBOUR_NONE || !maps(process, LIBRARY_TORCH) ||
	    !watch(agents->processes->files, process))
		return 0;
	return neighbour_suspect(&process->neighbour, agents->file, process->pid, monotonic_ns());
}

static void try_now(struct agents *agents, struct followed *process)
{
	struct agent_entry *entry = &process->entry;
	uint64_t pause_ns = FIRST_PAUSE_NS << (entry->tries < 16 ? entry->tries : 16);
	struct inject_result result;
	int error;

	if (!entry->tries && driver_brings_it(process)) {
		entry->state = ENTRY_REFUSED;
		return;
	}
	error = suspect_others(agents, process);
	if (error)
		snprintf(result.why, sizeof(result.why), "it cannot be told of others: %s", strerror(-error));
	else
		error = inject_agent(process->pid, agents->file_fd, agents->cupti, &result);
	entry->tries++;
	if (!error) {
		entry->state = ENTRY_ASKED;
		entry->asked_ns = monotonic_ns();
		msg_debug(
			"pid %d: the agent came in by thread %d, which was stopped for %.0f us and back after %.0f us",
			process->pid, result.tid, (double)result.stopped_ns / 1e3, (double)result.away_ns / 1e3);
	} else if (error == -ESRCH) {
		entry->state = ENTRY_REFUSED; /* its end will be noticed; nothing to tell */
	} else if (error != -EAGAIN || entry->tries >= MAX_TRIES) {
		give_up(agents, process, result.why);
	} else {
		entry->state = ENTRY_WAITING;
		entry->next_ns = monotonic_ns() + (pause_ns < LAST_PAUSE_NS ? pause_ns : LAST_PAUSE_NS);
	}
}

static bool is_watched(const struct followed *process, const struct probed_file *file)
{
	if (process->neighbour.state != NEIGHBOUR_SUSPECTED)
		return false;
	for (size_t i = 0; i < process->files.count; i++)
		if (process->files.items[i] == file)
			return true;
	return false;
}

/* The probe is hot while a session lasts: it goes once nobody has to be found out any more. */
static void stop_watching(struct agents *agents)
{
	const struct processes *processes = agents->processes;

	for (size_t i = 0; i < processes->files->list.count; i++) {
		struct probed_file *file = processes->files->list.items[i];
		bool watched = !file->push_links.fds.count;

		for (size_t j = 0; j < processes->list.count && !watched; j++)
			watched = is_watched(processes->list.items[j], file);
		if (!watched)
			file_detach_pushes(file);
	}
}

/* An agent that works for another gputrace says so within a tick of its own; it needs no one to let it in. */
static bool may_answer(struct followed *process, uint64_t now_ns)
{
	if (!process->anew.fds.count)
		return false;
	if (!process->entry.asked_ns)
		process->entry.asked_ns = now_ns;
	return now_ns - process->entry.asked_ns < OLDER_ANSWER_NS;
}

unsigned agents_tick(struct agents *agents, uint64_t now_ns)
{
	unsigned pending = 0;

	if (agents->file_fd < 0)
		return 0;
	inject_release_strays();
	for (size_t i = 0; i < agents->processes->list.count; i++) {
		struct followed *process = agents->processes->list.items[i];
		struct agent_entry *entry = &process->entry;

		if (process->ours || process->forked || process->agent_live || process->agent_stopped ||
		    !maps(process, LIBRARY_CUDA))
			continue;
		if (entry->state == ENTRY_WAITING && entry->next_ns <= now_ns && !may_answer(process, now_ns))
			try_now(agents, process);
		pending += entry->state == ENTRY_WAITING ||
			   (entry->state == ENTRY_ASKED && now_ns < entry->asked_ns + ANSWER_NS);
	}
	stop_watching(agents);
	return pending;
}

void agents_settle(struct agents *agents, unsigned timeout_ms)
{
	uint64_t end_ns = monotonic_ns() + timeout_ms * 1000000ULL;
	struct timespec pause = {.tv_nsec = SETTLE_PAUSE_NS};

	while (agents_tick(agents, monotonic_ns()) && monotonic_ns() < end_ns) {
		nanosleep(&pause, NULL);
		for (size_t i = 0; i < agents->processes->list.count; i++)
			processes_update_agent(agents->processes, agents->processes->list.items[i]);
	}
}

const struct followed *agents_refused(const struct agents *agents)
{
	for (size_t i = 0; i < agents->processes->list.count; i++)
		if (agents->processes->list.items[i]->entry.why[0])
			return agents->processes->list.items[i];
	return NULL;
}
