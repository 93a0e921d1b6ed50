/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/watch.h"

#include <string.h>

#include "target/process.h"

#define RUNS_SHARE 50 /* running for more than 1/50 of the time is progress */
#define FAMILY_DEPTH 64

/* ---- from look to look --------------------------------------------------------------------------------------- */

static struct watched *find_watched(const struct watch *watch, pid_t pid)
{
	return array_find(&watch->list, item, item->pid == pid);
}

/* Each look has the threads in the same order, but for those that began or ended: the search goes on from `from`. */
static const struct watched_thread *find_thread(const struct watched *watched, pid_t tid, size_t *from)
{
	for (size_t i = 0; i < watched->threads.count; i++) {
		size_t at = (*from + i) % watched->threads.count;

		if (watched->threads.items[at].tid == tid) {
			*from = at + 1;
			return &watched->threads.items[at];
		}
	}
	return NULL;
}

static void compare_process(struct watched *watched, const struct dump_process *process, uint64_t now_ns)
{
	bool runs = false, stacks = process->thread_count != watched->threads.count;
	size_t from = 0;

	for (unsigned i = 0; i < process->thread_count; i++) {
		const struct dump_thread *thread = &process->threads[i];
		const struct watched_thread *old = find_thread(watched, thread->tid, &from);

		stacks |= !old || old->stack_hash != thread->stack_hash || thread->torn;
		runs |= old && (thread->run_ns - old->runs.run_ns) * RUNS_SHARE > now_ns - watched->seen_ns;
	}
	if (process->silent)
		return;
	if (stacks)
		watched->line_ns = now_ns;
	if (stacks || runs)
		watched->still_ns = now_ns;
}

static struct watched_thread next_of(const struct watched_thread *old, const struct dump_thread *thread,
				     uint64_t now_ns)
{
	struct watched_thread next = {.tid = thread->tid,
				      .runs = runs_of(thread),
				      .stack_hash = thread->stack_hash,
				      .has_frames = thread->tstate && !thread->torn && !thread->unreadable,
				      .not_run_ns = now_ns,
				      .same_frames_ns = now_ns};

	if (old && has_not_run_since(&old->runs, thread))
		next.not_run_ns = old->not_run_ns;
	if (old && old->has_frames && next.has_frames && old->stack_hash == next.stack_hash)
		next.same_frames_ns = old->same_frames_ns;
	return next;
}

/* is_same: it is the process that was watched before, not a later one with the same pid. */
static void keep_process(struct watched *watched, const struct dump_process *process, bool is_same, uint64_t now_ns)
{
	struct watched old = *watched;
	size_t from = 0;

	memset(&watched->threads, 0, sizeof(watched->threads));
	watched->seen_ns = now_ns;
	for (unsigned i = 0; i < process->thread_count; i++) {
		const struct dump_thread *thread = &process->threads[i];

		array_push(&watched->threads,
			   next_of(is_same ? find_thread(&old, thread->tid, &from) : NULL, thread, now_ns));
	}
	array_free(&old.threads);
}

static void take_process(struct watch *watch, const struct dump_process *process, uint64_t now_ns)
{
	struct watched *watched = find_watched(watch, process->pid);
	uint64_t start_ticks;
	bool is_same;

	if (process->refused || process_start_ticks(process->pid, &start_ticks))
		return;
	if (!watched) {
		array_push(&watch->list, (struct watched){.pid = process->pid});
		watched = &watch->list.items[watch->list.count - 1];
	}
	is_same = watched->seen_ns && watched->start_ticks == start_ticks;
	if (is_same) {
		compare_process(watched, process, now_ns);
	} else {
		watched->start_ticks = start_ticks;
		watched->still_ns = watched->line_ns = now_ns;
		watched->judged_ns = 0;
		watched->hung = false;
	}
	watched->parent = process->parent;
	keep_process(watched, process, is_same, now_ns);
}

static bool has_ended(const struct watched *watched)
{
	uint64_t start_ticks;

	return process_start_ticks(watched->pid, &start_ticks) || start_ticks != watched->start_ticks ||
	       process_state(watched->pid) == 'Z';
}

static void take_end(const struct watch *watch, const struct watched *ended, uint64_t now_ns)
{
	struct watched *parent = find_watched(watch, ended->parent);

	if (parent && parent != ended)
		parent->still_ns = parent->line_ns = now_ns;
}

void watch_take(struct watch *watch, const look_list *looks, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < looks->count; i++)
		take_process(watch, looks->items[i].process, now_ns);
	for (size_t i = 0; i < watch->list.count; i++)
		if (watch->list.items[i].seen_ns != now_ns && has_ended(&watch->list.items[i]))
			take_end(watch, &watch->list.items[i], now_ns);
	for (size_t i = 0; i < watch->list.count; i++)
		if (watch->list.items[i].seen_ns == now_ns)
			watch->list.items[kept++] = watch->list.items[i];
		else
			array_free(&watch->list.items[i].threads);
	watch->list.count = kept;
}

static void say_since(const struct watched *watched, const struct dump_process *process)
{
	size_t from = 0;

	for (unsigned i = 0; i < process->thread_count; i++) {
		struct dump_thread *thread = &process->threads[i];
		const struct watched_thread *known = find_thread(watched, thread->tid, &from);

		/* The watch's times are ends of looks, and the latest one began before. */
		if (known && known->not_run_ns + thread->not_run_ns < process->begun_ns)
			thread->not_run_ns = process->begun_ns - known->not_run_ns;
		if (known && known->same_frames_ns + thread->same_frames_ns < process->begun_ns)
			thread->same_frames_ns = process->begun_ns - known->same_frames_ns;
	}
}

void watch_say_since(const struct watch *watch, const look_list *looks)
{
	for (size_t i = 0; i < looks->count; i++) {
		const struct watched *watched = find_watched(watch, looks->items[i].process->pid);

		if (watched)
			say_since(watched, looks->items[i].process);
	}
}

void watch_free(struct watch *watch)
{
	for (size_t i = 0; i < watch->list.count; i++)
		array_free(&watch->list.items[i].threads);
	array_free(&watch->list);
}

void watch_judged(struct watch *watch, pid_t pid, bool hangs, uint64_t now_ns)
{
	struct watched *watched = find_watched(watch, pid);

	if (!watched)
		return;
	watched->judged_ns = now_ns;
	watched->hung = hangs;
}

/* ---- a process with its descendants -------------------------------------------------------------------------- */

static bool is_child(const struct dump_process *process, pid_t pid)
{
	return process->parent == pid && process->pid != pid;
}

/* The latest progress among the process and its descendants. */
static void keep_latest(const struct watch *watch, const look_list *looks, pid_t pid, unsigned depth,
			uint64_t *still_ns, uint64_t *line_ns)
{
	const struct watched *watched = find_watched(watch, pid);

	if (watched && watched->still_ns > *still_ns)
		*still_ns = watched->still_ns;
	if (watched && watched->line_ns > *line_ns)
		*line_ns = watched->line_ns;
	for (size_t i = 0; i < looks->count && depth < FAMILY_DEPTH; i++)
		if (is_child(looks->items[i].process, pid))
			keep_latest(watch, looks, looks->items[i].process->pid, depth + 1, still_ns, line_ns);
}

enum watch_state watch_state_of(const struct watch *watch, const look_list *looks, pid_t pid, uint64_t limit_ns,
				uint64_t now_ns)
{
	const struct watched *watched = find_watched(watch, pid);
	uint64_t still_ns = 0, line_ns = 0;

	keep_latest(watch, looks, pid, 0, &still_ns, &line_ns);
	if (!watched || now_ns - watched->judged_ns < limit_ns || (watched->hung && still_ns <= watched->judged_ns))
		return WATCH_GETS_ON;
	if (now_ns - line_ns >= WATCH_RUNS_TIMES * limit_ns)
		return WATCH_AT_LINE;
	return now_ns - still_ns >= limit_ns ? WATCH_STILL : WATCH_GETS_ON;
}

static void settle_tree(const look_list *looks, pid_t pid, unsigned depth)
{
	for (size_t i = 0; i < looks->count; i++) {
		struct dump_process *process = looks->items[i].process;

		if (is_child(process, pid) && depth < FAMILY_DEPTH)
			settle_tree(looks, process->pid, depth + 1);
		if (process->pid != pid)
			continue;
		process->moves = false;
		for (unsigned k = 0; k < process->thread_count; k++)
			process->threads[k].moves = false;
	}
}

void watch_settle(const look_list *looks, pid_t pid)
{
	settle_tree(looks, pid, 0);
}

/* ---- whether it is a hang ------------------------------------------------------------------------------------ */

static bool is_looked_at(const look_list *looks, pid_t pid)
{
	return any_of(looks->count, i, looks->items[i].process->pid == pid);
}

static bool is_from_inside(const look_list *looks, const struct graph_node *node)
{
	const struct dump_wait *wait = &node->thread->wait;

	for (unsigned i = 0; i < wait->file_count; i++)
		for (unsigned k = 0; k < wait->files[i].other_count; k++)
			if (wait->files[i].others[k] != node->process->pid &&
			    is_looked_at(looks, wait->files[i].others[k]))
				return true;
	return false;
}

static bool is_in_collective(const rank_list *ranks, const struct dump_thread *thread)
{
	return any_of(ranks->count, i, ranks->items[i].collective && ranks->items[i].thread == thread);
}

/* If so, a thread that waits for that one at a futex, e.g. for a backward pass, may continue when the GPU does. */
static bool is_in_cuda(const struct dump_process *process)
{
	return any_of(process->thread_count, i, process->threads[i].wait.kind == WAIT_CUDA);
}

/* node: the end of a chain of waits, a thread that waits for no other one. */
static bool waits_in_vain(const look_list *looks, const struct graph_node *node, const rank_list *ranks,
			  enum watch_state state)
{
	if (state == WATCH_STILL && is_in_cuda(node->process))
		return false;
	if (is_in_collective(ranks, node->thread))
		return true;
	switch (node->thread->wait.kind) {
	case WAIT_TIMER:
	case WAIT_SIGNAL:
		return false;
	case WAIT_FILE:
		return is_from_inside(looks, node);
	case WAIT_NONE:
	case WAIT_CUDA:
		return state == WATCH_AT_LINE;
	default:
		return true;
	}
}

static size_t first_thread(const struct graph *graph, const struct dump_process *process)
{
	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.items[i].process == process && graph->nodes.items[i].thread->tid == process->pid)
			return i;
	return NO_NODE;
}

static bool process_hangs(const look_list *looks, const struct graph *graph, const rank_list *ranks,
			  const struct dump_process *process, enum watch_state state)
{
	size_t at = first_thread(graph, process);

	if (at == NO_NODE)
		return false;
	for (size_t steps = 0; graph->nodes.items[at].next != NO_NODE; steps++) {
		if (steps == graph->nodes.count)
			return true; /* a cycle */
		at = graph->nodes.items[at].next;
	}
	return waits_in_vain(looks, &graph->nodes.items[at], ranks, state);
}

static bool family_hangs(const look_list *looks, const struct graph *graph, const rank_list *ranks, pid_t pid,
			 enum watch_state state, unsigned depth)
{
	for (size_t i = 0; i < looks->count; i++) {
		const struct dump_process *process = looks->items[i].process;

		if (process->pid == pid && !process->refused && (process->python || process->no_python) &&
		    process_hangs(looks, graph, ranks, process, state))
			return true;
		if (is_child(process, pid) && depth < FAMILY_DEPTH &&
		    family_hangs(looks, graph, ranks, process->pid, state, depth + 1))
			return true;
	}
	return false;
}

bool watch_is_hang(const look_list *looks, const struct graph *graph, const rank_list *ranks, pid_t pid,
		   enum watch_state state)
{
	return family_hangs(looks, graph, ranks, pid, state, 0);
}
