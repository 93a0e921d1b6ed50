/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Order of a live trace: check, hold the command, log, probes, run, outputs.  One owner of all of them. */
#include "cmd/record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "attach/attach.h"
#include "attach/emit.h"
#include "capture/clock.h"
#include "capture/drain.h"
#include "log/writer.h"
#include "capture/run.h"
#include "capture/signals.h"
#include "cmd/agent_path.h"
#include "cmd/command.h"
#include "cmd/early_cycles.h"
#include "cmd/format.h"
#include "cmd/interrupt.h"
#include "cmd/log_file.h"
#include "cmd/outputs.h"
#include "cmd/privileges.h"
#include "cmd/session.h"
#include "cmd/subcommands.h"
#include "cmd/target_check.h"

struct recording {
	const struct options *options;
	char *agent_path;
	size_t log_output; /* the first .gpt among the outputs is the log itself, SIZE_MAX: none */
	struct log_file file;
	struct log_writer *log;
	struct command command;
	int signals; /* -1: not open */
	sigset_t old_signals;
	struct early_cycles early;
	struct attach *attach;
	struct drain *drain;
	struct run_result result;
	char why[512];
};

static void emit_record(void *context, const struct gpt_record *record)
{
	struct recording *recording = context;

	/* The error sticks to the log and ends the run at its next record. */
	(void)log_writer_append(recording->log, record);
}

static size_t find_log_output(const struct options *options)
{
	struct format format;

	for (size_t i = 0; i < options->outputs.list.count; i++) {
		const char *path = options->outputs.list.items[i];

		if (strcmp(path, "-") != 0 && format_by_path(path, &format) && !format.writer)
			return i;
	}
	return SIZE_MAX;
}

static int find_agent(struct recording *recording)
{
	if (recording->options->agent == ATTACH_AGENT_OFF)
		return 0;
	recording->agent_path = agent_path_find();
	if (recording->agent_path)
		return 0;
	if (recording->options->agent == ATTACH_AGENT_REQUIRE) {
		msg_error("--agent require: %s was not found; gputrace doctor says where it is looked for",
			  GPUTRACE_AGENT_FILE);
		return -ENOENT;
	}
	msg_warn("%s was not found: there will be no GPU times", GPUTRACE_AGENT_FILE);
	return 0;
}

/* A command that cannot be run; options in front of a subcommand make one of it. */
static int refuse_command(const char *name, int err)
{
	if (err == -ENOENT && subcommand_by_name(name))
		msg_error("%s: a subcommand comes first, its options after it: gputrace %s ...", name, name);
	else
		msg_error("%s: %s", name, err == -ENOENT ? "command not found" : strerror(-err));
	return err;
}

/* Everything that can be found wrong before anything is started. */
static int check_all(struct recording *recording)
{
	const struct options *options = recording->options;
	int err;

	if (options->command) {
		err = command_check(options->command[0]);
		if (err)
			return refuse_command(options->command[0], err);
	}
	err = target_check_pids(&options->pids);
	if (err)
		return err;
	err = privileges_check(recording->why, sizeof(recording->why));
	if (err) {
		msg_error("%s", recording->why);
		return err;
	}
	err = outputs_check(options);
	return err ? err : find_agent(recording);
}

static int open_log(struct recording *recording)
{
	const char *path = NULL, *where;
	struct gpt_session *session;
	int err;

	recording->log_output = find_log_output(recording->options);
	if (recording->log_output != SIZE_MAX)
		path = recording->options->outputs.list.items[recording->log_output];
	err = log_file_open(path, &recording->file, &where);
	if (err) {
		msg_error("%s: no log can be written there: %s", where, output_error(err));
		return err;
	}
	recording->log = log_writer_open(recording->file.fd);
	session = session_record(recording->options);
	err = log_writer_append(recording->log, &session->hdr);
	free(session);
	if (!err)
		early_cycles_start(&recording->early, recording->options, recording->file.fd);
	return err;
}

static int start_command(struct recording *recording)
{
	struct command_options options = {
		.argv = recording->options->command,
		.agent_path = recording->agent_path,
		.cupti = recording->options->cupti,
		.ranges = recording->options->activity_sets >> GPT_AGENT_SET_NVTX & 1,
		.stdout_to_stderr = options_use_stdout(recording->options),
		.signals = &recording->old_signals,
	};
	int err;

	if (!options.argv)
		return 0;
	err = command_start(&options, &recording->command);
	if (err)
		msg_error("%s: cannot be started: %s", options.argv[0], strerror(-err));
	return err;
}

/* Before the agent says so by what is missing. */
static void say_whose_ranges(struct recording *recording)
{
	const char *theirs = recording->agent_path ? command_other_ranges(recording->agent_path) : NULL;
	char note[512];

	if (!theirs || !(recording->options->activity_sets >> GPT_AGENT_SET_NVTX & 1))
		return;
	snprintf(note, sizeof(note), "no NVTX ranges: NVTX_INJECTION64_PATH names another tool already, %.300s",
		 theirs);
	emit_text(emit_record, recording, GPT_NOTE, (uint32_t)recording->command.pid, note);
	msg_warn("%s", note);
}

static enum attach_scope scope_of(const struct options *options)
{
	if (options->command)
		return ATTACH_COMMAND;
	return options->pids.list.count ? ATTACH_PIDS : ATTACH_ALL;
}

static int follow_processes(struct recording *recording)
{
	const struct pid_list *pids = &recording->options->pids;
	int err = 0;

	if (recording->command.pid)
		err = attach_process(recording->attach, recording->command.pid, recording->why, sizeof(recording->why));
	for (size_t i = 0; i < pids->list.count && !err; i++) {
		err = attach_process(recording->attach, pids->list.items[i], recording->why, sizeof(recording->why));
		/* It was there when we looked first: its trace is over before it began, which is no failure. */
		if (err == -ESRCH) {
			msg_warn("process %d ended before it could be traced", (int)pids->list.items[i]);
			err = 0;
		}
	}
	return err;
}

/* Kernels without uprobe.multi need two descriptors a probe; the command was forked before and keeps its limit. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void begin_now(struct recording *recording)
{
	struct gpt_clock clock;

	clock_sample(&clock);
	log_writer_set_start(recording->log, clock.mono_ns, clock.wall_offset_ns);
}

static int attach_all(struct recording *recording)
{
	const struct options *options = recording->options;
	struct attach_options attach_options = {
		.scope = scope_of(options),
		.agent = options->agent,
		.agent_path = recording->agent_path,
		.cupti = options->cupti,
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
	};
	int err;

	raise_file_limit();
	snprintf(recording->why, sizeof(recording->why), "the probes could not be placed");
	err = attach_open(&attach_options, emit_record, recording, &recording->attach, recording->why,
			  sizeof(recording->why));
	if (err)
		goto failed;
	begin_now(recording);
	/* Before the first probe: from then on the ring fills, however long the rest takes. */
	err = drain_start(attach_ring_fd(recording->attach), recording->log, attach_wants, &recording->drain);
	if (err)
		snprintf(recording->why, sizeof(recording->why), "the ring buffer cannot be read: %s", strerror(-err));
	if (!err)
		err = follow_processes(recording);
	if (!err)
		err = attach_start(recording->attach, recording->why, sizeof(recording->why));
	if (err)
		goto failed;
	/* Calls of before, which some of the probes saw, are not in what readers show: the recording is as long as
	 * asked. */
	begin_now(recording);
	err = attach_begin_steps(recording->attach, recording->why, sizeof(recording->why));
	if (!err)
		return 0;
failed:
	msg_error("%s", recording->why);
	return err;
}

/* Whether --python-calls will not get (or when all is `over` did not get) what it asks for. */
static bool python_calls_refused(struct recording *recording, bool over)
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
			"_PyEval_EvalFrameDefault; without the option Python slices are drawn from the stacks of CUDA "
			"calls",
			recording->why);
	else
		msg_error("--python-calls: no Python was found in what was traced");
	return true;
}

static void say_what_is_traced(const struct recording *recording)
{
	char *target = session_target(recording->options);

	if (recording->options->pids.list.count && attach_live_processes(recording->attach) &&
	    attach_site_count(recording->attach) == 0)
		msg_warn("no CUDA library is mapped in %s (yet): waiting for one", target);
	msg_debug("tracing %s; %u probe sites, agent %s", target, attach_site_count(recording->attach),
		  recording->agent_path ? recording->agent_path : "none");
	free(target);
}

static int on_begin(void *context)
{
	struct recording *recording = context;
	int err;

	if (!recording->command.pid)
		return 0;
	err = command_release(&recording->command);
	if (err)
		msg_error("%s: cannot be executed: %s", recording->options->command[0], strerror(-err));
	return err;
}

static bool on_command_ended(void *context)
{
	struct recording *recording = context;

	return command_has_ended(&recording->command);
}

static void on_cycles_over(void *context, uint32_t first, uint32_t last)
{
	struct recording *recording = context;

	early_cycles_tell(&recording->early, first, last);
}

static int run_it(struct recording *recording)
{
	struct run_options options = {
		.duration_ns = recording->options->duration_ns,
		.end_with_targets = scope_of(recording->options) == ATTACH_PIDS,
		.end_with_schedule = recording->options->schedule.active != 0,
		.signals_fd = recording->signals,
		.begin = on_begin,
		.command_ended = recording->command.pid ? on_command_ended : NULL,
		.cycles_over = recording->early.pid ? on_cycles_over : NULL,
		.context = recording,
	};
	int err = run_trace(recording->attach, recording->log, recording->drain, &options, &recording->result);

	if (err && !recording->command.exec_errno)
		msg_error("the recording could not begin: %s", strerror(-err));
	return err;
}

static void say_how_it_ended(struct recording *recording)
{
	const struct run_result *result = &recording->result;
	char buffer[128];
	const char *failure;

	if (result->reason == GPT_END_DISK)
		msg_error("the log could not be written any further (%s): the trace ends here",
			  strerror(-result->error));
	else if (result->reason == GPT_END_ERROR)
		msg_error("the recording failed and ends here: %s", strerror(-result->error));
	else if (result->reason == GPT_END_SCHEDULE)
		msg_info("all cycles of --schedule are recorded");
	else if (result->reason == GPT_END_TARGETS_GONE && !recording->command.pid)
		msg_info("no traced process is left");
	if (!recording->command.pid)
		return;
	if (!command_has_ended(&recording->command)) {
		msg_info("%s (pid %d) goes on without gputrace", recording->options->command[0],
			 (int)recording->command.pid);
		return;
	}
	failure = command_failure(&recording->command, buffer, sizeof(buffer));
	if (failure)
		msg_info("%s %s", recording->options->command[0], failure);
}

/* The user's own log has its name by now; a temporary one gets one when it is all there is of the trace. */
static void keep_log(struct recording *recording, const char *because)
{
	const char *name = log_file_name(&recording->file);
	int err = log_file_keep(&recording->file);

	if (err)
		msg_error("%s: the log could not be kept: %s", name, strerror(-err));
	else
		msg_warn("%s; the trace is in %s: gputrace report %s", because, name, name);
}

/* With the recording over, the user's own log gets its name before anything else can fail. */
static enum exit_code deliver_all(struct recording *recording)
{
	struct delivery delivery = {
		.options = recording->options,
		.log_fd = recording->file.fd,
		.report = !options_use_stdout(recording->options),
		.skip = recording->log_output,
	};
	bool failed = recording->result.reason == GPT_END_DISK || recording->result.reason == GPT_END_ERROR;
	enum exit_code code;
	bool all_written;
	int err = recording->file.output.path ? log_file_keep(&recording->file) : 0;

	if (err) {
		msg_error("%s: not written: %s", recording->file.output.path, strerror(-err));
		failed = true;
	} else if (recording->file.output.path) {
		outputs_say_written(recording->file.output.path, recording->file.fd);
	}
	if (recording->result.abandoned || is_interrupted()) {
		keep_log(recording, "interrupted twice: no outputs are written");
		return EXIT_FAILED;
	}
	code = deliver(&delivery, &all_written);
	if (is_interrupted())
		keep_log(recording, "interrupted");
	else if (!all_written)
		keep_log(recording, "not everything could be written");
	else if (failed && !recording->file.output.path)
		keep_log(recording, "the recording ended early");
	return failed ? EXIT_FAILED : code;
}

static void close_all(struct recording *recording)
{
	early_cycles_end(&recording->early);
	drain_close(recording->drain);
	attach_close(recording->attach);
	log_writer_close(recording->log);
	log_file_close(&recording->file);
	command_close(&recording->command);
	if (recording->signals >= 0)
		stop_signals_close(recording->signals, &recording->old_signals);
	free(recording->agent_path);
}

enum exit_code record_command(const struct options *options)
{
	struct recording recording = {
		.options = options,
		.signals = -1,
		.file = {.fd = -1},
		.command = {.go = -1, .failed = -1},
	};
	enum exit_code code = EXIT_FAILED;
	bool refused;

	if (check_all(&recording))
		goto cleanup;
	recording.signals = stop_signals_open(&recording.old_signals);
	if (recording.signals < 0) {
		msg_error("signals cannot be waited for: %s", strerror(-recording.signals));
		goto cleanup;
	}
	if (start_command(&recording) || open_log(&recording) || attach_all(&recording))
		goto cleanup;
	say_whose_ranges(&recording);
	/* What runs already will not change its mind; a command or the whole machine may have more to come. */
	if (scope_of(options) == ATTACH_PIDS && python_calls_refused(&recording, false))
		goto cleanup;
	say_what_is_traced(&recording);
	if (run_it(&recording))
		goto cleanup;
	refused = python_calls_refused(&recording, true);
	/* Nothing of the probes is left while the outputs are made. */
	drain_close(recording.drain);
	recording.drain = NULL;
	attach_close(recording.attach);
	recording.attach = NULL;
	early_cycles_end(&recording.early);
	say_how_it_ended(&recording);
	interrupt_watch();
	stop_signals_close(recording.signals, &recording.old_signals);
	recording.signals = -1;
	code = deliver_all(&recording);
	if (refused)
		code = EXIT_FAILED;
cleanup:
	close_all(&recording);
	return code;
}
