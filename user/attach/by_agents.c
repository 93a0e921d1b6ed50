/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace without BPF, until all processes have ended. It has the processes whose agents connect by themselves, as the
 * driver loads them, and running processes, into which agents are injected (agents.h) if the kernel permits it. No file
 * is probed.
 */
#include "attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "attach/agent_notes.h"
#include "attach/attach_state.h"
#include "attach/emit/emit.h"
#include "attach/forks.h"
#include "attach/halts.h"
#include "attach/inject/read_only.h"
#include "base/array.h"
#include "base/error_text.h"
#include "base/monotonic.h"
#include "base/msg.h"

#define CHECK_NS 200000000ULL
#define ALL_LOOK_NS 10000000000ULL
#define TITLE_CHECK_NS 1000000000ULL
#define COME_IN_MAX 16		/* agents that are let in before other work is done */
#define ROOM_MIN (64u << 10)	/* as of --buffer */
#define ROOM_MAX (8u << 20)	/* of a ring: its memory is charged to the target */
#define MEMBERS_MAX 4096	/* processes of a command that are looked at */
#define SETTLE_NS 3000000000ULL /* then the recording begins with the agents that have joined */
#define SETTLE_PAUSE_NS 2000000L
/* After the end of a torch.profiler session: time for CUPTI to give it all its records. */
#define OVER_NS 1000000000ULL

#define DECLINED                                                                                                       \
	"the program has set a filter of system calls (seccomp), which may kill it for what the agent calls to join "  \
	"gputrace: trace it as root"

#define NOT_ANSWERED                                                                                                   \
	"it did not wait until gputrace answered, which had too little of a processor: give it more, or begin again "  \
	"once the machine is less busy"

/* What the limit of file sizes leaves of a ring: the kernel counts memory that processes share as a file. */
static uint64_t room_of(uint64_t bytes)
{
	uint64_t most = file_size_limit(), wanted = bytes;

	while (bytes >= ROOM_MIN && sizeof(struct gpt_share_ring) + bytes > most)
		bytes /= 2;
	if (bytes < wanted && bytes >= ROOM_MIN)
		msg_warn("the limit of file sizes is %llu KB (ulimit -f): each process has %llu KB for records instead "
			 "of %llu",
			 (unsigned long long)(most >> 10), (unsigned long long)(bytes >> 10),
			 (unsigned long long)(wanted >> 10));
	return bytes;
}

int by_agents_open(struct attach *attach, char *why, size_t why_size)
{
	const struct attach_options *options = &attach->options;
	uint64_t bytes = room_of(options->ring_bytes < ROOM_MAX ? options->ring_bytes : ROOM_MAX);
	struct gpt_share_control *control;
	int error = bytes < ROOM_MIN ? -EFBIG : shares_open(options->share_name, options->uid, bytes, &attach->shares);

	if (error) {
		snprintf(why, why_size, "no memory can be shared with the agents: %s", error_text(error));
		return error;
	}
	attach->processes.shares = attach->shares;
	if (options->scope != ATTACH_COMMAND) {
		attach->join = xasprintf("%c%s:%s", GPUTRACE_AGENT_JOIN, options->share_name,
					 options->cupti ? options->cupti : "");
		attach->agents.asked = attach->join;
	}
	control = shares_control(attach->shares);
	control->activity_sets = options->activity_sets;
	control->shapes = options->shapes;
	control->forward_lines = options->forward_lines;
	control->torch_memory = options->torch_memory;
	control->memory_lines = options->memory_lines;
	control->schedule = attach->files.schedule;
	control->ops = options->ops;
	control->batch = control->session = 1;
	detail_start(attach);
	return 0;
}

static void emit_event(struct attach *attach, const struct followed *process, uint16_t type)
{
	struct gpt_process_event event = {
		.hdr = {.size = sizeof(event), .type = type}, .time_ns = monotonic_ns(), .pid = (uint32_t)process->pid};

	process_name(process->pid, event.comm, sizeof(event.comm));
	attach->emit(attach->emit_context, &event.hdr);
}

/* Called at the process's end: its agent has not resumed. */
static void report_gave_way(struct attach *attach, const struct followed *process)
{
	if (process->gave_way.number)
		emit_note(attach->emit, attach->emit_context, (uint32_t)process->pid,
			  "pid %d: another profiler had CUPTI's records for the last %.1f s: launches of that time "
			  "have no GPU times",
			  (int)process->pid, (double)(monotonic_ns() - process->gave_way.since_ns) / 1e9);
}

static void forget_program(struct attach *attach, struct followed *process)
{
	report_gave_way(attach, process);
	shares_end(attach->shares, process->pid);
	processes_forget_program(&attach->processes, process);
	symbols_forget_process(attach->symbols, (uint32_t)process->pid);
	emit_event(attach, process, GPT_EXEC);
}

/*
 * An agent joins once in a program: if it has joined before, the process now runs another program.  The command's own
 * process was there before the recording, and has executed its program since.
 */
static struct followed *begin_program(struct attach *attach, pid_t pid)
{
	struct followed *process = processes_find(&attach->processes, pid);
	bool is_command = attach->options.scope == ATTACH_COMMAND;

	if (process && process->agent_joined)
		forget_program(attach, process);
	else if (process && is_command && process->named && !process->written)
		emit_event(attach, process, GPT_EXEC);
	if (is_command)
		process = processes_add(&attach->processes, pid, true, false);
	return process;
}

/* For a command's process, which is described in the log and looked into only for its Python. 0 or -errno */
static int find_files(struct attach *attach, struct followed *process)
{
	int error = processes_examine(&attach->processes, process);

	return error ? error : processes_find_files(&attach->processes, process);
}

/* The process's Python is published before its agent starts, so that the first launch has its stack. */
static void let_in(struct attach *attach, pid_t pid)
{
	struct followed *process = begin_program(attach, pid);

	if (!process || (attach->join && !agents_may_join(&attach->agents, process)) || shares_let_in(attach->shares)) {
		share_door_refuse(shares_door(attach->shares));
		return;
	}
	process->agent_joined = true;
	process->has_python = false; /* its ring must get it */
	process_modules_mark_again(process->modules);
	if (processes_examine(&attach->processes, process) == -EACCES)
		emit_note(attach->emit, attach->emit_context, (uint32_t)pid, "pid %d: no Python lines: %s", (int)pid,
			  process_explain_refused(pid));
	/* An agent that can be asked once more joins when it is known what its process is. */
	if (attach->join && shares_door(attach->shares)->silent)
		share_door_refuse(shares_door(attach->shares));
	else if (!shares_finish(attach->shares))
		return;
	msg_debug("pid %d: its agent did not answer, or has gone, while it was let in", (int)pid);
	process->agent_joined = false;
	shares_end(attach->shares, pid);
	if (!attach->join && !find_files(attach, process)) /* else agents.c asks it again */
		agent_report_unentered(&attach->agents, process, NOT_ANSWERED);
}

/* A command's agents come once. */
static void report_turned_away(struct attach *attach)
{
	struct share_door *door = shares_door(attach->shares);
	struct followed *process = NULL;

	if (door->turned_away && !attach->join)
		process = processes_add(&attach->processes, door->turned_away, true, false);
	if (process && !process->agent_joined && !find_files(attach, process))
		agent_report_unentered(&attach->agents, process,
				       door->other_version ? "it is of another version of gputrace" : NOT_ANSWERED);
	door->turned_away = 0;
}

static void let_agents_in(struct attach *attach)
{
	pid_t pid;

	for (unsigned i = 0; i < COME_IN_MAX && (pid = share_door_next(shares_door(attach->shares))); i++) {
		let_in(attach, pid);
		attach->changed_ns = monotonic_ns();
	}
	report_turned_away(attach);
}

/* Removes processes that have ended, once all their remaining records are in the log. */
static void remove_over(struct attach *attach)
{
	for (size_t i = attach->processes.list.count; i-- > 0;) {
		struct followed *process = attach->processes.list.items[i];

		if (!process_is_over(process) || !shares_end(attach->shares, process->pid))
			continue;
		report_gave_way(attach, process);
		halts_report(&attach->processes, process);
		emit_event(attach, process, GPT_EXIT);
		processes_remove(&attach->processes, process->pid);
	}
}

static void update_agents(struct attach *attach)
{
	for (size_t i = 0; i < attach->processes.list.count; i++)
		processes_update_agent(&attach->processes, attach->processes.list.items[i]);
}

/*
 * Follows a session of torch.profiler, to which the agent has given way, until it is over. PyTorch's memory shows the
 * session while it records. It does not show another profiler, nor a session that starts and ends between two looks:
 * the agent stays away then.
 */
static void follow_session(struct attach *attach, struct followed *process, uint64_t now_ns)
{
	uint32_t number = shares_given_way(attach->shares, process->pid);
	int lasts;

	if (number != process->gave_way.number) {
		memset(&process->gave_way, 0, sizeof(process->gave_way));
		process->gave_way.number = number;
		process->gave_way.since_ns = now_ns;
		if (number && process->ours)
			processes_find_files(&attach->processes, process);
	}
	if (!number || !followed_maps(process, LIBRARY_TORCH))
		return;
	lasts = kineto_session_lasts(process->pid, &attach->files, process->files.items, process->files.count,
				     &process->kineto);
	if (lasts)
		process->gave_way.over_ns = 0;
	else if (process->gave_way.recorded && !process->gave_way.over_ns)
		process->gave_way.over_ns = now_ns;
	if (lasts > 0 && !process->gave_way.recorded)
		msg_debug("pid %d: torch.profiler records, and the agent does not", (int)process->pid);
	process->gave_way.recorded |= lasts > 0;
	if (process->gave_way.over_ns && now_ns - process->gave_way.over_ns >= OVER_NS)
		shares_let_resume(attach->shares, process->pid, number);
}

static void follow_sessions(struct attach *attach, uint64_t now_ns)
{
	for (size_t i = 0; i < attach->processes.list.count; i++)
		if (attach->processes.list.items[i]->agent_joined)
			follow_session(attach, attach->processes.list.items[i], now_ns);
}

/* Without its agent nothing of a process is recorded. */
static int check_refused(const struct attach *attach, char *why, size_t why_size)
{
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		const struct followed *process = attach->processes.list.items[i];

		if (!process->named || !process->entry.why[0])
			continue;
		snprintf(why, why_size,
			 "process %d: the agent cannot be let in, and without root nothing else records: %s%s",
			 (int)process->pid, process->entry.why,
			 process->entry.no_right ? "; what is started after `gputrace env` needs no right for it" : "");
		return -ENOTSUP;
	}
	return 0;
}

int by_agents_start(struct attach *attach, char *why, size_t why_size)
{
	uint64_t end_ns = monotonic_ns() + SETTLE_NS;
	struct timespec pause = {.tv_nsec = SETTLE_PAUSE_NS};

	attach->set_up_ns = attach->agents_step_ns = end_ns - SETTLE_NS;
	if (!attach->join)
		return 0;
	attach->agents.file_fd = read_only_open(attach->options.agent_path);
	if (attach->agents.file_fd < 0) {
		snprintf(why, why_size, "%s: %s", attach->options.agent_path, strerror(-attach->agents.file_fd));
		return attach->agents.file_fd;
	}
	if (attach->options.scope == ATTACH_SELECTED)
		attach_find_newcomers(attach);
	while (agents_tick(&attach->agents, monotonic_ns()) && monotonic_ns() < end_ns) {
		nanosleep(&pause, NULL);
		let_agents_in(attach);
		update_agents(attach);
	}
	return check_refused(attach, why, why_size);
}

/*
 * Polls running processes: nothing reports when a process maps a library, forks, or executes another program, which has
 * no agent.
 */
static void look_at_running(struct attach *attach)
{
	uint64_t begin_ns = monotonic_ns();

	/* This reads the parent of every process of the machine: seldom, where the kernel has lists of children. */
	if (begin_ns - attach->all_looked_ns >= attach->all_looks_ns * LOOKS_SHARE &&
	    (attach->options.scope == ATTACH_SELECTED || !processes_add_children(&attach->processes) ||
	     begin_ns - attach->all_looked_ns >= ALL_LOOK_NS)) {
		if (attach->options.scope == ATTACH_SELECTED)
			attach_find_newcomers(attach);
		else
			processes_add_descendants(&attach->processes);
		attach->all_looked_ns = begin_ns;
		attach->all_looks_ns = monotonic_ns() - begin_ns;
	}
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		struct followed *process = attach->processes.list.items[i];

		if (process->agent_joined && !process_is_over(process) && shares_has_left(attach->shares, process->pid))
			forget_program(attach, process);
		if (!process->agent_joined)
			processes_look_later(process, monotonic_ns());
	}
}

/* ---- a command's processes whose agent has not come -------------------------------------------------------------- */

struct family {
	ARRAY(pid_t) members;
};

static int add_member(pid_t pid, void *context)
{
	struct family *family = context;

	if (family->members.count < MEMBERS_MAX)
		array_push(&family->members, pid);
	return 0;
}

/* A process with filters that gputrace does not have: its agent, if it has one, has looked at them, too. */
static void look_at_filtered(struct attach *attach, pid_t pid)
{
	struct followed *process = processes_find(&attach->processes, pid);
	struct mappings mappings = {0};
	struct process_info info;

	if ((process && (process->agent_joined || process->unentered)) || process_info_read(pid, &info))
		return;
	if (!mappings_read(pid, &mappings) &&
	    any_of(mappings.list.count, i, library_kind_of_name(mappings.list.items[i].path) == LIBRARY_AGENT) &&
	    (process = processes_add(&attach->processes, pid, true, false)) && !find_files(attach, process) &&
	    agent_has_declined(process, info.ns_pid, &mappings))
		agent_report_unentered(&attach->agents, process, DECLINED);
	mappings_free(&mappings);
	process_info_free(&info);
}

/* Agents that stay away say nothing: they are looked for among the processes that may have a reason to. */
static void look_for_declined(struct attach *attach)
{
	int own = process_filters(getpid());
	struct family family = {0};

	if (own < 0)
		return;
	for (size_t i = 0; i < attach->processes.list.count; i++)
		if (attach->processes.list.items[i]->named)
			add_member(attach->processes.list.items[i]->pid, &family);
	for (size_t i = 0; i < family.members.count; i++) {
		processes_each_child(family.members.items[i], add_member, &family);
		if (process_filters(family.members.items[i]) > own)
			look_at_filtered(attach, family.members.items[i]);
	}
	array_free(&family.members);
}

static void look_at(void *context, struct followed *process)
{
	struct attach *attach = context;

	processes_examine(&attach->processes, process);
}

uint64_t by_agents_tick(struct attach *attach, uint64_t now_ns)
{
	bool check = now_ns - attach->agents_checked_ns > CHECK_NS;
	bool check_titles = now_ns - attach->titles_checked_ns > TITLE_CHECK_NS;

	let_agents_in(attach);
	detail_tick(attach, now_ns);
	for (size_t i = 0; check_titles && i < attach->processes.list.count; i++)
		processes_update_title(&attach->processes, attach->processes.list.items[i]);
	if (check_titles) {
		halts_look(&attach->processes, now_ns);
		attach_check_passed(attach, now_ns);
		if (attach->join)
			look_at_running(attach);
		else
			look_for_declined(attach);
		attach->titles_checked_ns = now_ns;
	}
	if (check) {
		update_agents(attach);
		follow_sessions(attach, now_ns);
		attach->agents_checked_ns = now_ns;
	}
	attach->agents_pending = agents_tick(&attach->agents, now_ns);
	modules_tick(&attach->processes, now_ns, false);
	remove_over(attach);
	processes_report_silent(&attach->processes);
	return processes_look_due(&attach->processes, look_at, attach);
}

static bool is_pending(struct attach *attach)
{
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		struct followed *process = attach->processes.list.items[i];

		processes_update_agent(&attach->processes, process);
		if (!process_is_over(process) &&
		    ((process->agent_live && !process->agent_stopped) || process->ops_live))
			return true;
	}
	return false;
}

/* Notes what cannot be recorded without BPF, and if no agent came at all. */
static void report_what_is_missing(struct attach *attach)
{
	emit_note(attach->emit, attach->emit_context, 0,
		  "recorded without root, by the agents alone: no collections and imports of Python, no NCCL calls by "
		  "name, no launches of processes without an agent");
	if (!attach->join && !shares_count(attach->shares) && !attach->processes.unentered)
		emit_note(
			attach->emit, attach->emit_context, 0,
			"no process has loaded the agent: none started CUDA, the driver does not load what "
			"CUDA_INJECTION64_PATH names there, the program had set a filter of system calls (seccomp) "
			"before, or the program has more rights than its user (setcap), and takes no request from its "
			"environment");
}

void by_agents_stop(struct attach *attach, uint64_t end_ns, void (*drain)(void *), void *drain_context)
{
	struct gpt_share_control *control = shares_control(attach->shares);
	struct timespec pause = {.tv_nsec = SETTLE_PAUSE_NS};

	agents_end_entering(&attach->agents);
	follow_sessions(attach, monotonic_ns());
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		processes_update_title(&attach->processes, attach->processes.list.items[i]);
		if (attach->join)
			agents_report_waiting(&attach->agents, attach->processes.list.items[i]);
		report_gave_way(attach, attach->processes.list.items[i]);
		attach->processes.list.items[i]->gave_way.number = 0;
	}
	control->session = control->ops = 0;
	drain(drain_context);
	while (is_pending(attach) && monotonic_ns() < end_ns) {
		nanosleep(&pause, NULL);
		drain(drain_context);
	}
	modules_tick(&attach->processes, monotonic_ns(), true);
	halts_report_all(&attach->processes);
	control->batch = 0;
	/* Records that just ended processes left unfinished are not waited for. */
	remove_over(attach);
	drain(drain_context);
	remove_over(attach);
	report_what_is_missing(attach);
	processes_report_silent(&attach->processes);
}
