/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The steps of a live trace in order: check, hold the command, open the log, place probes, run, write outputs. */
#include "cmd/commands.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/emit/emit.h"
#include "base/array.h"
#include "base/error_text.h"
#include "base/temporary.h"
#include "capture/drain.h"
#include "capture/signals.h"
#include "cmd/process/caller.h"
#include "cmd/record/first_process.h"
#include "cmd/record/flight_file.h"
#include "cmd/process/interrupt.h"
#include "cmd/process/print.h"
#include "cmd/process/privileges.h"
#include "cmd/record/recording.h"
#include "cmd/record/session.h"
#include "log/writer.h"
#include "target/process.h"

static int open_log(struct recording *recording)
{
	const char *path = recording_log_path(recording->options), *where;
	struct gpt_session *session;
	int err;

	recording->log_output = recording_log_output(recording->options);
	err = log_file_open(path, &recording->file, &where);
	if (err) {
		if (path)
			msg_error("%s: no log can be written there: %s", where, output_error(err));
		else
			msg_error("%s: no log can be written there: %s%s: name another with TMPDIR=FOLDER", where,
				  output_error(err), recording->file.tried);
		return err;
	}
	if (!path && !strcmp(where, TEMPORARY_MEMORY))
		msg_warn("the log is in memory (" TEMPORARY_MEMORY "), as no folder on a disk can be written: "
			 "name one with TMPDIR=FOLDER");
	recording->log = log_writer_open(recording->file.fd);
	if (recording->options->memory_limit)
		log_writer_bound_memory(recording->log, recording->options->memory_limit);
	if (recording->options->recorder_ns)
		log_writer_keep_recent(recording->log,
				       recording->options->recorder_ns + FLIGHT_SPARE_NS +
					       serve_needs_ns(recording->options),
				       recording->options->recorder_bytes);
	if (options_rotate(recording->options))
		recording_rotate(recording);
	else if (recording->options->subcommand == SUBCOMMAND_SERVE)
		recording->history = history_new(0);
	session = session_record(recording->options, recording->unasked.cpu || recording->unasked.off_cpu,
				 recording->share_name && !privileges_sudo_gives());
	err = log_writer_append(recording->log, &session->hdr);
	free(session);
	if (err) {
		msg_error("%s: the log cannot be begun: %s", log_file_name(&recording->file), error_text(err));
		return err;
	}
	early_cycles_start(&recording->early, recording->options, recording->file.fd);
	err = top_process_start(&recording->top, recording->options, recording->file.fd);
	if (err)
		msg_error("the screen cannot be started: %s", start_error_text(err));
	return err ? err : serve_process_start(&recording->serve, recording->options);
}

static int start_command(struct recording *recording)
{
	struct command_options options = {
		.argv = recording->options->command,
		.agent_path = recording->agent_path,
		.cupti = recording->options->cupti,
		.ranges = recording->options->activity_sets >> GPT_AGENT_SET_NVTX & 1,
		.share_name = recording->share_name,
		.stdout_to_stderr = options_use_stdout(recording->options),
		.signals = &recording->old_signals,
		.caller = recording->caller,
	};
	int err;

	if (!options.argv)
		return 0;
	err = command_start(&options, &recording->command);
	if (err)
		msg_error("%s: cannot be started: %s", options.argv[0], start_error_text(err));
	return err;
}

/* Warns if another tool has the NVTX ranges: the agent would only show that by their absence. */
static void say_whose_ranges(struct recording *recording)
{
	const char *theirs = recording->agent_path ? command_other_ranges(recording->agent_path) : NULL;
	char note[512];

	if (!theirs || !(recording->options->activity_sets >> GPT_AGENT_SET_NVTX & 1))
		return;
	snprintf(note, sizeof(note), "no NVTX ranges: NVTX_INJECTION64_PATH names another tool already, %.300s",
		 theirs);
	emit_text(recording_emit, recording, GPT_NOTE, (uint32_t)recording->command.pid, note);
	msg_warn("%s", note);
}

static bool has_others(const struct options *options)
{
	struct process_owner of;
	bool found = recording_scope(options) >= ATTACH_SELECTED;

	for (size_t i = 0; i < options->pids.list.count && !found; i++)
		found = !process_owner(options->pids.list.items[i], &of) && of.file_uid != geteuid();
	return found;
}

/* Warns of rights missing to let the agent into running processes.  A command has its agent from the start. */
static void say_missing_rights(struct recording *recording)
{
	uint64_t effective = privileges_effective();
	char missing[128], own[128], note[256];

	if (recording->options->command || !recording->agent_path || recording->share_name)
		return;
	privileges_missing_to_serve(effective, has_others(recording->options), missing, sizeof(missing));
	if (!*missing)
		return;
	snprintf(note, sizeof(note), "no GPU times of %sprocesses that run already: %s missing",
		 *privileges_missing_to_serve(effective, false, own, sizeof(own)) ? "" : "other users' ", missing);
	emit_text(recording_emit, recording, GPT_NOTE, 0, note);
	msg_warn("%s; gputrace doctor says more", note);
}

static int on_begin(void *context)
{
	struct recording *recording = context;
	int err;

	top_process_begin(&recording->top);
	serve_process_begin(&recording->serve);
	if (!recording->command.pid)
		return 0;
	err = command_release(&recording->command);
	if (!err)
		first_process_set_command(recording->command.pid);
	else
		recording_say_not_executed(recording->options->command[0], err);
	return err;
}

static void on_started(void *context, const struct start *start)
{
	recording_say_late(context, start);
	recording_say_target(context);
	flight_file_say(context);
}

static bool on_command_ended(void *context)
{
	struct recording *recording = context;

	return command_has_ended(&recording->command);
}

static void on_cycles_over(void *context, uint32_t first, uint32_t last)
{
	struct recording *recording = context;

	early_cycles_report(&recording->early, first, last);
}

static void on_print(void *context)
{
	struct recording *recording = context;

	if (recording->rotated)
		rotated_files_print(recording->rotated);
	serve_process_tick(recording);
}

static int run_it(struct recording *recording)
{
	struct run_options options = {
		.duration_ns = recording->options->duration_ns,
		.end_with_targets = recording_scope(recording->options) == ATTACH_PIDS,
		.end_with_schedule = recording->options->schedule.active != 0,
		.gpu_counters = !recording->options->gpu_counters_unwanted,
		.library_path = getenv("LD_LIBRARY_PATH"),
		.signals_fd = recording->signals,
		.by_itself = recording->options->trigger,
		.trigger = recording->trigger,
		.gap_seen = gap_blame_see,
		.gap_looks = gap_blame_looks,
		.gap_blamed = gap_blame_take,
		.hang_seen = hang_dump_begin,
		.flight = {.hourly = recording->options->trigger.hourly,
			   .span_ns = recording->options->recorder_ns,
			   .only_asked = recording->options->subcommand == SUBCOMMAND_SERVE,
			   .write = flight_file_write,
			   .look = {.take = gap_blame_log},
			   .context = recording},
		.log_fd = recording->file.fd,
		.history = recording->history,
		.print = on_print,
		.start = recording->start,
		.begin = on_begin,
		.started = on_started,
		.say_waits = recording_say_waits,
		.command_ended = recording->command.pid ? on_command_ended : NULL,
		.command_pid = recording->command.pid,
		.command_name = recording->command.pid ? recording->options->command[0] : NULL,
		.command_has_terminal = isatty(STDIN_FILENO),
		.cycles_over = recording->early.pid ? on_cycles_over : NULL,
		.context = recording,
	};
	int err;

	serve_process_windows(recording->options, options.flight.windows);
	/* In steps that are not recorded memory is handed out unseen: then no block is known to stay. */
	if (recording->options->torch_memory && !recording->options->schedule.active && !recording->top.pid &&
	    !recording->serve.pid) {
		options.search_begin = recording_search_begin;
		options.search_is_over = recording_search_is_over;
	}
	if (recording->top.pid)
		drain_flush_each(recording->drain, TOP_FLUSH_NS);
	err = run_trace(recording->attach, recording->log, recording->drain, &options, &recording->result);

	if (recording->result.not_begun)
		recording_say_not_begun(recording);
	else if (err && !recording->command.exec_errno)
		msg_error("the recording could not begin: %s", strerror(-err));
	return err;
}

static void close_all(struct recording *recording)
{
	recording_search_end(recording);
	top_process_end(&recording->top);
	serve_process_end(&recording->serve);
	early_cycles_end(&recording->early);
	drain_close(recording->drain);
	gap_blame_end(&recording->blame);
	hang_dump_end(&recording->hang_dump);
	dated_files_free(&recording->flight_files);
	trigger_free(recording->trigger);
	attach_close(recording->attach);
	log_writer_close(recording->log);
	rotated_files_free(recording->rotated);
	history_free(recording->history);
	log_file_close(&recording->file);
	if (recording->signals >= 0)
		stop_signals_close(recording->signals, &recording->old_signals);
	free(recording->agent_path);
	free(recording->share_name);
	caller_free(recording->caller);
}

/* Waits for a command that runs on after the trace: if gputrace ended before it as a container's first process, or as
 * what that waits for, the kernel would kill it. */
static void stay_with_command(struct recording *recording)
{
	struct command *command = &recording->command;

	if (!command_runs(command))
		return;
	msg_info("%s (pid %d) goes on: gputrace ends with it", command->argv[0], (int)command->pid);
	/* Who reads an export from a pipe waits for its end. */
	if (options_use_stdout(recording->options))
		print_end();
	malloc_trim(0);
	command_await(command);
	recording_say_command_end(recording);
}

/* The command's status, if it failed; else gputrace's own, which with a command has a number for its failure that few
 * commands have. */
static int exit_status(const struct recording *recording, enum exit_code code)
{
	int status = command_exit_status(&recording->command);

	if (status || !recording->options->command)
		return status ? status : (int)code;
	return code == EXIT_FAILED ? EXIT_OWN_FAILURE : code;
}

int record_command(const struct options *options)
{
	struct recording recording = {
		.options = options,
		.signals = -1,
		.file = {.fd = -1},
		.command = {.go = -1, .failed = -1},
		.serve = {.link = -1},
	};
	enum exit_code code = EXIT_FAILED;
	bool refused, unentered;
	int status;

	/* Else a file at its greatest size kills gputrace without a word. */
	signal(SIGXFSZ, SIG_IGN);
	if (options->command)
		array_set_failure(EXIT_OWN_FAILURE);
	if (options->recorder_ns)
		signals_claim_write();
	if (recording_check(&recording))
		goto cleanup;
	recording.signals = stop_signals_open(options->command != NULL, &recording.old_signals);
	if (recording.signals < 0) {
		msg_error("signals cannot be waited for: %s", error_text(recording.signals));
		goto cleanup;
	}
	if (start_command(&recording) || open_log(&recording) || recording_attach(&recording))
		goto cleanup;
	say_whose_ranges(&recording);
	say_missing_rights(&recording);
	/* A running process keeps its Python; a command or the whole machine may still start one that fits. */
	if (recording_scope(options) == ATTACH_PIDS && recording_lacks_python_calls(&recording, false))
		goto cleanup;
	if (run_it(&recording))
		goto cleanup;
	refused = recording_lacks_python_calls(&recording, true);
	unentered = recording_lacks_process(&recording);
	/* Removes all probes before the outputs are made. */
	drain_close(recording.drain);
	recording.drain = NULL;
	attach_close(recording.attach);
	recording.attach = NULL;
	early_cycles_end(&recording.early);
	top_process_end(&recording.top);
	msg_set_level(options->level);
	recording_say_end(&recording);
	privileges_drop();
	run_take_late_signals(&recording.result, recording.signals,
			      command_runs(&recording.command) ? recording.command.pid : 0);
	interrupt_watch();
	if (command_runs(&recording.command))
		interrupt_pass_on(recording.command.pid, recording.result.signalled);
	stop_signals_close(recording.signals, &recording.old_signals);
	recording.signals = -1;
	if (options->subcommand == SUBCOMMAND_TOP || options->subcommand == SUBCOMMAND_SERVE)
		code = recording_result(&recording);
	else
		code = recording_deliver(&recording);
	if (refused || recording.serve.has_ended)
		code = EXIT_FAILED;
	else if (unentered && code == EXIT_GOOD)
		code = EXIT_INCOMPLETE;
cleanup:
	close_all(&recording);
	stay_with_command(&recording);
	first_process_set_command(0);
	status = exit_status(&recording, code);
	command_close(&recording.command);
	return status;
}
