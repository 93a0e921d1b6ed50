/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks into a followed process: its files and their probes, its Python, its title (processes.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/agent.h>

#include "attach/emit/emit.h"
#include "attach/forks.h"
#include "attach/probes/probes.h"
#include "attach/process_python.h"
#include "attach/processes.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "base/path.h"
#include "target/container.h"

#define SILENT_AGAIN_NS 1000000000ULL
#define SLICE_NS 200000000ULL /* of one look, before others get theirs */
#define SLICE_AGAIN_NS 20000000ULL

static void begin_pass(struct followed *process)
{
	process->pass.from = 0;
	process->pass.hidden = 0;
	process->pass.seen.count = 0;
}

void processes_forget_program(struct processes *processes, struct followed *process)
{
	(void)processes;
	cupti_client_forget(&process->cupti_client);
	foreign_buffers_forget(&process->foreign_buffers);
	process_modules_forget(&process->modules);
	links_detach(&process->restart_links);
	links_detach(&process->calls_links);
	process->files.count = 0;
	begin_pass(process);
	process->agent_gives_up = process->calls_unseen = false;
	process->agent_live = process->agent_calls = process->agent_stopped = process->agent_heard = false;
	process->agent_began = false;
	process->agent_joined = false;
	memset(&process->gave_way, 0, sizeof(process->gave_way));
	process->kineto.known = false;
	process->ops_heard = process->ops_live = process->has_schedule = process->makes_steps = process->schedule_over =
		false;
	process->cycle = process->cycles_over = 0;
	process->forked = false;
	process->brought = process->ours;
	entering_forget(&process->entry.entering);
	process->entry = (struct agent_entry){.state = ENTRY_WAITING};
	process->has_python = process->deaths_seen = process->python_reported = process->written = false;
	process->program = 0;
	process->hidden_runtimes = 0;
	process->looks = 0;
	process->unfit_since_ns = 0;
	process->look_again_ns = 0;
}

void processes_use_file(struct processes *processes, struct followed *process, struct probed_file *file,
			const struct mappings *mappings)
{
	for (size_t i = 0; i < process->files.count; i++)
		if (process->files.items[i] == file)
			return;
	array_push(&process->files, file);
	if (process->forked && file->kind == LIBRARY_AGENT) {
		process->fork.own_agent = mappings && fork_has_own_agent(process->pid, file, mappings);
		if (!process->fork.own_agent)
			return; /* its probes would never fire */
	}
	file_add_process(processes->files, file, process->pid);
}

static bool is_among(const struct probed_file *file, struct probed_file *const *list, size_t count)
{
	return any_of(count, i, list[i] == file);
}

static bool is_looked_into(const struct mappings *mappings, size_t index)
{
	const struct mapping *mapping = &mappings->list.items[index], *before = mapping - 1;

	return mapping->executable && mapping->inode &&
	       (!index || !before->executable || before->inode != mapping->inode || before->device != mapping->device);
}

/* before: how many this look has found so far; runtimes that the process has unmapped since still count. */
static void note_hidden_runtime(struct followed *process, const struct probed_file *file, unsigned before)
{
	if (!before)
		snprintf(process->hidden_runtime, sizeof(process->hidden_runtime), "%s", path_base(file->path));
	if (before + 1 <= process->hidden_runtimes)
		return;
	process->hidden_runtimes = before + 1;
	msg_debug("pid %d: %s has a CUDA runtime without names", process->pid, file->path);
}

/* All mappings were looked at: files that the process has unmapped are removed from its list. */
static void end_pass(struct followed *process)
{
	for (size_t i = process->files.count; i-- > 0;)
		if (!is_among(process->files.items[i], process->pass.seen.items, process->pass.seen.count))
			process->files.items[i] = process->files.items[--process->files.count];
	begin_pass(process);
}

/*
 * Looks at every distinct file that the process has mapped with code in it. If there are too many files for one look,
 * the next one goes on where this one stops.
 */
static void examine_files(struct processes *processes, struct followed *process, const struct mappings *mappings)
{
	uint64_t begin_ns = monotonic_ns(), again_ns = 0;
	bool whole = true;

	for (size_t i = 0; i < mappings->list.count && whole; i++) {
		struct probed_file *file;

		if (!is_looked_into(mappings, i) || mappings->list.items[i].start < process->pass.from)
			continue;
		if (processes->fair && monotonic_ns() - begin_ns > SLICE_NS) {
			again_ns = monotonic_ns() + SLICE_AGAIN_NS;
			process->pass.from = mappings->list.items[i].start;
			whole = false;
			continue;
		}
		files_make_room(processes->files, process->uid, &mappings->list.items[i]);
		file = files_get(processes->files, process->pid, process->uid, &mappings->list.items[i], &again_ns);
		if (file && file->kind != LIBRARY_OTHER) {
			array_push(&process->pass.seen, file);
			processes_use_file(processes, process, file, mappings);
		} else if (file && file->hides_runtime) {
			note_hidden_runtime(process, file, process->pass.hidden++);
		}
	}
	if (whole)
		end_pass(process);
	if (again_ns)
		processes_look_later(process, again_ns);
}

static void probe_agent(struct processes *processes, struct followed *process, struct probed_file *file)
{
	int error = file_attach_agent(processes->files, file);

	if (!error && process->agent_older && !process->agent_live)
		error = file_raise_agent_counter(&process->restart_links, file, process->pid, GPUTRACE_AGENT_RESTART,
						 GPUTRACE_AGENT_RESTART_SEMAPHORE);
	process->agent_older = false;
	if (error && error != -ESRCH)
		msg_debug("pid %d: its agent cannot be asked: %s", process->pid, strerror(-error));
}

/*
 * Probes the agent before it is loaded: its session starts in the driver's cuInit, and it has a listener from its first
 * moment on.
 */
static void expect_agent(struct processes *processes, struct followed *process)
{
	bool expected = process->named;

	for (size_t i = 0; i < process->files.count && !expected; i++)
		expected = library_kind_has_calls(process->files.items[i]->kind) ||
			   process->files.items[i]->kind == LIBRARY_TORCH;
	if (expected && processes->agent && !(process->forked && followed_maps(process, LIBRARY_AGENT)))
		file_add_process(processes->files, processes->agent, process->pid);
}

/*
 * Without agents (--agent off) those of other traces are left alone, too: a probe would keep them at work, and have
 * their records. Their calls of CUPTI could not be told from those of other profilers.
 */
static bool is_left_alone(const struct processes *processes, const struct probed_file *file)
{
	return !processes->files->agents && (file->kind == LIBRARY_AGENT || file->kind == LIBRARY_CUPTI);
}

/*
 * Python is known by now, so that the first call has its stack. libcudart is probed before libcuda, so that no driver
 * call inside a runtime call is taken for a call of its own.
 */
static void probe_files(struct processes *processes, struct followed *process)
{
	static const enum library_kind order[] = {LIBRARY_AGENT,	 LIBRARY_CUPTI,	 LIBRARY_NCCL,
						  LIBRARY_CUDART_STATIC, LIBRARY_CUDART, LIBRARY_CUDA};

	expect_agent(processes, process);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (size_t j = 0; j < process->files.count; j++) {
			struct probed_file *file = process->files.items[j];

			if (file->kind != order[i] || is_left_alone(processes, file))
				continue;
			if (file->kind == LIBRARY_AGENT)
				probe_agent(processes, process, file);
			else if (file->kind == LIBRARY_CUPTI)
				file_attach_cupti(processes->files, file);
			else if (file->kind == LIBRARY_NCCL)
				file_attach_nccl(processes->files, file);
			else if (!process->agent_calls)
				file_attach_calls(processes->files, file);
		}
	for (size_t i = 0; i < process->files.count; i++)
		process->files.items[i]->engine_wanted |= followed_maps(process, LIBRARY_CUDA);
}

/* FNV-1a; never 0. */
static uint64_t hash_of_title(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash | 1;
}

void processes_update_title(struct processes *processes, struct followed *process)
{
	uint64_t known_ns = monotonic_ns();
	struct process_info info;
	char *title = NULL;

	if (process->written && processes_have_time(processes, process, known_ns))
		title = process_cmdline(process->pid);
	/* A process that ends has no title any more. */
	if (title && *title && hash_of_title(title) != process->title && !process_is_over(process) &&
	    !process_info_read(process->pid, &info)) {
		process->title = hash_of_title(title);
		info.cmdline = xstrdup(title);
		emit_process(processes->emit, processes->emit_context, &info, known_ns, NULL);
		process_info_free(&info);
	}
	if (processes->fair && title)
		user_budget_charge(&processes->time, process->uid, known_ns, monotonic_ns() - known_ns);
	free(title);
}

/* Writes what is known of the process itself to the log. */
static void log_process(struct processes *processes, struct followed *process, struct process_info *info,
			uint64_t known_ns)
{
	struct process_place place;
	bool placed = process_place_read(info->pid, &place) == 0;

	process_read_ranks(info);
	if (placed)
		process_place_find_names(info->pid, &place);
	emit_process(processes->emit, processes->emit_context, info, known_ns, placed ? &place : NULL);
	process->title = hash_of_title(info->cmdline);
	if (placed)
		process_place_free(&place);
}

int processes_examine(struct processes *processes, struct followed *process)
{
	struct mappings mappings = {};
	struct process_info info = {};
	uint64_t known_ns = monotonic_ns(); /* what is read from here on may be older than a later exec */
	uint64_t program = processes_get_program(processes, process);
	int error = process_info_read(process->pid, &info);
	bool first;

	if (error)
		return error;
	info.cmdline = process_cmdline(process->pid);
	process->uid = info.uid;
	if (process->program && program != process->program)
		processes_forget_program(processes, process);
	process->program = program;
	error = mappings_read(process->pid, &mappings);
	if (!error) {
		first = !process->written;
		if (first)
			log_process(processes, process, &info, known_ns);
		process->written = true;
		if (first && info.forked && !process->forked)
			fork_note_older(process, info.parent);
		processes_update_agent(processes, process);
		/* An agent in a process that gputrace started connects by itself, and waits for the answer. */
		if (!processes->shares || !process->ours)
			examine_files(processes, process, &mappings);
		for (size_t i = 0; first && !(process->forked && process->fork.seen) && i < process->files.count; i++)
			process->agent_older |= process->files.items[i]->kind == LIBRARY_AGENT;
		/* Without BPF, perhaps only its agent can read its memory. */
		if (!processes->shares || process->agent_joined)
			python_examine(processes, process, &mappings, &info, known_ns);
		if (!processes->probe_later && !processes->shares)
			probe_files(processes, process);
	}
	if (!error && !mappings.list.count)
		error = -ESRCH; /* it is ending: its memory is gone before its pid is */
	if (error == -ETIMEDOUT)
		process->look_again_ns = monotonic_ns() + SILENT_AGAIN_NS;
	process->look_cost_ns = monotonic_ns() - known_ns;
	if (processes->fair)
		user_budget_charge(&processes->time, process->uid, known_ns, process->look_cost_ns);
	mappings_free(&mappings);
	process_info_free(&info);
	return error;
}

int processes_find_files(struct processes *processes, struct followed *process)
{
	struct mappings mappings = {};
	int error = mappings_read(process->pid, &mappings);

	if (!error)
		examine_files(processes, process, &mappings);
	mappings_free(&mappings);
	return error;
}

void processes_probe_all(struct processes *processes)
{
	processes->probe_later = false;
	for (size_t i = 0; i < processes->list.count; i++)
		probe_files(processes, processes->list.items[i]);
}
