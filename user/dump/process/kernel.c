/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/read_at.h"

#define STATUS_MAX 4096

/* "TID (NAME) STATE ..."; a name may hold anything but NUL. */
static bool take_stat(struct dump_thread *thread, const char *text)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	size_t length;

	if (!open || !close || close < open || close[1] != ' ')
		return false;
	length = (size_t)(close - open - 1);
	if (length >= sizeof(thread->name))
		length = sizeof(thread->name) - 1;
	memcpy(thread->name, open + 1, length);
	thread->state = close[2];
	return true;
}

static uint64_t status_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void take_status(struct dump_thread *thread, const char *status)
{
	const char *at = strstr(status, "\nNSpid:");

	thread->switches = status_number(status, "\nvoluntary_ctxt_switches:");
	thread->tracer = (pid_t)status_number(status, "\nTracerPid:");
	thread->ns_tid = thread->tid;
	while (at && *++at && *at != '\n') /* the last number is of the innermost namespace */
		if (*at == '\t')
			thread->ns_tid = (pid_t)strtol(at, NULL, 10);
}

/* "running", "-1 SP PC" or "NUMBER A0 .. A5 SP PC" (proc(5)) */
static void take_syscall(struct dump_thread *thread, const char *text)
{
	char *end;

	thread->call = strtol(text, &end, 10);
	if (end == text)
		return;
	for (int i = 0; i < 6 && thread->call >= 0; i++)
		thread->args[i] = strtoull(end, &end, 16);
	thread->sp = strtoull(end, &end, 16);
	thread->pc = strtoull(end, &end, 16);
	thread->in_call = true;
}

static bool read_thread(int folder, struct dump_thread *thread)
{
	char text[STATUS_MAX];

	if (!read_small_file(folder, "stat", text, sizeof(text)) || !take_stat(thread, text))
		return false;
	if (read_small_file(folder, "syscall", text, sizeof(text)))
		take_syscall(thread, text);
	if (read_small_file(folder, "wchan", thread->wchan, sizeof(thread->wchan)) && !strcmp(thread->wchan, "0"))
		thread->wchan[0] = '\0';
	if (read_small_file(folder, "status", text, sizeof(text)))
		take_status(thread, text);
	if (read_small_file(folder, "schedstat", text, sizeof(text)))
		thread->run_ns = strtoull(text, NULL, 10);
	return true;
}

static unsigned list_threads(DIR *folder, pid_t *tids, unsigned *left_out)
{
	const struct dirent *entry;
	unsigned count = 0;

	*left_out = 0;
	while ((entry = readdir(folder))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && count < DUMP_THREADS_MAX)
			tids[count++] = tid;
		else if (tid > 0)
			++*left_out;
	}
	return count;
}

int kernel_threads(struct arena *arena, struct dump_process *process)
{
	static pid_t tids[DUMP_THREADS_MAX];
	char name[64];
	unsigned count, kept = 0;
	DIR *folder;

	process->begun_ns = monotonic_ns();
	snprintf(name, sizeof(name), "/proc/%d/task", (int)process->pid);
	folder = opendir(name);
	if (!folder)
		return errno == ENOENT ? -ESRCH : -errno;
	count = list_threads(folder, tids, &process->threads_left_out);
	process->threads = arena_take(arena, count * sizeof(struct dump_thread));
	for (unsigned i = 0; i < count && process->threads; i++) {
		struct dump_thread *thread = &process->threads[kept];
		int fd;

		snprintf(name, sizeof(name), "%d", (int)tids[i]);
		fd = openat(dirfd(folder), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		memset(thread, 0, sizeof(*thread));
		thread->tid = thread->ns_tid = tids[i];
		if (fd >= 0 && read_thread(fd, thread))
			kept++;
		if (fd >= 0)
			close(fd);
	}
	closedir(folder);
	process->thread_count = kept;
	process->state = kept ? process->threads[0].state : 0;
	if (!process->threads)
		return -ENOMEM;
	return kept ? 0 : -ESRCH;
}

void kernel_thread_again(pid_t pid, struct dump_thread *thread)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/task/%d", (int)pid, (int)thread->tid);
	fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	thread->in_call = false;
	if (fd >= 0) {
		read_thread(fd, thread);
		close(fd);
	}
}

struct thread_runs runs_of(const struct dump_thread *thread)
{
	struct thread_runs runs = {.run_ns = thread->run_ns,
				   .switches = thread->switches,
				   .state = thread->state,
				   .in_call = thread->in_call,
				   .call = thread->call,
				   .sp = thread->sp,
				   .pc = thread->pc};

	memcpy(runs.args, thread->args, sizeof(runs.args));
	return runs;
}

/* run_ns is 0 on a kernel that does not count the time on a processor. */
bool has_not_run_since(const struct thread_runs *earlier, const struct dump_thread *thread)
{
	return thread->run_ns && thread->state != 'R' && earlier->run_ns == thread->run_ns &&
	       earlier->switches == thread->switches && earlier->state == thread->state &&
	       earlier->in_call == thread->in_call && earlier->call == thread->call && earlier->sp == thread->sp &&
	       earlier->pc == thread->pc && !memcmp(earlier->args, thread->args, sizeof(earlier->args));
}
