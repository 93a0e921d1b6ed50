/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is checked before anything is started: the command, the targets, rights and with them the way, the outputs. */
#include "cmd/record/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "attach/attach.h"
#include "attach/share/shares.h"
#include "base/msg.h"
#include "cmd/options/format.h"
#include "cmd/options/subcommands.h"
#include "cmd/output/outputs.h"
#include "cmd/process/agent_path.h"
#include "cmd/process/caller.h"
#include "cmd/process/privileges.h"
#include "cmd/process/target_check.h"
#include "cmd/record/dated_file.h"
#include "target/process.h"

size_t recording_log_output(const struct options *options)
{
	struct format format;

	for (size_t i = 0; i < options->outputs.list.count; i++) {
		const char *path = options->outputs.list.items[i];

		if (strcmp(path, "-") != 0 && format_by_path(path, &format) && !format.writer)
			return i;
	}
	return SIZE_MAX;
}

const char *recording_log_path(const struct options *options)
{
	size_t index = recording_log_output(options);

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

void recording_say_not_executed(const char *name, int err)
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
		recording_say_not_executed(name, err);
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
	if (options->cost_limit)
		return "it excludes --cost-limit";
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
	recording->share_name = share_door_name();
	if (!recording->share_name) {
		msg_error("--way agent: no random name can be had: %s", strerror(errno));
		return -EIO;
	}
	if (err)
		msg_info("recorded by the agent alone, as with --way agent; by BPF it is %s", recording->why);
	return 0;
}

int recording_check(struct recording *recording)
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
		err = dated_file_check(recording_log_path(options), "--flight-recorder");
	if (!err && options_rotate(options))
		err = dated_file_check(recording_log_path(options), "--rotate");
	return err ? err : find_agent(recording);
}
