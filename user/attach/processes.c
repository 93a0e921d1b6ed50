/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of followed processes. */
#include "attach/processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <gputrace/agent.h>
#include <gputrace/maps.h>

#include "attach/emit.h"
#include "base/msg.h"
#include "target/python.h"

#define LOOK_AGAIN_NS 5000000ULL /* first wait for something not there yet; doubles */
#define MAX_LOOKS 12		 /* 5 ms, 10 ms, ... 10 s */
#define PATIENCE_NS 300000000ULL /* before an interpreter whose memory makes no sense is given up */

static int processes_map(const struct processes *processes)
{
	return bpf_map__fd(processes->files->programs->bpf->maps.processes);
}

struct followed *processes_find(struct processes *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->list.count; i++)
		if (processes->list.items[i]->pid == pid)
			return processes->list.items[i];
	return NULL;
}

struct followed *processes_add(struct processes *processes, pid_t pid, bool ours, bool inherited)
{
	struct gpt_process_state state = {
		.ours = ours,
		.python_state = GPT_STACK_UNKNOWN_LAYOUT,
		.generation = monotonic_ns(),
	};
	struct followed *process = processes_find(processes, pid);
	uint32_t key = (uint32_t)pid;

	if (process)
		return process;
	/* An entry that is there already (a child of a followed process) knows more than we do. */
	if (!inherited && bpf_map_update_elem(processes_map(processes), &key, &state, BPF_NOEXIST) && errno != EEXIST)
		return NULL;
	process = xcalloc(1, sizeof(*process));
	process->pid = pid;
	process->ours = ours;
	process->forked = inherited;
	array_push(&processes->list, process);
	return process;
}

void processes_remove(struct processes *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->list.count; i++) {
		struct followed *process = processes->list.items[i];

		if (process->pid != pid)
			continue;
		neighbour_forget(&process->neighbour);
		ride_forget(&process->ride);
		links_detach(&process->anew);
		array_free(&process->files);
		free(process);
		processes->list.items[i] = processes->list.items[--processes->list.count];
		return;
	}
}

void processes_forget_program(struct processes *processes, struct followed *process)
{
	(void)processes;
	neighbour_forget(&process->neighbour);
	ride_forget(&process->ride);
	links_detach(&process->anew);
	process->files.count = 0;
	process->agent_live = process->agent_calls = process->agent_stopped = process->forked = false;
	process->entry = (struct agent_entry){.state = ENTRY_WAITING};
	process->has_python = process->python_told = process->told = false;
	process->looks = 0;
	process->unfit_since_ns = 0;
	process->look_again_ns = 0;
}

static void use_file(struct followed *process, struct probed_file *file)
{
	for (size_t i = 0; i < process->files.count; i++)
		if (process->files.items[i] == file)
			return;
	array_push(&process->files, file);
}

/* Every distinct file that the process has mapped with code in it. */
static void examine_files(struct processes *processes, struct followed *process, const struct mappings *mappings)
{
	const struct mapping *before = NULL;

	for (size_t i = 0; i < mappings->list.count; i++) {
		const struct mapping *mapping = &mappings->list.items[i];
		struct probed_file *file;

		if (!mapping->executable || !mapping->inode)
			continue;
		if (before && before->inode == mapping->inode && before->device == mapping->device)
			continue;
		before = mapping;
		file = files_get(processes->files, process->pid, mapping);
		if (!file || file->kind == LIBRARY_OTHER)
			continue;
		use_file(process, file);
	}
}

static void probe_agent(struct processes *processes, struct followed *process, struct probed_file *file)
{
	int error = file_attach_agent(processes->files, file);

	if (!error && process->agent_older && !process->agent_live)
		error = agent_ask_anew(&process->anew, file, process->pid);
	process->agent_older = false;
	if (error && error != -ESRCH)
		msg_debug("pid %d: its agent cannot be asked: %s", process->pid, strerror(-error));
}

/*
 * Python is known by now, so that the first call has its stack; libcudart before libcuda, so that no driver call
 * inside a runtime call is taken for one of its own.
 */
static void probe_files(struct processes *processes, struct followed *process)
{
	static const enum library_kind order[] = {LIBRARY_AGENT, LIBRARY_CUPTI, LIBRARY_CUDART_STATIC, LIBRARY_CUDART,
						  LIBRARY_CUDA};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (size_t j = 0; j < process->files.count; j++) {
			struct probed_file *file = process->files.items[j];

			if (file->kind != order[i])
				continue;
			if (file->kind == LIBRARY_AGENT)
				probe_agent(processes, process, file);
			else if (file->kind == LIBRARY_CUPTI)
				file_attach_cupti(processes->files, file);
			else if (!process->agent_calls)
				file_attach_calls(processes->files, file);
		}
}

/* What the walker may do with the process from now on. */
static void set_python(struct processes *processes, const struct followed *process, uint32_t python_state,
		       const struct gpt_python *python)
{
	struct gpt_process_state state;
	uint32_t key = (uint32_t)process->pid;

	if (bpf_map_lookup_elem(processes_map(processes), &key, &state))
		return;
	state.python_state = python_state;
	if (python)
		state.python = *python;
	bpf_map_update_elem(processes_map(processes), &key, &state, BPF_EXIST);
}

static void look_again(struct followed *process)
{
	if (process->look_again_ns) /* settled already: many libraries are mapped in the time of one look */
		return;
	if (process->looks >= MAX_LOOKS) {
		process->look_again_ns = 0;
		return;
	}
	process->look_again_ns = monotonic_ns() + (LOOK_AGAIN_NS << process->looks++);
}

/* Whether the first look at an interpreter that cannot be walked was only just now. */
static bool is_young(struct followed *process)
{
	uint64_t now_ns = monotonic_ns();

	if (!process->unfit_since_ns)
		process->unfit_since_ns = now_ns;
	return now_ns - process->unfit_since_ns < PATIENCE_NS;
}

/* The file among the probed ones that python_find found the interpreter in. */
static struct probed_file *python_file(const struct followed *process, const struct python_info *python)
{
	struct stat stat;

	for (size_t i = 0; i < process->files.count; i++) {
		struct probed_file *file = process->files.items[i];

		if ((file->kind == LIBRARY_PYTHON || file->kind == LIBRARY_PYTHON_STATIC) &&
		    !fstat(python->fd, &stat) && stat.st_ino == file->inode)
			return file;
	}
	return NULL;
}

static void probe_dealloc(struct processes *processes, struct followed *process, const struct python_info *python)
{
	struct probed_file *file = python_file(process, python);

	if (!python->dealloc_offset) {
		look_again(process); /* its type objects are not set up yet */
		return;
	}
	if (file)
		file_attach_dealloc(processes->files, file, python->dealloc_offset);
	process->look_again_ns = 0;
}

/* Before the walker begins: it would not know of a second interpreter that is made between. */
static void probe_making(struct processes *processes, struct followed *process)
{
	for (size_t i = 0; i < process->files.count; i++)
		file_attach_making(processes->files, process->files.items[i]);
}

static void examine_python(struct processes *processes, struct followed *process, const struct mappings *mappings,
			   const struct process_info *info, uint64_t known_ns)
{
	struct python_info python;
	struct probed_file *file;
	char why[256] = "", note[384];
	int error = python_find(process->pid, mappings, &python, why, sizeof(why));

	if (!error) {
		if (!process->has_python) {
			probe_making(processes, process);
			set_python(processes, process, GPT_STACK_OK, &python.walk);
			emit_process(processes->emit, processes->emit_context, info, known_ns,
				     python.walk.layout.version, python.path ? python.path : "");
		}
		process->has_python = true;
		file = python_file(process, &python);
		if (file)
			file_attach_python(processes->files, file, &python);
		probe_dealloc(processes, process, &python);
	} else if (error == -EAGAIN) {
		/* Ready for its first frame; checked against its state as soon as it has one. */
		if (python.walk.runtime && !process->has_python) {
			probe_making(processes, process);
			set_python(processes, process, GPT_STACK_OK, &python.walk);
		}
		look_again(process);
	} else if (error == -EPROTO && is_young(process)) {
		look_again(process); /* an interpreter that starts may be seen half set up */
	} else {
		set_python(processes, process, error == -ENOENT ? GPT_STACK_NO_PYTHON : GPT_STACK_UNKNOWN_LAYOUT, NULL);
		if (error != -ENOENT && !process->python_told) {
			snprintf(note, sizeof(note), "%s (pid %d): no Python stacks: %s", info->comm, process->pid,
				 why);
			emit_text(processes->emit, processes->emit_context, GPT_NOTE, (uint32_t)process->pid, note);
			process->python_told = true;
		}
	}
	python_info_free(&python);
}

int processes_examine(struct processes *processes, struct followed *process)
{
	struct mappings mappings = {};
	struct process_info info = {};
	uint64_t known_ns = monotonic_ns(); /* what is read from here on may be older than an exec after it */
	int error = process_info_read(process->pid, &info);
	bool first;

	if (error)
		return error;
	error = mappings_read(process->pid, &mappings);
	if (!error) {
		first = !process->told;
		if (first)
			emit_process(processes->emit, processes->emit_context, &info, known_ns, 0, "");
		process->told = true;
		processes_update_agent(processes, process);
		examine_files(processes, process, &mappings);
		for (size_t i = 0; first && !process->forked && i < process->files.count; i++)
			process->agent_older |= process->files.items[i]->kind == LIBRARY_AGENT;
		examine_python(processes, process, &mappings, &info, known_ns);
		if (!processes->probe_later)
			probe_files(processes, process);
	}
	mappings_free(&mappings);
	process_info_free(&info);
	return error;
}

void processes_probe_all(struct processes *processes)
{
	processes->probe_later = false;
	for (size_t i = 0; i < processes->list.count; i++)
		probe_files(processes, processes->list.items[i]);
}

bool processes_update_agent(struct processes *processes, struct followed *process)
{
	uint32_t key = (uint32_t)process->pid;
	bool live = process->agent_live, calls = process->agent_calls;
	uint8_t state;

	process->agent_live =
		!bpf_map_lookup_elem(bpf_map__fd(processes->files->programs->bpf->maps.agents), &key, &state);
	process->agent_calls = process->agent_live && state == GPT_AGENT_READY;
	if (process->agent_live)
		links_detach(&process->anew);
	return process->agent_live != live || process->agent_calls != calls;
}

void processes_close(struct processes *processes)
{
	while (processes->list.count)
		processes_remove(processes, processes->list.items[0]->pid);
	array_free(&processes->list);
}
