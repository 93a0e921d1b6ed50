/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads /proc; starts nothing. */
#include "cmd/process/target_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "target/halt.h"
#include "target/process.h"

pid_t target_thread_group(pid_t tid)
{
	char path[64], line[256];
	pid_t group = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	status = fopen(path, "re");
	if (!status)
		return 0;
	while (!group && fgets(line, sizeof(line), status))
		if (!strncmp(line, "Tgid:", 5))
			group = (pid_t)strtol(line + 5, NULL, 10);
	fclose(status);
	return group;
}

static int check_pid(pid_t pid)
{
	struct process_info info = {0};
	pid_t group = target_thread_group(pid);
	int err = group ? process_info_read(pid, &info) : -ESRCH;

	if (err) {
		msg_error("--pid %d: %s", (int)pid,
			  err == -ESRCH ? "no such process: ps -e lists those that run" : strerror(-err));
	} else if (group != pid) {
		msg_error("--pid %d: is a thread of process %d; trace that one", (int)pid, (int)group);
		err = -EINVAL;
	} else if (info.kernel_thread) {
		msg_error("--pid %d: is a thread of the kernel (%s), which runs no program: name the process of one",
			  (int)pid, info.comm);
		err = -EINVAL;
	} else if (info.zombie) {
		msg_error("--pid %d: has ended already: gputrace -- COMMAND traces a program from its start", (int)pid);
		err = -ESRCH;
	} else if (process_is_frozen(pid)) {
		msg_error(
			"--pid %d: is frozen by its cgroup, so nothing of it runs, and the agent cannot come in: thaw "
			"it (docker unpause, or a 0 in the cgroup.freeze of the cgroup that /proc/%d/cgroup names)",
			(int)pid, (int)pid);
		err = -EAGAIN;
	}
	process_info_free(&info);
	return err;
}

int target_check_pids(const struct pid_list *pids)
{
	int err = 0;

	for (size_t i = 0; i < pids->list.count && !err; i++)
		err = check_pid(pids->list.items[i]);
	return err;
}
