/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* /proc/PID/task/TID/syscall and status; see thread_state.h. */
#include "attach/inject/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool thread_call_parse(const char *text, struct thread_call *out)
{
	unsigned long long a[6], sp, pc;
	long number;

	*out = (struct thread_call){.number = SYSCALL_RUNNING};
	if (!strncmp(text, "running", 7))
		return true;
	if (sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &number, &a[0], &a[1], &a[2], &a[3], &a[4],
		   &a[5], &sp, &pc) == 9) {
		for (unsigned i = 0; i < 6; i++)
			out->args[i] = a[i];
	} else if (sscanf(text, "%ld %llx %llx", &number, &sp, &pc) != 3 || number != SYSCALL_NONE) {
		return false;
	}
	out->number = number;
	out->sp = sp;
	out->pc = pc;
	return number >= SYSCALL_NONE;
}

static const char *line_value(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length) && line[length] == ':')
			return line + length + 1;
	}
	return NULL;
}

static uint64_t number_of(const char *text, const char *name, int base)
{
	const char *value = line_value(text, name);

	return value ? strtoull(value, NULL, base) : 0;
}

bool thread_status_parse(const char *text, struct thread_status *out)
{
	const char *state = line_value(text, "State"), *ids = line_value(text, "NSpid"), *features;

	if (!state || !(state += strspn(state, " \t")) || !*state)
		return false;
	*out = (struct thread_status){
		.state = *state,
		.pending = number_of(text, "SigPnd", 16) | number_of(text, "ShdPnd", 16),
		.blocked = number_of(text, "SigBlk", 16),
		.caught = number_of(text, "SigCgt", 16),
		.switches = number_of(text, "voluntary_ctxt_switches", 10),
		.ns_tid = (pid_t)number_of(text, "Pid", 10),
		.tracer = (pid_t)number_of(text, "TracerPid", 10),
		.seccomp = (int)number_of(text, "Seccomp", 10),
		.filters = (int)number_of(text, "Seccomp_filters", 10),
		.no_new_privs = number_of(text, "NoNewPrivs", 10),
		.bounding = number_of(text, "CapBnd", 16),
	};
	while (ids && *ids && *ids != '\n') { /* one id for each nested namespace, its own last */
		char *end;
		long id = strtol(ids, &end, 10);

		if (end == ids)
			break;
		out->ns_tid = (pid_t)id;
		ids = end + strspn(end, " \t");
	}
	features = line_value(text, "x86_Thread_features");
	out->shadow_stack = features && memmem(features, strcspn(features, "\n"), "shstk", 5);
	return true;
}

static int read_thread_file(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	got = read(fd, text, size - 1);
	if (got < 0)
		got = -errno;
	close(fd);
	text[got > 0 ? got : 0] = 0;
	return got < 0 ? (int)got : 0;
}

int thread_status_read(pid_t pid, pid_t tid, struct thread_status *out)
{
	char text[4096] = "";
	int error = read_thread_file(pid, tid, "status", text, sizeof(text));

	if (error)
		return error;
	return thread_status_parse(text, out) ? 0 : -EPROTO;
}

int thread_call_read(pid_t pid, pid_t tid, struct thread_call *out)
{
	char text[256] = "";
	int error = read_thread_file(pid, tid, "syscall", text, sizeof(text));

	if (error)
		return error;
	return thread_call_parse(text, out) ? 0 : -EPROTO;
}
