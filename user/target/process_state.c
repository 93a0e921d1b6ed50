/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a process or a thread still runs (process.h): nothing that it could keep others waiting for. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/process.h"

#define STATE_BYTES 128 /* of /proc/PID/stat: the state comes after the name, which is shorter than 64 bytes */

char process_state(pid_t pid)
{
	char path[32], text[STATE_BYTES + 1] = "";
	const char *name_end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	name_end = read(fd, text, STATE_BYTES) > 0 ? strrchr(text, ')') : NULL;
	close(fd);
	return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

static bool thread_has_ended(pid_t tid)
{
	char state = process_state(tid);

	return !state || state == 'Z' || state == 'X';
}

pid_t process_thread(pid_t pid)
{
	struct dirent *entry;
	pid_t found = 0;
	char path[32];
	DIR *threads;

	if (!thread_has_ended(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && !found && (entry = readdir(threads))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !thread_has_ended(tid))
			found = tid;
	}
	if (threads)
		closedir(threads);
	return found ? found : pid;
}
