/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent goes into processes that map libcuda: a process with only libcudart has not used the GPU yet. A process
 * that gputrace started gets it from the driver, unless something has cleaned its environment. Some forked processes
 * cannot use CUDA (forks.c). If PyTorch's ops are wanted the agent also goes into processes that map PyTorch, whatever
 * the driver does.
 */
#include "attach/agents.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/agent_notes.h"
#include "attach/forks.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "target/halt.h"

#define FIRST_PAUSE_NS 5000000ULL /* doubles up to LAST_PAUSE_NS */
#define MAX_TRIES 24		  /* with pauses of 12 s in total; how long one takes: limits.md */
#define ANSWER_NS 5000000000ULL	  /* CUPTI starts in 0.2 s, and waits for the driver's locks */
#define JOINED_NS 2000000000ULL	  /* without BPF: time until it is asked again */
#define OLDER_ANSWER_NS 100000000ULL
#define SETTLE_PAUSE_NS 2000000L
#define LEFT_OUT_PAUSE_NS 200000000ULL
#define HALTED_PAUSE_NS 200000000ULL
#define UNUSED_NS 20000000ULL

/* True after a call without the agent: the driver loads it inside cuInit, before any other call. */
static bool driver_has_failed(const struct followed *process)
{
	return process->called_ns && !followed_maps(process, LIBRARY_AGENT);
}

static bool driver_may_bring_it(const struct followed *process)
{
	/* An agent that is mapped already had no listener. */
	return !process->entry.driver_fails && !followed_maps(process, LIBRARY_AGENT) && !driver_has_failed(process);
}

/*
 * A process that gputrace started is seen to map each library, perhaps while its loader is still at work: it is ready
 * once it calls CUDA.
 */
static bool is_wanted(const struct agents *agents, const struct followed *process)
{
	return agent_has_ops(agents, process) ||
	       (followed_maps(process, LIBRARY_CUDA) && (!process->ours || process->called_ns));
}

/* Its agent is at work, or was. To an agent from the driver, the observer of ops must still be added. */
static bool is_served(const struct agents *agents, const struct followed *process)
{
	return (process->agent_live || process->agent_stopped) && !(process->brought && agent_has_ops(agents, process));
}

static void give_up(struct agents *agents, struct followed *process, int error, const char *why)
{
	process->entry.state = ENTRY_REFUSED;
	process->entry.no_right = error == -EPERM || error == -EACCES;
	if (!process->brought)
		cupti_client_forget(&process->cupti_client);
	snprintf(process->entry.why, sizeof(process->entry.why), "%s", why);
	agent_report_unentered(agents, process, why);
}

/* Nothing of it runs until someone lets it go on, whenever that is: no try is made before. */
static bool is_halted(struct followed *process)
{
	const char *how = process_halted(process->pid);

	if (!how)
		return false;
	snprintf(process->entry.last_why, sizeof(process->entry.last_why), "it is %s", how);
	process->entry.next_ns = monotonic_ns() + HALTED_PAUSE_NS;
	return true;
}

void agents_report_waiting(const struct agents *agents, struct followed *process)
{
	struct agent_entry *entry = &process->entry;

	agent_report_cuda_lost(agents, process, UINT64_MAX);
	agent_report_hidden_runtime(agents, process);
	if (process->agent_live || process->agent_heard || (process->brought && !agent_has_ops(agents, process)))
		return;
	if (entry->state == ENTRY_WAITING && entry->last_why[0])
		agent_report_unentered(agents, process, entry->last_why);
	else if (entry->state == ENTRY_ENTERING)
		agent_report_unentered(agents, process,
				       "it was being tried, and something in the process took too long");
	else if (entry->state == ENTRY_ASKED)
		agent_report_unentered(agents, process,
				       is_halted(process) ? entry->last_why
							  : "it was asked to start and has not answered");
	entry->state = ENTRY_REFUSED; /* report only once */
}

/* Probes every CUPTI of the process: there may be several, and which one is used shows only at a call. */
static bool probe_cuptis(struct files *files, const struct followed *process)
{
	bool any = false;

	for (size_t i = 0; i < process->files.count; i++)
		if (process->files.items[i]->kind == LIBRARY_CUPTI)
			any |= file_attach_pushes(files, process->files.items[i]) == 0;
	return any;
}

/* Nothing shows a session between its last step and CUPTI's last buffer, so it must be seen unused for UNUSED_NS. */
static bool is_unused_for_long(struct agent_entry *entry, uint64_t now_ns)
{
	if (!entry->unused_ns)
		entry->unused_ns = now_ns;
	return now_ns - entry->unused_ns >= UNUSED_NS;
}

static void say_who_records(struct followed *process, int lasts)
{
	snprintf(process->entry.last_why, sizeof(process->entry.last_why), "%s",
		 lasts > 0 ? "torch.profiler records there" : "whether torch.profiler records there cannot be seen");
}

/*
 * CUPTI has one set of buffers: registering the agent's in the middle of another client's session would take that
 * client's records. Of the other clients only PyTorch does not subscribe; the agent would see a subscriber. -EAGAIN:
 * ask again soon.
 */
static int suspect_others(struct agents *agents, struct followed *process)
{
	uint64_t now_ns = monotonic_ns();
	int lasts;

	if (process->brought || process->cupti_client.state != CUPTI_CLIENT_NONE ||
	    !followed_maps(process, LIBRARY_TORCH) || !followed_maps(process, LIBRARY_CUPTI))
		return 0;
	lasts = kineto_session_lasts(process->pid, agents->processes->files, process->files.items, process->files.count,
				     &process->kineto);
	if (!lasts)
		return is_unused_for_long(&process->entry, now_ns) ? 0 : -EAGAIN;
	process->entry.unused_ns = 0;
	if (agents->processes->shares) { /* only another look shows when it ends */
		say_who_records(process, lasts);
		return lasts > 0 ? -EAGAIN : 0; /* agents_may_join looks again */
	}
	if (!probe_cuptis(agents->processes->files, process))
		return 0;
	return cupti_client_suspect(&process->cupti_client, agents->file, process->pid, now_ns);
}

static void try_again_later(struct agent_entry *entry)
{
	uint64_t pause_ns = FIRST_PAUSE_NS << (entry->tries < 16 ? entry->tries : 16);

	entry->state = ENTRY_WAITING;
	entry->next_ns = monotonic_ns() + (pause_ns < LAST_PAUSE_NS ? pause_ns : LAST_PAUSE_NS);
}

bool agents_may_join(struct agents *agents, struct followed *process)
{
	const struct timespec pause = {.tv_nsec = UNUSED_NS};
	int lasts = 0;

	if (process->entry.unused_ns || !followed_maps(process, LIBRARY_TORCH) ||
	    !followed_maps(process, LIBRARY_CUPTI))
		return true;
	for (int looks = 0; looks < 2 && !lasts; looks++) {
		if (looks)
			nanosleep(&pause, NULL);
		lasts = kineto_session_lasts(process->pid, agents->processes->files, process->files.items,
					     process->files.count, &process->kineto);
	}
	if (!lasts)
		return true;
	say_who_records(process, lasts);
	try_again_later(&process->entry);
	process->entry.next_ns = monotonic_ns() + LAST_PAUSE_NS;
	return false;
}

/* Handles the result of an attempt. */
static void handle_result(struct agents *agents, struct followed *process, int error,
			  const struct inject_result *result)
{
	struct agent_entry *entry = &process->entry;

	if (error == -ENODATA) { /* its environment was cleaned: treat it like any other process */
		process->brought = false;
		entry->state = ENTRY_WAITING;
		return;
	}
	if (error == -EALREADY) {
		entry->state = ENTRY_DRIVER;
		if (!process->brought)
			cupti_client_forget(&process->cupti_client);
		return;
	}
	entry->tries++;
	if (!error) {
		entry->state = ENTRY_ASKED;
		entry->asked_ns = monotonic_ns();
		if (result->tid)
			msg_debug("pid %d: the agent came in by thread %d, which was stopped for %.0f us and back "
				  "after %.0f us",
				  process->pid, result->tid, (double)result->stopped_ns / 1e3,
				  (double)result->away_ns / 1e3);
		else
			msg_debug("pid %d: the agent that waits there was asked", process->pid);
	} else if ((error == -ESRCH || agents->processes->shares) && process_is_over(process)) {
		entry->state = ENTRY_REFUSED; /* with BPF its end will be noticed, and its calls have been seen */
		if (agents->processes->shares)
			agent_report_unentered(agents, process, "it ended before its turn came");
	} else if ((error != -EAGAIN && error != -ESRCH) || entry->tries >= MAX_TRIES) {
		give_up(agents, process, error, result->why);
	} else {
		snprintf(entry->last_why, sizeof(entry->last_why), "%s",
			 result->why[0] ? result->why : "none of its threads could be borrowed just then");
		try_again_later(entry);
	}
}

static void try_now(struct agents *agents, struct followed *process)
{
	struct agent_entry *entry = &process->entry;
	struct inject_result result = {0};
	int error;

	if (process_is_over(process)) { /* its pid may be reused by now */
		entry->state = ENTRY_REFUSED;
		return;
	}
	if (is_halted(process))
		return;
	error = suspect_others(agents, process);
	if (error == -EAGAIN) {
		entry->next_ns = monotonic_ns() + (entry->unused_ns ? FIRST_PAUSE_NS : LAST_PAUSE_NS);
		return;
	}
	if (error) {
		snprintf(result.why, sizeof(result.why), "it cannot be informed of others: %s", strerror(-error));
		handle_result(agents, process, error, &result);
		return;
	}
	entry->asked_for_ops = agent_has_ops(agents, process);
	error = entering_begin(
		process->pid, agents->file_fd,
		&(struct entering_request){.start_ticks = process->start_ticks,
					   .asked = agents->asked,
					   .unless_driver = !agents->processes->shares && driver_may_bring_it(process),
					   .driver = process->brought,
					   .ops = entry->asked_for_ops},
		&entry->entering);
	if (!error) {
		entry->state = ENTRY_ENTERING;
	} else if (error == -EAGAIN) { /* not counted: no try was made */
		if (!entry->last_why[0])
			snprintf(entry->last_why, sizeof(entry->last_why), "%s",
				 "others that are being entered take too long");
		try_again_later(entry);
	} else {
		snprintf(result.why, sizeof(result.why), "no thread can be started: %s", strerror(-error));
		handle_result(agents, process, error, &result);
	}
}

static void look_at_entering(struct agents *agents, struct followed *process)
{
	struct inject_result result;
	int error;

	if (process->entry.entering && entering_ended(&process->entry.entering, &error, &result))
		handle_result(agents, process, error, &result);
}

static bool is_watched(const struct followed *process, const struct probed_file *file)
{
	if (process->cupti_client.state != CUPTI_CLIENT_SUSPECTED)
		return false;
	return any_of(process->files.count, i, process->files.items[i] == file);
}

/* The probe is hot while a session lasts: it is detached once no suspected session is left. */
static void stop_watching(struct agents *agents)
{
	const struct processes *processes = agents->processes;

	for (size_t i = 0; i < processes->files->list.count; i++) {
		struct probed_file *file = processes->files->list.items[i];
		bool watched = !links_are_attached(&file->push_links);

		for (size_t j = 0; j < processes->list.count && !watched; j++)
			watched = is_watched(processes->list.items[j], file);
		if (!watched)
			file_detach_pushes(file);
	}
}

/* An agent that works for another gputrace reports that within a tick of its own; it need not be let in. */
static bool may_answer(struct followed *process, uint64_t now_ns)
{
	if (!process->restart_links.fds.count)
		return false;
	if (!process->entry.asked_ns)
		process->entry.asked_ns = now_ns;
	return now_ns - process->entry.asked_ns < OLDER_ANSWER_NS;
}

void agents_end_entering(struct agents *agents)
{
	enterings_finish();
	for (size_t i = 0; i < agents->processes->list.count; i++)
		look_at_entering(agents, agents->processes->list.items[i]);
}

/*
 * Whether a forked process is left out. That is only noted once it has lived for a while: most forks call exec at once.
 */
static bool is_left_out(struct agents *agents, struct followed *process, uint64_t now_ns, unsigned *pending)
{
	struct agent_entry *entry = &process->entry;
	char why[sizeof(entry->why)];

	if (!process->forked || (process->brought && !agent_has_ops(agents, process)) ||
	    entry->state != ENTRY_WAITING || entry->next_ns > now_ns)
		return false;
	switch (fork_judge(agents->processes, process, why, sizeof(why))) {
	case FORK_MAY_ENTER:
		return false;
	case FORK_UNKNOWN_YET:
		if (now_ns - process->fork.ns >= LEFT_OUT_SAID_NS)
			memcpy(entry->last_why, why, sizeof(entry->last_why));
		++*pending;
		break;
	case FORK_CUDA_LOST: /* nothing is missing unless it calls CUDA all the same */
		memcpy(entry->last_why, why, sizeof(entry->last_why));
		process->fork.not_noted = true;
		entry->state = ENTRY_REFUSED;
		break;
	case FORK_LEFT_OUT:
		if (!entry->left_out_ns)
			entry->left_out_ns = now_ns;
		if (agents->processes->shares) /* CUDA may start in it later, and its agent wait there */
			entry->next_ns = now_ns + LEFT_OUT_PAUSE_NS;
		if ((process->fork.seen || agents->processes->shares) && !process->called_ns &&
		    now_ns - entry->left_out_ns < LEFT_OUT_SAID_NS)
			break;
		if (!agents->processes->shares ||
		    agent_is_first_said(agents, process, offsetof(struct followed, forks_said)))
			agent_report_not_in(agents, process, why);
		if (agents->processes->shares)
			break;
		entry->state = ENTRY_REFUSED; /* not an error for --agent require: no trace could have its GPU times */
		break;
	}
	return true;
}

unsigned agents_tick(struct agents *agents, uint64_t now_ns)
{
	unsigned pending = 0;

	if (agents->file_fd < 0)
		return 0;
	for (size_t i = 0; i < agents->processes->list.count; i++) {
		struct followed *process = agents->processes->list.items[i];
		struct agent_entry *entry = &process->entry;

		look_at_entering(agents, process);
		agent_report_cuda_lost(agents, process, now_ns);
		agent_report_no_ops(agents, process, now_ns);
		if (is_served(agents, process) || !is_wanted(agents, process) ||
		    is_left_out(agents, process, now_ns, &pending))
			continue;
		if (entry->state == ENTRY_DRIVER && !process->brought && driver_has_failed(process)) {
			entry->driver_fails = true;
			entry->state = ENTRY_WAITING;
		}
		/* Without BPF the agent has joined gputrace by then, or is gone. */
		if (agents->processes->shares && entry->state == ENTRY_ASKED && !process->agent_joined &&
		    now_ns - entry->asked_ns > JOINED_NS)
			entry->state = ENTRY_WAITING;
		/* PyTorch was mapped after the first CUDA call, as with a late import. */
		if (entry->state == ENTRY_DRIVER && agent_has_ops(agents, process) && !entry->asked_for_ops)
			entry->state = ENTRY_WAITING;
		if (entry->state == ENTRY_WAITING && entry->next_ns <= now_ns && !may_answer(process, now_ns))
			try_now(agents, process);
		pending += entry->state == ENTRY_WAITING || entry->state == ENTRY_ENTERING ||
			   (entry->state == ENTRY_ASKED && followed_maps(process, LIBRARY_CUDA) &&
			    now_ns < entry->asked_ns + ANSWER_NS);
	}
	stop_watching(agents);
	return pending;
}

void agents_settle(struct agents *agents, unsigned timeout_ms)
{
	uint64_t end_ns = monotonic_ns() + timeout_ms * 1000000ULL;
	struct timespec pause = {.tv_nsec = SETTLE_PAUSE_NS};

	while (agents_tick(agents, monotonic_ns()) && monotonic_ns() < end_ns) {
		nanosleep(&pause, NULL);
		for (size_t i = 0; i < agents->processes->list.count; i++)
			processes_update_agent(agents->processes, agents->processes->list.items[i]);
	}
}

const struct followed *agents_refused(const struct agents *agents)
{
	return value_of_first(agents->processes->list.count, i, agents->processes->list.items[i]->entry.why[0],
			      agents->processes->list.items[i], NULL);
}
