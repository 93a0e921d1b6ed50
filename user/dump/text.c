/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings as text: a block for each thread, equal ones folded, then who waits for whom. */
#include "dump/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/safe_text.h"
#include "dump/text_collectives.h"

#define NAME_SHOWN 160 /* bytes of a command line; JSON has all of it */

static void print_safe(FILE *out, const char *text)
{
	char safe[SAFE_TEXT_MAX(16) + 1];
	size_t length = safe_text_copy(safe, text, strnlen(text, 16));

	fprintf(out, "%.*s", (int)length, safe);
}

static const char *plural_end(unsigned count)
{
	return count == 1 ? "" : "s";
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

/* Texts of sleeping threads differ in the time left, which does not count. */
static bool is_same_wait(const struct dump_wait *a, const struct dump_wait *b)
{
	return a->kind == b->kind && (a->kind == WAIT_TIMER || is_same_text(a->text, b->text));
}

static bool are_same_frames(const struct dump_frame *a, const struct dump_frame *b, unsigned count)
{
	return !any_of(count, i,
		       a[i].line != b[i].line || !is_same_text(a[i].function, b[i].function) ||
			       !is_same_text(a[i].file, b[i].file) || a[i].local_count);
}

/* Whether all that is printed of them is equal, except numbers and names. */
static bool is_alike(const struct dump_thread *a, const struct dump_thread *b)
{
	if (a->in_cycle || b->in_cycle || a->has_tasks || b->has_tasks || a->holds_gil || b->holds_gil ||
	    a->moves != b->moves || a->polls != b->polls || a->frame_count != b->frame_count || a->torn != b->torn ||
	    a->unreadable != b->unreadable || !a->not_run_ns != !b->not_run_ns ||
	    !a->same_frames_ns != !b->same_frames_ns || !is_same_wait(&a->wait, &b->wait) ||
	    !is_same_text(a->library, b->library) || !is_same_text(a->native, b->native))
		return false;
	return are_same_frames(a->frames, b->frames, a->frame_count);
}

/* Smaller comes first. */
static int importance_of(const struct graph_node *node)
{
	const struct dump_thread *thread = node->thread;

	if (thread->in_cycle)
		return 0;
	if (node->waiting)
		return 1;
	if (thread->frame_count)
		return thread->wait.owner_pid ? 2 : 3;
	return thread->wait.kind == WAIT_FUTEX ? 5 : 4;
}

static void print_frames(FILE *out, const struct dump_frame *frames, unsigned count, const char *indent)
{
	for (unsigned i = 0; i < count; i++) {
		const struct dump_frame *frame = &frames[i];

		if (!frame->function)
			fprintf(out, "%s... %u more frames ...\n", indent, frame->line);
		else if (frame->line)
			fprintf(out, "%s%s (%s:%u)\n", indent, frame->function, frame->file ? frame->file : "?",
				frame->line);
		else
			fprintf(out, "%s%s (%s)\n", indent, frame->function, frame->file ? frame->file : "?");
		for (unsigned k = 0; k < frame->local_count; k++)
			fprintf(out, "%s    %s = %s\n", indent, frame->locals[k].name, frame->locals[k].value);
	}
}

/* ---- tasks --------------------------------------------------------------------------------------------------- */

static void print_task_name(FILE *out, const struct dump_task *task)
{
	if (task->name)
		fprintf(out, "task %s", task->name);
	else
		fprintf(out, "task %#llx", (unsigned long long)task->id);
}

/* Whether all that is printed of them is equal, except names. */
static bool are_tasks_alike(const struct dump_task *a, const struct dump_task *b)
{
	return a->tid == b->tid && !a->cycle && !b->cycle && a->torn == b->torn && a->frame_count == b->frame_count &&
	       is_same_text(a->text, b->text) && are_same_frames(a->frames, b->frames, a->frame_count);
}

static void print_task(FILE *out, const struct dump_task *task, unsigned count)
{
	fputs("    ", out);
	print_task_name(out, task);
	if (count > 1)
		fprintf(out, ", and %u alike", count - 1);
	fprintf(out, "\n      %s\n", task->text);
	if (task->torn)
		fprintf(out, "      it changed while it was read: the frames may not belong together\n");
	print_frames(out, task->frames, task->frame_count, "        ");
}

/* Prints the tasks whose loop this thread runs; tid 0: those whose loop no thread is seen to run. */
static void print_tasks(FILE *out, const struct dump_process *process, pid_t tid)
{
	bool *printed = xcalloc(process->task_count + 1, sizeof(*printed));
	bool any = false;

	for (unsigned i = 0; i < process->task_count; i++) {
		const struct dump_task *task = &process->tasks[i];
		unsigned count = 0;

		if (task->tid != tid || printed[i])
			continue;
		if (!tid && !any)
			fputs("\n  tasks of asyncio of which no thread is seen to run the loop\n", out);
		any = true;
		for (unsigned k = i; k < process->task_count; k++) {
			if (k != i && (printed[k] || !are_tasks_alike(task, &process->tasks[k])))
				continue;
			printed[k] = true;
			count++;
		}
		print_task(out, task, count);
	}
	free(printed);
}

/* A thread that runs, or wakes within a CUDA call, may still be in the same call.  Others show that by not_run_ns. */
static bool may_be_in_one_call(const struct dump_thread *thread)
{
	return thread->frame_count && (thread->wait.kind == WAIT_CUDA || thread->wait.kind == WAIT_NONE);
}

/* Whether the thread is held by something other than a call it made. */
static bool is_held(const struct dump_thread *thread)
{
	switch (thread->wait.kind) {
	case WAIT_STOPPED:
	case WAIT_TRACED:
	case WAIT_FROZEN:
	case WAIT_FAULT:
		return true;
	default:
		return !thread->in_call || thread->call < 0;
	}
}

/* not_run_ns, same_frames_ns: the least among all equal threads. */
static void print_since(FILE *out, const struct dump_thread *thread, uint64_t not_run_ns, uint64_t same_frames_ns)
{
	if (not_run_ns >= TENTH_NS)
		fprintf(out,
			is_held(thread) ? "; has not run for %.1f s or more" : "; in this one call for %.1f s or more",
			dump_seconds(not_run_ns));
	else if (same_frames_ns >= TENTH_NS && may_be_in_one_call(thread))
		fprintf(out, "; the same Python frames at each look for %.1f s", dump_seconds(same_frames_ns));
}

static void print_state(FILE *out, const struct dump_thread *thread, uint64_t not_run_ns, uint64_t same_frames_ns)
{
	fprintf(out, "    %s%s%s", thread->wait.text ? thread->wait.text : "waits",
		thread->holds_gil ? "; holds the GIL" : "", thread->moves ? "; gets on" : "");
	print_since(out, thread, not_run_ns, same_frames_ns);
	fputc('\n', out);
	if (thread->native)
		fprintf(out, "    in %s (%s)\n", thread->native, thread->library);
	else if (thread->library && !thread->frame_count)
		fprintf(out, "    in %s\n", thread->library);
	if (thread->unreadable)
		fprintf(out, "    its list of Python frames cannot be read to its end\n");
	else if (thread->torn)
		fprintf(out, "    its stack changed while it was read: the frames may not belong together\n");
}

/* Since 3.14 comm is the first 15 bytes of Python's name. */
static bool is_named_otherwise(const struct dump_thread *thread)
{
	const char *name = thread->python_name;

	return name && strncmp(name, thread->name, sizeof(thread->name) - 1) != 0;
}

static void print_block(FILE *out, const struct dump_process *process, unsigned first, unsigned count, bool *printed)
{
	const struct dump_thread *thread = &process->threads[first];
	uint64_t not_run_ns = thread->not_run_ns, same_frames_ns = thread->same_frames_ns;

	fprintf(out, "\n  thread %d ", (int)thread->tid);
	print_safe(out, thread->name);
	if (count == 1 && is_named_otherwise(thread))
		fprintf(out, " \"%s\"", thread->python_name);
	if (count > 1)
		fprintf(out, ", and %u alike", count - 1);
	fputc('\n', out);
	for (unsigned i = first; i < process->thread_count; i++) {
		const struct dump_thread *other = &process->threads[i];

		if (!is_alike(thread, other))
			continue;
		printed[i] = true;
		not_run_ns = other->not_run_ns < not_run_ns ? other->not_run_ns : not_run_ns;
		same_frames_ns = other->same_frames_ns < same_frames_ns ? other->same_frames_ns : same_frames_ns;
	}
	printed[first] = true;
	print_state(out, thread, not_run_ns, same_frames_ns);
	print_frames(out, thread->frames, thread->frame_count, "      ");
	if (thread->has_tasks)
		print_tasks(out, process, thread->tid);
}

static void print_threads(FILE *out, const struct dump_process *process, const struct graph *graph)
{
	bool *printed = xcalloc(process->thread_count + 1, sizeof(*printed));
	int *ranks = xcalloc(process->thread_count + 1, sizeof(*ranks));

	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.items[i].process == process)
			ranks[graph->nodes.items[i].thread - process->threads] = importance_of(&graph->nodes.items[i]);

	for (int rank = 0; rank <= 5; rank++)
		for (unsigned i = 0; i < process->thread_count; i++) {
			unsigned count = 1;

			if (printed[i] || ranks[i] != rank)
				continue;
			for (unsigned k = i + 1; k < process->thread_count; k++)
				count += !printed[k] && is_alike(&process->threads[i], &process->threads[k]);
			print_block(out, process, i, count, printed);
		}
	free(printed);
	free(ranks);
}

/* Cuts at a whole UTF-8 character. */
static int shown_bytes(const char *name)
{
	size_t bytes = strnlen(name, NAME_SHOWN);

	while (bytes && ((unsigned char)name[bytes] & 0xc0) == 0x80)
		bytes--;
	return (int)bytes;
}

static void print_process(FILE *out, const struct dump_process *process, const struct graph *graph)
{
	fprintf(out, "process %d: %.*s%s\n", (int)process->pid, shown_bytes(process->name), process->name,
		strlen(process->name) > NAME_SHOWN ? "..." : "");
	if (process->refused) {
		fprintf(out, "  %s\n", process->refused);
		return;
	}
	if (process->silent)
		fprintf(out, "  %u thread%s", process->thread_count, plural_end(process->thread_count));
	else
		fprintf(out, "  %s%s%s%u thread%s; %s", process->python ? "CPython " : "",
			process->python ? process->python : "", process->python ? ", " : "", process->thread_count,
			plural_end(process->thread_count), process->moves ? "it moves" : "it stands still");
	fputc('\n', out);
	if (process->no_python)
		fprintf(out, "  no Python stacks: %s\n", process->no_python);
	if (process->threads_left_out)
		fprintf(out, "  %u more threads were left out\n", process->threads_left_out);
	if (process->ended_children)
		fprintf(out, "  has ended children that it has not waited for (zombies): %s\n",
			process->ended_children);
	if (process->no_tasks)
		fprintf(out, "  no tasks of asyncio: %s\n", process->no_tasks);
	if (process->tasks_left_out)
		fprintf(out, "  %u more tasks of asyncio were left out\n", process->tasks_left_out);
	print_threads(out, process, graph);
	print_tasks(out, process, 0);
}

/* ---- who waits for whom -------------------------------------------------------------------------------------- */

static void print_node(FILE *out, const struct graph_node *node)
{
	fprintf(out, "thread %d ", (int)node->thread->tid);
	print_safe(out, node->thread->name);
	if (node->process->pid != node->thread->tid)
		fprintf(out, " of process %d", (int)node->process->pid);
}

static void print_line(FILE *out, const struct dump_thread *thread)
{
	if (thread->frame_count && thread->frames[0].function)
		fprintf(out, ", in %s (%s:%u)", thread->frames[0].function,
			thread->frames[0].file ? thread->frames[0].file : "?", thread->frames[0].line);
}

static void print_cycle(FILE *out, const struct graph *graph, unsigned cycle)
{
	size_t first = NO_NODE, at;
	unsigned count = 0;

	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.items[i].cycle == cycle) {
			first = first == NO_NODE ? i : first;
			count++;
		}
	fprintf(out, "  a cycle: %s\n", count == 1 ? "a thread waits for itself" : "each of these waits for the next");
	at = first;
	do {
		const struct graph_node *node = &graph->nodes.items[at];

		fputs("    ", out);
		print_node(out, node);
		fprintf(out, " %s", node->thread->wait.text);
		print_line(out, node->thread);
		fputc('\n', out);
		at = node->next;
	} while (at != first);
}

static void print_task_cycle(FILE *out, const struct dump_process *process, unsigned cycle)
{
	unsigned first = 0, at;

	while (process->tasks[first].cycle != cycle)
		first++;
	fprintf(out, "  a cycle: %s\n",
		process->tasks[first].awaits == first + 1 ? "a task waits for itself"
							  : "each of these waits for the next");
	at = first;
	do {
		const struct dump_task *task = &process->tasks[at];

		fputs("    ", out);
		print_task_name(out, task);
		fprintf(out, " of process %d %s", (int)process->pid, task->text);
		if (task->frame_count)
			fprintf(out, ", in %s (%s:%u)", task->frames[0].function,
				task->frames[0].file ? task->frames[0].file : "?", task->frames[0].line);
		fputc('\n', out);
		at = task->awaits - 1;
	} while (at != first);
}

static void print_root(FILE *out, const struct graph_node *node)
{
	fprintf(out, "  %u thread%s wait%s for ", node->waiting, plural_end(node->waiting),
		node->waiting == 1 ? "s" : "");
	print_node(out, node);
	fprintf(out, ", which %s", node->thread->wait.text ? node->thread->wait.text : "waits");
	print_line(out, node->thread);
	fputc('\n', out);
}

/* ---- ranks --------------------------------------------------------------------------------------------------- */

static bool has_no_stack(const struct dump_rank *rank)
{
	return !rank->thread || !rank->thread->frame_count;
}

static void print_rank_state(FILE *out, const struct dump_rank *rank)
{
	if (rank->collective)
		fprintf(out, "in %s", rank->collective->function);
	else
		fputs(has_no_stack(rank) ? "no Python stack is known" : "in no collective", out);
	if (rank->line)
		fprintf(out, ", at %s (%s:%u)", rank->line->function, rank->line->file, rank->line->line);
	if (!rank->collective && rank->thread && rank->thread->wait.text)
		fprintf(out, "; %s", rank->thread->wait.text);
	fputs(rank->process->moves ? "; it moves\n" : "\n", out);
}

static void print_ranks_alike(FILE *out, const rank_list *ranks, size_t first)
{
	bool numbered = ranks->items[first].number >= 0;
	const char *before;
	unsigned count = 0;

	for (size_t i = first; i < ranks->count; i++)
		count += ranks->items[i].alike == first;
	if (numbered)
		before = count == 1 ? "  rank " : "  ranks ";
	else
		before = count == 1 ? "  process " : "  processes ";
	for (size_t i = first; i < ranks->count; i++) {
		const struct dump_rank *rank = &ranks->items[i];

		if (rank->alike != first)
			continue;
		fputs(before, out);
		dump_print_rank(out, rank->process, rank->number);
		before = ", ";
	}
	fputs(": ", out);
	print_rank_state(out, &ranks->items[first]);
}

/* The ranks of one job, first those in no collective: the others may wait for them. */
static void print_job(FILE *out, const rank_list *ranks, size_t from, size_t to)
{
	const struct dump_process *process = ranks->items[from].process;
	long size = process->world_size ? strtol(process->world_size, NULL, 10) : 0;
	size_t known = 0;

	fprintf(out, "\nranks%s%s\n", process->job ? " of the job at " : "", process->job ? process->job : "");
	for (int in_one = 0; in_one <= 1; in_one++)
		for (size_t i = from; i < to; i++)
			if (ranks->items[i].alike == i && !ranks->items[i].collective == !in_one)
				print_ranks_alike(out, ranks, i);
	for (size_t i = from; i < to; i++)
		known += ranks->items[i].number >= 0 &&
			 (i == from || ranks->items[i].number != ranks->items[i - 1].number);
	if (known && size > (long)known)
		fprintf(out, "  %ld of %ld ranks were not looked at\n", size - (long)known, size);
}

void dump_print_ranks(FILE *out, const struct dump_findings *found)
{
	const rank_list *ranks = found->ranks;
	size_t to;

	for (size_t from = 0; from < ranks->count; from = to) {
		to = from + 1;
		while (to < ranks->count && rank_is_of_job(ranks->items[from].process, ranks->items[to].process))
			to++;
		if (to - from > 1)
			print_job(out, ranks, from, to);
	}
	dump_print_collectives(out, found);
}

/* ---- NCCL's RAS service -------------------------------------------------------------------------------------- */

static void print_service(FILE *out, const struct dump_ras *ras)
{
	if (!ras->lines) {
		fprintf(out, "\nprocess %d%s listens at %s, as NCCL's RAS service does: %s%s\n", (int)ras->pids[0],
			ras->pid_count > 1 ? ", as others do," : "", ras->address, ras->why ? "it " : "",
			ras->why ? ras->why : "--nccl-ras asks it for its status");
		return;
	}
	fprintf(out, "\nNCCL's RAS service says (process %d, %s):\n", (int)ras->accepted, ras->address);
	for (unsigned i = 0; i < ras->line_count; i++)
		fprintf(out, *ras->lines[i] ? "  %s\n" : "%s\n", ras->lines[i]);
	if (ras->why)
		fprintf(out, "  (it %s)\n", ras->why);
}

void dump_print_text(FILE *out, const struct dump_findings *found)
{
	const look_list *looks = found->looks;
	const struct graph *graph = found->graph;

	for (size_t i = 0; i < looks->count; i++) {
		if (i)
			fputc('\n', out);
		print_process(out, looks->items[i].process, graph);
	}
	if (graph->cycles || any_of(graph->nodes.count, i, graph_is_root(&graph->nodes.items[i])) ||
	    any_of(looks->count, i, looks->items[i].process->task_cycles))
		fputs("\nwho waits for whom\n", out);
	for (unsigned i = 1; i <= graph->cycles; i++)
		print_cycle(out, graph, i);
	for (size_t i = 0; i < looks->count; i++)
		for (unsigned k = 1; k <= looks->items[i].process->task_cycles; k++)
			print_task_cycle(out, looks->items[i].process, k);
	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph_is_root(&graph->nodes.items[i]))
			print_root(out, &graph->nodes.items[i]);
	dump_print_ranks(out, found);
	for (size_t i = 0; i < found->services->count; i++)
		if (found->services->items[i].pid_count)
			print_service(out, &found->services->items[i]);
}
