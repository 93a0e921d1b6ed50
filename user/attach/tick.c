/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps probes where they are needed while processes start, change and end. A file has symbol probes as long as some
 * followed process that maps it has no agent that reports its calls.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gputrace/agent.h>

#include "attach/activity.h"
#include "attach/attach.h"
#include "attach/attach_state.h"
#include "attach/emit/emit.h"
#include "attach/halts.h"
#include "attach/modules.h"
#include "attach/probes/probes.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "base/path.h"

#define AGENT_CHECK_NS 200000000ULL
#define TITLE_CHECK_NS 1000000000ULL
#define STOP_CHECK_NS 1000000ULL
/* While it starts a program maps libraries and imports modules for some seconds after what was reported of it. */
#define CALM_NS 10000000000ULL
/* After a mapping that may not have been reported: reported ones have been noticed by then. */
#define MISSED_LOOK_NS 100000000ULL

/* Notes a session that began before gputrace attached. */
static void report_cupti_client(struct attach *attach, const struct followed *process)
{
	bool foreign = any_of(process->files.count, i, links_are_attached(&process->files.items[i]->profiler_links));
	char note[192];

	snprintf(note, sizeof(note),
		 "pid %d: another profiler (torch.profiler) was recording; %s until it has finished", process->pid,
		 foreign ? "GPU times come from its buffers" : "no GPU times");
	emit_text(attach->emit, attach->emit_context, GPT_NOTE, (uint32_t)process->pid, note);
}

/* Informs agents that wait for it that calls of their processes are seen. */
static void report_calls_seen(struct attach *attach)
{
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		struct followed *process = attach->processes.list.items[i];
		int error = 0;

		if (process->agent_gives_up)
			error = file_raise_agent_counter(&process->calls_links, attach_process_agent(attach, process),
							 process->pid, GPUTRACE_AGENT_CALLS,
							 GPUTRACE_AGENT_CALLS_SEMAPHORE);
		if (error && error != -ESRCH)
			msg_warn("pid %d: another profiler is about to have CUPTI's callbacks, and the agent cannot be "
				 "asked to wait: calls may be missing for a moment (%s)",
				 (int)process->pid, strerror(-error));
	}
}

/*
 * Puts symbol probes into every file that a process without a reporting agent maps, and removes them soon from all
 * others; true: some are not removed yet.
 */
static bool reconcile_calls(struct attach *attach)
{
	bool all = attach->options.scope == ATTACH_ALL, again = false;

	for (size_t i = 0; i < attach->files.list.count; i++)
		attach->files.list.items[i]->wanted = all;
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		const struct followed *process = attach->processes.list.items[i];

		for (size_t j = 0; j < process->files.count && !process->agent_calls; j++)
			process->files.items[j]->wanted = true;
	}
	for (size_t i = 0; i < attach->files.list.count; i++) {
		struct probed_file *file = attach->files.list.items[i];

		if (!library_kind_has_calls(file->kind))
			continue;
		if (file->wanted)
			file_attach_calls(&attach->files, file);
		else
			again |= !file_detach_calls(&attach->files, file, attach->heard_ns);
	}
	report_calls_seen(attach);
	return again;
}

/*
 * Counts the files whose mapping is reported because of their names; other files with calls are found by a later look
 * anyway.
 */
static unsigned count_named_files(const struct followed *process)
{
	unsigned count = 0;

	for (size_t i = 0; i < process->files.count; i++)
		count += library_kind_has_calls(library_kind_of_name(path_base(process->files.items[i]->path)));
	return count;
}

static void look_at_due(void *context, struct followed *process)
{
	unsigned before, after;

	if (!process->mapping_missed) {
		attach_examine_mapped(context, process);
		return;
	}
	before = count_named_files(process);
	attach_examine_mapped(context, process);
	after = count_named_files(process);
	process->found_late += after > before ? after - before : 0;
	process->mapping_missed = false;
}

static void look_at_all(struct attach *attach, uint64_t when_ns)
{
	for (size_t i = 0; i < attach->processes.list.count;) {
		struct followed *process = attach->processes.list.items[i];

		if (process_is_over(process)) {
			attach_report_late(attach, process);
			processes_remove(&attach->processes, process->pid);
			continue;
		}
		processes_look_later(process, when_ns);
		i++;
	}
	if (attach->options.scope >= ATTACH_SELECTED)
		attach_find_newcomers(attach);
	else
		processes_add_descendants(&attach->processes);
	attach->reconcile = true;
}

/*
 * If a tracepoint's program may be preempted (seen on Linux 7.2: include/linux/tracepoint.h), it does not run meanwhile
 * for another process on the same CPU; a syscall's program does not run while bpf(2) uses a map there. A traced process
 * may have been missed that way.
 */
static void look_after_misses(struct attach *attach, uint64_t missed, uint64_t when_ns)
{
	uint64_t now_ns = monotonic_ns();

	attach->changes_missed = missed;
	look_at_all(attach, when_ns);
	attach->all_looked_ns = now_ns;
	attach->all_looks_ns = monotonic_ns() - now_ns;
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		struct followed *process = attach->processes.list.items[i];

		process->mapping_missed = true;
		process->found_late += process->entered_ns >= now_ns;
		attach->all_looks_ns += process->look_cost_ns;
	}
}

static void look_where_missed(struct attach *attach, uint64_t now_ns)
{
	uint64_t missed = programs_missed_changes(&attach->programs);

	if (missed != attach->changes_missed && now_ns - attach->all_looked_ns >= attach->all_looks_ns * LOOKS_SHARE)
		look_after_misses(attach, missed, now_ns + MISSED_LOOK_NS);
}

void attach_look_after_last_misses(struct attach *attach)
{
	uint64_t missed = programs_missed_changes(&attach->programs);

	if (missed != attach->changes_missed)
		look_after_misses(attach, missed, monotonic_ns());
	for (size_t i = 0; i < attach->processes.list.count; i++)
		if (attach->processes.list.items[i]->mapping_missed)
			look_at_due(attach, attach->processes.list.items[i]);
}

uint64_t attach_tick(struct attach *attach, uint64_t now_ns, uint64_t heard_ns)
{
	uint64_t due_ns;
	bool check_agents = now_ns - attach->agents_checked_ns > AGENT_CHECK_NS;
	bool check_titles = now_ns - attach->titles_checked_ns > TITLE_CHECK_NS;

	attach->heard_ns = heard_ns;
	if (attach->shares)
		return by_agents_tick(attach, now_ns);
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		struct followed *process = attach->processes.list.items[i];

		if (check_titles)
			processes_update_title(&attach->processes, process);
		if (check_agents && processes_update_agent(&attach->processes, process))
			attach->reconcile = true;
		if (cupti_client_tick(&process->cupti_client, &attach->files, attach_process_agent(attach, process),
				      process->pid, process->called_ns, now_ns))
			report_cupti_client(attach, process);
	}
	if (check_agents)
		look_where_missed(attach, now_ns);
	if (check_agents && processes_remove_over(&attach->processes))
		attach->reconcile = true;
	if (check_agents) {
		attach->agents_checked_ns = now_ns;
		processes_sweep_files(&attach->processes, attach->agent);
	}
	attach_check_passed(attach, now_ns);
	if (check_titles) {
		halts_look(&attach->processes, now_ns);
		attach->titles_checked_ns = now_ns;
	}
	attach_take_cupti_uses(attach, false);
	due_ns = processes_look_due(&attach->processes, look_at_due, attach);
	processes_report_silent(&attach->processes);
	if (attach_answer_stops(attach) && now_ns + STOP_CHECK_NS < due_ns)
		due_ns = now_ns + STOP_CHECK_NS;
	foreign_reader_tick(&attach->foreign_reader, now_ns);
	if (awaits_tick(attach->awaits, &attach->processes, now_ns))
		attach->changed_ns = now_ns;
	modules_tick(&attach->processes, now_ns, false);
	attach->agents_pending = agents_tick(&attach->agents, now_ns);
	activity_tick(attach, now_ns);
	detail_tick(attach, now_ns);
	for (size_t i = 0; i < attach->files.list.count; i++)
		file_attach_torch(&attach->files, attach->files.list.items[i]);
	if (attach->reconcile)
		attach->reconcile = reconcile_calls(attach);
	return due_ns;
}

bool attach_is_calm(const struct attach *attach, uint64_t now_ns)
{
	return !attach->reconcile && !attach->agents_pending && !attach->stops.count &&
	       now_ns - attach->changed_ns > CALM_NS;
}

void attach_missed_batches(struct attach *attach, uint64_t count)
{
	attach->batches_missed += count;
}

void attach_missed(struct attach *attach, uint64_t count)
{
	attach->missed += count;
	if (attach->shares)
		return; /* agents connect by themselves, and process_is_over finds ends */
	for (size_t i = 0; i < attach->processes.list.count; i++) /* the process may run another program by now */
		attach->processes.list.items[i]->has_python = attach->processes.list.items[i]->written = false;
	look_at_all(attach, monotonic_ns());
}
