/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Handles what the kernel reports about followed processes, record by record. */
#include "attach/attach.h"

#include <stdio.h>
#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/maps.h>
#include <gputrace/walk.h>

#include "attach/attach_state.h"
#include "attach/clients/cupti_caller.h"
#include "attach/halts.h"
#include "base/monotonic.h"
#include "base/path.h"
#include "attach/forks.h"

/* A stop takes effect within microseconds; other work waits no longer than STOP_QUICK_NS for one that does not. */
#define STOP_QUICK_NS 1000000ULL
#define STOP_MAX_NS 500000000ULL

static struct followed *follow_process(struct attach *attach, pid_t pid)
{
	struct followed *process = processes_find(&attach->processes, pid);

	if (!process && attach->options.scope == ATTACH_ALL)
		process = processes_add(&attach->processes, pid, false, false);
	return process;
}

static void notice_fork(struct attach *attach, const struct gpt_process_event *event)
{
	struct followed *parent = processes_find(&attach->processes, (pid_t)event->other_pid), *child;

	symbols_forget_process(attach->symbols, event->pid);
	child = processes_add(&attach->processes, (pid_t)event->pid, parent && parent->ours, true);
	if (!child || !parent)
		return;
	/* The child is a copy: it has the parent's libraries and Python until it calls exec. */
	for (size_t i = 0; i < parent->files.count; i++)
		processes_use_file(&attach->processes, child, parent->files.items[i], NULL);
	fork_note(child, parent);
	child->has_python = parent->has_python;
	if (processes_may_look(&attach->processes, child))
		processes_examine(&attach->processes, child);
	attach->reconcile = true;
}

static void notice_exec(struct attach *attach, const struct gpt_process_event *event)
{
	struct followed *process = processes_find(&attach->processes, (pid_t)event->pid);

	if (!process)
		return;
	attach_report_late(attach, process);
	cupti_uses_forget(&attach->cupti_uses, process->pid);
	processes_forget_program(&attach->processes, process);
	symbols_forget_process(attach->symbols, event->pid);
	if (processes_may_look(&attach->processes, process))
		processes_examine(&attach->processes, process);
	attach->reconcile = true;
}

/* ---- processes held for their probes ---------------------------------------------------------------------------- */

/* Counts the files of that name whose calls are seen in the process. */
static unsigned count_probed(const struct attach *attach, const char *name, pid_t pid)
{
	unsigned count = 0;

	for (size_t i = 0; i < attach->files.list.count; i++) {
		const struct probed_file *file = attach->files.list.items[i];

		count += !strcmp(path_base(file->path), name) && file_is_probed_in(&attach->files, file, pid);
	}
	return count;
}

/* Notes the time in which calls may have been made unseen; until_ns: when the process ended, if it has. */
static void note_late(struct followed *process, uint64_t until_ns)
{
	const struct stop *mapped = &process->mapped;

	if (process->mapped_state == STOP_LATE)
		until_ns = mapped->stopped_ns;

	if (process->agent_calls || until_ns - mapped->time_ns <= process->late.ns)
		return;
	process->late.ns = until_ns - mapped->time_ns;
	process->late.refused = process->mapped_state == STOP_REFUSED;
	snprintf(process->late.name, sizeof(process->late.name), "%s", mapped->name);
}

/*
 * A file that needed a hold was not probed before, though another process may have had it probed meanwhile. For a
 * process that has ended, only the name shows what the file was.
 */
void attach_examine_mapped(struct attach *attach, struct followed *process)
{
	const char *name = process->mapped.name;
	unsigned before = count_probed(attach, name, process->pid), now;
	bool over = processes_examine(&attach->processes, process) != 0;

	if (process->mapped_state == STOP_IN_TIME || !process->mapped.time_ns || process->mapped.probed)
		return;
	now = count_probed(attach, name, process->pid);
	if (now > before || (process->mapped_state != STOP_NONE &&
			     (now || (over && library_kind_has_calls(library_kind_of_name(name))))))
		note_late(process, monotonic_ns());
	if (now)
		process->mapped.time_ns = 0;
}

/* If the driver has loaded the agent, nothing was missed: the agent starts before the first call. */
void attach_report_late(struct attach *attach, struct followed *process)
{
	bool whole = process->brought && process->agent_heard;

	if (process->late.ns && !whole)
		emit_note(attach->emit, attach->emit_context, (uint32_t)process->pid,
			  "pid %d: calls may be missing: %s was mapped for %.1f ms before its probes were in place%s",
			  process->pid, process->late.name, (double)process->late.ns / 1e6,
			  process->late.refused ? ", as another tracer holds the process" : "");
	if (process->found_late && !whole) {
		emit_note(attach->emit, attach->emit_context, (uint32_t)process->pid,
			  "pid %d: calls may be missing: the kernel did not report that it began, or what it mapped",
			  process->pid);
		attach->found_late += process->found_late;
	}
	process->late.ns = 0;
	process->found_late = 0;
}

/* Handles a library that the process has mapped; the process may wait for its probes. */
static void look_at_mapped(struct attach *attach, const struct stop *stop, enum stop_state state)
{
	struct followed *process = follow_process(attach, stop->pid);

	if (!process && attach->options.scope == ATTACH_SELECTED)
		process = attach_newcomer(attach, stop->pid);
	if (!process)
		return;
	process->mapped = *stop;
	process->mapped_state = state;
	if (state != STOP_IN_TIME && state != STOP_LATE && !processes_may_look(&attach->processes, process))
		return;
	attach_examine_mapped(attach, process);
	/* Without a stop the mapping may not exist yet. */
	if (state != STOP_IN_TIME && state != STOP_LATE)
		processes_look_later(process, monotonic_ns() + 1000000);
	attach->reconcile = true;
}

/* True if the thread was released, or is given up. */
static bool answer_stop(struct attach *attach, struct stop *stop, uint64_t patience_ns)
{
	enum stop_state state = stopper_check(attach->stopper, stop, patience_ns);

	if (state == STOP_ASKED && monotonic_ns() - stop->time_ns < STOP_MAX_NS)
		return false;
	look_at_mapped(attach, stop, state);
	stopper_release(attach->stopper, stop);
	return true;
}

bool attach_answer_stops(struct attach *attach)
{
	for (size_t i = 0; i < attach->stops.count;) {
		if (answer_stop(attach, &attach->stops.items[i], 0))
			attach->stops.items[i] = attach->stops.items[--attach->stops.count];
		else
			i++;
	}
	return attach->stops.count != 0;
}

/* The process has ended before it was seen to have stopped: only the name shows what it had mapped. */
static void give_up_stop(struct attach *attach, struct stop *stop, struct followed *process, uint64_t exit_ns)
{
	enum stop_state state = stopper_check(attach->stopper, stop, 0);

	if (process && state != STOP_IN_TIME && !stop->probed &&
	    library_kind_has_calls(library_kind_of_name(stop->name))) {
		process->mapped = *stop;
		process->mapped_state = state;
		note_late(process, exit_ns);
	}
	stopper_release(attach->stopper, stop);
}

static void give_up_stops(struct attach *attach, struct followed *process, const struct gpt_process_event *exit)
{
	for (size_t i = 0; i < attach->stops.count;)
		if (attach->stops.items[i].pid == (pid_t)exit->pid) {
			give_up_stop(attach, &attach->stops.items[i], process, exit->time_ns);
			attach->stops.items[i] = attach->stops.items[--attach->stops.count];
		} else {
			i++;
		}
}

static void notice_exit(struct attach *attach, const struct gpt_process_event *event)
{
	struct followed *process = processes_find(&attach->processes, (pid_t)event->pid);

	give_up_stops(attach, process, event);
	cupti_uses_forget(&attach->cupti_uses, (pid_t)event->pid);
	if (process) {
		agents_report_waiting(&attach->agents, process);
		attach_report_late(attach, process);
		halts_report(&attach->processes, process);
	}
	processes_remove(&attach->processes, (pid_t)event->pid);
	attach->reconcile = true;
}

static void notice_mapped(struct attach *attach, const struct gpt_mapped *event)
{
	struct stop stop = {.pid = (pid_t)event->pid,
			    .tid = (pid_t)event->tid,
			    .time_ns = event->time_ns,
			    .probed = event->hdr.flags & GPT_MAPPED_PROBED};
	struct followed *process = processes_find(&attach->processes, stop.pid);

	/* A runtime or a Python may be linked into a file of any name. The look covers whatever is mapped meanwhile. */
	if (event->hdr.flags & GPT_MAPPED_OTHER) {
		if (process)
			processes_look_soon(&attach->processes, process);
		return;
	}
	memcpy(stop.name, event->name, sizeof(stop.name) - 1);
	if (!(event->hdr.flags & GPT_MAPPED_STOPPED) || !attach->stopper)
		look_at_mapped(attach, &stop, STOP_NONE);
	else if (!answer_stop(attach, &stop, STOP_QUICK_NS))
		array_push(&attach->stops, stop);
	process = event->hdr.flags & GPT_MAPPED_MORE ? processes_find(&attach->processes, stop.pid) : NULL;
	if (process)
		processes_look_later(process, monotonic_ns() + GPT_MAPPED_WINDOW_NS);
}

/* ---- agents, threads ----------------------------------------------------------------------------------------- */

const struct probed_file *attach_process_agent(const struct attach *attach, const struct followed *process)
{
	for (size_t i = 0; i < process->files.count; i++)
		if (process->files.items[i]->kind == LIBRARY_AGENT)
			return process->files.items[i];
	return attach->agent;
}

/* Steps of one cycle may directly follow those of another. */
static void note_cycle(struct followed *process, const struct gpt_agent_step *step)
{
	uint32_t cycle = step->phase == GPT_STEP_ACTIVE ? step->cycle + 1 : 0;

	if (process->cycle > process->cycles_over && cycle != process->cycle)
		process->cycles_over = process->cycle;
	process->cycle = cycle;
}

static void note_step(struct attach *attach, struct followed *process, const struct gpt_agent_step *step)
{
	note_cycle(process, step);
	process->makes_steps = true;
	process->schedule_over = step->phase == GPT_STEP_OVER;
	attach->schedule_over |= process->schedule_over;
}

static void note_steps(struct attach *attach, struct followed *process, const struct gpt_agent_batch *batch)
{
	const struct gpt_record *record;
	size_t at = 0;

	while ((record = batch_next(batch, &at))) {
		process->has_schedule |= record->type == GPT_AGENT_SCHEDULE;
		if (record->type == GPT_AGENT_STEP && record->size >= sizeof(struct gpt_agent_step) &&
		    process->has_schedule)
			note_step(attach, process, (const struct gpt_agent_step *)record);
	}
}

/* The end of a session that no HELLO of this trace has begun is another trace's: its agent may be woken. */
static void note_hello(struct followed *process, const struct gpt_agent_hello *hello)
{
	bool ends = hello->state == GPT_AGENT_STOPPED, began = process->agent_began;

	process->agent_began = !ends;
	process->agent_stopped = hello->state == GPT_AGENT_FAILED || (ends && (began || process->agent_stopped));
}

/* Takes from a batch what attach/ needs: whether the agent, or its observer of ops, has ended. */
static void note_last_words(struct followed *process, const struct gpt_agent_batch *batch)
{
	const struct gpt_record *record;
	size_t at = 0;

	while ((record = batch_next(batch, &at))) {
		const struct gpt_agent_hello *hello = (const struct gpt_agent_hello *)record;
		const struct gpt_agent_ops *ops = (const struct gpt_agent_ops *)record;

		if (record->type == GPT_AGENT_HELLO && record->size >= sizeof(*hello))
			note_hello(process, hello);
		if (record->type != GPT_AGENT_OPS || record->size < sizeof(*ops))
			continue;
		process->ops_heard = true;
		process->ops_live = ops->state == GPT_AGENT_OPS_WAITING || ops->state == GPT_AGENT_OPS_OBSERVING;
	}
}

/* Without BPF, nothing sees the calls of a process in which another client has CUPTI's callbacks. */
static void report_calls_unseen(struct attach *attach, struct followed *process)
{
	if (!attach->shares || !process->foreign_buffers.borrowed || process->calls_unseen)
		return;
	process->calls_unseen = true;
	attach->unseen++;
	emit_note(
		attach->emit, attach->emit_context, (uint32_t)process->pid,
		"pid %d: calls are missing from when another profiler had CUPTI's callbacks (torch.profiler keeps them "
		"before PyTorch 2.15): without root nothing else reports calls",
		process->pid);
}

static void notice_batch(struct attach *attach, const struct gpt_agent_batch *batch)
{
	struct followed *process = follow_process(attach, (pid_t)batch->pid);

	if (!process)
		return;
	process->agent_heard = true;
	foreign_buffers_record(&attach->foreign_reader, &process->foreign_buffers, batch);
	report_calls_unseen(attach, process);
	note_last_words(process, batch);
	note_steps(attach, process, batch);
	if (processes_update_agent(&attach->processes, process))
		attach->reconcile = true;
}

/* False: the process is gone. */
static bool complete_cupti_use(struct attach *attach, const struct followed *process, struct gpt_cupti_use *use)
{
	struct processes *processes = &attach->processes;
	uint64_t now_ns = monotonic_ns();
	bool found = cupti_caller_find(&attach->files, process->pid, process->uid, use);

	use->caller = 0;
	if (processes->fair)
		user_budget_charge(&processes->time, process->uid, now_ns, monotonic_ns() - now_ns);
	return found;
}

/* The agent's own calls are written as the BPF side sends them (cupti.bpf.c). */
static void take_cupti_use(struct attach *attach, struct followed *process, struct gpt_cupti_use use)
{
	if (use.own == GPT_CUPTI_CALLER_UNKNOWN) {
		if (!complete_cupti_use(attach, process, &use))
			return;
		if (use.own == GPT_CUPTI_CALLER_AGENT && use.what != GPT_CUPTI_REGISTER)
			return;
		attach->emit(attach->emit_context, &use.hdr);
	}
	cupti_client_note(&process->cupti_client, attach_process_agent(attach, process), &use);
}

void attach_take_cupti_uses(struct attach *attach, bool all)
{
	struct cupti_uses waiting = attach->cupti_uses;

	attach->cupti_uses = (struct cupti_uses){};
	for (size_t i = 0; i < waiting.list.count; i++) {
		struct followed *process = processes_find(&attach->processes, (pid_t)waiting.list.items[i].pid);

		if (!process)
			continue;
		if (all || (processes_have_time(&attach->processes, process, monotonic_ns()) &&
			    !cupti_uses_wait(&attach->cupti_uses, process->pid)))
			take_cupti_use(attach, process, waiting.list.items[i]);
		else
			cupti_uses_defer(&attach->cupti_uses, &waiting.list.items[i]);
	}
	array_free(&waiting.list);
}

/* Where more wait than can, one is another client's: that stops no agent but one whose program makes too many. */
static void notice_cupti_use(struct attach *attach, const struct gpt_cupti_use *reported)
{
	struct followed *process = follow_process(attach, (pid_t)reported->pid);
	struct gpt_cupti_use use = *reported;

	/* An agent that begins when the recording is over begins for another gputrace, which tells it all that it
	 * needs. */
	if (!process || (attach->ending && !process->agent_live))
		return;
	if (cupti_uses_wait(&attach->cupti_uses, process->pid) ||
	    (use.own == GPT_CUPTI_CALLER_UNKNOWN &&
	     !processes_have_time(&attach->processes, process, monotonic_ns()))) {
		if (cupti_uses_defer(&attach->cupti_uses, &use) || use.own != GPT_CUPTI_CALLER_UNKNOWN)
			return;
		use.own = GPT_CUPTI_CALLER_OTHER;
		use.caller = 0;
		attach->emit(attach->emit_context, &use.hdr);
	}
	take_cupti_use(attach, process, use);
}

static void notice_cupti_done(struct attach *attach, const struct gpt_cupti_done *done)
{
	struct followed *process = processes_find(&attach->processes, (pid_t)done->pid);

	if (process)
		foreign_buffers_take(&attach->foreign_reader, &process->foreign_buffers, process->uid, done);
}

static void notice_thread(struct attach *attach, const struct gpt_thread *thread)
{
	struct followed *process = processes_find(&attach->processes, (pid_t)thread->pid);

	if (process) {
		/* A thread is announced also by a sample, a wait or an event of Python. */
		if (!process->called_ns && (attach->shares || processes_has_called(&attach->processes, process)))
			process->called_ns = thread->time_ns;
		return;
	}
	process = follow_process(attach, (pid_t)thread->pid);
	if (process) {
		if (processes_may_look(&attach->processes, process))
			processes_examine(&attach->processes, process);
		attach->reconcile = true;
	}
}

void attach_notice(struct attach *attach, const struct gpt_record *record)
{
	const void *body = record;

	switch (record->type) {
	case GPT_FORK:
		notice_fork(attach, body);
		break;
	case GPT_EXEC:
		notice_exec(attach, body);
		break;
	case GPT_EXIT:
		notice_exit(attach, body);
		break;
	case GPT_MAPPED:
		notice_mapped(attach, body);
		break;
	case GPT_AGENT_BATCH:
		notice_batch(attach, body);
		break;
	case GPT_CUPTI_USE:
		notice_cupti_use(attach, body);
		break;
	case GPT_CUPTI_DONE:
		notice_cupti_done(attach, body);
		break;
	case GPT_NATIVE_STACK:
		symbols_add_stack(attach->symbols, body);
		return; /* this and what follows comes all the time */
	case GPT_PYSTACK:
		modules_note_stack(&attach->processes, body);
		return;
	case GPT_CODE:
		generated_files_add(attach->generated, body);
		return;
	case GPT_THREAD:
		notice_thread(attach, body);
		return;
	default:
		return;
	}
	attach->changed_ns = monotonic_ns();
}
