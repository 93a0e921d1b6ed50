/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/loops.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "dump/process/kernel.h"
#include "dump/process/look.h"
#include "dump/process/memory.h"
#include "dump/process/tasks.h"
#include "target/process.h"

#define MS 1000000ull
#define LOOK_NS (5 * MS)	    /* between two looks at the threads of loops */
#define NO_LOOP_NS (50 * MS)	    /* the same while no loop is known */
#define SEARCH_NS (50 * MS)	    /* between two searches for loops in a process without one */
#define SEARCH_AGAIN_NS (1000 * MS) /* in one that has some, and in one that has run for long without asyncio */
#define SEARCH_AGE_SHARE 16u	    /* without asyncio that pause is one part in this many of its time so far */
#define REOPEN_NS (5000 * MS)	    /* between two looks at what seldom changes in a process: its Python, its threads */
#define TIME_SHARE 20u		    /* searching, in each process, and reading take one part in this many at most */
#define ARENA_BYTES (64u << 20)	    /* address space of each process that is read */
#define STACKS_MAX 64u		    /* different stacks of one look that are sent: those of the first tasks */
#define SCHEDSTAT_MAX 64

/* The thread of a loop. */
struct loop {
	pid_t tid;
	int schedstat;		  /* which names the thread also when its number is another's */
	char runs[SCHEDSTAT_MAX]; /* as last seen */
	bool read;		  /* the tasks were read since it ran last */
};

/* A process of the list, as it is read. */
struct reading {
	uint32_t pid; /* 0: none */
	uint64_t image;
	struct arena *arena; /* NULL: it cannot be read */
	struct mappings mappings;
	struct python_look python;
	struct dump_process *process; /* in the arena */
	struct task_places places;    /* none: asyncio is not loaded */
	ARRAY(struct loop) loops;
	uint64_t since_ns;  /* when it was first met */
	uint64_t search_ns; /* when to search for loops next */
	uint64_t reopen_ns; /* when to open it again */
};

struct reader_of_loops {
	struct loops_shared *shared;
	int socket;
	uint64_t reads;	   /* so far */
	uint64_t quiet_ns; /* no tasks are read before that time */
	struct reading all[LOOPS_PROCESSES];
};

/* ---- a process --------------------------------------------------------------------------------------------------- */

static void close_loops(struct reading *reading)
{
	for (size_t i = 0; i < reading->loops.count; i++)
		close(reading->loops.items[i].schedstat);
	reading->loops.count = 0;
}

static void close_process(struct reading *reading)
{
	close_loops(reading);
	if (!reading->arena)
		return;
	python_look_end(&reading->python);
	mappings_free(&reading->mappings);
	arena_free(reading->arena);
	reading->arena = NULL;
}

static void read_tasks(struct reading *reading)
{
	struct dump_process *process = reading->process;

	process->tasks = NULL;
	process->task_count = process->task_cycles = process->tasks_left_out = 0;
	(void)memory_keep_pages(reading->python.pid,
				MEMORY_SMALL); /* what is read while its thread runs does not count */
	tasks_read(&reading->python, process, &reading->places);
	memory_forget_pages();
}

static bool is_known(const struct reading *reading, pid_t tid)
{
	return any_of(reading->loops.count, i, reading->loops.items[i].tid == tid);
}

static void add_loop(struct reading *reading, pid_t tid)
{
	struct loop loop = {.tid = tid};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%d/schedstat", reading->pid, (int)tid);
	loop.schedstat = open(path, O_RDONLY | O_CLOEXEC);
	if (loop.schedstat >= 0)
		array_push(&reading->loops, loop);
}

static bool open_process(struct reading *reading)
{
	char why[512];

	if (arena_make(&reading->arena, ARENA_BYTES))
		return false;
	reading->process = arena_take(reading->arena, sizeof(*reading->process));
	reading->process->pid = (pid_t)reading->pid;
	reading->places.count = 0;
	reading->mappings = (struct mappings){0};
	memset(&reading->python, 0, sizeof(reading->python));
	return !mappings_read((pid_t)reading->pid, &reading->mappings) &&
	       !python_look_begin(&reading->python, (pid_t)reading->pid, &reading->mappings, reading->arena, why,
				  sizeof(why)) &&
	       !kernel_threads(reading->arena, reading->process);
}

/* Time on a processor: what others take of it is no cost. */
static uint64_t used_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec;
}

static uint64_t pause_after(uint64_t used_before_ns, uint64_t least_ns)
{
	uint64_t share_ns = (used_ns() - used_before_ns) * TIME_SHARE;

	return monotonic_ns() + (share_ns > least_ns ? share_ns : least_ns);
}

/* Reads what seldom changes: its Python, which may be starting, and its threads. */
static void reopen_process(struct reading *reading)
{
	uint64_t before_ns = used_ns();
	bool opened;

	close_process(reading);
	opened = open_process(reading);
	if (opened)
		python_look_threads(&reading->python, reading->process);
	else
		close_process(reading);
	reading->reopen_ns = pause_after(before_ns, opened ? REOPEN_NS : SEARCH_NS);
	reading->search_ns = 0;
}

/* Whether asyncio is loaded, in some interpreter. */
static bool find_places(struct reading *reading)
{
	const struct task_places *places = &reading->places;

	(void)memory_keep_pages(reading->python.pid, MEMORY_SMALL);
	tasks_find(&reading->python, reading->process, &reading->places);
	memory_forget_pages();
	if (!any_of(places->count, i, places->of[i].task_type && (places->of[i].all || places->of[i].scheduled)))
		reading->places.count = 0;
	return reading->places.count;
}

/* False: a loop has a thread that is not known yet. */
static bool find_loops(struct reading *reading)
{
	bool known = true;

	if (!reading->places.count && !find_places(reading))
		return true;
	read_tasks(reading);
	for (unsigned i = 0; i < reading->process->task_count; i++) {
		pid_t tid = reading->process->tasks[i].tid;

		known &= tid != 0;
		if (tid && !is_known(reading, tid))
			add_loop(reading, tid);
	}
	return known;
}

/* Most programs load asyncio when they start, if they do. */
static uint64_t search_pause(const struct reading *reading, uint64_t now_ns)
{
	uint64_t pause_ns = (now_ns - reading->since_ns) / SEARCH_AGE_SHARE;

	if (reading->loops.count || pause_ns > SEARCH_AGAIN_NS)
		pause_ns = SEARCH_AGAIN_NS;
	return reading->places.count && !reading->loops.count ? SEARCH_NS : pause_ns > SEARCH_NS ? pause_ns : SEARCH_NS;
}

static void search_loops(struct reading *reading)
{
	uint64_t now_ns = monotonic_ns(), before_ns = used_ns();

	if (now_ns >= reading->reopen_ns || (reading->arena && reading->arena->used > reading->arena->bytes / 8))
		reopen_process(reading);
	if (!reading->arena || now_ns < reading->search_ns)
		return;
	if (!find_loops(reading))
		reading->reopen_ns = 0;
	reading->search_ns = pause_after(before_ns, search_pause(reading, now_ns));
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/* False: there is no room. */
static bool put_text(struct loops_await *message, size_t *used, const char *text, uint16_t *at)
{
	size_t bytes = strlen(text) + 1;

	if (bytes > sizeof(message->text) - *used)
		return false;
	memcpy(message->text + *used, text, bytes);
	*at = (uint16_t)*used;
	*used += bytes;
	return true;
}

/* Of more than LOOPS_FRAMES coroutines those next to the outermost one are left out. */
static size_t put_frames(struct loops_await *message, const struct dump_task *task)
{
	size_t used = 0;

	message->frame_count = 0;
	for (unsigned i = 0; i < task->frame_count; i++) {
		const struct dump_frame *frame = &task->frames[i];
		struct loops_frame *to = &message->frames[message->frame_count];

		if (i >= LOOPS_FRAMES - 1 && i + 1 < task->frame_count)
			continue;
		to->line = frame->line;
		to->first_line = frame->first_line;
		if (!put_text(message, &used, frame->function, &to->function) ||
		    !put_text(message, &used, frame->file ? frame->file : "", &to->file))
			return 0;
		message->frame_count++;
	}
	return used;
}

static bool is_same_stack(const struct dump_task *a, const struct dump_task *b)
{
	if (a->frame_count != b->frame_count)
		return false;
	return !any_of(a->frame_count, i,
		       a->frames[i].line != b->frames[i].line ||
			       !is_same_text(a->frames[i].function, b->frames[i].function) ||
			       !is_same_text(a->frames[i].file, b->frames[i].file));
}

/* Whether the task awaits what is no task: what a task awaits that another one waits for keeps both. */
static bool awaits_itself(const struct dump_task *task, pid_t tid)
{
	return task->tid == tid && !task->awaits && !task->torn && task->frame_count &&
	       strcmp(task->kind, "runs") != 0 && strcmp(task->kind, "ready") != 0 &&
	       strcmp(task->kind, "not_begun") != 0;
}

struct group {
	const struct dump_task *task; /* the first of them */
	uint32_t tasks;
};

static size_t group_tasks(const struct dump_process *process, pid_t tid, struct group *groups, uint32_t *all)
{
	size_t count = 0, at;

	*all = 0;
	for (unsigned i = 0; i < process->task_count; i++) {
		const struct dump_task *task = &process->tasks[i];

		if (!awaits_itself(task, tid))
			continue;
		++*all;
		for (at = 0; at < count && !is_same_stack(groups[at].task, task); at++)
			;
		if (at == STACKS_MAX)
			continue;
		if (at == count)
			groups[count++] = (struct group){.task = task};
		groups[at].tasks++;
	}
	return count;
}

static void send_awaits(const struct reader_of_loops *reader, const struct reading *reading, pid_t tid,
			uint64_t from_ns, uint64_t to_ns)
{
	static struct loops_await message;
	struct group groups[STACKS_MAX];
	size_t used, count = group_tasks(reading->process, tid, groups, &message.all);

	message.time_ns = from_ns;
	message.end_ns = to_ns;
	message.image = reading->image;
	message.pid = reading->pid;
	message.tid = (uint32_t)tid;
	for (size_t i = 0; i < count; i++) {
		message.tasks = groups[i].tasks;
		used = put_frames(&message, groups[i].task);
		if (used)
			(void)send(reader->socket, &message, offsetof(struct loops_await, text) + used,
				   MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static struct dump_thread *find_thread(const struct dump_process *process, pid_t tid)
{
	return find_item(process->threads, process->thread_count, item, item->tid == tid);
}

/* The tasks stand still while their thread does: what is read counts if it has not run meanwhile. */
static void read_wait(struct reader_of_loops *reader, struct reading *reading, struct loop *loop)
{
	struct dump_thread *thread = find_thread(reading->process, loop->tid);
	uint64_t from_ns, to_ns, before_ns = used_ns();
	struct thread_runs runs;

	if (!thread)
		return;
	kernel_thread_again((pid_t)reading->pid, thread);
	from_ns = monotonic_ns();
	runs = runs_of(thread);
	if (thread->state != 'S')
		return;
	read_tasks(reading);
	to_ns = monotonic_ns();
	kernel_thread_again((pid_t)reading->pid, thread);
	loop->read = has_not_run_since(&runs, thread);
	if (loop->read)
		send_awaits(reader, reading, loop->tid, from_ns, to_ns);
	reader->quiet_ns = pause_after(before_ns, 0);
}

/* False: the thread is gone. */
static bool look_at_loop(struct reader_of_loops *reader, struct reading *reading, struct loop *loop)
{
	char now[SCHEDSTAT_MAX];
	ssize_t got = pread(loop->schedstat, now, sizeof(now) - 1, 0);

	if (got <= 0)
		return false;
	now[got] = '\0';
	if (strcmp(now, loop->runs) != 0) {
		strcpy(loop->runs, now);
		loop->read = false;
	} else if (!loop->read && monotonic_ns() >= reader->quiet_ns) {
		read_wait(reader, reading, loop);
	}
	return true;
}

static void look_at_process(struct reader_of_loops *reader, struct reading *reading)
{
	reader->shared->busy = (uint64_t)reading->pid << 32 | (uint32_t)++reader->reads;
	search_loops(reading);
	for (size_t i = 0; i < reading->loops.count; i++)
		if (!look_at_loop(reader, reading, &reading->loops.items[i])) {
			reading->reopen_ns = 0;
			break;
		}
	reader->shared->busy = 0;
}

/* Takes the list of processes as it is now; false: none has a loop. */
static bool look_at_all(struct reader_of_loops *reader)
{
	bool any = false;

	for (size_t i = 0; i < LOOPS_PROCESSES; i++) {
		struct reading *reading = &reader->all[i];
		uint64_t image = reader->shared->processes[i].image;
		uint32_t pid = reader->shared->processes[i].pid;

		if (pid != reading->pid || image != reading->image) {
			close_process(reading);
			reading->pid = pid;
			reading->image = image;
			reading->reopen_ns = 0;
			reading->since_ns = monotonic_ns();
		}
		if (!pid)
			continue;
		look_at_process(reader, reading);
		any |= reading->loops.count != 0;
	}
	return any;
}

void loops_serve(struct loops_shared *shared, pid_t parent, int socket)
{
	struct reader_of_loops *reader = xcalloc(1, sizeof(*reader));

	reader->shared = shared;
	reader->socket = look_child_begin("gputrace-tasks", socket);
	if (getppid() != parent) /* it ended before */
		_exit(0);
	for (;;) {
		struct timespec pause = {.tv_nsec = look_at_all(reader) ? LOOK_NS : NO_LOOP_NS};

		nanosleep(&pause, NULL);
	}
}
