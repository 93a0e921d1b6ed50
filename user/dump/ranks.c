/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/library_file.h"

/* The file of the collectives, send and recv, in PyTorch 1.1 to 2.15; its helpers have names with a leading underscore.
 */
#define COLLECTIVES_FILE "/torch/distributed/distributed_c10d.py"

static bool is_collective(const struct dump_frame *frame)
{
	size_t length = frame->file ? strlen(frame->file) : 0, end = sizeof(COLLECTIVES_FILE) - 1;

	return frame->function && *frame->function != '_' && length > end &&
	       !strcmp(frame->file + length - end, COLLECTIVES_FILE);
}

/* The outermost one: some collectives call others. */
static const struct dump_frame *find_collective(const struct dump_thread *thread)
{
	for (unsigned i = thread->frame_count; i > 0; i--)
		if (is_collective(&thread->frames[i - 1]))
			return &thread->frames[i - 1];
	return NULL;
}

const struct dump_frame *rank_line(const struct dump_frame *frames, unsigned count)
{
	return find_item(frames, count, item, item->function && item->file && !file_is_library(item->file));
}

static void find_thread(struct dump_rank *rank)
{
	for (unsigned i = 0; i < rank->process->thread_count; i++) {
		const struct dump_thread *thread = &rank->process->threads[i];
		const struct dump_frame *collective = find_collective(thread);
		bool first = thread->tid == rank->process->pid;

		if (rank->collective ? collective && first : collective || first) {
			rank->thread = thread;
			rank->collective = collective;
			rank->line = rank_line(thread->frames, thread->frame_count);
		}
	}
}

const struct dump_process *rank_parent(const look_list *looks, const struct dump_process *process)
{
	for (size_t i = 0; i < looks->count; i++) {
		const struct dump_process *other = looks->items[i].process;

		if (other->pid == process->parent && other->pid != process->pid &&
		    is_same_text(other->host, process->host))
			return other;
	}
	return NULL;
}

/* Workers and tools that a rank starts inherit its environment, but are not ranks themselves. */
static bool is_of_parent(const look_list *looks, const struct dump_process *process)
{
	const struct dump_process *parent = rank_parent(looks, process);

	return parent && is_same_text(parent->rank, process->rank) && is_same_text(parent->job, process->job);
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_jobs(const struct dump_process *a, const struct dump_process *b)
{
	int jobs = compare_text(a->job, b->job);

	if (jobs || a->job)
		return jobs;
	jobs = compare_text(a->host, b->host);
	return jobs ? jobs : (a->parent > b->parent) - (a->parent < b->parent);
}

static int by_job_and_rank(const void *a, const void *b)
{
	const struct dump_rank *first = a, *second = b;
	int jobs = compare_jobs(first->process, second->process);

	if (jobs)
		return jobs;
	if (first->number != second->number)
		return first->number < second->number ? -1 : 1;
	return first->process->pid < second->process->pid ? -1 : 1;
}

bool rank_is_of_job(const struct dump_process *a, const struct dump_process *b)
{
	return a == b || !compare_jobs(a, b);
}

bool is_same_frame(const struct dump_frame *a, const struct dump_frame *b)
{
	return a == b || (a && b && a->line == b->line && is_same_text(a->function, b->function) &&
			  is_same_text(a->file, b->file));
}

/* At the same line, and in the same collective; or in none with the same kind of wait. */
static bool are_alike(const struct dump_rank *a, const struct dump_rank *b)
{
	if ((a->number < 0) != (b->number < 0) || !a->collective != !b->collective || !a->thread != !b->thread ||
	    a->process->moves != b->process->moves || !is_same_frame(a->line, b->line))
		return false;
	if (a->collective)
		return is_same_text(a->collective->function, b->collective->function);
	return !a->thread || (a->thread->wait.kind == b->thread->wait.kind &&
			      (a->line || is_same_text(a->thread->wait.text, b->thread->wait.text)));
}

static void find_alike(const rank_list *ranks)
{
	for (size_t i = 0; i < ranks->count; i++) {
		size_t first = 0;

		while (first < i && !(rank_is_of_job(ranks->items[first].process, ranks->items[i].process) &&
				      are_alike(&ranks->items[first], &ranks->items[i])))
			first++;
		ranks->items[i].alike = first;
	}
}

void ranks_find(rank_list *ranks, const look_list *looks)
{
	memset(ranks, 0, sizeof(*ranks));
	for (size_t i = 0; i < looks->count; i++) {
		struct dump_rank rank = {.process = looks->items[i].process, .number = -1};

		find_thread(&rank);
		if (rank.process->rank && !is_of_parent(looks, rank.process))
			rank.number = strtol(rank.process->rank, NULL, 10);
		if (!rank.process->refused && (rank.number >= 0 || rank.collective))
			array_push(ranks, rank);
	}
	array_sort(ranks, by_job_and_rank);
	find_alike(ranks);
}
