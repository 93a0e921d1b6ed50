/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens and closes the BPF half, and starts to follow processes. */
#include "attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "attach/activity.h"
#include "attach/attach_state.h"
#include "attach/costs.h"
#include "attach/emit/emit.h"
#include "attach/probes/probes.h"
#include "attach/load/features.h"
#include "attach/load/guard.h"
#include "attach/load/preempt_count.h"
#include "attach/inject/read_only.h"
#include "base/error_text.h"
#include "base/monotonic.h"
#include "target/reader.h"

#define LOOK_TIME_SHARE 5    /* one ns of a user's time for looks is refilled in this many ns */
#define AGENT_SETTLE_MS 1000 /* so that work requested after the start of the trace has GPU times */

/* ---- opening and closing -------------------------------------------------------------------- */

static int attach_lifecycle(struct attach *attach, char *why, size_t why_size)
{
	const struct gputrace_bpf *bpf = attach->programs.bpf;
	const struct {
		const struct bpf_program *program;
		const char *tracepoint;
	} raw[] = {
		{bpf->progs.process_fork, "sched_process_fork"},
		{bpf->progs.process_exec, "sched_process_exec"},
		{bpf->progs.process_exit, "sched_process_exit"},
	};
	int error;

	for (size_t i = 0; i < sizeof(raw) / sizeof(raw[0]); i++) {
		error = links_attach_raw_tracepoint(&attach->lifecycle, bpf_program__fd(raw[i].program),
						    raw[i].tracepoint);
		if (error) {
			snprintf(why, why_size, "cannot attach to the tracepoint %s: %s", raw[i].tracepoint,
				 strerror(-error));
			return error;
		}
	}
	error = links_attach_tracepoint(&attach->lifecycle, bpf_program__fd(bpf->progs.library_mapped),
					"syscalls/sys_enter_mmap");
	if (error == -EACCES || error == -EPERM)
		emit_text(attach->emit, attach->emit_context, GPT_NOTE, 0,
			  "libraries loaded while tracing may be noticed late: CAP_DAC_READ_SEARCH is missing, without "
			  "which tracefs cannot be read");
	else if (error)
		emit_text(attach->emit, attach->emit_context, GPT_NOTE, 0,
			  "libraries loaded while tracing may be noticed late: no syscall tracepoints in this kernel");
	return 0;
}

/* A number by which agents distinguish this trace from others. */
static uint32_t listener_number(void)
{
	uint32_t number = 0;

	while (!gpt_listener_is_valid(number)) {
		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
			number = (uint32_t)(monotonic_ns() * 2654435761u >> 7);
		number &= (1u << GPT_LISTENER_BITS) - 1;
	}
	return number;
}

/*
 * A fork of a traced process has its parent's probes in its copy of the code, but a per-process probe fires in no other
 * process: the fork's calls are not seen until gputrace attaches probes to it. All children of a command must be seen
 * from the start. So for a command only agents, which do not survive a fork, are probed per process.
 */
static enum files_apart files_apart(enum attach_scope scope)
{
	static const enum files_apart apart[] = {[ATTACH_PIDS] = FILES_APART,
						 [ATTACH_COMMAND] = FILES_AGENTS_APART,
						 [ATTACH_SELECTED] = FILES_APART,
						 [ATTACH_ALL] = FILES_SHARED};

	return apart[scope];
}

int attach_open(const struct attach_options *options, attach_emit emit, void *context, struct attach **out, char *why,
		size_t why_size)
{
	const struct gpt_config config = {
		.trace_all = options->scope == ATTACH_ALL,
		.finds_newcomers = options->scope >= ATTACH_SELECTED,
		.native = options->native,
		.samples = options->sample_period_ns != 0,
		.preempt_count_from_rq = options->off_cpu_min_ns ? preempt_count_from_rq() : 0,
		.off_cpu_min_ns = options->off_cpu_min_ns,
		.stop_at_new_files = options->scope == ATTACH_COMMAND,
	};
	struct attach *attach = xcalloc(1, sizeof(*attach));
	int error;

	attach->options = *options;
	attach->emit = attach->files.emit = attach->processes.emit = emit;
	attach->emit_context = attach->files.emit_context = attach->processes.emit_context = context;
	attach->files.programs = &attach->programs;
	attach->files.python_calls = options->python_calls;
	attach->files.activity_sets = options->activity_sets;
	attach->files.ops = options->ops;
	attach->files.shapes = options->shapes;
	attach->files.schedule = options->schedule;
	attach->files.schedule.listener = listener_number();
	attach->files.forward_lines = options->forward_lines;
	attach->files.torch_memory = options->torch_memory;
	attach->files.memory_lines = options->memory_lines;
	attach->files.agents = options->agent != ATTACH_AGENT_OFF;
	foreign_reader_open(&attach->foreign_reader, options->activity_sets, emit, context);
	attach->processes.files = &attach->files;
	attach->processes.time.share = LOOK_TIME_SHARE;
	attach->processes.fair = attach->files.fair = attach->foreign_reader.fair = options->scope >= ATTACH_SELECTED;
	attach->files.stops = options->scope == ATTACH_COMMAND;
	files_limit(&attach->files);
	attach->agents = (struct agents){.processes = &attach->processes,
					 .file_fd = -1,
					 .asked = options->cupti,
					 .ops = options->ops,
					 .emit = emit,
					 .emit_context = context};
	attach->symbols = symbols_new(emit, context);
	attach->generated = generated_files_new(emit, context);
	if (options->way == ATTACH_WAY_AGENT) {
		error = by_agents_open(attach, why, why_size);
		if (error)
			goto fail;
		*out = attach;
		return 0;
	}
	if (options->agent != ATTACH_AGENT_OFF)
		feature_begin_nop5();
	error = programs_load(&attach->programs, &config, options->ring_bytes, why, why_size);
	if (error)
		goto fail;
	costs_start(attach);
	attach->files.apart = attach->programs.apart ? files_apart(options->scope) : FILES_SHARED;
	error = options->off_cpu_min_ns ? awaits_start(emit, context, &attach->awaits) : 0;
	if (!error)
		error = guard_start();
	if (error) {
		snprintf(why, why_size, "cannot start a process: %s", start_error_text(error));
		goto fail;
	}
	if (config.stop_at_new_files)
		error = stopper_start(bpf_map__fd(attach->programs.bpf->maps.stop_requests), &attach->stopper);
	if (error) {
		snprintf(why, why_size, "cannot start the thread that holds what is started: %s",
			 start_error_text(error));
		goto fail;
	}
	error = attach_lifecycle(attach, why, why_size);
	if (error)
		goto fail;
	*out = attach;
	return 0;
fail:
	attach_close(attach);
	return error;
}

void attach_close(struct attach *attach)
{
	if (!attach)
		return;
	enterings_finish();
	(void)calibrate_finish(&attach->calibration);
	activity_close(&attach->activity);
	detail_close(&attach->detail);
	links_detach(&attach->lifecycle);
	stopper_end(attach->stopper);
	awaits_stop(attach->awaits);
	files_close(&attach->files);
	processes_close(&attach->processes);
	if (attach->agents.file_fd >= 0)
		close(attach->agents.file_fd);
	foreign_reader_close(&attach->foreign_reader);
	shares_close(attach->shares);
	free(attach->join);
	symbols_free(attach->symbols);
	generated_files_free(attach->generated);
	array_free(&attach->stops);
	array_free(&attach->passed);
	array_free(&attach->cupti_uses.list);
	if (attach->programs.bpf)
		programs_unload(&attach->programs);
	guard_stop();
	readers_end();
	free(attach);
}

int attach_ring_fd(const struct attach *attach)
{
	return attach->shares ? -1 : bpf_map__fd(attach->programs.bpf->maps.ring);
}

_Atomic uint32_t *attach_ring_passes(const struct attach *attach)
{
	return attach->shares ? NULL : (_Atomic uint32_t *)&attach->programs.bpf->bss->ring_pass;
}

struct shares *attach_shares(const struct attach *attach)
{
	return attach->shares;
}

int attach_wait_fd(const struct attach *attach)
{
	return attach->shares ? shares_door(attach->shares)->listener : -1;
}

/* ---- what to follow ---------------------------------------------------------------------------- */

static int refuse_look(pid_t pid, int error, char *why, size_t why_size)
{
	snprintf(why, why_size, "cannot look into process %d: %s", pid,
		 error == -ESRCH		       ? "it has just ended"
		 : error == -ETIMEDOUT		       ? "it keeps readers of its memory or its files waiting"
		 : error == -EACCES || error == -EPERM ? process_explain_refused(pid)
						       : strerror(-error));
	return error;
}

int attach_process(struct attach *attach, pid_t pid, char *why, size_t why_size)
{
	struct process_info info;
	struct followed *process;
	int error = process_info_read(pid, &info);
	uint64_t refused;

	if (!error && info.zombie)
		error = -ESRCH;
	if (error) {
		snprintf(why, why_size, "no process with pid %d%s%s", pid, error == -ESRCH ? "" : ": ",
			 error == -ESRCH ? "" : strerror(-error));
		return error;
	}
	process_info_free(&info);
	refused = attach->processes.refused;
	process = processes_add(&attach->processes, pid, attach->options.scope == ATTACH_COMMAND, false);
	if (!process && attach->processes.refused == refused) {
		snprintf(why, why_size, "no process with pid %d: it has just ended", pid);
		return -ESRCH;
	}
	if (!process) {
		snprintf(why, why_size, "too many processes to follow");
		return -ENOSPC;
	}
	process->named = true;
	if (attach->shares && attach->options.scope == ATTACH_COMMAND)
		return 0;		      /* it is examined when its agent joins */
	attach->processes.probe_later = true; /* until attach_start */
	error = processes_examine(&attach->processes, process);
	if (error)
		return refuse_look(pid, error, why, why_size);
	if (attach->options.scope == ATTACH_PIDS)
		processes_add_descendants(&attach->processes);
	return 0;
}

static int let_agents_in(struct attach *attach, char *why, size_t why_size)
{
	const struct followed *refused;

	attach->set_up_ns = attach->agents_step_ns = monotonic_ns();
	agents_settle(&attach->agents, AGENT_SETTLE_MS);
	attach->reconcile = true;
	refused = attach->options.agent == ATTACH_AGENT_REQUIRE ? agents_refused(&attach->agents) : NULL;
	if (!refused)
		return 0;
	snprintf(why, why_size, "--agent require: it cannot be let into process %d: %s", refused->pid,
		 refused->entry.why);
	return -ENOTSUP;
}

int attach_start(struct attach *attach, char *why, size_t why_size)
{
	attach->changed_ns = monotonic_ns();
	if (attach->shares)
		return by_agents_start(attach, why, why_size);
	if (attach->options.agent != ATTACH_AGENT_OFF && attach->options.agent_path) {
		int error;

		attach->agent = files_get_path(&attach->files, attach->options.agent_path);
		error = attach->agent ? file_attach_agent(&attach->files, attach->agent) : -ENOENT;
		if (error && attach->options.agent == ATTACH_AGENT_REQUIRE) {
			snprintf(why, why_size, "cannot probe the agent %s: %s", attach->options.agent_path,
				 strerror(-error));
			return error;
		}
		if (!error) {
			attach->processes.agent = attach->agent;
			attach->agents.file_fd = read_only_open(attach->options.agent_path);
			attach->agents.file = attach->agent;
		}
	}
	/*
	 * A probe may be in a file for all processes that map it: every Python must be known before the first probe is
	 * attached.
	 */
	attach->processes.probe_later = true;
	if (attach->options.scope >= ATTACH_SELECTED)
		attach_find_newcomers(attach);
	processes_probe_all(&attach->processes);
	for (size_t i = 0; i < attach->files.list.count; i++)
		file_attach_torch(&attach->files, attach->files.list.items[i]);
	activity_start(attach);
	detail_start(attach);
	return let_agents_in(attach, why, why_size);
}

int attach_begin_steps(struct attach *attach, char *why, size_t why_size)
{
	int error = 0;

	if (attach->shares)
		shares_control(attach->shares)->schedule_begun = 1;
	else if (attach->options.schedule.active)
		error = files_begin_schedule(&attach->files);
	if (error)
		snprintf(why, why_size, "the agent cannot be asked to count steps: %s", strerror(-error));
	return error;
}
