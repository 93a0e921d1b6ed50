/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of followed processes. */
#include "attach/processes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <gputrace/maps.h>

#include "attach/emit/emit.h"
#include "attach/share/shares.h"
#include "base/monotonic.h"

#define LOOKS_OVER 5 /* after a process's end; by then all that it left in the ring buffer has been read */

static int processes_map(const struct processes *processes)
{
	return bpf_map__fd(processes->files->programs->bpf->maps.processes);
}

bool process_is_over(const struct followed *process)
{
	struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
	uint64_t start_ticks;

	if (process->pidfd >= 0)
		return poll(&end, 1, 0) > 0;
	return process_start_ticks(process->pid, &start_ticks) || start_ticks != process->start_ticks;
}

/* Exact to a tick: a time namespace's offset need not be whole ticks. */
static bool is_same_start(uint64_t one, uint64_t other)
{
	return one - other + 1 <= 2;
}

static void forget_entry(struct processes *processes, const struct followed *process)
{
	uint32_t key = (uint32_t)process->pid;
	struct gpt_process_state state;

	if (!processes->shares && !bpf_map_lookup_elem(processes_map(processes), &key, &state) &&
	    is_same_start(state.start_ticks, process->start_ticks))
		bpf_map_delete_elem(processes_map(processes), &key);
}

static void remove_at(struct processes *processes, size_t index)
{
	struct followed *process = processes->list.items[index];

	cupti_client_forget(&process->cupti_client);
	foreign_buffers_forget(&process->foreign_buffers);
	entering_forget(&process->entry.entering);
	process_modules_forget(&process->modules);
	links_detach(&process->restart_links);
	links_detach(&process->calls_links);
	files_remove_process(processes->files, process->pid);
	array_free(&process->files);
	array_free(&process->pass.seen);
	if (process->pidfd >= 0)
		close(process->pidfd);
	free(process);
	processes->list.items[index] = processes->list.items[--processes->list.count];
}

void processes_remove(struct processes *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->list.count; i++)
		if (processes->list.items[i]->pid == pid) {
			remove_at(processes, i);
			return;
		}
}

bool processes_remove_over(struct processes *processes)
{
	bool any = false;

	for (size_t i = processes->list.count; i-- > 0;) {
		struct followed *process = processes->list.items[i];

		if (!process_is_over(process) || ++process->looks_over < LOOKS_OVER)
			continue;
		forget_entry(processes, process);
		remove_at(processes, i);
		any = true;
	}
	return any;
}

/*
 * Looks for the process's entry in the BPF map; the child of a followed process has one from its first moment on. 0: it
 * exists; -ENOENT: there is none, or an earlier process with the pid left one, which is now removed; -ESRCH: a process
 * that was started later has the pid, so this one has ended.
 */
static int find_entry(struct processes *processes, const struct followed *process)
{
	uint32_t key = (uint32_t)process->pid;
	struct gpt_process_state state;

	if (processes->shares)
		return 0;

	if (bpf_map_lookup_elem(processes_map(processes), &key, &state))
		return -ENOENT;
	if (is_same_start(state.start_ticks, process->start_ticks))
		return 0;
	if (state.start_ticks > process->start_ticks)
		return -ESRCH;
	bpf_map_delete_elem(processes_map(processes), &key);
	return -ENOENT;
}

/*
 * Creates the process's entry in the BPF map. An existing entry is kept: it has newer facts. If a forked child has
 * none, the child has ended, and the process that has its pid now is not followed. -errno
 */
static int make_entry(struct processes *processes, struct followed *process, bool inherited)
{
	struct gpt_process_state fresh = {.ours = process->ours, .python_state = GPT_STACK_UNKNOWN_LAYOUT};
	uint32_t key = (uint32_t)process->pid;
	int error = find_entry(processes, process);

	if (error != -ENOENT)
		return error;
	if (inherited)
		return -ESRCH;
	fresh.start_ticks = process->start_ticks;
	fresh.program = fresh.generation = monotonic_ns();
	if (!bpf_map_update_elem(processes_map(processes), &key, &fresh, BPF_NOEXIST)) {
		process->entered_ns = fresh.program;
		return 0;
	}
	/* The BPF side may have created one meanwhile. */
	return errno == EEXIST ? find_entry(processes, process) : -errno;
}

/* Whether the user has too many processes: a user may have as many of the possible ones as are left for the others. */
static bool is_crowded(struct processes *processes, uid_t uid)
{
	size_t count = 0;

	if (!processes->fair || processes->list.count < GPT_MAX_PROCESSES / 4)
		return false;
	for (size_t i = 0; i < processes->list.count; i++)
		count += processes->list.items[i]->uid == uid;
	if (processes->list.count < GPT_MAX_PROCESSES && count < GPT_MAX_PROCESSES - processes->list.count)
		return false;
	if (user_counts_add(&processes->crowded, uid) > 1)
		return true;
	emit_note(processes->emit, processes->emit_context, 0,
		  "user %u has more processes than its part of the %u that are followed at a time: further ones are "
		  "not seen",
		  uid, GPT_MAX_PROCESSES);
	return true;
}

static int find_owner(struct processes *processes, struct followed *process, bool inherited)
{
	struct process_owner of;

	if (process_owner(process->pid, &of))
		return 0; /* it has ended: process_is_over decides */
	process->uid = of.uid;
	if (!is_crowded(processes, of.uid))
		return 0;
	if (inherited)
		forget_entry(processes, process);
	return -E2BIG;
}

struct followed *processes_add(struct processes *processes, pid_t pid, bool ours, bool inherited)
{
	struct followed *process = processes_find(processes, pid);
	int error;

	if (process && !process_is_over(process))
		return process;
	processes_remove(processes, pid); /* its end was missed, and its pid was reused */
	process = xcalloc(1, sizeof(*process));
	process->pid = pid;
	process->ours = process->brought = ours;
	process->forked = inherited;
	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* Linux 5.3 */
	error = process_start_ticks(pid, &process->start_ticks);
	/*
	 * If it has not ended by now, start and descriptor are of one process. An ended one has left records to be
	 * read.
	 */
	if (!error)
		error = find_owner(processes, process, inherited);
	if (!error && !process_is_over(process))
		error = make_entry(processes, process, inherited);
	else if (!error && !inherited)
		error = -ESRCH;
	array_push(&processes->list, process);
	if (!error)
		return process;
	processes->refused += error == -E2BIG;
	remove_at(processes, processes->list.count - 1);
	return NULL;
}

uint64_t processes_get_program(const struct processes *processes, const struct followed *process)
{
	uint32_t key = (uint32_t)process->pid;
	struct gpt_process_state state;

	if (processes->shares)
		return process->program;
	return bpf_map_lookup_elem(processes_map(processes), &key, &state) ? 0 : state.program;
}

bool processes_has_called(const struct processes *processes, const struct followed *process)
{
	uint32_t key = (uint32_t)process->pid;
	struct gpt_process_state state;

	if (processes->shares)
		return process->called_ns != 0;
	return !bpf_map_lookup_elem(processes_map(processes), &key, &state) && state.called;
}

bool processes_update_agent(struct processes *processes, struct followed *process)
{
	uint32_t key = (uint32_t)process->pid;
	bool live = process->agent_live, calls = process->agent_calls;
	uint8_t state;

	if (processes->shares) {
		state = (uint8_t)shares_state(processes->shares, process->pid);
		process->agent_live = gpt_agent_is_live(state);
	} else {
		process->agent_live =
			!bpf_map_lookup_elem(bpf_map__fd(processes->files->programs->bpf->maps.agents), &key, &state);
	}
	process->agent_calls = process->agent_live && state == GPT_AGENT_READY;
	process->agent_gives_up = process->agent_live && state == GPT_AGENT_GIVING_UP;
	if (!process->agent_gives_up)
		links_detach(&process->calls_links);
	if (process->agent_live)
		links_detach(&process->restart_links);
	return process->agent_live != live || process->agent_calls != calls;
}

void processes_close(struct processes *processes)
{
	while (processes->list.count)
		processes_remove(processes, processes->list.items[0]->pid);
	array_free(&processes->list);
	user_counts_free(&processes->crowded);
	user_budget_free(&processes->time);
}
