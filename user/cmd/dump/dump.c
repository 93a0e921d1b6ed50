/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace dump: looks once, prints, and derives the exit code. */
#include "cmd/commands.h"

#include "base/msg.h"
#include "cmd/dump/dump_looks.h"

/* Whether a process is another one or its descendant.  Parents were read one by one, so they may form a circle. */
static bool is_of_family(const look_list *looks, const struct dump_process *process, pid_t ancestor)
{
	for (size_t steps = 0; process && steps <= looks->count; steps++) {
		if (process->pid == ancestor)
			return true;
		process = rank_parent(looks, process);
	}
	return false;
}

/* Whether the process or a descendant moves: a launcher waits while its child works. */
static bool family_moves(const look_list *looks, pid_t pid)
{
	return any_of(looks->count, i,
		      looks->items[i].process->moves && is_of_family(looks, looks->items[i].process, pid));
}

static enum exit_code judge_looks(const look_list *looks, size_t named)
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

/* For processes that were found, not named: drops those that have ended or may not be looked at.  Returns how many are
 * left. */
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
	code = dump_looks_print(options, &looks, &graph, &ranks) ? EXIT_FAILED : judge_looks(&looks, named);
	array_free(&ranks);
	graph_free(&graph);
	looks_free(&looks);
	return code;
}
