/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a Python thread waits for at a futex.  The address tells which lock it is; the frames of Python's standard
 * library tell the lock's purpose.
 */
#include <string.h>

#include "base/path.h"
#include "dump/process/locals.h"
#include "dump/process/waits.h"
#include "target/python/python_objects.h"

#define BOOTSTRAP "<frozen importlib._bootstrap>" /* CPython 3.6 to 3.15 */
#define LIBRARY_FRAMES 8			  /* innermost frames that may be the library's */

static const char *last_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot ? dot + 1 : function;
}

static bool is_function(struct looker *looker, const struct raw_frame *frame, const char *file, const char *name)
{
	const struct python_code *code = python_code(&looker->python, frame->code);

	return code->function && code->file && !strcmp(last_name(code->function), name) &&
	       (!strcmp(code->file, file) || !strcmp(path_base(code->file), file));
}

/* "FUNCTION (FILE:LINE)" */
static const char *place_of(struct looker *looker, const struct raw_frame *frame)
{
	const struct python_code *code = python_code(&looker->python, frame->code);
	const char *function = code->function, *file = code->file;
	uint32_t line = python_line(&looker->python, code, frame->lasti);

	return arena_text(looker->arena, "%s (%s:%u)", function ? function : "?", file ? file : "?", line);
}

static bool is_of_pools(const char *file)
{
	return file && (strstr(file, "concurrent/futures/") || strstr(file, "multiprocessing/pool.py"));
}

/* The place of the innermost frame that is the program's own. */
static const char *own_place(struct looker *looker, unsigned index)
{
	const struct raw_stack *stack = &looker->python.stacks[index];

	for (unsigned i = 0; i < stack->count; i++) {
		const struct python_code *code = python_code(&looker->python, stack->frames[i].code);
		const char *base = code->file ? path_base(code->file) : "";

		if (strcmp(base, "threading.py") && strcmp(base, "queue.py") && strncmp(base, "<frozen", 7) &&
		    !is_of_pools(code->file) && !code->no_one_s)
			return place_of(looker, &stack->frames[i]);
	}
	return stack->count ? place_of(looker, &stack->frames[0]) : NULL;
}

static void set_owner(struct looker *looker, struct dump_wait *wait, unsigned owner, const char *where)
{
	wait->owner_pid = looker->process->pid;
	wait->owner_tid = looker->process->threads[owner].tid;
	wait->where = where ? where : own_place(looker, owner);
}

static const char *where_text(const struct dump_wait *wait)
{
	return wait->where ? wait->where : "?";
}

/* ---- the end of a thread ------------------------------------------------------------------------------------- */

#define BOOTSTRAP_OUTER 3    /* frames of a thread's stack, from its outermost one, that may be its _bootstrap() */
#define HANDLE_AT 16	     /* PyThreadHandleObject.handle (Modules/_threadmodule.c, 3.13 and later) */
#define HANDLE_BYTES_MAX 128 /* of what it points to, which has the event at which others wait */

/* The Thread object of a thread that Python's threading has started, 0: none. */
static uint64_t thread_object(struct looker *looker, unsigned index)
{
	const struct raw_stack *stack = &looker->python.stacks[index];

	for (unsigned k = stack->count; k-- > 0 && stack->count - k <= BOOTSTRAP_OUTER;)
		if (is_function(looker, &stack->frames[k], "threading.py", "_bootstrap"))
			return held_first_local(&looker->python, &stack->frames[k]);
	return 0;
}

/* Whether the lock, or the address in CPython's parking lot, is that by which others wait for the end of the thread. */
static bool is_awaited(struct looker *looker, uint64_t thread, uint64_t lock, uint64_t parked)
{
	const struct python_reader reader = {.pid = looker->process->pid, .layout = &looker->python.info.walk.layout};
	uint64_t handle;

	if (lock && python_attribute(&reader, thread, "_tstate_lock") == lock) /* 3.8 to 3.12 */
		return true;
	handle = parked ? python_attribute(&reader, thread, "_os_thread_handle") : 0;
	if (parked && !handle)
		handle = python_attribute(&reader, thread, "_handle"); /* 3.13 */
	handle = handle ? python_read_word(&reader, handle + HANDLE_AT) : 0;
	return handle && parked - handle < HANDLE_BYTES_MAX;
}

/* The main thread has ended, and waits for the threads that are no daemons (threading._shutdown; before 3.8: join). */
static bool find_exit(struct looker *looker, unsigned index, uint64_t parked, struct dump_wait *wait)
{
	const struct raw_stack *stack = &looker->python.stacks[index];
	uint64_t lock;

	if (!stack->count || !is_function(looker, &stack->frames[0], "threading.py", "_shutdown"))
		return false;
	lock = locals_find(&looker->python, &stack->frames[0], "lock");
	wait->kind = WAIT_JOIN;
	for (unsigned i = 0; i < looker->process->thread_count; i++) {
		uint64_t object = i == index ? 0 : thread_object(looker, i);

		if (!object || !is_awaited(looker, object, lock, parked))
			continue;
		set_owner(looker, wait, i, NULL);
		wait->text = arena_text(
			looker->arena, "has ended, and waits for the end of thread %d, which is no daemon and is at %s",
			(int)wait->owner_tid, where_text(wait));
		return true;
	}
	wait->text = "has ended, and waits for the end of a thread that is no daemon";
	return true;
}

/* ---- who owns what others wait for ---------------------------------------------------------------------------- */

/* The name of the module whose lock a frame of importlib takes; NULL: not such a frame. */
static const char *imported_module(struct looker *looker, const struct raw_frame *frame)
{
	if (!is_function(looker, frame, BOOTSTRAP, "_find_and_load") &&
	    !is_function(looker, frame, BOOTSTRAP, "_lock_unlock_module"))
		return NULL;
	return python_text(&looker->python, held_first_local(&looker->python, frame), 256);
}

static bool waits_for_module(struct looker *looker, const struct raw_frame *frame)
{
	return is_function(looker, frame, BOOTSTRAP, "acquire") || is_function(looker, frame, BOOTSTRAP, "__enter__");
}

/* A thread that still waits for the module's lock does not hold it. */
static void add_owner(struct looker *looker, unsigned index)
{
	const struct raw_stack *stack = &looker->python.stacks[index];
	uint64_t object = thread_object(looker, index);

	if (object)
		owners_add_object(&looker->owners, object, index);
	for (unsigned k = 1; k < stack->count; k++) {
		const char *module = waits_for_module(looker, &stack->frames[k - 1])
					     ? NULL
					     : imported_module(looker, &stack->frames[k]);

		if (module)
			owners_add_import(&looker->owners, module, index);
	}
}

/* Each thread is read once, when one of them first waits for another. */
static const struct owners *owners_of(struct looker *looker)
{
	for (unsigned i = 0; i < looker->process->thread_count && !looker->owners.read; i++)
		add_owner(looker, i);
	if (!looker->owners.read)
		owners_sort(&looker->owners);
	return &looker->owners;
}

/* Thread.join(): its Thread object is the first argument of the other thread's _bootstrap(). */
static bool find_join(struct looker *looker, unsigned index, struct dump_wait *wait)
{
	const struct raw_stack *stack = &looker->python.stacks[index];
	uint64_t object = 0;
	uint32_t owner;

	for (unsigned i = 0; i < stack->count && i < LIBRARY_FRAMES && !object; i++)
		if (is_function(looker, &stack->frames[i], "threading.py", "join"))
			object = held_first_local(&looker->python, &stack->frames[i]);
		else if (!is_function(looker, &stack->frames[i], "threading.py", "_wait_for_tstate_lock"))
			return false;
	if (!object)
		return false;
	wait->kind = WAIT_JOIN;
	owner = owners_find_object(owners_of(looker), object);
	if (owner != NO_OWNER) {
		set_owner(looker, wait, owner, NULL);
		wait->text = arena_text(looker->arena, "waits for the end of thread %d, which is at %s",
					(int)wait->owner_tid, where_text(wait));
		return true;
	}
	wait->text = arena_text(looker->arena, "waits for the end of a thread (Thread.join) that has no Python frames");
	return true;
}

/* ---- a module ------------------------------------------------------------------------------------------------ */

static bool find_import(struct looker *looker, unsigned index, struct dump_wait *wait)
{
	const struct raw_stack *stack = &looker->python.stacks[index];
	const char *module = NULL;
	uint32_t owner;

	if (!stack->count || !waits_for_module(looker, &stack->frames[0]))
		return false;
	for (unsigned i = 1; i < stack->count && i < LIBRARY_FRAMES && !module; i++)
		module = imported_module(looker, &stack->frames[i]);
	if (!module)
		return false;
	wait->kind = WAIT_IMPORT;
	owner = owners_find_import(owners_of(looker), module, index);
	if (owner != NO_OWNER) {
		set_owner(looker, wait, owner, NULL);
		wait->text =
			arena_text(looker->arena, "waits for module %s, which thread %d imports and which is at %s",
				   module, (int)wait->owner_tid, where_text(wait));
		return true;
	}
	wait->text = arena_text(looker->arena, "waits for module %s, which no thread here imports%s", module,
				looker->process->forked ? ": the process was forked while another thread did" : "");
	return true;
}

/* ---- a lock -------------------------------------------------------------------------------------------------- */

static const struct purpose {
	const char *file, *function;
	const char *text; /* NULL: the calling frame says more */
} purposes[] = {
	{"threading.py", "wait_for", NULL},
	{"threading.py", "_wait", "waits at a threading.Barrier for others to come"},
	{"threading.py", "acquire", "waits for a threading.Semaphore to be released"},
	{"queue.py", "get", "waits for an item of a queue (queue.Queue.get)"},
	{"queue.py", "put", "waits for room in a queue (queue.Queue.put)"},
	{"queue.py", "join", "waits until all items of a queue are done (queue.Queue.join)"},
	{"_base.py", "result", "waits for the result of a Future"},
	{"_base.py", "wait", "waits for Futures"},
};

/* The purpose of a Condition.wait() in the innermost frame; NULL: another frame. */
static const char *condition_purpose(struct looker *looker, const struct raw_stack *stack)
{
	const char *text = "waits to be notified (threading.Condition.wait)";

	if (!stack->count || !is_function(looker, &stack->frames[0], "threading.py", "wait"))
		return NULL;
	if (stack->count > 1 && is_function(looker, &stack->frames[1], "threading.py", "wait"))
		text = "waits for a threading.Event to be set";
	for (unsigned i = 1; i < stack->count && i < 4; i++) {
		const struct purpose *found = NULL;

		for (size_t k = 0; k < sizeof(purposes) / sizeof(purposes[0]); k++)
			if (is_function(looker, &stack->frames[i], purposes[k].file, purposes[k].function))
				found = &purposes[k];
		if (!found)
			break;
		text = found->text ? found->text : text;
	}
	return text;
}

/* A thread of a pool that waits for itself waits for any of the pool's threads: the next one stands for them. */
static void say_stuck(struct looker *looker, unsigned index, const struct pool_wait *found, struct dump_wait *wait)
{
	const struct pool *pool = found->pool;
	const char *whose = pool->threads > 1
				    ? arena_text(looker->arena, "all of whose %u threads wait for such", pool->threads)
				    : "whose only thread waits for such";

	set_owner(looker, wait, found->owner, NULL);
	wait->text = arena_text(looker->arena, "waits at %s for a result of %s %s, %s: the pool waits for itself",
				own_place(looker, index), found->own ? "its own pool" : "the pool",
				pool->name ? pool->name : "(no name)", whose);
}

/* The result of a pool's work; false: it waits for something else, or no more is known of it. */
static bool find_pool(struct looker *looker, unsigned index, struct dump_wait *wait)
{
	struct pool_wait found;

	if (!pools_find(&looker->python, looker->process, &looker->pools, index, &found))
		return false;
	if (found.pool && found.pool->stuck) {
		say_stuck(looker, index, &found, wait);
	} else if (found.owner != UINT32_MAX) {
		set_owner(looker, wait, found.owner, NULL);
		wait->text =
			arena_text(looker->arena, "waits for the result of a Future, for which thread %d works at %s",
				   (int)wait->owner_tid, where_text(wait));
	} else if (found.queued && found.pool && found.future) {
		wait->text = arena_text(looker->arena,
					"waits for the result of a Future that no thread of the pool %s has begun",
					found.pool->name ? found.pool->name : "(no name)");
	} else if (!found.future) {
		wait->text = "waits for a result of a multiprocessing.pool";
	} else {
		return false;
	}
	wait->kind = WAIT_LOCK;
	return true;
}

/* Whether the frame is that function of Python's multiprocessing/synchronize.py. */
static bool is_synchronize(struct looker *looker, const struct raw_frame *frame, const char *name)
{
	const char *file = python_code(&looker->python, frame->code)->file;

	return file && strstr(file, "multiprocessing/synchronize.py") &&
	       is_function(looker, frame, "synchronize.py", name);
}

static const char *semaphore_text(struct looker *looker, const char *type)
{
	return arena_text(looker->arena, "waits for a multiprocessing.%s, which another process may hold", type);
}

/* What the innermost frames of multiprocessing wait for; NULL: they are others, as at a call of acquire(). */
static const char *multiprocessing_purpose(struct looker *looker, const struct raw_stack *stack)
{
	static const char *const types[] = {"Lock", "RLock", "Semaphore", "BoundedSemaphore"};
	char type[TYPE_NAME_BYTES];
	const char *known = "Lock or Semaphore"; /* a class of the program */

	if (!stack->count)
		return NULL;
	if (is_synchronize(looker, &stack->frames[0], "__enter__")) {
		object_type_name(&looker->python, held_first_local(&looker->python, &stack->frames[0]), type);
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			known = strcmp(type, types[i]) ? known : types[i];
		return semaphore_text(looker, known);
	}
	if (!is_synchronize(looker, &stack->frames[0], "wait"))
		return NULL;
	if (stack->count > 1 && is_synchronize(looker, &stack->frames[1], "wait"))
		return "waits for a multiprocessing.Event to be set";
	if (stack->count > 2 && is_synchronize(looker, &stack->frames[1], "wait_for") &&
	    is_function(looker, &stack->frames[2], "threading.py", "_wait"))
		return "waits at a multiprocessing.Barrier for others to come";
	return "waits to be notified (multiprocessing.Condition.wait)";
}

static bool find_semaphore(struct looker *looker, unsigned index, uint64_t futex, struct dump_wait *wait)
{
	const char *type = held_semaphore(&looker->python, index, futex);

	if (!type)
		return false;
	wait->kind = WAIT_LOCK;
	wait->text = semaphore_text(looker, type);
	return true;
}

static const char *lock_name(const struct python_lock *lock)
{
	return lock->reentrant ? "threading.RLock" : "threading.Lock";
}

static bool find_lock(struct looker *looker, unsigned index, uint64_t address, struct dump_wait *wait)
{
	const struct raw_stack *stack = &looker->python.stacks[index];
	const char *purpose = condition_purpose(looker, stack), *where;
	struct python_lock lock;

	if (purpose && find_pool(looker, index, wait))
		return true;
	if (!purpose)
		purpose = multiprocessing_purpose(looker, stack);
	if (purpose) {
		wait->kind = WAIT_LOCK;
		wait->text = purpose;
		return true;
	}
	held_find(&looker->python, looker->process, &looker->held, index, address, &lock);
	if (!lock.object)
		return find_semaphore(looker, index, address, wait);
	wait->kind = WAIT_LOCK;
	wait->address = lock.object;
	if (lock.owner != NO_THREAD) {
		where = lock.owner_frame == NO_THREAD
				? NULL
				: place_of(looker, &looker->python.stacks[lock.owner].frames[lock.owner_frame]);
		set_owner(looker, wait, lock.owner, where);
		wait->text = lock.owner == index
				     ? arena_text(looker->arena, "waits for a %s that it holds itself, in %s",
						  lock_name(&lock), where_text(wait))
				     : arena_text(looker->arena, "waits for a %s, which thread %d holds in %s",
						  lock_name(&lock), (int)wait->owner_tid, where_text(wait));
	} else if (looker->process->forked) {
		wait->text =
			arena_text(looker->arena,
				   "waits for a %s that no thread of this process holds: process %d forked it, and "
				   "what another thread held then stays locked here",
				   lock_name(&lock), (int)looker->process->parent);
	} else if (lock.owner_gone) {
		wait->text = arena_text(looker->arena, "waits for a %s whose owner has ended", lock_name(&lock));
	} else {
		wait->text = arena_text(looker->arena, "waits for a %s; no thread is seen to hold it in a `with`",
					lock_name(&lock));
	}
	return true;
}

bool waits_find_python(struct looker *looker, unsigned index, uint64_t futex)
{
	struct dump_thread *thread = &looker->process->threads[index];
	uint64_t parked = held_parked_at(&looker->python, thread, futex);

	return find_exit(looker, index, parked, &thread->wait) || find_join(looker, index, &thread->wait) ||
	       find_import(looker, index, &thread->wait) ||
	       find_lock(looker, index, parked ? parked : futex, &thread->wait);
}
