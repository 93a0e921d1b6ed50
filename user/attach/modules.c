/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/modules.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gputrace/maps.h>

#include "attach/emit/module_names.h"
#include "attach/probes/probes.h"
#include "attach/processes.h"
#include "attach/share/shares.h"
#include "base/array.h"
#include "base/monotonic.h"

#define LOOK_SOON_NS 20000000ULL /* while the program starts, or imports PyTorch, which takes a second and more */
#define START_NS 10000000000ULL
#define LOOK_NS 1000000000ULL
#define LOOK_RARELY_NS 10000000000ULL
#define CHECK_NS 1000000000ULL
#define CHECK_REST 10u /* a check is followed by a pause of at least this many times its duration */

struct process_modules {
	struct python_module_class class; /* code 0: nothing is marked */
	struct module_names *names;
	uint64_t since_ns, looked_ns; /* since when PyTorch is looked for, and when last */
	uint64_t check_ns;	      /* when it is looked whether all is as it was */
	bool refused;		      /* what is marked gets no modules */
};

void process_modules_forget(struct process_modules **modules)
{
	if (*modules)
		module_names_free((*modules)->names);
	free(*modules);
	*modules = NULL;
}

void process_modules_mark_again(struct process_modules *modules)
{
	if (modules)
		modules->class.code = modules->looked_ns = 0;
}

/* Sets the walker's code; false: the process executes another program by now, or that fails. */
static bool set_walker_code(struct processes *processes, const struct followed *process, uint64_t code)
{
	struct gpt_modules_found found = {.pid = (uint32_t)process->pid,
					  .generation = module_names_generation(process->modules->names),
					  .program = process->program,
					  .code = code};
	LIBBPF_OPTS(bpf_test_run_opts, options);
	const struct gputrace_bpf *bpf;
	uint32_t zero = 0;

	if (processes->shares) {
		shares_set_modules(processes->shares, process->pid, code, found.generation);
		return true;
	}
	bpf = processes->files->programs->bpf;
	return !bpf_map_update_elem(bpf_map__fd(bpf->maps.modules_found), &zero, &found, BPF_ANY) &&
	       !bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.modules_record), &options) && !options.retval;
}

/*
 * Marks the code of Module.__call__ if it is there, and is not marked yet. Where it is not found the mark stays: the
 * target may have changed what was read meanwhile, and the walker sees the death of the code.
 */
static void look_for_class(struct processes *processes, struct followed *process, const struct python_reader *reader)
{
	struct process_modules *modules = process->modules;
	struct python_module_class class;

	if (!python_module_class_find(reader, &process->python, &class) || class.code == modules->class.code)
		return;
	modules->class = class;
	if (!set_walker_code(processes, process, class.code)) {
		modules->class.code = 0;
		return;
	}
	/* It may have been freed before the walker knew that its death matters. */
	if (!python_module_class_find(reader, &process->python, &class) || class.code != modules->class.code) {
		modules->class.code = 0;
		set_walker_code(processes, process, 0);
	}
}

static void leave_out_modules(struct processes *processes, struct followed *process, const char *why)
{
	process->modules->refused = true;
	set_walker_code(processes, process, 0);
	emit_note(processes->emit, processes->emit_context, (uint32_t)process->pid,
		  "pid %d: no layers of its PyTorch model: %s", process->pid, why);
}

/* Without root an agent may have shown the Python of a process that gputrace may not read. */
static bool may_read(const struct followed *process)
{
	uint64_t word;
	int error = process_read_memory(process->pid, process->python.runtime, &word, sizeof(word));

	return error != -EPERM && error != -EACCES;
}

static bool is_torch(const char *path)
{
	return library_kind_of_name(path) == LIBRARY_TORCH;
}

/* How often PyTorch is looked for. A program that neither calls CUDA nor has libtorch has nothing that is named. */
static uint64_t look_interval(const struct followed *process, uint64_t now_ns)
{
	const struct process_modules *modules = process->modules;
	bool has_torch = followed_maps(process, LIBRARY_TORCH), is_young = now_ns < modules->since_ns + START_NS;
	bool calls = process->called_ns, calls_since = calls && now_ns < process->called_ns + START_NS;

	if (!modules->class.code && (has_torch || is_young || calls_since))
		return LOOK_SOON_NS;
	return has_torch || calls ? LOOK_NS : LOOK_RARELY_NS;
}

static void inspect_modules(struct processes *processes, struct followed *process, uint64_t now_ns, bool last)
{
	struct process_modules *modules = process->modules;
	struct python_reader reader = {.pid = process->pid, .layout = &process->python.layout};

	if (now_ns >= modules->looked_ns + look_interval(process, now_ns) && !last) {
		look_for_class(processes, process, &reader);
		modules->looked_ns = now_ns;
		if (!modules->class.code && !may_read(process) && mappings_have(process->pid, is_torch)) {
			leave_out_modules(processes, process, process_explain_refused(process->pid));
			return;
		}
	}
	if (!module_names_work(modules->names, &reader, &modules->class, last)) {
		leave_out_modules(processes, process, "what torch.nn.Module's __call__ has as `self` is no module");
		return;
	}
	if (now_ns >= modules->check_ns && !last) {
		uint64_t begin_ns = monotonic_ns();

		if (module_names_check(modules->names, &reader, &modules->class))
			set_walker_code(processes, process, modules->class.code);
		modules->check_ns = now_ns + CHECK_NS + (monotonic_ns() - begin_ns) * CHECK_REST;
	}
}

/* Until the deaths of code objects are seen the mark could outlive its code. */
static bool can_have_modules(const struct processes *processes, const struct followed *process)
{
	return process->has_python && (process->deaths_seen || processes->shares);
}

static struct process_modules *modules_of(struct processes *processes, struct followed *process)
{
	if (!process->modules) {
		process->modules = xcalloc(1, sizeof(*process->modules));
		process->modules->names = module_names_new(processes->emit, processes->emit_context);
	}
	return process->modules;
}

void modules_note_stack(struct processes *processes, const struct gpt_pystack *stack)
{
	struct followed *process = processes_find(processes, (pid_t)stack->pid);

	if (process && can_have_modules(processes, process))
		module_names_note(modules_of(processes, process)->names, stack);
}

void modules_tick(struct processes *processes, uint64_t now_ns, bool last)
{
	for (size_t i = 0; i < processes->list.count; i++) {
		struct followed *process = processes->list.items[i];
		struct process_modules *modules;
		uint64_t begin_ns;

		if (!can_have_modules(processes, process))
			continue;
		modules = modules_of(processes, process);
		if (!modules->since_ns)
			modules->since_ns = now_ns;
		if (modules->refused || (!processes_have_time(processes, process, now_ns) && !last))
			continue;
		begin_ns = monotonic_ns();
		inspect_modules(processes, process, now_ns, last);
		if (processes->fair)
			user_budget_charge(&processes->time, process->uid, begin_ns, monotonic_ns() - begin_ns);
	}
}
