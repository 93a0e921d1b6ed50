/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes and threads of a source: identity, names, starts and ends. */
#include "model/tables/process_table.h"

#include <ctype.h>
#include <string.h>

#include "base/distance.h"

/*
 * Two start times closer than this are of the same process, unless known otherwise: /proc has them in ticks of 10 ms, a
 * fork record in ns, and no kernel reuses a pid within 100 ms unless a program sets the next pid.
 */
#define SAME_START_NS 100000000ull

void process_table_free(struct process_table *processes)
{
	array_free(&processes->list);
	array_free(&processes->states);
	array_free(&processes->threads);
	array_free(&processes->open_calls);
	array_free(&processes->thread_names);
	lookup_free(&processes->by_pid);
	lookup_free(&processes->by_tid);
	lookup_free(&processes->by_own_tid);
}

#define RANK_DIGITS_MAX 7 /* as many as fit into PROCESS_RANK_MAX (target/process.h) */
#define UID_DIGITS_MAX 10

static uint32_t add_process(struct process_table *processes, uint32_t pid)
{
	const char *nothing = string_keep(processes->strings, "", 0);
	uint32_t index = (uint32_t)processes->list.count;
	struct model_process process = {.pid = pid,
					.name = nothing,
					.exe = nothing,
					.cmdline = nothing,
					.rank = -1,
					.local_rank = -1,
					.master = nothing,
					.run_id = nothing,
					.uid = NONE,
					.cgroup = nothing,
					.container = nothing,
					.container_name = nothing,
					.pod = nothing,
					.pod_name = nothing,
					.python_path = nothing,
					.agent_detail = nothing,
					.ops_detail = nothing,
					.torch_memory_detail = nothing,
					.agent_activity_sets = nothing,
					.cupti_path = nothing};
	struct process_state state = {.epoch = ++processes->last_epoch, .clock = NONE};

	array_push(&processes->list, process);
	array_push(&processes->states, state);
	*lookup_put(&processes->by_pid, 1, pid, index) = index;
	processes->last_process.pid = 0;
	return index;
}

static struct model_process *latest_process(struct process_table *processes, uint32_t pid)
{
	uint32_t *index = lookup_get(&processes->by_pid, 1, pid);

	return index ? &processes->list.items[*index] : NULL;
}

uint32_t process_table_find(struct process_table *processes, uint32_t pid)
{
	uint32_t *index;

	if (pid && pid == processes->last_process.pid)
		return processes->last_process.process;
	index = lookup_get(&processes->by_pid, 1, pid);
	processes->last_process.process = index ? *index : add_process(processes, pid);
	processes->last_process.pid = pid;
	return processes->last_process.process;
}

struct process_image process_table_image(struct process_table *processes, uint32_t pid)
{
	uint32_t process = process_table_find(processes, pid);

	return (struct process_image){.process = process, .epoch = processes->states.items[process].epoch};
}

uint32_t process_table_known(struct process_table *processes, uint32_t pid)
{
	const uint32_t *index = lookup_get(&processes->by_pid, 1, pid);

	return index && !processes->list.items[*index].exit_ns ? *index : NONE;
}

struct process_image process_table_image_at(struct process_table *processes, uint32_t pid, uint64_t time_ns)
{
	struct process_image program = process_table_image(processes, pid);

	program.epoch = epoch_at(&processes->states.items[program.process], time_ns);
	return program;
}

bool process_began_after(const struct process_table *processes, uint32_t process, uint64_t time_ns)
{
	return processes->states.items[process].forked && processes->list.items[process].start_ns > time_ns;
}

uint32_t process_table_find_thread(struct process_table *processes, uint32_t process, uint32_t tid)
{
	const uint32_t *known = lookup_get_latest(&processes->by_tid, &processes->last_threads, process + 1, tid);
	uint32_t index = (uint32_t)processes->threads.count;
	struct model_thread thread = {.process = process, .tid = tid};

	if (known)
		return *known;
	lookup_put(&processes->by_tid, process + 1, tid, index);
	thread.name = string_keep(processes->strings, "", 0);
	array_push(&processes->threads, thread);
	array_push(&processes->open_calls, NONE);
	array_push(&processes->thread_names, ((struct thread_names){0}));
	return index;
}

static const char *keep_text(struct process_table *processes, struct text text)
{
	return string_keep(processes->strings, text.bytes, text.size);
}

/* Whether the known process of a pid can be the one that started at start_ns. */
static bool is_same(const struct model_process *process, uint64_t start_ns)
{
	if (process->exit_ns && start_ns > process->exit_ns)
		return false;
	if (process->start_ns)
		return time_distance(process->start_ns, start_ns) <= SAME_START_NS;
	if (process->exit_ns)
		return true;
	return !process->first_call_ns || start_ns <= process->first_call_ns + SAME_START_NS;
}

/* The process with this pid that started at start_ns; an earlier one with the pid has ended by then. */
static struct model_process *find_started(struct process_table *processes, uint32_t pid, uint64_t start_ns)
{
	struct model_process *process = latest_process(processes, pid);

	if (process && !is_same(process, start_ns)) {
		if (!process->exit_ns)
			process->exit_ns = start_ns;
		process = NULL;
	}
	if (!process) {
		add_process(processes, pid);
		process = latest_process(processes, pid);
	}
	if (!process->start_ns)
		process->start_ns = start_ns;
	return process;
}

void process_table_add_thread(struct process_table *processes, const struct new_thread *event)
{
	uint32_t process = process_table_find(processes, event->pid);
	uint32_t thread = process_table_find_thread(processes, process, event->tid);

	if (event->has_other_names) {
		processes->thread_names.items[thread] =
			(struct thread_names){.own_tid = event->own_tid, .pointer = event->pointer};
		if (event->own_tid)
			*lookup_put(&processes->by_own_tid, process + 1, event->own_tid, thread) = thread;
	}
	processes->threads.items[thread].name = keep_text(processes, event->name);
}

bool process_table_has_own_tid(const struct process_table *processes, uint32_t process, uint32_t own_tid)
{
	return lookup_get(&processes->by_own_tid, process + 1, own_tid) != NULL;
}

static const char *keep_comm(struct process_table *processes, const struct gpt_process_event *event)
{
	return keep_text(processes, (struct text){event->comm, strnlen(event->comm, GPT_COMM)});
}

void process_table_add_fork(struct process_table *processes, const struct gpt_process_event *event)
{
	struct model_process *before = latest_process(processes, event->pid), *child;
	const struct model_process *parent;

	/* An earlier process with this pid that also began with a fork has ended, however recently. */
	if (before && processes->states.items[before - processes->list.items].forked) {
		if (!before->exit_ns)
			before->exit_ns = event->time_ns;
		add_process(processes, event->pid);
	}
	child = find_started(processes, event->pid, event->time_ns);
	processes->states.items[child - processes->list.items].forked = true;
	parent = latest_process(processes, event->other_pid);
	child->parent = event->other_pid;
	if (!*child->name)
		child->name = keep_comm(processes, event);
	/* a forked process is a copy of its parent until it is described */
	if (parent && parent != child && !processes->states.items[child - processes->list.items].described_ns) {
		child->exe = parent->exe;
		child->cmdline = parent->cmdline;
		child->rank = parent->rank;
		child->local_rank = parent->local_rank;
		child->master = parent->master;
		child->run_id = parent->run_id;
		child->uid = parent->uid;
		child->cgroup = parent->cgroup;
		child->container = parent->container;
		child->container_name = parent->container_name;
		child->pod = parent->pod;
		child->pod_name = parent->pod_name;
		child->python_path = parent->python_path;
		child->python = parent->python;
		child->mounts = parent->mounts;
	}
}

void process_table_add_exec(struct process_table *processes, const struct gpt_process_event *exec)
{
	uint32_t index = process_table_find(processes, exec->pid);
	struct model_process *process = &processes->list.items[index];
	struct process_state *state = &processes->states.items[index];

	/* the collector's own records may overtake the ring buffer's */
	if (state->described_ns < exec->time_ns) {
		process->exe = process->cmdline = process->python_path = string_keep(processes->strings, "", 0);
		process->rank = process->local_rank = -1;
		process->master = process->run_id = string_keep(processes->strings, "", 0);
		process->python = 0;
		process->name = keep_comm(processes, exec);
	}
	state->epoch_before = state->epoch;
	state->epoch = ++processes->last_epoch;
	state->exec_ns = process->exec_ns = exec->time_ns;
}

void process_table_add_exit(struct process_table *processes, const struct gpt_process_event *exit)
{
	struct model_process *process = latest_process(processes, exit->pid);

	if (!process || (process->start_ns && process->start_ns > exit->time_ns))
		return;
	process->exit_ns = exit->time_ns;
	process->exit_signal = exit->other_pid;
}

static void set_text(struct process_table *processes, const char **field, struct text text)
{
	if (text.size)
		*field = keep_text(processes, text);
}

/* Sets a number of at most so many digits; any other text is not known. */
static void set_number(int64_t *number, struct text text, size_t most)
{
	int64_t value = 0;

	if (!text.size || text.size > most)
		return;
	for (size_t i = 0; i < text.size; i++) {
		if (!isdigit((unsigned char)text.bytes[i]))
			return;
		value = value * 10 + (text.bytes[i] - '0');
	}
	*number = value;
}

static void set_rank(int32_t *rank, struct text text)
{
	int64_t value = *rank;

	set_number(&value, text, RANK_DIGITS_MAX);
	*rank = (int32_t)value;
}

static void set_uid(uint32_t *uid, struct text text)
{
	int64_t value = *uid;

	set_number(&value, text, UID_DIGITS_MAX);
	*uid = (uint32_t)value;
}

/* Where the process runs; a program that it executes does not change that. */
static void set_place(struct process_table *processes, struct model_process *process,
		      const struct new_description *event)
{
	set_uid(&process->uid, event->uid);
	set_text(processes, &process->cgroup, event->cgroup);
	set_text(processes, &process->container, event->container);
	set_text(processes, &process->container_name, event->container_name);
	set_text(processes, &process->pod, event->pod);
	set_text(processes, &process->pod_name, event->pod_name);
}

void process_table_describe(struct process_table *processes, const struct new_description *event)
{
	struct model_process *process;
	struct process_state *state;

	process_table_find(processes, event->pid);
	process = event->start_ns ? find_started(processes, event->pid, event->start_ns)
				  : latest_process(processes, event->pid);
	state = &processes->states.items[process - processes->list.items];
	/* It may be from before the current program: another description follows, if the process lives. */
	if (event->time_ns < state->exec_ns)
		return;
	set_text(processes, &process->name, event->name);
	set_text(processes, &process->exe, event->exe);
	set_text(processes, &process->cmdline, event->cmdline);
	set_text(processes, &process->python_path, event->python_path);
	set_rank(&process->rank, event->rank);
	set_rank(&process->local_rank, event->local_rank);
	set_text(processes, &process->master, event->master);
	set_text(processes, &process->run_id, event->run_id);
	set_place(processes, process, event);
	if (event->parent)
		process->parent = event->parent;
	if (event->python)
		process->python = event->python;
	if (event->mounts)
		process->mounts = event->mounts;
	state->described_ns = event->time_ns;
}

void process_table_finish(struct process_table *processes)
{
	const char *unknown = string_keep(processes->strings, "?", 1);

	array_each (thread, &processes->threads) {
		struct model_process *process = &processes->list.items[thread->process];

		/* the main thread has the process's name, unless renamed */
		if (thread->tid == process->pid && !*process->name)
			process->name = thread->name;
	}
	for (size_t i = 0; i < processes->list.count; i++)
		if (!*processes->list.items[i].name)
			processes->list.items[i].name = unknown;
	array_each (thread, &processes->threads) {
		if (!*thread->name)
			thread->name = processes->list.items[thread->process].name;
	}
}
