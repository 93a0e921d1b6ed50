/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "input/kineto/kineto_threads.h"

#include <stdlib.h>

#define KEPT 65536u /* power of two */
#define SEVERAL UINT32_MAX

/* The start, and the op at the end; PyTorch's thread number is 0 while it is not known. */
struct kineto_arrow {
	uint64_t id;
	uint32_t from_pid, from_tid; /* 0: not seen yet */
	uint32_t to_pid, forward_thread;
	bool used;
};

struct kineto_backward {
	struct kineto_moment at;
	uint64_t arrow;
	uint32_t forward_thread;
	bool has_arrow, used;
};

struct kineto_forwards {
	uint32_t pid;
	uint32_t tid, forward_thread; /* the only one seen; 0: none; or SEVERAL */
	bool by_arrow;		      /* an arrow names its forward_thread */
};

void kineto_threads_close(struct kineto_threads *threads)
{
	free(threads->arrows);
	free(threads->backwards);
	array_free(&threads->processes);
	lookup_free(&threads->process_lookup);
}

static struct kineto_forwards *process_of(struct kineto_threads *threads, uint32_t pid)
{
	uint32_t *index = lookup_put(&threads->process_lookup, 1, pid, (uint32_t)threads->processes.count);

	if (*index == threads->processes.count)
		array_push(&threads->processes, ((struct kineto_forwards){.pid = pid}));
	return &threads->processes.items[*index];
}

static void make_room(struct kineto_threads *threads)
{
	if (threads->arrows)
		return;
	threads->arrows = xcalloc(KEPT, sizeof(*threads->arrows));
	threads->backwards = xcalloc(KEPT, sizeof(*threads->backwards));
}

/* Sets PyTorch's number of a thread; the first one stays. */
static void set_torch_thread(struct foreign_file *file, uint32_t pid, uint32_t tid, uint32_t number)
{
	lookup_put(&file->torch_threads, foreign_epoch(pid), tid, number);
}

static struct kineto_arrow *arrow_of(struct kineto_threads *threads, uint64_t id)
{
	struct kineto_arrow *arrow = &threads->arrows[id % KEPT];

	if (!arrow->used || arrow->id != id)
		*arrow = (struct kineto_arrow){.id = id, .used = true};
	return arrow;
}

static struct kineto_backward *backward_at(struct kineto_threads *threads, const struct foreign_file *file,
					   struct kineto_moment at)
{
	const uint64_t key[] = {at.time_ns, (uint64_t)at.pid << 32 | at.tid};
	struct kineto_backward *backward = &threads->backwards[hash_bytes(hash_seed(), key, sizeof(key)) % KEPT];

	if (!backward->used || backward->at.time_ns != at.time_ns || backward->at.pid != at.pid ||
	    backward->at.tid != at.tid)
		*backward = (struct kineto_backward){.at = at, .used = true};
	return backward;
}

/* Ids are per process: another process may use the same ones. */
static void join_arrow(struct kineto_threads *threads, struct foreign_file *file, const struct kineto_arrow *arrow)
{
	if (!arrow->from_tid || !arrow->forward_thread || arrow->from_pid != arrow->to_pid)
		return;
	set_torch_thread(file, arrow->from_pid, arrow->from_tid, arrow->forward_thread);
	process_of(threads, arrow->from_pid)->by_arrow = true;
}

static void note_only(uint32_t *only, uint32_t value)
{
	if (*only != value)
		*only = *only ? SEVERAL : value;
}

void kineto_threads_op(struct kineto_threads *threads, struct foreign_file *file, struct kineto_moment at,
		       uint64_t forward_thread)
{
	struct kineto_backward *backward;
	struct kineto_arrow *arrow;

	if (forward_thread >= SEVERAL)
		return;
	if (!forward_thread) {
		note_only(&process_of(threads, at.pid)->tid, at.tid);
		return;
	}
	note_only(&process_of(threads, at.pid)->forward_thread, (uint32_t)forward_thread);
	make_room(threads);
	backward = backward_at(threads, file, at);
	backward->forward_thread = (uint32_t)forward_thread;
	if (!backward->has_arrow)
		return;
	arrow = arrow_of(threads, backward->arrow);
	arrow->to_pid = at.pid;
	arrow->forward_thread = backward->forward_thread;
	join_arrow(threads, file, arrow);
}

void kineto_threads_begin_arrow(struct kineto_threads *threads, struct foreign_file *file, struct kineto_moment at,
				uint64_t id)
{
	struct kineto_arrow *arrow;

	make_room(threads);
	arrow = arrow_of(threads, id);
	arrow->from_pid = at.pid;
	arrow->from_tid = at.tid;
	join_arrow(threads, file, arrow);
}

void kineto_threads_end_arrow(struct kineto_threads *threads, struct foreign_file *file, struct kineto_moment at,
			      uint64_t id)
{
	struct kineto_backward *backward;
	struct kineto_arrow *arrow;

	make_room(threads);
	backward = backward_at(threads, file, at);
	backward->arrow = id;
	backward->has_arrow = true;
	if (!backward->forward_thread)
		return;
	arrow = arrow_of(threads, id);
	arrow->to_pid = at.pid;
	arrow->forward_thread = backward->forward_thread;
	join_arrow(threads, file, arrow);
}

void kineto_threads_finish(struct kineto_threads *threads, struct foreign_file *file)
{
	array_each (process, &threads->processes) {
		if (!process->by_arrow && process->tid && process->tid != SEVERAL && process->forward_thread &&
		    process->forward_thread != SEVERAL)
			set_torch_thread(file, process->pid, process->tid, process->forward_thread);
	}
}
