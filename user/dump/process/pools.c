/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/pools.h"

#include <string.h>

#include "dump/process/held.h"
#include "dump/process/locals.h"
#include "dump/process/memory.h"
#include "target/python/python_objects.h"

#define LIBRARY_FRAMES 5     /* innermost frames that may be those of a wait */
#define QUEUED_MAX 4096	     /* items of one queue */
#define WEAKREF_OBJECT_AT 16 /* PyWeakReference.wr_object (cpython/weakrefobject.h) */
#define NAME_CHARS 64

/*
 * Modules/_queuemodule.c, in no header: up to 3.12 a queue.SimpleQueue has a list and the index of its first item,
 * since 3.13 a ring.  Its size tells which one.
 */
enum { LIST_QUEUE_BYTES = 56, RING_QUEUE_BYTES = 72 };
enum {
	LIST_AT = 32,
	LIST_FIRST_AT = 40,
	RING_FIRST_AT = 32,
	RING_ITEMS_AT = 40,
	RING_SIZE_AT = 48,
	RING_COUNT_AT = 56
};
enum { OB_SIZE_AT = 16, OB_ITEM_AT = 24 }; /* PyListObject (cpython/listobject.h) */

/* ---- frames of the library ------------------------------------------------------------------------------------ */

static bool is_in(struct python_look *look, const struct raw_frame *frame, const char *path, const char *name)
{
	const struct python_code *code = python_code(look, frame->code);
	size_t length = code->file ? strlen(code->file) : 0, wanted = strlen(path);
	const char *function = code->function ? strrchr(code->function, '.') : NULL;

	if (!code->function || length < wanted || strcmp(code->file + length - wanted, path) != 0)
		return false;
	return !strcmp(function ? function + 1 : code->function, name);
}

#define FUTURES "concurrent/futures/"
#define POOL_FILE "multiprocessing/pool.py"

static const struct raw_frame *find_outer(struct python_look *look, const struct raw_stack *stack, const char *path,
					  const char *name)
{
	for (unsigned i = stack->count; i-- > 0;)
		if (is_in(look, &stack->frames[i], path, name))
			return &stack->frames[i];
	return NULL;
}

/* ---- who computes what, and what is in the queues --------------------------------------------------------------- */

static uint32_t pool_at(struct pools *pools, uint64_t queue)
{
	uint32_t *place = lookup_put(&pools->places, 1, queue, (uint32_t)pools->list.count);

	if (*place == pools->list.count)
		array_push(&pools->list, ((struct pool){.queue = queue}));
	return *place;
}

/* Up to 3.6 it is a queue of another type. */
static bool is_simple_queue(struct python_look *look, uint64_t queue)
{
	char type[TYPE_NAME_BYTES];

	object_type_name(look, queue, type);
	return !strcmp(type, "_queue.SimpleQueue");
}

static void add_queued(struct python_look *look, struct pools *pools, uint32_t pool, uint64_t item)
{
	const struct python_reader reader = {.pid = look->pid, .layout = &look->info.walk.layout};
	uint64_t future = item ? python_attribute(&reader, item, "future") : 0;

	if (future)
		lookup_put(&pools->queued, 1, future, pool);
}

static void read_queue(struct python_look *look, struct pools *pools, uint32_t pool)
{
	const struct python_reader reader = {.pid = look->pid, .layout = &look->info.walk.layout};
	uint64_t queue = pools->list.items[pool].queue, items, first, count, size;

	size = python_basicsize(&reader, memory_word(look->pid, queue + reader.layout->object_type));
	if (size == RING_QUEUE_BYTES) {
		items = memory_word(look->pid, queue + RING_ITEMS_AT);
		first = memory_word(look->pid, queue + RING_FIRST_AT);
		count = memory_word(look->pid, queue + RING_COUNT_AT);
		size = memory_word(look->pid, queue + RING_SIZE_AT);
	} else if (size == LIST_QUEUE_BYTES) {
		uint64_t list = memory_word(look->pid, queue + LIST_AT);

		items = memory_word(look->pid, list + OB_ITEM_AT);
		first = memory_word(look->pid, queue + LIST_FIRST_AT);
		size = memory_word(look->pid, list + OB_SIZE_AT);
		count = first < size ? size - first : 0;
	} else {
		return;
	}
	for (uint64_t i = 0; i < count && i < QUEUED_MAX && first < size && count <= size; i++)
		add_queued(look, pools, pool, memory_word(look->pid, items + (first + i) % size * 8));
}

static const char *name_of(struct python_look *look, uint64_t executor)
{
	const struct python_reader reader = {.pid = look->pid, .layout = &look->info.walk.layout};
	char type[TYPE_NAME_BYTES];
	uint64_t name = executor ? python_attribute(&reader, executor, "_thread_name_prefix") : 0;

	object_type_name(look, name, type);
	return strcmp(type, "str") ? NULL : python_text(look, name, NAME_CHARS);
}

/* A thread of a ThreadPoolExecutor, or of a multiprocessing.pool.ThreadPool. */
static void read_worker(struct python_look *look, struct pools *pools, unsigned index)
{
	const struct python_reader reader = {.pid = look->pid, .layout = &look->info.walk.layout};
	const struct raw_stack *stack = &look->stacks[index];
	const struct raw_frame *worker = find_outer(look, stack, FUTURES "thread.py", "_worker"), *run;
	bool futures = worker != NULL;
	uint64_t queue, future;
	struct pool *pool;

	if (!worker)
		worker = find_outer(look, stack, POOL_FILE, "worker");
	queue = worker ? locals_find(look, worker, futures ? "work_queue" : "inqueue") : 0;
	if (!queue || !is_simple_queue(look, queue)) /* a pool of processes has another one */
		return;
	pools->of_thread[index] = pool_at(pools, queue);
	pool = &pools->list.items[pools->of_thread[index]];
	pool->threads++;
	if (pool->threads == 1)
		pool->name =
			futures ? name_of(look, memory_word(look->pid, locals_find(look, worker, "executor_reference") +
									       WEAKREF_OBJECT_AT))
				: "multiprocessing.pool.ThreadPool";
	run = futures ? find_outer(look, stack, FUTURES "thread.py", "run") : NULL;
	future = run ? python_attribute(&reader, held_first_local(look, run), "future") : 0;
	if (future)
		lookup_put(&pools->computed, 1, future, index);
}

/* ---- what a thread waits for ------------------------------------------------------------------------------------ */

struct visit {
	const struct pools *pools;
	struct pool_wait *wait;
	unsigned count;
	bool all_stuck;
};

static void visit_pool(struct visit *visit, uint32_t pool, unsigned owner, bool queued)
{
	visit->count++;
	visit->all_stuck &= pool != NO_POOL && visit->pools->list.items[pool].stuck;
	visit->wait->pool = pool == NO_POOL ? NULL : &visit->pools->list.items[pool];
	visit->wait->owner = owner;
	visit->wait->queued = queued;
}

static bool visit_future(void *context, uint64_t future, uint64_t unused)
{
	struct visit *visit = context;
	const uint32_t *queued = lookup_get(&visit->pools->queued, 1, future);
	const uint32_t *thread = lookup_get(&visit->pools->computed, 1, future);

	(void)unused;
	visit->wait->future = true;
	if (queued)
		visit_pool(visit, *queued, UINT32_MAX, true);
	else if (thread)
		visit_pool(visit, visit->pools->of_thread[*thread], *thread, false);
	else
		visit_pool(visit, NO_POOL, UINT32_MAX, false);
	return true;
}

static void visit_result(struct python_look *look, uint64_t result, struct visit *visit)
{
	const struct python_reader reader = {.pid = look->pid, .layout = &look->info.walk.layout};
	uint64_t pool = python_attribute(&reader, result, "_pool"); /* 3.8 and later */
	uint64_t queue = pool ? python_attribute(&reader, pool, "_inqueue") : 0;
	const uint32_t *place = queue ? lookup_get(&visit->pools->places, 1, queue) : NULL;

	visit_pool(visit, place ? *place : NO_POOL, UINT32_MAX, true);
}

/* Visits all that the thread waits for, by its innermost frames. */
static void visit_awaited(struct python_look *look, unsigned index, struct visit *visit)
{
	const struct python_reader reader = {.pid = look->pid, .layout = &look->info.walk.layout};
	const struct raw_stack *stack = &look->stacks[index];

	visit->count = 0;
	visit->all_stuck = true;
	for (unsigned i = 0; i < stack->count && i < LIBRARY_FRAMES; i++) {
		const struct raw_frame *frame = &stack->frames[i];

		if (is_in(look, frame, FUTURES "_base.py", "result") ||
		    is_in(look, frame, FUTURES "_base.py", "exception"))
			visit_future(visit, held_first_local(look, frame), 0);
		else if (is_in(look, frame, FUTURES "_base.py", "wait"))
			python_set_each(&reader, locals_find(look, frame, "not_done"), visit_future, visit);
		else if (is_in(look, frame, FUTURES "_base.py", "as_completed"))
			python_set_each(&reader, locals_find(look, frame, "pending"), visit_future, visit);
		else if (is_in(look, frame, POOL_FILE, "wait"))
			visit_result(look, held_first_local(look, frame), visit);
		else if (is_in(look, frame, "threading.py", "wait"))
			continue;
		return;
	}
}

/* ---- pools that wait for themselves ----------------------------------------------------------------------------- */

/* Whether a thread of a pool waits only for what threads of stuck pools must do. */
static bool is_stuck(struct python_look *look, const struct dump_process *process, const struct pools *pools,
		     unsigned index)
{
	const struct dump_thread *thread = &process->threads[index];
	struct pool_wait wait;
	struct visit visit = {.pools = pools, .wait = &wait};

	if (thread->moves || thread->torn || thread->unreadable)
		return false;
	visit_awaited(look, index, &visit);
	return visit.count && visit.all_stuck;
}

/* Takes all for stuck, and then none that has a thread which may get on, until none is left to take out. */
static void find_stuck(struct python_look *look, const struct dump_process *process, struct pools *pools)
{
	bool changed = pools->list.count != 0;

	for (size_t i = 0; i < pools->list.count; i++)
		pools->list.items[i].stuck = true;
	while (changed) {
		changed = false;
		for (unsigned i = 0; i < process->thread_count; i++) {
			struct pool *pool =
				pools->of_thread[i] == NO_POOL ? NULL : &pools->list.items[pools->of_thread[i]];

			if (!pool || !pool->stuck || is_stuck(look, process, pools, i))
				continue;
			pool->stuck = false;
			changed = true;
		}
	}
}

static void read_all(struct python_look *look, const struct dump_process *process, struct pools *pools)
{
	if (pools->read)
		return;
	pools->read = true;
	pools->of_thread = xmalloc((process->thread_count + 1) * sizeof(*pools->of_thread));
	for (unsigned i = 0; i < process->thread_count; i++) {
		pools->of_thread[i] = NO_POOL;
		read_worker(look, pools, i);
	}
	for (uint32_t i = 0; i < pools->list.count; i++)
		read_queue(look, pools, i);
	find_stuck(look, process, pools);
}

/* The next thread of the pool after the given one: any of them may be the one that never comes. */
static unsigned next_thread(const struct dump_process *process, const struct pools *pools, const struct pool *pool,
			    unsigned index)
{
	for (unsigned i = 1; i <= process->thread_count; i++) {
		unsigned at = (index + i) % process->thread_count;

		if (pools->of_thread[at] != NO_POOL && &pools->list.items[pools->of_thread[at]] == pool)
			return at;
	}
	return UINT32_MAX;
}

bool pools_find(struct python_look *look, const struct dump_process *process, struct pools *pools, unsigned index,
		struct pool_wait *out)
{
	struct visit visit = {.pools = pools, .wait = out};

	*out = (struct pool_wait){.owner = UINT32_MAX};
	read_all(look, process, pools);
	visit_awaited(look, index, &visit);
	if (!visit.count)
		return false;
	if (visit.count > 1 && !visit.all_stuck) /* several, and which comes first is not known */
		*out = (struct pool_wait){.owner = UINT32_MAX, .future = out->future};
	if (out->pool && out->pool->stuck && out->owner == UINT32_MAX)
		out->owner = next_thread(process, pools, out->pool, index);
	out->own = out->pool && pools->of_thread[index] != NO_POOL &&
		   out->pool == &pools->list.items[pools->of_thread[index]];
	return true;
}
