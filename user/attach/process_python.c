/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides when to look at a Python again, which probes it needs, and what the BPF side gets; see process_python.h. */
#include "attach/process_python.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gputrace/maps.h>

#include "attach/probes/probes.h"
#include "attach/share/shares.h"
#include "base/monotonic.h"
#include "target/python/pypy.h"
#include "target/python/python.h"

#define LOOK_AGAIN_NS 5000000ULL /* first wait for something not there yet; doubles */
#define MAX_LOOKS 12		 /* 5 ms, 10 ms, ... 10 s */
#define PATIENCE_NS 300000000ULL /* before giving up an interpreter whose memory makes no sense */

/* Whether the functions that create subinterpreters in this process could not be probed. */
static bool makes_unseen(const struct followed *process)
{
	return any_of(process->files.count, i, process->files.items[i]->refused >> FILE_SUBINTERPRETERS & 1);
}

/*
 * Sets what the walker may do from now on with the examined program; nothing if that has ended. If the death of code
 * objects is not seen, the BPF side remembers none of them.
 */
static void set_bpf_python(struct processes *processes, const struct followed *process, uint32_t python_state,
			   const struct gpt_python *python)
{
	const struct gputrace_bpf *bpf = processes->files->programs->bpf;
	struct gpt_python_found found = {
		.pid = (uint32_t)process->pid,
		.python_state = python_state,
		.program = process->program,
		.known = python != NULL,
		.unsure = !process->deaths_seen,
		.several = makes_unseen(process),
	};
	LIBBPF_OPTS(bpf_test_run_opts, options);
	uint32_t zero = 0;
	int error;

	if (python)
		found.python = *python;
	error = bpf_map_update_elem(bpf_map__fd(bpf->maps.python_found), &zero, &found, BPF_ANY);
	if (!error)
		error = bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.python_record), &options);
	if (error)
		emit_note(processes->emit, processes->emit_context, (uint32_t)process->pid,
			  "pid %d: no Python stacks: the BPF side cannot be given its Python: %s", process->pid,
			  strerror(errno));
}

/* Without BPF, the agent itself sees the death of code objects and new interpreters. */
static void set_python(struct processes *processes, const struct followed *process, uint32_t python_state,
		       const struct gpt_python *python)
{
	if (processes->shares)
		shares_set_python(processes->shares, process->pid, python_state, python, false);
	else
		set_bpf_python(processes, process, python_state, python);
}

static void look_at(struct followed *process, uint64_t when_ns)
{
	/* A look is due already: many libraries are mapped in the time of one look. */
	if (process->look_again_ns && process->look_again_ns <= when_ns)
		return;
	process->looks++;
	process->look_again_ns = when_ns;
}

static void look_again(struct followed *process)
{
	if (process->looks < MAX_LOOKS)
		look_at(process, monotonic_ns() + (LOOK_AGAIN_NS << process->looks));
}

/* Whether the first look at an unwalkable interpreter was only just now. */
static bool is_young(struct followed *process)
{
	uint64_t now_ns = monotonic_ns();

	if (!process->unfit_since_ns)
		process->unfit_since_ns = now_ns;
	return now_ns - process->unfit_since_ns < PATIENCE_NS;
}

static bool holds_python(const struct probed_file *file)
{
	return file->kind == LIBRARY_PYTHON || file->kind == LIBRARY_PYTHON_STATIC;
}

/* Looks for Python in files whose names do not show it: files that were examined already are not examined again. */
static int find_in_others(const struct followed *process, const struct mappings *mappings, int error,
			  struct python_info *out, char *why, size_t why_size)
{
	for (size_t i = 0; i < process->files.count && error; i++) {
		const struct probed_file *file = process->files.items[i];
		const struct mapping *mapping =
			holds_python(file) ? mappings_of_file(mappings, file->device, file->inode) : NULL;

		if (mapping)
			error = python_find_in(process->pid, mappings, mapping, error, out, why, why_size);
	}
	return error;
}

/* The probed file in which python_find found the interpreter. */
static struct probed_file *python_file(const struct followed *process, const struct python_info *python)
{
	for (size_t i = 0; i < process->files.count; i++) {
		struct probed_file *file = process->files.items[i];

		if (holds_python(file) && python->inode && file->inode == python->inode &&
		    file->device == python->device)
			return file;
	}
	return NULL;
}

/* Called before the walker starts, if Python's type objects are set up by then; true if deaths are seen from now on. */
static bool watch_deaths(struct processes *processes, struct followed *process, struct probed_file *file,
			 const struct python_info *python)
{
	if (process->deaths_seen || !file || !python->dealloc_offset)
		return false;
	process->deaths_seen = !file_attach_dealloc(processes->files, file, python->dealloc_offset);
	return process->deaths_seen;
}

/* Called before the walker starts: it would miss a subinterpreter that is created in between. */
static void probe_subinterpreters(struct processes *processes, struct followed *process)
{
	for (size_t i = 0; !processes->shares && i < process->files.count; i++)
		file_attach_subinterpreters(processes->files, process->files.items[i]);
}

void python_examine(struct processes *processes, struct followed *process, const struct mappings *mappings,
		    const struct process_info *info, uint64_t known_ns)
{
	struct python_info python;
	char why[256] = "";
	int error = python_find(process->pid, mappings, &python, why, sizeof(why));
	struct probed_file *file;
	bool more;

	/* Later looks may not be permitted: the agent did the look at its start. */
	if (processes->shares && error && process->has_python) {
		python_info_free(&python);
		return;
	}
	error = find_in_others(process, mappings, error, &python, why, sizeof(why));
	file = processes->shares ? NULL : python_file(process, &python); /* without BPF nothing is probed */
	more = watch_deaths(processes, process, file, &python) || processes->shares;
	if (!error) {
		if (!process->has_python) {
			probe_subinterpreters(processes, process);
			set_python(processes, process, GPT_STACK_OK, &python.walk);
			emit_python(processes->emit, processes->emit_context, info, known_ns,
				    python.walk.layout.version, python.path ? python.path : "");
		} else if (more) {
			set_python(processes, process, GPT_STACK_OK, processes->shares ? &python.walk : NULL);
		}
		process->has_python = true;
		process->python = python.walk;
		if (file)
			file_attach_python(processes->files, file, &python);
		if (python.dealloc_offset || (processes->shares && python.walk.code_type))
			process->look_again_ns = 0;
		else
			look_again(process); /* its type objects are not set up yet */
	} else if (error == -EAGAIN) {
		/* It is ready for its first frame; the layout is checked as soon as it has one. */
		if (python.walk.runtime && !process->has_python) {
			probe_subinterpreters(processes, process);
			set_python(processes, process, GPT_STACK_OK, &python.walk);
		}
		look_again(process);
	} else if (error == -EPROTO && is_young(process)) {
		/* A starting interpreter may be seen half set up; it is reported if that has not changed by then. */
		look_again(process);
		look_at(process, process->unfit_since_ns + PATIENCE_NS);
	} else {
		if (error == -ENOENT && pypy_is_mapped(process->pid, mappings)) {
			snprintf(why, sizeof(why), PYPY_WHY);
			error = -ENOTSUP;
		}
		set_python(processes, process, error == -ENOENT ? GPT_STACK_NO_PYTHON : GPT_STACK_UNKNOWN_LAYOUT, NULL);
		if (error != -ENOENT && !process->python_reported) {
			emit_note(processes->emit, processes->emit_context, (uint32_t)process->pid,
				  "%s (pid %d): no Python stacks: %s", info->comm, process->pid, why);
			process->python_reported = true;
		}
	}
	python_info_free(&python);
}
