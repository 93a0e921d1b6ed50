/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/msg.h"
#include "base/read_at.h"
#include "dump/process/kernel.h"
#include "dump/process/waits.h"
#include "target/halt.h"
#include "target/process.h"

#define MS 1000000ull
#define ARENA_BYTES (256u << 20)  /* address space; memory is allocated at first use */
#define REFUSAL_BYTES (64u << 10) /* for an arena that has only the reason */
#define PATIENCE_NS (1000 * MS)	  /* for a child that does not run */
#define RUN_MAX_NS (10000 * MS)	  /* for a child: the most that a hostile process can cost */

static const char *command_of(struct look *look, const struct process_info *info)
{
	return arena_text(look->arena, "%s", *info->cmdline ? info->cmdline : info->comm);
}

static const char *reason_to_refuse(pid_t pid, struct process_info *info)
{
	int error = process_info_read(pid, info);

	if (error)
		return error == -ESRCH ? "no such process" : "not readable";
	if (info->kernel_thread)
		return "a thread of the kernel, which runs no program";
	return info->zombie ? "has ended: a zombie, whose parent has not waited for it" : NULL;
}

static int refuse_start(struct look *look, int error)
{
	look->process->refused = arena_text(
		look->arena,
		"no look at it can be started (%s); name fewer processes, or allow more (ulimit -v, ulimit -u)",
		strerror(-error));
	return error;
}

/* Makes an arena, at least with room for the reason. */
static int make_room(struct look *look)
{
	int error = arena_make(&look->arena, ARENA_BYTES);

	if (error && arena_make(&look->arena, REFUSAL_BYTES)) {
		msg_error("out of memory (%u bytes asked for); name fewer processes", REFUSAL_BYTES);
		exit(1);
	}
	look->process = arena_take(look->arena, sizeof(*look->process));
	return error;
}

int look_start(struct look *look, pid_t pid, enum look_depth depth)
{
	struct process_info info = {0};
	int error = make_room(look);

	look->child = 0;
	look->process->pid = pid;
	look->process->name = "";
	look->process->refused = reason_to_refuse(pid, &info);
	if (info.pid) {
		info.cmdline = process_cmdline(pid);
		look->process->name = command_of(look, &info);
		look->process->parent = info.parent;
		look->process->forked = info.forked;
	}
	process_info_free(&info);
	if (look->process->refused)
		return 0;
	if (error)
		return refuse_start(look, error);
	look->child = fork();
	if (!look->child)
		look_run(look, depth);
	if (look->child > 0)
		return 0;
	error = -errno;
	look->child = 0;
	return refuse_start(look, error);
}

/* status: the child's, as from wait(2), -1: it has not ended. */
static const char *why_unread(const struct look *look, int status)
{
	if (status < 0)
		return "its memory or its files do not answer";
	if (WIFSIGNALED(status))
		return arena_text(look->arena, "the process of gputrace that read it was ended by signal %d%s",
				  WTERMSIG(status), WTERMSIG(status) == SIGKILL ? ", as for want of memory" : "");
	return "the process of gputrace that read it had too little memory; allow more (ulimit -v)";
}

/* Reads the kernel's facts in gputrace itself: the child has ended, or does not answer and may still write to its data.
 */
static void take_kernel_s(struct look *look, int status)
{
	struct dump_process *process = look->process, *fresh;

	if (status < 0)
		kill(look->child, SIGKILL);
	fresh = arena_take(look->arena, sizeof(*fresh));
	if (!fresh)
		return;
	*fresh = (struct dump_process){.pid = process->pid,
				       .parent = process->parent,
				       .name = process->name,
				       .forked = process->forked,
				       .silent = true,
				       .no_python = why_unread(look, status)};
	look->process = fresh;
	if (kernel_threads(look->arena, fresh))
		fresh->refused = "has ended";
	fresh->frozen = process_is_frozen(fresh->pid);
	for (unsigned i = 0; i < fresh->thread_count; i++)
		waits_find(&(struct looker){.process = fresh, .arena = look->arena}, i);
}

/* A child that waits for a processor, or pauses before its second look, is not stuck. */
bool look_is_stuck(struct look *look)
{
	char path[64], text[128] = "";
	uint64_t run_ns, now_ns = monotonic_ns();

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)look->child);
	(void)read_small_file(AT_FDCWD, path, text, sizeof(text));
	run_ns = strtoull(text, NULL, 10);
	if (run_ns != look->run_ns || !look->waits_since_ns || process_state(look->child) == 'R') {
		look->run_ns = run_ns;
		look->waits_since_ns = now_ns;
	}
	return now_ns - look->waits_since_ns > PATIENCE_NS || run_ns > RUN_MAX_NS;
}

static void finish_look(struct look *look, int status)
{
	if (look->process->stage != STAGE_THREADS && !look->process->refused)
		take_kernel_s(look, status);
	look->child = 0;
}

void looks_finish(look_list *looks)
{
	size_t left;

	do {
		left = 0;
		array_each (look, looks) {
			int status = -1;

			if (!look->child)
				continue;
			if (waitpid(look->child, &status, WNOHANG) != 0 || look_is_stuck(look))
				finish_look(look, status);
			else
				left++;
		}
		if (left)
			poll(NULL, 0, 5);
	} while (left);
}

void looks_free(look_list *looks)
{
	for (size_t i = 0; i < looks->count; i++)
		arena_free(looks->items[i].arena);
	array_free(looks);
}
