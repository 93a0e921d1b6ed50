/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints how the recording ended, and makes the outputs from the log. */
#include "cmd/record/recording.h"
#include "base/error_text.h"

#include <errno.h>
#include <string.h>

#include "cmd/output/deliver.h"
#include "cmd/process/interrupt.h"
#include "cmd/output/last_trace.h"
#include "cmd/output/outputs.h"

static void say_what_triggers_lack(const struct recording *recording)
{
	const char *lacks = recording->trigger ? trigger_lacks(recording->trigger) : NULL;

	if (lacks)
		msg_warn("--trigger %s", lacks);
	if (recording->blame.left_out)
		msg_info("--trigger gap: %llu gaps were not looked at, as there was no time for it, or they began "
			 "before the recording",
			 (unsigned long long)recording->blame.left_out);
	if (recording->result.lacks_nvml)
		msg_warn("--trigger xid: NVML did not answer, or stopped: gputrace doctor says why");
	else if (recording->result.without_xid)
		msg_warn("--trigger xid: NVML reports no errors of %u GPUs to gputrace: the kernel's log (dmesg) has "
			 "them",
			 recording->result.without_xid);
}

void recording_say_end(struct recording *recording)
{
	const struct run_result *result = &recording->result;

	if (result->reason == GPT_END_DISK && result->error == -EAGAIN) /* no file of a disk says so */
		msg_error("%s: the trace ends here, as the thread that writes the log could not be started: %s",
			  log_file_name(&recording->file), start_error_text(result->error));
	else if (result->reason == GPT_END_DISK && (result->error == -EFBIG || result->error == -ENOMEM))
		msg_error("%s: the trace ends here, as the log could not be written any further: %s",
			  log_file_name(&recording->file), error_text(result->error));
	else if (result->reason == GPT_END_DISK)
		msg_error("%s: the log could not be written any further (%s): the trace ends here: -o takes a path on "
			  "another disk",
			  log_file_name(&recording->file), strerror(-result->error));
	else if (result->reason == GPT_END_ERROR)
		msg_error("the recording failed and ends here: %s", error_text(result->error));
	else if (result->reason == GPT_END_SCHEDULE)
		msg_info(recording->options->schedule.by == GPT_STEP_BY_CAPTURE
				 ? "all ranges of --capture-range are recorded"
				 : "all cycles of --schedule are recorded");
	else if (result->reason == GPT_END_TARGETS_GONE && !recording->command.pid)
		msg_info("no traced process is left");
	say_what_triggers_lack(recording);
	if (recording->command.pid && command_has_ended(&recording->command))
		recording_say_command_end(recording);
}

void recording_say_command_end(const struct recording *recording)
{
	char buffer[128];
	const char *failure = command_failure(&recording->command, buffer, sizeof(buffer));

	if (failure)
		msg_info("%s %s", recording->options->command[0], failure);
}

/* The user's own log has its name by now; a temporary one gets a name when nothing else is left of the trace. */
static void keep_log(struct recording *recording, const char *because)
{
	const char *name = log_file_name(&recording->file);
	int err = log_file_keep(&recording->file);

	if (err)
		msg_error("%s: the log could not be kept: %s", name, strerror(-err));
	else
		msg_warn("%s; the trace is in %s: gputrace report %s, gputrace export %s -o FILE", because, name, name,
			 name);
}

enum exit_code recording_result(const struct recording *recording)
{
	enum gpt_end_reason reason = recording->result.reason;

	return reason == GPT_END_DISK || reason == GPT_END_ERROR ? EXIT_FAILED : EXIT_GOOD;
}

/* How a command names the log when this gputrace has ended. */
static char *file_word(const struct recording *recording)
{
	const struct options *options = recording->options;

	if (recording->log_output < options->outputs.list.count)
		return last_trace_word(options->outputs.list.items[recording->log_output]);
	return options->keeps_log && last_trace_can_keep(recording->file.fd) ? xstrdup("") : NULL;
}

static enum exit_code make_outputs(struct recording *recording)
{
	AUTO_FREE char *file = file_word(recording);
	struct delivery delivery = {
		.options = recording->options,
		.log_fd = recording->file.fd,
		.file = file,
		.report = !options_use_stdout(recording->options),
		.skip = recording->log_output,
	};
	bool failed = recording_result(recording) != EXIT_GOOD;
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
		keep_log(recording, recording->result.signalled ? "interrupted twice: no outputs are written"
								: "interrupted: no outputs are written");
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

enum exit_code recording_deliver(struct recording *recording)
{
	enum exit_code code;

	if (recording->rotated) {
		rotated_files_print(recording->rotated);
		rotated_files_say(recording->rotated);
		return recording_result(recording);
	}
	code = make_outputs(recording);
	/* Last, as it may take a copy. */
	if (recording->options->keeps_log)
		last_trace_keep(recording->file.fd);
	return code;
}
