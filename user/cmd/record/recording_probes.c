/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Places the probes, after the ring's reader is started and before the start time of the recording. */
#include "cmd/record/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attach/attach.h"
#include "base/error_text.h"
#include "capture/clock.h"
#include "capture/drain.h"
#include "cmd/record/session.h"
#include "log/writer.h"

void recording_emit(void *context, const struct gpt_record *record)
{
	struct recording *recording = context;

	/* The log keeps the error, which ends the run at its next record. */
	(void)log_writer_append(recording->log, record);
}

enum attach_scope recording_scope(const struct options *options)
{
	if (options->command)
		return ATTACH_COMMAND;
	if (options->pids.list.count)
		return ATTACH_PIDS;
	return options_select(options) ? ATTACH_SELECTED : ATTACH_ALL;
}

static int follow_processes(struct recording *recording)
{
	const struct pid_list *pids = &recording->options->pids;
	int err = 0;

	if (recording->command.pid)
		err = attach_process(recording->attach, recording->command.pid, recording->why, sizeof(recording->why));
	for (size_t i = 0; i < pids->list.count && !err; i++) {
		err = attach_process(recording->attach, pids->list.items[i], recording->why, sizeof(recording->why));
		/* It existed at the first check and has ended since, which is no failure. */
		if (err == -ESRCH) {
			msg_warn("process %d ended before it could be traced", (int)pids->list.items[i]);
			err = 0;
		}
	}
	return err;
}

/*
 * Descriptors of a trace of one process by the agent, and by BPF with samples of each processor. With fewer not every
 * failure would be said to be one of the limit: without them files of /proc look as if their process had ended.
 */
#define FILES_BY_AGENT 32
#define FILES_BY_BPF 120
#define FILES_A_PROCESSOR 4

/* Kernels without uprobe.multi need two descriptors a probe; the command was forked before and keeps its limit. */
static int raise_file_limit(struct recording *recording)
{
	rlim_t needed = FILES_BY_BPF + FILES_A_PROCESSOR * (rlim_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit limit;

	if (recording->share_name)
		needed = FILES_BY_AGENT;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max >= needed)
		return 0;
	snprintf(recording->why, sizeof(recording->why), "a trace takes %llu open files: %s",
		 (unsigned long long)needed, error_text(EMFILE));
	return -EMFILE;
}

/* Until the recording begins (run_trace), its log says when set-up did. */
static void begin_set_up(struct recording *recording)
{
	struct gpt_clock clock;

	clock_sample(&clock);
	log_writer_set_start(recording->log, clock.mono_ns, clock.wall_offset_ns);
}

/* From the first record on: names of ops come once. */
static void show_trigger(struct recording *recording)
{
	if (!trigger_sees(&recording->options->trigger) && !recording->options->trigger.counts_steps)
		return;
	recording->trigger = trigger_new(&recording->options->trigger);
	drain_show(recording->drain, recording->trigger);
}

int recording_attach(struct recording *recording)
{
	const struct options *options = recording->options;
	uint64_t frequency = recording->unasked.cpu ? OPTIONS_FREQUENCY : options->cpu_frequency;
	struct attach_options attach_options = {
		.scope = recording_scope(options),
		.selection = &options->targets,
		.way = recording->share_name ? ATTACH_WAY_AGENT : ATTACH_WAY_BPF,
		.share_name = recording->share_name,
		.uid = recording->owner,
		.agent = options->agent,
		.agent_path = recording->agent_path,
		.cupti = options->cupti,
		.sample_period_ns = frequency ? 1000000000 / frequency : 0,
		.off_cpu_min_ns = recording->unasked.off_cpu ? OPTIONS_OFF_CPU_MIN_NS : options->off_cpu_min_ns,
		.activity_adapts = recording->unasked.cpu || recording->unasked.off_cpu,
		.native = options->native,
		.python_calls = options->python_calls,
		.ops = options->ops,
		.shapes = options->shapes,
		.schedule = options->schedule,
		.forward_lines = options->forward_lines,
		.torch_memory = options->torch_memory,
		.memory_lines = options->memory_lines,
		.activity_sets = options->activity_sets,
		.ring_bytes = options->buffer_bytes,
		.memory_limit = options->memory_limit,
		.cost_limit_ns = options->cost_limit * (uint64_t)10000, /* thousandths of a percent of 1 s */
	};
	struct drain_options drain_options = {
		.log = recording->log,
		.wanted = attach_wants,
		.request = {.ops = options->ops, .torch_memory = options->torch_memory, .schedule = options->schedule},
		.memory_limit = options->memory_limit,
	};
	int err;

	err = raise_file_limit(recording);
	if (err)
		goto failed;
	snprintf(recording->why, sizeof(recording->why), "the probes could not be placed");
	err = attach_open(&attach_options, recording_emit, recording, &recording->attach, recording->why,
			  sizeof(recording->why));
	if (err)
		goto failed;
	begin_set_up(recording);
	/* Before the first probe: from then on the ring fills, and the rest may take long. */
	drain_options.shares = attach_shares(recording->attach);
	drain_options.ring_fd = attach_ring_fd(recording->attach);
	drain_options.passes = attach_ring_passes(recording->attach);
	err = drain_start(&drain_options, &recording->drain);
	if (err) {
		snprintf(recording->why, sizeof(recording->why), "the ring buffer cannot be read: %s",
			 start_error_text(err));
		goto failed;
	}
	show_trigger(recording);
	err = follow_processes(recording);
	if (!err)
		err = attach_start(recording->attach, recording->why, sizeof(recording->why));
	if (err)
		goto failed;
	return 0;
failed:
	msg_error("%s", recording->why);
	return err;
}

bool recording_lacks_python_calls(struct recording *recording, bool over)
{
	int answer;

	if (!recording->options->python_calls)
		return false;
	answer = attach_python_calls(recording->attach, recording->why, sizeof(recording->why));
	if (answer > 0 || (!answer && !over))
		return false;
	if (answer)
		msg_error(
			"--python-calls: calls cannot be traced in %s: that takes CPython 3.6 to 3.10, and its symbol "
			"_PyEval_EvalFrameDefault; leave the option out, and Python slices are drawn from the stacks "
			"of CUDA calls",
			recording->why);
	else
		msg_error("--python-calls: no Python was found in what was traced: leave the option out");
	return true;
}

bool recording_lacks_process(const struct recording *recording)
{
	const char *why;
	pid_t pid = attach_unentered(recording->attach, &why);

	if (pid)
		msg_warn("pid %d: the agent could not be let in, and without root nothing else records its calls: %s",
			 (int)pid, why);
	return pid != 0;
}

void recording_say_target(const struct recording *recording)
{
	char *target = session_target(recording->options);
	pid_t waits = attach_without_driver(recording->attach);

	if (waits)
		msg_warn("pid %d maps libcudart and not the driver's libcuda.so.1: CUDA has not started there, or no "
			 "driver is installed (nvidia-smi); waiting for it",
			 (int)waits);
	else if (recording->options->pids.list.count && attach_live_processes(recording->attach) &&
		 attach_site_count(recording->attach) == 0)
		msg_warn("no CUDA library is mapped in %s (yet): waiting for one", target);
	else if (options_select(recording->options) && !attach_live_processes(recording->attach))
		msg_warn("there are none of the %s (yet): waiting for one", target);
	msg_info("tracing %s (Ctrl-C ends)", target);
	msg_debug("%u probe sites, agent %s", attach_site_count(recording->attach),
		  recording->agent_path ? recording->agent_path : "none");
	free(target);
}
