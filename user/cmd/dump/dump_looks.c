/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/dump/dump_looks.h"

#include <stdio.h>
#include <string.h>

#include "base/msg.h"
#include "base/path.h"
#include "cmd/process/print.h"
#include "cmd/process/target_check.h"
#include "target/library.h"
#include "target/process.h"

#define PROCESSES_MAX 256 /* the most that are looked at */

struct choice {
	look_list *looks;
	enum look_depth depth;
	bool gpu;	   /* processes that have CUDA; else those that have Python */
	unsigned left_out; /* beyond PROCESSES_MAX */
};

static bool is_python(const char *path)
{
	return library_kind_of_name(path) == LIBRARY_PYTHON || !strncmp(path_base(path), "python", 6);
}

static int start_look(look_list *looks, pid_t pid, enum look_depth depth)
{
	struct look look = {0};
	int error = look_start(&look, pid, depth);

	array_push(looks, look);
	return error;
}

static int add_if_chosen(pid_t pid, void *context)
{
	struct choice *choice = context;
	bool chosen = mappings_have(pid, choice->gpu ? library_is_cuda : is_python);

	if (chosen && choice->looks->count < PROCESSES_MAX) {
		if (start_look(choice->looks, pid, choice->depth)) /* it is dropped later */
			msg_error("pid %d: %s", (int)pid,
				  choice->looks->items[choice->looks->count - 1].process->refused);
	} else {
		choice->left_out += chosen;
	}
	return 0;
}

/* Adds the processes that the command line names, and their descendants; returns how many were named. */
static size_t add_named(look_list *looks, const struct pid_list *pids, enum look_depth depth)
{
	size_t named;

	for (size_t i = 0; i < pids->list.count; i++) {
		pid_t pid = pids->list.items[i], group = target_thread_group(pid);

		if (group && group != pid)
			msg_warn("pid %d: is a thread of process %d, which is looked at", (int)pid, (int)group);
		start_look(looks, group ? group : pid, depth);
	}
	named = looks->count;
	for (size_t i = 0; i < named; i++)
		if (!looks->items[i].process->refused)
			peers_add_family(looks, looks->items[i].process->pid, depth);
	return named;
}

size_t dump_looks_start(look_list *looks, const struct options *options, enum look_depth depth)
{
	struct choice choice = {.looks = looks, .depth = depth, .gpu = options->gpu_processes};

	if (options->pids.list.count)
		return add_named(looks, &options->pids, depth);
	process_each(add_if_chosen, &choice);
	if (choice.left_out && depth != LOOK_STACKS)
		msg_warn("%u more processes are not looked at", choice.left_out);
	return looks->count;
}

void dump_say_none(const struct options *options)
{
	msg_error("no process has %s loaded; name one with -p PID", options->gpu_processes ? "CUDA" : "Python");
}

struct printed {
	struct dump_findings found;
	bool json;
};

static int print_found(FILE *out, const struct screen *screen, void *context)
{
	const struct printed *printed = context;

	if (printed->json)
		dump_print_json(out, &printed->found);
	else
		dump_print_text(out, &printed->found);
	return 0;
}

int dump_looks_print(const struct options *options, const look_list *looks, const struct graph *graph,
		     const rank_list *ranks)
{
	ras_list services;
	collective_list collectives;
	struct printed printed = {{looks, graph, ranks, &collectives, &services},
				  options->format && !strcmp(options->format, "json")};
	int error;

	collectives_find(&collectives, looks, ranks);
	ras_find(&services, looks);
	if (options->asks_ras)
		ras_ask_all(&services);
	error = print_on_stdout(print_found, &printed);
	array_free(&services);
	collectives_free(&collectives);
	return error;
}
