/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Up to 3.13 asyncio.tasks has all tasks in sets; since 3.14 they are in a list of the thread that made them, or, after
 * its end, in a list of the interpreter.  The loop runs while they are read: each chain is read until two reads agree.
 */
#include "dump/process/tasks.h"

#include <string.h>

#include "dump/process/locals.h"
#include "dump/process/memory.h"

#define TASKS_MAX 4096 /* per process */
#define READ_TWICE_MOST 3
#define INDEX_SINCE                                                                                                    \
	(3u << 8 | 15) /* an index lies above the awaited or iterated object on the stack (SEND, Python/bytecodes.c)   \
			*/
#define NAME_CHARS 64
#define WEAKREF_OBJECT_AT 16 /* PyWeakReference.wr_object (cpython/weakrefobject.h) */
#define WRAPPED_AT                                                                                                     \
	16	   /* cw_coroutine, ags_gen, agt_gen, wrapped: the first member (Objects/genobject.c, iterobject.c) */
#define LOOP_AT 16 /* FutureObj.fut_loop: the first member (Modules/_asynciomodule.c) */

/*
 * TaskObj (Modules/_asynciomodule.c), which is in no header: the offsets at which each CPython (3.7.16, 3.8.18, 3.9.2,
 * 3.9.18, 3.10.13, 3.11.2, 3.11.7, 3.12.1, 3.13.0, 3.13.5, 3.14.10, 3.15.2) keeps the values of get_coro() and
 * get_name(), the awaited Future, and the state that set_result() sets; `node` by the list that leads to it.
 */
static const struct task_layout layouts[] = {
	{3u << 8 | 7, 136, 72, 104, 112, 0, 0},	      {3u << 8 | 8, 144, 72, 104, 112, 120, 0},
	{3u << 8 | 9, 184, 80, 144, 152, 160, 0},     {3u << 8 | 10, 192, 88, 152, 160, 168, 0},
	{3u << 8 | 11, 176, 88, 128, 136, 144, 0},    {3u << 8 | 12, 176, 88, 128, 136, 144, 0},
	{3u << 8 | 13, 144, 96, 112, 120, 128, 0},    {3u << 8 | 14, 168, 104, 120, 128, 136, 152},
	{3u << 8 | 15, 168, 104, 120, 128, 136, 152},
};

static const struct task_layout *find_layout(unsigned version)
{
	return table_find(layouts, item, item->version == version);
}

static uint64_t read_word(const struct task_reader *tasks, uint64_t address)
{
	return memory_word(tasks->look->pid, address);
}

/* ---- all tasks ----------------------------------------------------------------------------------------------- */

static bool visit_task(void *context, uint64_t object, uint64_t unused)
{
	struct task_reader *tasks = context;
	uint32_t *place;

	(void)unused;
	if (!python_is_a(&tasks->reader, object, tasks->task_type)) {
		tasks->process->tasks_left_out += tasks->of_set;
		return true;
	}
	if (memory_int(tasks->look->pid, object + tasks->layout->state))
		return true; /* it is done */
	if (tasks->list.count == TASKS_MAX) {
		tasks->process->tasks_left_out++;
		return true;
	}
	place = lookup_put(&tasks->places, 1, object, UINT32_MAX);
	if (*place != UINT32_MAX)
		return true;
	*place = (uint32_t)tasks->list.count;
	array_push(&tasks->list,
		   ((struct raw_task){
			   .object = object, .task_type = tasks->task_type, .future_type = tasks->future_type}));
	return true;
}

static bool visit_weak(void *context, uint64_t reference, uint64_t unused)
{
	struct task_reader *tasks = context;
	char name[TYPE_NAME_BYTES];
	uint64_t object;

	object_type_name(tasks->look, reference, name);
	if (strncmp(name, "weakref", strlen("weakref")) != 0)
		return true;
	object = read_word(tasks, reference + WEAKREF_OBJECT_AT);
	object_type_name(tasks->look, object, name);
	if (!*name || !strcmp(name, "NoneType"))
		return true; /* the object is gone */
	return visit_task(tasks, object, unused);
}

/* struct llist_node (pycore_llist.h): next, prev */
static void add_list(struct task_reader *tasks, uint64_t head)
{
	uint64_t before = head, node = read_word(tasks, head);

	for (unsigned i = 0; i < 2 * TASKS_MAX && node && node != head && read_word(tasks, node + 8) == before; i++) {
		visit_task(tasks, node - tasks->layout->node, 0);
		before = node;
		node = read_word(tasks, node);
	}
}

static void add_lists(struct task_reader *tasks, uint64_t interpreter)
{
	const struct gpt_pylayout *layout = tasks->reader.layout;

	for (unsigned i = 0; i < tasks->process->thread_count; i++) {
		uint64_t tstate = tasks->process->threads[i].tstate;

		if (tstate && read_word(tasks, tstate + layout->ts_interp) == interpreter)
			add_list(tasks, tstate + layout->ts_tasks);
	}
	add_list(tasks, interpreter + layout->interp_tasks);
}

static void add_weak_set(struct task_reader *tasks, uint64_t set)
{
	if (set)
		python_set_each(&tasks->reader, python_attribute(&tasks->reader, set, "data"), visit_weak, tasks);
}

static void add_all(struct task_reader *tasks, const struct task_modules *modules)
{
	tasks->task_type = modules->task_type;
	tasks->future_type = modules->future_type;
	if (tasks->layout->node)
		add_lists(tasks, modules->interpreter);
	tasks->of_set = true;
	add_weak_set(tasks, modules->all);
	add_weak_set(tasks, modules->scheduled);
	python_set_each(&tasks->reader, modules->eager, visit_task, tasks);
	tasks->of_set = false;
}

/* If the layout of its tasks is not known, and asyncio is loaded, sets the reason. */
static void find_modules(struct python_look *look, struct dump_process *process, struct task_modules *out)
{
	const struct python_reader reader = {.pid = look->pid, .layout = &look->info.walk.layout};
	const struct task_layout *layout = find_layout(look->info.walk.layout.version);

	out->threads = python_module_global(&reader, out->interpreter, "threading", "_active");
	out->task_type = python_module_global(&reader, out->interpreter, "_asyncio", "Task");
	out->future_type = python_module_global(&reader, out->interpreter, "_asyncio", "Future");
	if (layout && out->task_type && python_basicsize(&reader, out->task_type) == layout->bytes) {
		out->all = python_module_global(&reader, out->interpreter, "asyncio.tasks", "_all_tasks");
		out->scheduled = python_module_global(&reader, out->interpreter, "asyncio.tasks", "_scheduled_tasks");
		out->eager = python_module_global(&reader, out->interpreter, "asyncio.tasks", "_eager_tasks");
		return;
	}
	out->task_type = 0;
	if (python_module_global(&reader, out->interpreter, "asyncio.tasks", "Task"))
		process->no_tasks =
			arena_text(look->arena, "where CPython %s keeps them is not known", look->info.version);
}

/* ---- where a task's coroutines stand --------------------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	return any_of(count, i, !strcmp(name, names[i]));
}

/* The object inside wrappers of a coroutine or of an asynchronous generator. */
static uint64_t unwrap_object(struct task_reader *tasks, uint64_t object, char *type)
{
	static const char *const wrappers[] = {"coroutine_wrapper", "async_generator_asend", "async_generator_athrow",
					       "anext_awaitable"};

	for (int i = 0; i < 4; i++) {
		object_type_name(tasks->look, object, type);
		if (!is_one_of(type, wrappers, sizeof(wrappers) / sizeof(wrappers[0])))
			break;
		object = read_word(tasks, object + WRAPPED_AT);
	}
	return object;
}

/* The object that a coroutine awaits, from its frame's stack; 0: none. */
static uint64_t awaited_by(struct task_reader *tasks, uint64_t frame)
{
	const struct gpt_pylayout *layout = tasks->reader.layout;
	uint64_t end = read_word(tasks, frame + layout->frame_stack);
	int32_t count = (int32_t)end;

	if (layout->frame_stack_is_count)
		end = count <= 0 ? 0
				 : 8ULL * (uint32_t)count + (layout->walk == GPT_PY_WALK_OBJECTS
								     ? read_word(tasks, frame + layout->frame_values)
								     : frame + layout->frame_localsplus);
	return end ? read_word(tasks, end - (layout->version >= INDEX_SINCE ? 16 : 8)) & ~7ULL : 0;
}

/* Whether a generator's frame is suspended or not started; *frame: its address. */
static bool find_frame(struct task_reader *tasks, uint64_t object, uint64_t *frame, struct chain *out)
{
	const struct gpt_pylayout *layout = tasks->reader.layout;
	uint8_t state = 0;

	*frame = object + layout->gen_frame;
	if (layout->gen_frame_state == GPT_PY_ABSENT) { /* no frame: it has ended */
		*frame = read_word(tasks, *frame);
		out->runs = *frame &&
			    (layout->frame_stack_is_count ? (int32_t)read_word(tasks, *frame + layout->frame_stack) < 0
							  : !read_word(tasks, *frame + layout->frame_stack));
		return *frame && !out->runs;
	}
	if (!memory_read(tasks->look->pid, object + layout->gen_frame_state, &state, 1))
		return false;
	out->runs = state == layout->gen_running;
	return state == layout->gen_created || (uint8_t)(state - layout->gen_suspended_first) <=
						       layout->gen_suspended_last - layout->gen_suspended_first;
}

static void read_chain(struct task_reader *tasks, uint64_t object, struct chain *out)
{
	static const char *const awaiting[] = {"coroutine", "async_generator"};
	uint8_t copy[GPT_PY_FRAME_BYTES_MAX];
	char type[TYPE_NAME_BYTES];

	memset(out, 0, sizeof(*out));
	while (object && out->count < CHAIN_MAX) {
		struct raw_frame *raw = &out->frames[out->count];
		const struct python_code *code;
		uint64_t frame;
		bool awaits;

		object = unwrap_object(tasks, object, type);
		awaits = is_one_of(type, awaiting, sizeof(awaiting) / sizeof(awaiting[0]));
		/* A plain generator may just yield: the object on its stack is not one that it awaits. */
		if ((!awaits && strcmp(type, "generator") != 0) || !find_frame(tasks, object, &frame, out) ||
		    !python_frame_read(tasks->look, frame, copy, raw))
			return;
		code = python_code(tasks->look, raw->code);
		out->count++;
		out->begun |= raw->lasti >= 0 && raw->lasti >= (int32_t)code->first_traceable;
		object = awaits && out->begun ? awaited_by(tasks, frame) : 0;
	}
}

static bool are_same(const struct chain *a, const struct chain *b)
{
	if (a->count != b->count || a->runs != b->runs || a->begun != b->begun)
		return false;
	return !any_of(a->count, i,
		       a->frames[i].frame != b->frames[i].frame || a->frames[i].code != b->frames[i].code ||
			       a->frames[i].lasti != b->frames[i].lasti);
}

/* False: it has ended meanwhile. */
static bool read_task(struct task_reader *tasks, struct raw_task *raw)
{
	static struct chain again;
	const struct task_layout *layout = tasks->layout;

	read_chain(tasks, read_word(tasks, raw->object + layout->coro), &raw->chain);
	raw->torn = true;
	for (int i = 0; i < READ_TWICE_MOST && raw->torn; i++) {
		raw->waiter = read_word(tasks, raw->object + layout->waiter);
		read_chain(tasks, read_word(tasks, raw->object + layout->coro), &again);
		raw->torn = !are_same(&again, &raw->chain);
		raw->chain = again;
	}
	return python_is_a(&tasks->reader, raw->object, raw->task_type) &&
	       !memory_int(tasks->look->pid, raw->object + layout->state);
}

static void name_frames(struct task_reader *tasks, const struct chain *chain, struct dump_task *task)
{
	task->frames = arena_take(tasks->look->arena, (chain->count + 1) * sizeof(*task->frames));
	for (unsigned i = chain->count; task->frames && i-- > 0;) {
		const struct raw_frame *raw = &chain->frames[i];
		const struct python_code *code = python_code(tasks->look, raw->code);
		struct dump_frame *frame = &task->frames[task->frame_count++];

		frame->function = code->function ? code->function : "?";
		frame->file = code->file;
		frame->first_line = code->first_line;
		frame->line = chain->begun ? python_line(tasks->look, code, raw->lasti) : code->first_line;
		if (tasks->look->locals)
			locals_read(tasks->look, raw, frame);
	}
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

static const char *task_name(struct task_reader *tasks, uint64_t object)
{
	uint64_t name = tasks->layout->name ? read_word(tasks, object + tasks->layout->name) : 0, number;
	char type[TYPE_NAME_BYTES];

	if (!name)
		return NULL;
	object_type_name(tasks->look, name, type);
	if (!strcmp(type, "int") &&
	    python_int(&tasks->reader, name, &number)) /* 3.13 and later, until it is asked for */
		return arena_text(tasks->look->arena, "Task-%llu", (unsigned long long)number);
	return !strcmp(type, "str") ? python_text(tasks->look, name, NAME_CHARS) : NULL;
}

static void index_threads(struct task_reader *tasks)
{
	for (unsigned i = 0; i < tasks->process->thread_count; i++)
		if (tasks->process->threads[i].tstate)
			lookup_put(&tasks->threads, 1, tasks->process->threads[i].pthread, i);
}

static struct dump_thread *thread_of(const struct task_reader *tasks, uint64_t pthread)
{
	const uint32_t *place = lookup_get(&tasks->threads, 1, pthread);

	return place ? &tasks->process->threads[*place] : NULL;
}

/* asyncio.BaseEventLoop._thread_id, which is None while the loop does not run */
static pid_t loop_tid(struct task_reader *tasks, uint64_t loop)
{
	uint64_t ident = python_attribute(&tasks->reader, loop, "_thread_id"), pthread;
	char type[TYPE_NAME_BYTES];
	struct dump_thread *thread;

	object_type_name(tasks->look, ident, type);
	if (strcmp(type, "int") != 0 || !python_int(&tasks->reader, ident, &pthread))
		return 0;
	thread = thread_of(tasks, pthread);
	return thread ? thread->tid : 0;
}

static void set_loop(struct task_reader *tasks, const struct raw_task *raw, struct dump_task *task)
{
	uint64_t loop = read_word(tasks, raw->object + LOOP_AT);

	if (loop != tasks->loop) {
		tasks->loop = loop;
		tasks->loop_tid = loop_tid(tasks, loop);
		for (unsigned i = 0; i < tasks->process->thread_count; i++)
			tasks->process->threads[i].has_tasks |= tasks->process->threads[i].tid == tasks->loop_tid;
	}
	task->loop = loop;
	task->tid = tasks->loop_tid;
}

static bool visit_thread(void *context, uint64_t ident, uint64_t object)
{
	struct task_reader *tasks = context;
	uint64_t pthread;
	struct dump_thread *thread = python_int(&tasks->reader, ident, &pthread) ? thread_of(tasks, pthread) : NULL;

	if (thread)
		thread->python_name =
			python_text(tasks->look, python_attribute(&tasks->reader, object, "_name"), NAME_CHARS);
	return true;
}

/* ---------------------------------------------------------------------------------------------------------------- */

/* Each task awaits at most one: a walk that comes back to its start has found a cycle. */
static void find_cycles(struct dump_process *process)
{
	for (unsigned i = 0; i < process->task_count; i++) {
		struct dump_task *task = &process->tasks[i];
		unsigned at = i, steps = 0;

		while (!task->cycle && process->tasks[at].awaits && steps++ < process->task_count) {
			at = process->tasks[at].awaits - 1;
			if (at == i)
				break;
		}
		if (task->cycle || !steps || at != i)
			continue;
		process->task_cycles++;
		do {
			process->tasks[at].cycle = process->task_cycles;
			at = process->tasks[at].awaits - 1;
		} while (at != i);
	}
}

static void describe_task(struct task_reader *tasks, struct raw_task *raw, struct dump_task *task)
{
	task->id = raw->object;
	task->name = task_name(tasks, raw->object);
	task->torn = raw->torn;
	set_loop(tasks, raw, task);
	name_frames(tasks, &raw->chain, task);
}

static void describe_all(struct task_reader *tasks)
{
	struct dump_process *process = tasks->process;

	process->tasks = arena_take(tasks->look->arena, (tasks->list.count + 1) * sizeof(*process->tasks));
	if (!process->tasks)
		return;
	array_each (raw, &tasks->list) {
		if (!read_task(tasks, raw))
			continue;
		describe_task(tasks, raw, &process->tasks[process->task_count]);
		raw->number = ++process->task_count;
	}
	for (size_t i = 0; i < tasks->list.count; i++)
		if (tasks->list.items[i].number)
			task_words(tasks, &tasks->list.items[i]);
	find_cycles(process);
}

void tasks_find(struct python_look *look, struct dump_process *process, struct task_places *out)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t interpreter = memory_word(look->pid, look->info.walk.runtime + layout->runtime_interpreters_head);

	*out = (struct task_places){0};
	while (interpreter && out->count < TASK_INTERPRETERS_MAX) {
		out->of[out->count].interpreter = interpreter;
		find_modules(look, process, &out->of[out->count++]);
		interpreter = memory_word(look->pid, interpreter + layout->interp_next);
	}
}

void tasks_read(struct python_look *look, struct dump_process *process, const struct task_places *places)
{
	struct task_reader tasks = {
		.look = look, .reader = {.pid = look->pid, .layout = &look->info.walk.layout}, .process = process};

	index_threads(&tasks);
	tasks.layout = find_layout(look->info.walk.layout.version);
	for (unsigned i = 0; i < places->count; i++) {
		python_dict_each(&tasks.reader, places->of[i].threads, visit_thread, &tasks);
		if (places->of[i].task_type)
			add_all(&tasks, &places->of[i]);
	}
	describe_all(&tasks);
	lookup_free(&tasks.places);
	lookup_free(&tasks.threads);
	array_free(&tasks.list);
}
