/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of followed processes. */
#include "attach/processes.h"

#include <errno.h>
#include <string.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <gputrace/agent.h>
#include <gputrace/maps.h>

#include "attach/emit.h"
#include "attach/forks.h"
#include "attach/probes/probes.h"
#include "attach/process_python.h"
#include "attach/share/shares.h"
#include "base/monotonic.h"
#include "base/path.h"
#include "base/msg.h"
#include "target/container.h"

#define SILENT_AGAIN_NS 1000000000ULL
#define SLICE_NS 200000000ULL /* of one look, before others get theirs */
#define SLICE_AGAIN_NS 20000000ULL
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

static void begin_pass(struct followed *process)
{
	process->pass.from = 0;
	process->pass.hidden = 0;
	process->pass.seen.count = 0;
}

void processes_forget_program(struct processes *processes, struct followed *process)
{
	(void)processes;
	cupti_client_forget(&process->cupti_client);
	foreign_buffers_forget(&process->foreign_buffers);
	process_modules_forget(&process->modules);
	links_detach(&process->restart_links);
	links_detach(&process->calls_links);
	process->files.count = 0;
	begin_pass(process);
	process->agent_gives_up = process->calls_unseen = false;
	process->agent_live = process->agent_calls = process->agent_stopped = process->agent_heard = false;
	process->agent_began = false;
	process->agent_joined = false;
	memset(&process->gave_way, 0, sizeof(process->gave_way));
	process->kineto.known = false;
	process->ops_heard = process->ops_live = process->has_schedule = process->makes_steps = process->schedule_over =
		false;
	process->cycle = process->cycles_over = 0;
	process->forked = false;
	process->brought = process->ours;
	entering_forget(&process->entry.entering);
	process->entry = (struct agent_entry){.state = ENTRY_WAITING};
	process->has_python = process->deaths_seen = process->python_reported = process->written = false;
	process->program = 0;
	process->hidden_runtimes = 0;
	process->looks = 0;
	process->unfit_since_ns = 0;
	process->look_again_ns = 0;
}

void processes_use_file(struct processes *processes, struct followed *process, struct probed_file *file,
			const struct mappings *mappings)
{
	for (size_t i = 0; i < process->files.count; i++)
		if (process->files.items[i] == file)
			return;
	array_push(&process->files, file);
	if (process->forked && file->kind == LIBRARY_AGENT) {
		process->fork.own_agent = mappings && fork_has_own_agent(process->pid, file, mappings);
		if (!process->fork.own_agent)
			return; /* its probes would never fire */
	}
	file_add_process(processes->files, file, process->pid);
}

static bool is_among(const struct probed_file *file, struct probed_file *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == file)
			return true;
	return false;
}

static bool is_looked_into(const struct mappings *mappings, size_t index)
{
	const struct mapping *mapping = &mappings->list.items[index], *before = mapping - 1;

	return mapping->executable && mapping->inode &&
	       (!index || !before->executable || before->inode != mapping->inode || before->device != mapping->device);
}

/* before: how many this look has found so far; runtimes that the process has unmapped since still count. */
static void note_hidden_runtime(struct followed *process, const struct probed_file *file, unsigned before)
{
	if (!before)
		snprintf(process->hidden_runtime, sizeof(process->hidden_runtime), "%s", path_base(file->path));
	if (before + 1 <= process->hidden_runtimes)
		return;
	process->hidden_runtimes = before + 1;
	msg_debug("pid %d: %s has a CUDA runtime without names", process->pid, file->path);
}

/* All mappings were looked at: files that the process has unmapped are removed from its list. */
static void end_pass(struct followed *process)
{
	for (size_t i = process->files.count; i-- > 0;)
		if (!is_among(process->files.items[i], process->pass.seen.items, process->pass.seen.count))
			process->files.items[i] = process->files.items[--process->files.count];
	begin_pass(process);
}

/*
 * Looks at every distinct file that the process has mapped with code in it. If there are too many files for one look,
 * the next one goes on where this one stops.
 */
static void examine_files(struct processes *processes, struct followed *process, const struct mappings *mappings)
{
	uint64_t begin_ns = monotonic_ns(), again_ns = 0;
	bool whole = true;

	for (size_t i = 0; i < mappings->list.count && whole; i++) {
		struct probed_file *file;

		if (!is_looked_into(mappings, i) || mappings->list.items[i].start < process->pass.from)
			continue;
		if (processes->fair && monotonic_ns() - begin_ns > SLICE_NS) {
			again_ns = monotonic_ns() + SLICE_AGAIN_NS;
			process->pass.from = mappings->list.items[i].start;
			whole = false;
			continue;
		}
		files_make_room(processes->files, process->uid, &mappings->list.items[i]);
		file = files_get(processes->files, process->pid, process->uid, &mappings->list.items[i], &again_ns);
		if (file && file->kind != LIBRARY_OTHER) {
			array_push(&process->pass.seen, file);
			processes_use_file(processes, process, file, mappings);
		} else if (file && file->hides_runtime) {
			note_hidden_runtime(process, file, process->pass.hidden++);
		}
	}
	if (whole)
		end_pass(process);
	if (again_ns)
		processes_look_later(process, again_ns);
}

static void probe_agent(struct processes *processes, struct followed *process, struct probed_file *file)
{
	int error = file_attach_agent(processes->files, file);

	if (!error && process->agent_older && !process->agent_live)
		error = file_raise_agent_counter(&process->restart_links, file, process->pid, GPUTRACE_AGENT_RESTART,
						 GPUTRACE_AGENT_RESTART_SEMAPHORE);
	process->agent_older = false;
	if (error && error != -ESRCH)
		msg_debug("pid %d: its agent cannot be asked: %s", process->pid, strerror(-error));
}

/*
 * Probes the agent before it is loaded: its session starts in the driver's cuInit, and it has a listener from its first
 * moment on.
 */
static void expect_agent(struct processes *processes, struct followed *process)
{
	bool expected = process->named;

	for (size_t i = 0; i < process->files.count && !expected; i++)
		expected = library_kind_has_calls(process->files.items[i]->kind) ||
			   process->files.items[i]->kind == LIBRARY_TORCH;
	if (expected && processes->agent && !(process->forked && followed_maps(process, LIBRARY_AGENT)))
		file_add_process(processes->files, processes->agent, process->pid);
}

/*
 * Without agents (--agent off) those of other traces are left alone, too: a probe would keep them at work, and have
 * their records. Their calls of CUPTI could not be told from those of other profilers.
 */
static bool is_left_alone(const struct processes *processes, const struct probed_file *file)
{
	return !processes->files->agents && (file->kind == LIBRARY_AGENT || file->kind == LIBRARY_CUPTI);
}

/*
 * Python is known by now, so that the first call has its stack. libcudart is probed before libcuda, so that no driver
 * call inside a runtime call is taken for a call of its own.
 */
static void probe_files(struct processes *processes, struct followed *process)
{
	static const enum library_kind order[] = {LIBRARY_AGENT,	 LIBRARY_CUPTI,	 LIBRARY_NCCL,
						  LIBRARY_CUDART_STATIC, LIBRARY_CUDART, LIBRARY_CUDA};

	expect_agent(processes, process);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (size_t j = 0; j < process->files.count; j++) {
			struct probed_file *file = process->files.items[j];

			if (file->kind != order[i] || is_left_alone(processes, file))
				continue;
			if (file->kind == LIBRARY_AGENT)
				probe_agent(processes, process, file);
			else if (file->kind == LIBRARY_CUPTI)
				file_attach_cupti(processes->files, file);
			else if (file->kind == LIBRARY_NCCL)
				file_attach_nccl(processes->files, file);
			else if (!process->agent_calls)
				file_attach_calls(processes->files, file);
		}
	for (size_t i = 0; i < process->files.count; i++)
		process->files.items[i]->engine_wanted |= followed_maps(process, LIBRARY_CUDA);
}

/* The BPF side's number of the program that the process executes; 0: it is not followed there. */
static uint64_t program_of(const struct processes *processes, const struct followed *process)
{
	uint32_t key = (uint32_t)process->pid;
	struct gpt_process_state state;

	if (processes->shares)
		return process->program;
	return bpf_map_lookup_elem(processes_map(processes), &key, &state) ? 0 : state.program;
}

/* FNV-1a; never 0. */
static uint64_t hash_of_title(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash | 1;
}

void processes_update_title(struct processes *processes, struct followed *process)
{
	uint64_t known_ns = monotonic_ns();
	struct process_info info;
	char *title = NULL;

	if (process->written && processes_have_time(processes, process, known_ns))
		title = process_cmdline(process->pid);
	/* A process that ends has no title any more. */
	if (title && *title && hash_of_title(title) != process->title && !process_is_over(process) &&
	    !process_info_read(process->pid, &info)) {
		process->title = hash_of_title(title);
		info.cmdline = xstrdup(title);
		emit_process(processes->emit, processes->emit_context, &info, known_ns, NULL);
		process_info_free(&info);
	}
	if (processes->fair && title)
		user_budget_charge(&processes->time, process->uid, known_ns, monotonic_ns() - known_ns);
	free(title);
}

bool processes_has_called(const struct processes *processes, const struct followed *process)
{
	uint32_t key = (uint32_t)process->pid;
	struct gpt_process_state state;

	if (processes->shares)
		return process->called_ns != 0;
	return !bpf_map_lookup_elem(processes_map(processes), &key, &state) && state.called;
}

/* Writes what is known of the process itself to the log. */
static void describe(struct processes *processes, struct followed *process, struct process_info *info,
		     uint64_t known_ns)
{
	struct process_place place;
	bool placed = process_place_read(info->pid, &place) == 0;

	process_read_ranks(info);
	if (placed)
		process_place_find_names(&place);
	emit_process(processes->emit, processes->emit_context, info, known_ns, placed ? &place : NULL);
	process->title = hash_of_title(info->cmdline);
	if (placed)
		process_place_free(&place);
}

int processes_examine(struct processes *processes, struct followed *process)
{
	struct mappings mappings = {};
	struct process_info info = {};
	uint64_t known_ns = monotonic_ns(); /* what is read from here on may be older than a later exec */
	uint64_t program = program_of(processes, process);
	int error = process_info_read(process->pid, &info);
	bool first;

	if (error)
		return error;
	info.cmdline = process_cmdline(process->pid);
	process->uid = info.uid;
	if (process->program && program != process->program)
		processes_forget_program(processes, process);
	process->program = program;
	error = mappings_read(process->pid, &mappings);
	if (!error) {
		first = !process->written;
		if (first)
			describe(processes, process, &info, known_ns);
		process->written = true;
		if (first && info.forked && !process->forked)
			fork_note_older(process, info.parent);
		processes_update_agent(processes, process);
		/* An agent in a process that gputrace started connects by itself, and waits for the answer. */
		if (!processes->shares || !process->ours)
			examine_files(processes, process, &mappings);
		for (size_t i = 0; first && !(process->forked && process->fork.seen) && i < process->files.count; i++)
			process->agent_older |= process->files.items[i]->kind == LIBRARY_AGENT;
		/* Without BPF, perhaps only its agent can read its memory. */
		if (!processes->shares || process->agent_joined)
			python_examine(processes, process, &mappings, &info, known_ns);
		if (!processes->probe_later && !processes->shares)
			probe_files(processes, process);
	}
	if (!error && !mappings.list.count)
		error = -ESRCH; /* it is ending: its memory is gone before its pid is */
	if (error == -ETIMEDOUT)
		process->look_again_ns = monotonic_ns() + SILENT_AGAIN_NS;
	process->look_cost_ns = monotonic_ns() - known_ns;
	if (processes->fair)
		user_budget_charge(&processes->time, process->uid, known_ns, process->look_cost_ns);
	mappings_free(&mappings);
	process_info_free(&info);
	return error;
}

int processes_find_files(struct processes *processes, struct followed *process)
{
	struct mappings mappings = {};
	int error = mappings_read(process->pid, &mappings);

	if (!error)
		examine_files(processes, process, &mappings);
	mappings_free(&mappings);
	return error;
}

void processes_probe_all(struct processes *processes)
{
	processes->probe_later = false;
	for (size_t i = 0; i < processes->list.count; i++)
		probe_files(processes, processes->list.items[i]);
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
