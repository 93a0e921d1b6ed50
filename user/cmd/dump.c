/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes are looked at, and what of that is an exit code. */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "cmd/dump_looks.h"
#include "cmd/print.h"
#include "cmd/target_check.h"
#include "target/library.h"
#include "target/process.h"

#define PROCESSES_MAX 256 /* that are looked at */

struct choice {
	look_list *looks;
	enum look_depth depth;
	bool gpu;	   /* those that have CUDA; else those that have Python */
	unsigned left_out; /* for want of room */
};

static bool is_chosen(const struct choice *choice, const char *path)
{
	enum library_kind kind = library_kind_of_name(path);

	if (choice->gpu)
		return kind == LIBRARY_CUDA || kind == LIBRARY_CUDART;
	return kind == LIBRARY_PYTHON || !strncmp(path_base(path), "python", 6);
}

static int start(look_list *looks, pid_t pid, enum look_depth depth)
{
	struct look look = {0};
	int error = look_start(&look, pid, depth);

	if (error)
		msg_error("pid %d: no look at it can be started (%s); name fewer processes", (int)pid,
			  strerror(-error));
	else
		array_push(looks, look);
	return error;
}

static int add_if_chosen(pid_t pid, void *context)
{
	struct choice *choice = context;
	struct mappings mappings = {0};
	bool chosen = false;

	if (!mappings_read(pid, &mappings))
		for (size_t i = 0; i < mappings.list.count && !chosen; i++)
			chosen = mappings.list.items[i].inode && is_chosen(choice, mappings.list.items[i].path);
	mappings_free(&mappings);
	if (chosen && choice->looks->count < PROCESSES_MAX)
		start(choice->looks, pid, choice->depth);
	else
		choice->left_out += chosen;
	return 0;
}

/* Those that the command line names, and their descendants; how many were named. */
static size_t add_named(look_list *looks, const struct pid_list *pids, enum look_depth depth)
{
	size_t named;

	for (size_t i = 0; i < pids->list.count; i++) {
		pid_t pid = pids->list.items[i], group = target_thread_group(pid);

		if (group && group != pid)
			msg_warn("pid %d: is a thread of process %d, which is looked at", (int)pid, (int)group);
		start(looks, group ? group : pid, depth);
	}
	named = looks->count;
	for (size_t i = 0; i < named; i++)
		if (!looks->items[i].process->refused)
			peers_add_family(looks, looks->items[i].process->pid, depth);
	return named;
}

/* A process that none of its family moves with stands still: a launcher waits while its child works. */
static bool family_moves(const look_list *looks, pid_t pid)
{
	for (size_t i = 0; i < looks->count; i++) {
		const struct dump_process *process = looks->items[i].process;

		if (process->pid == pid && process->moves)
			return true;
		if (process->parent == pid && process->pid != pid && family_moves(looks, process->pid))
			return true;
	}
	return false;
}

static enum exit_code verdict(const look_list *looks, size_t named)
{
	enum exit_code code = looks->count ? EXIT_GOOD : EXIT_FAILED;

	for (size_t i = 0; i < named; i++) {
		const struct dump_process *process = looks->items[i].process;

		if (process->refused || process->silent) {
			msg_error("pid %d: %s", (int)process->pid,
				  process->refused ? process->refused : process->no_python);
			return EXIT_FAILED;
		}
		if (!family_moves(looks, process->pid))
			code = EXIT_STANDS_STILL;
	}
	return code;
}

/* Of those that no one named: what has ended meanwhile, or may not be looked at, is not missed.  How many are left. */
static size_t drop_refused(look_list *looks)
{
	size_t kept = 0;

	for (size_t i = 0; i < looks->count; i++)
		if (looks->items[i].process->refused)
			arena_free(looks->items[i].arena);
		else
			looks->items[kept++] = looks->items[i];
	return looks->count = kept;
}

struct printed {
	const look_list *looks;
	const struct graph *graph;
	const rank_list *ranks;
	bool json;
};

static int print(FILE *out, const struct screen *screen, void *context)
{
	const struct printed *printed = context;

	if (printed->json)
		dump_print_json(out, printed->looks, printed->graph, printed->ranks);
	else
		dump_print_text(out, printed->looks, printed->graph, printed->ranks);
	return 0;
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

int dump_looks_print(const struct options *options, const look_list *looks, const struct graph *graph,
		     const rank_list *ranks)
{
	struct printed printed = {looks, graph, ranks, options->format && !strcmp(options->format, "json")};

	return print_on_stdout(print, &printed);
}

enum exit_code dump_command(const struct options *options)
{
	look_list looks = {0};
	struct graph graph;
	rank_list ranks;
	enum exit_code code;
	size_t named;

	if (options->hang_ns)
		return dump_watch(options);
	named = dump_looks_start(&looks, options, options->locals ? LOOK_LOCALS : LOOK_ALL);
	if (!looks.count && !options->pids.list.count)
		dump_say_none(options);
	looks_finish(&looks);
	if (!options->pids.list.count)
		named = drop_refused(&looks);
	peers_find(&looks);
	graph_make(&graph, &looks);
	ranks_find(&ranks, &looks);
	code = dump_looks_print(options, &looks, &graph, &ranks) ? EXIT_FAILED : verdict(&looks, named);
	array_free(&ranks);
	graph_free(&graph);
	looks_free(&looks);
	return code;
}
