/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The steps of a live trace in order: check, hold the command, open the log, place probes, run, write outputs. */
#include "cmd/commands.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "attach/attach.h"
#include "attach/emit.h"
#include "attach/share/shares.h"
#include "base/array.h"
#include "base/error_text.h"
#include "base/temporary.h"
#include "capture/drain.h"
#include "capture/signals.h"
#include "cmd/process/agent_path.h"
#include "cmd/process/caller.h"
#include "cmd/record/dated_file.h"
#include "cmd/record/first_process.h"
#include "cmd/record/flight_file.h"
#include "cmd/options/format.h"
#include "cmd/process/interrupt.h"
#include "cmd/output/outputs.h"
#include "cmd/process/print.h"
#include "cmd/process/privileges.h"
#include "cmd/record/recording.h"
#include "cmd/record/session.h"
#include "cmd/options/subcommands.h"
#include "cmd/process/target_check.h"
#include "log/writer.h"
#include "target/process.h"

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

/* The .gpt output; NULL: there is none. */
static const char *log_path(const struct options *options)
{
	size_t index = find_log_output(options);

	return index != SIZE_MAX ? options->outputs.list.items[index] : NULL;
}

static int find_agent(struct recording *recording)
{
	if (recording->options->agent == ATTACH_AGENT_OFF)
		return 0;
	recording->agent_path = agent_path_find();
	if (recording->agent_path)
		return 0;
	if (recording->share_name) {
		msg_error("without root the agent records, and %s was not found; gputrace doctor says where it is "
			  "looked for",
			  GPUTRACE_AGENT_FILE);
		return -ENOENT;
	}
	if (recording->options->agent == ATTACH_AGENT_REQUIRE) {
		msg_error("--agent require: %s was not found; gputrace doctor says where it is looked for",
			  GPUTRACE_AGENT_FILE);
		return -ENOENT;
	}
	msg_warn("%s was not found: there will be no GPU times; gputrace doctor says where it is looked for",
		 GPUTRACE_AGENT_FILE);
	return 0;
}

static void say_not_executed(const char *name, int err)
{
	if (err == -EACCES || err == -ENOEXEC)
		msg_error(
			"%s: cannot be executed: %s: name its interpreter before it (python %s), or make it executable",
			name, strerror(-err), name);
	else if (err == -EISDIR)
		msg_error("%s: cannot be executed: it is a folder: name a program in it", name);
	else
		msg_error("%s: cannot be executed: %s", name, strerror(-err));
}

/* Prints why a command cannot be run.  A subcommand with options in front of it counts as a command, too. */
static int refuse_command(const char *name, int err)
{
	if (err == -ENOENT && subcommand_by_name(name))
		msg_error("%s: a subcommand comes first, its options after it: gputrace %s ...", name, name);
	else if (err == -ENOENT && getenv("SUDO_UID"))
		msg_error("%s: command not found in the PATH that sudo leaves; with its whole path it runs: "
			  "sudo gputrace ... -- \"$(command -v %s)\" ...",
			  name, name);
	else if (err == -ENOENT && strchr(name, '/'))
		msg_error("%s: command not found: no file is there", name);
	else if (err == -ENOENT)
		msg_error("%s: command not found in PATH: name it with its path, or after its interpreter (python %s)",
			  name, name);
	else
		say_not_executed(name, err);
	return err;
}

/* Why BPF is needed: an option that the agent alone cannot serve; NULL: it is not. */
static const char *needs_bpf(const struct options *options)
{
	if (recording_scope(options) == ATTACH_ALL)
		return "a COMMAND, or processes of yours that are named (-p PID) or chosen (-p gpu, --container ...), "
		       "not the whole machine";
	if (options->agent == ATTACH_AGENT_OFF)
		return "it excludes --agent off";
	if (options->native)
		return "it excludes --native";
	if (options->cpu_frequency)
		return "it excludes --cpu and --frequency";
	if (options->off_cpu_min_ns)
		return "it excludes --off-cpu";
	return options->python_calls ? "it excludes --python-calls" : NULL;
}

/* The user of --user, whose processes are recorded by the agents alone. */
static int find_owner_of_targets(struct recording *recording, const char *why)
{
	const struct selection *targets = &recording->options->targets;

	if (targets->values[SELECTION_USER].count > 1) {
		msg_error("--user: by the agent alone processes of one user are recorded: name one of them");
		return -EINVAL;
	}
	if (targets->values[SELECTION_USER].count)
		recording->owner = (uid_t)strtoul(targets->values[SELECTION_USER].items[0], NULL, 10);
	if (!geteuid() || recording->owner == geteuid())
		return 0;
	msg_error("%s%swithout root only your own processes can be recorded: run it as root for those of user %u",
		  why ? why : "", why ? "; " : "--way agent: ", recording->owner);
	return -EPERM;
}

/* The agents alone record processes of one user, without root only the caller's own.  why: BPF is not permitted, or
 * NULL. */
static int find_owner(struct recording *recording, const char *why)
{
	const struct pid_list *pids = &recording->options->pids;
	struct process_owner of;

	recording->owner = recording->caller ? recording->caller->uid : geteuid();
	if (options_select(recording->options))
		return find_owner_of_targets(recording, why);
	for (size_t i = 0; i < pids->list.count; i++) {
		pid_t pid = pids->list.items[i];

		if (process_owner(pid, &of))
			continue; /* it has ended, which is reported later */
		if (geteuid() && of.file_uid != geteuid()) {
			msg_error(
				"%s%swithout root only your own processes can be recorded, and pid %d belongs to user "
				"%u",
				why ? why : "", why ? "; " : "--way agent: ", (int)pid, of.file_uid);
			return -EPERM;
		}
		if (i && of.file_uid != recording->owner) {
			msg_error("--pid %d: belongs to user %u, and --pid %d does not: by the agent alone processes "
				  "of one user are recorded",
				  (int)pid, of.file_uid, (int)pids->list.items[0]);
			return -EINVAL;
		}
		recording->owner = of.file_uid;
	}
	return 0;
}

/* Chooses recording by the agents alone if that is asked for, or if BPF is not permitted. */
static int choose_way(struct recording *recording)
{
	const struct options *options = recording->options;
	const char *bpf = needs_bpf(options);
	int err = 0, owned;

	if (options->way != RECORD_WAY_AGENT)
		err = privileges_check(recording->why, sizeof(recording->why));
	if (options->way != RECORD_WAY_AGENT && !err)
		return 0;
	if (options->way == RECORD_WAY_BPF) {
		msg_error("%s", recording->why);
		return err;
	}
	if (bpf && options->way == RECORD_WAY_AUTO) {
		msg_error("%s; without that the agent alone records: %s", recording->why, bpf);
		return err;
	}
	if (bpf) {
		msg_error("--way agent: %s", bpf);
		return -EINVAL;
	}
	owned = find_owner(recording, err ? recording->why : NULL);
	if (owned)
		return owned;
	recording->share_name = shares_name();
	if (!recording->share_name) {
		msg_error("--way agent: no random name can be had: %s", strerror(errno));
		return -EIO;
	}
	if (err)
		msg_info("recorded by the agent alone, as with --way agent; by BPF it is %s", recording->why);
	return 0;
}

/* Checks all that can be checked before anything is started. */
static int check_all(struct recording *recording)
{
	const struct options *options = recording->options;
	int err = recording_plan_start(recording);

	if (err)
		return err;
	if (options->command) {
		recording->caller = options->as_root ? NULL : caller_find();
		err = command_check(options->command[0], recording->caller ? recording->caller->path : NULL);
		recording->command.exec_errno = -err;
		if (err)
			return refuse_command(options->command[0], err);
	}
	if (options->cupti && privileges_of_file()) {
		msg_error("--cupti: a gputrace with capabilities of its file loads no library of its caller's choice: "
			  "run it with sudo");
		return -EPERM;
	}
	err = target_check_pids(&options->pids);
	if (err)
		return err;
	err = choose_way(recording);
	if (err)
		return err;
	if (!recording->share_name)
		recording->unasked = options_default_activity(options);
	err = outputs_check(options);
	if (!err && options->recorder_ns)
		err = dated_file_check(log_path(options), "--flight-recorder");
	if (!err && options_rotate(options))
		err = dated_file_check(log_path(options), "--rotate");
	return err ? err : find_agent(recording);
}

static int open_log(struct recording *recording)
{
	const char *path = log_path(recording->options), *where;
	struct gpt_session *session;
	int err;

	recording->log_output = find_log_output(recording->options);
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
	if (recording->options->recorder_ns)
		log_writer_keep_recent(recording->log, recording->options->recorder_ns + FLIGHT_SPARE_NS,
				       recording->options->recorder_bytes);
	if (options_rotate(recording->options))
		recording_rotate(recording);
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
	return err;
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
	if (!recording->command.pid)
		return 0;
	err = command_release(&recording->command);
	if (!err)
		first_process_set_command(recording->command.pid);
	else
		say_not_executed(recording->options->command[0], err);
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
	const struct recording *recording = context;

	rotated_files_print(recording->rotated);
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
		.flight = {.hourly = recording->options->trigger.hourly,
			   .span_ns = recording->options->recorder_ns,
			   .write = flight_file_write,
			   .context = recording},
		.log_fd = recording->file.fd,
		.history = recording->history,
		.print = recording->rotated ? on_print : NULL,
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

	/* In steps that are not recorded memory is handed out unseen: then no block is known to stay. */
	if (recording->options->torch_memory && !recording->options->schedule.active && !recording->top.pid) {
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
	early_cycles_end(&recording->early);
	drain_close(recording->drain);
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
	if (check_all(&recording))
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
	interrupt_watch();
	if (command_runs(&recording.command))
		interrupt_pass_on(recording.command.pid, recording.result.signalled);
	stop_signals_close(recording.signals, &recording.old_signals);
	recording.signals = -1;
	code = options->subcommand == SUBCOMMAND_TOP ? recording_result(&recording) : recording_deliver(&recording);
	if (refused)
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
