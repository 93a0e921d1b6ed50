/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a task awaits.  The Future for which it waits may be a task itself; asyncio's coroutines that await it tell its
 * purpose.
 */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "dump/process/held.h"
#include "dump/process/locals.h"
#include "dump/process/memory.h"
#include "dump/process/tasks.h"

#define LIBRARY_FRAMES 4 /* innermost frames that may be asyncio's */
#define NAMED_MAX 4	 /* of several awaited tasks */
#define CHILDREN_MAX 1024
#define LIST_SIZE_AT 16 /* PyListObject: ob_size, ob_item (cpython/listobject.h) */
#define LIST_ITEMS_AT 24

static const struct purpose {
	const char *file, *function, *self; /* self: type of the first variable, NULL: any */
	const char *kind, *text;
} purposes[] = {
	{"locks.py", "acquire", "Lock", "lock", "waits for an asyncio.Lock"},
	{"locks.py", "acquire", "Semaphore", "semaphore", "waits for an asyncio.Semaphore to be released"},
	{"locks.py", "acquire", "BoundedSemaphore", "semaphore",
	 "waits for an asyncio.BoundedSemaphore to be released"},
	{"locks.py", "wait", "Event", "event", "waits for an asyncio.Event to be set"},
	{"locks.py", "wait", "Condition", "condition", "waits to be notified (asyncio.Condition.wait)"},
	{"locks.py", "wait_for", "Condition", "condition", "waits to be notified (asyncio.Condition.wait_for)"},
	{"locks.py", "_wait", "Barrier", "barrier", "waits at an asyncio.Barrier for others to come"},
	{"queues.py", "get", NULL, "queue", "waits for an item of a queue (asyncio.Queue.get)"},
	{"queues.py", "put", NULL, "queue", "waits for room in a queue (asyncio.Queue.put)"},
	{"queues.py", "join", NULL, "queue", "waits until all items of a queue are done (asyncio.Queue.join)"},
	{"streams.py", "_wait_for_data", NULL, "stream", "waits for data of a stream (asyncio.StreamReader)"},
	{"streams.py", "_drain_helper", NULL, "stream",
	 "waits until a stream has written (asyncio.StreamWriter.drain)"},
	{"tasks.py", "sleep", NULL, "sleep", "sleeps (asyncio.sleep)"},
	{"tasks.py", "wait_for", NULL, "task", "waits, for some time at most (asyncio.wait_for), for"},
	{"tasks.py", "_wait", NULL, "tasks", "asyncio.wait"},
	{"taskgroups.py", "__aexit__", NULL, "tasks", "asyncio.TaskGroup"},
	{"taskgroups.py", "_aexit", NULL, "tasks", "asyncio.TaskGroup"},
};

static bool is_asyncio_s(const char *path, const char *file)
{
	size_t length = strlen(path), end = strlen("asyncio/") + strlen(file);

	return length > end && !strcmp(path_base(path), file) &&
	       !memcmp(path + length - end, "asyncio/", strlen("asyncio/"));
}

static const struct purpose *purpose_of(struct task_reader *tasks, const struct raw_frame *raw)
{
	const struct python_code *code = python_code(tasks->look, raw->code);
	char self[TYPE_NAME_BYTES];
	const char *function;

	if (!code->function || !code->file)
		return NULL;
	function = strrchr(code->function, '.') ? strrchr(code->function, '.') + 1 : code->function;
	object_type_name(tasks->look, held_first_local(tasks->look, raw), self);
	return table_find(purposes, item,
			  !strcmp(function, item->function) && is_asyncio_s(code->file, item->file) &&
				  (!item->self || !strcmp(self, item->self)));
}

/* The outermost of asyncio's innermost coroutines that has a purpose; *at: its index. */
static const struct purpose *find_purpose(struct task_reader *tasks, const struct chain *chain, unsigned *at)
{
	const struct purpose *found = NULL;

	for (unsigned i = chain->count; i > 0 && chain->count - i < LIBRARY_FRAMES; i--) {
		const struct purpose *purpose = purpose_of(tasks, &chain->frames[i - 1]);

		if (!purpose || (found && !strcmp(found->kind, "lock"))) /* a Condition that wants its lock back */
			break;
		found = purpose;
		*at = i - 1;
	}
	return found;
}

/* ---- awaited tasks --------------------------------------------------------------------------------------------- */

/* The number of the task object, from 1; 0: not a task, or done. */
static unsigned task_at(const struct task_reader *tasks, uint64_t object)
{
	const uint32_t *place = lookup_get(&tasks->places, 1, object);

	return place ? tasks->list.items[*place].number : 0;
}

static const char *label_of(struct task_reader *tasks, unsigned number)
{
	const struct dump_task *task = &tasks->process->tasks[number - 1];

	return task->name ? arena_text(tasks->look->arena, "task %s", task->name)
			  : arena_text(tasks->look->arena, "task %#llx", (unsigned long long)task->id);
}

struct children {
	struct task_reader *tasks;
	unsigned count, pending, first; /* first: number of the first pending one that is a task */
	unsigned named;
	const char *names;
};

static bool visit_child(void *context, uint64_t object, uint64_t unused)
{
	struct children *children = context;
	struct task_reader *tasks = children->tasks;
	unsigned number = task_at(tasks, object);

	(void)unused;
	if (!number && !python_is_a(&tasks->reader, object, tasks->future_type) &&
	    !python_is_a(&tasks->reader, object, tasks->task_type))
		return true;
	children->count++;
	if (memory_int(tasks->look->pid, object + tasks->layout->state))
		return children->count < CHILDREN_MAX;
	children->pending++;
	children->first = children->first ? children->first : number;
	if (number && children->named++ < NAMED_MAX)
		children->names = children->names ? arena_text(tasks->look->arena, "%s, %s", children->names,
							       label_of(tasks, number))
						  : label_of(tasks, number);
	return children->count < CHILDREN_MAX;
}

static void visit_list(struct task_reader *tasks, uint64_t list, struct children *children)
{
	uint64_t count = memory_word(tasks->look->pid, list + LIST_SIZE_AT);
	uint64_t items = memory_word(tasks->look->pid, list + LIST_ITEMS_AT);

	for (uint64_t i = 0; items && i < count && i < CHILDREN_MAX; i++)
		if (!visit_child(children, memory_word(tasks->look->pid, items + 8 * i), 0))
			return;
}

/* container: a list or a set of Futures */
static void awaits_several(struct task_reader *tasks, struct dump_task *task, uint64_t container, const char *by)
{
	struct children children = {.tasks = tasks};
	char type[TYPE_NAME_BYTES];

	object_type_name(tasks->look, container, type);
	if (!strcmp(type, "list"))
		visit_list(tasks, container, &children);
	else if (!strcmp(type, "set"))
		python_set_each(&tasks->reader, container, visit_child, &children);
	task->kind = "tasks";
	task->awaits = children.first;
	task->text = arena_text(tasks->look->arena, "waits for %u of %u tasks and Futures (%s)%s%s%s", children.pending,
				children.count, by, children.names ? ": " : "", children.names ? children.names : "",
				children.named > NAMED_MAX ? ", ..." : "");
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void awaits_one(struct task_reader *tasks, struct dump_task *task, uint64_t object, const char *verb)
{
	task->awaits = task_at(tasks, object);
	task->kind = task->awaits ? "task" : "future";
	task->text = arena_text(tasks->look->arena, "%s %s", verb,
				task->awaits ? label_of(tasks, task->awaits) : "a Future");
}

static void set_purpose(struct task_reader *tasks, struct dump_task *task, const struct purpose *purpose,
			const struct raw_frame *raw)
{
	struct python_look *look = tasks->look;
	const char *delay;

	task->kind = purpose->kind;
	task->text = purpose->text;
	if (!strcmp(purpose->kind, "sleep")) {
		delay = locals_value(look, locals_find(look, raw, "delay"));
		if (delay)
			task->text = arena_text(look->arena, "sleeps for %s s (asyncio.sleep)", delay);
	} else if (!strcmp(purpose->kind, "task")) {
		awaits_one(tasks, task, locals_find(look, raw, "fut"), purpose->text);
	} else if (!strcmp(purpose->kind, "tasks")) {
		awaits_several(tasks, task,
			       !strcmp(purpose->function, "_wait")
				       ? locals_find(look, raw, "fs")
				       : python_attribute(&tasks->reader, held_first_local(look, raw), "_tasks"),
			       purpose->text);
	}
}

void task_words(struct task_reader *tasks, const struct raw_task *raw)
{
	struct dump_task *task = &tasks->process->tasks[raw->number - 1];
	char type[TYPE_NAME_BYTES];
	const struct purpose *purpose;
	unsigned at = 0;

	tasks->task_type = raw->task_type;
	tasks->future_type = raw->future_type;
	if (!raw->waiter) {
		task->kind = raw->chain.runs ? "runs" : raw->chain.count && !raw->chain.begun ? "not_begun" : "ready";
		task->text = raw->chain.runs			     ? "runs"
			     : raw->chain.count && !raw->chain.begun ? "has not begun"
								     : "is to be run by its loop";
		return;
	}
	purpose = find_purpose(tasks, &raw->chain, &at);
	object_type_name(tasks->look, raw->waiter, type);
	if (purpose)
		set_purpose(tasks, task, purpose, &raw->chain.frames[at]);
	else if (!strcmp(type, "_GatheringFuture"))
		awaits_several(tasks, task, python_attribute(&tasks->reader, raw->waiter, "_children"),
			       "asyncio.gather");
	else
		awaits_one(tasks, task, raw->waiter, "waits for");
}
