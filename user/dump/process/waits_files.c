/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files for which a thread waits in read, poll, select or epoll_wait. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump/process/kernel.h"
#include "base/read_at.h"
#include "dump/process/memory.h"
#include "dump/process/waits.h"

void waits_add_file(struct looker *looker, struct dump_thread *thread, int fd, bool writes)
{
	struct dump_wait *wait = &thread->wait;
	struct dump_file *file = &wait->files[wait->file_count];
	char path[64], target[1024];
	const char *inode;
	ssize_t got;

	if (wait->file_count == DUMP_POLLED_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", (int)looker->process->pid, (int)thread->tid, fd);
	got = readlink(path, target, sizeof(target) - 1);
	target[got > 0 ? got : 0] = '\0';
	*file = (struct dump_file){.fd = fd, .writes = writes, .path = arena_text(looker->arena, "%s", target)};
	inode = strchr(target, '[');
	if (inode && (!strncmp(target, "pipe:", 5) || !strncmp(target, "socket:", 7)))
		file->inode = strtoull(inode + 1, NULL, 10);
	wait->file_count++;
}

/* The kernel waits by its own copy of the set; if the program has changed the set since, it may name closed files. */
static bool is_open(const struct looker *looker, const struct dump_thread *thread, int fd)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%d", (int)looker->process->pid, (int)thread->tid, fd);
	return !lstat(path, &status) || errno != ENOENT;
}

void waits_add_polled(struct looker *looker, struct dump_thread *thread)
{
	struct pollfd polled[DUMP_POLLED_MAX];
	size_t count = thread->args[1] < DUMP_POLLED_MAX ? (size_t)thread->args[1] : DUMP_POLLED_MAX;

	if (!looker->has_memory ||
	    !memory_read(looker->process->pid, thread->args[0], polled, count * sizeof(polled[0])))
		return;
	for (size_t i = 0; i < count; i++)
		if (polled[i].fd >= 0 && is_open(looker, thread, polled[i].fd))
			waits_add_file(looker, thread, polled[i].fd, !(polled[i].events & POLLIN));
}

void waits_add_selected(struct looker *looker, struct dump_thread *thread)
{
	size_t count = thread->args[0] < FD_SETSIZE ? (size_t)thread->args[0] : FD_SETSIZE;
	fd_set set;

	for (int writes = 0; writes < 2; writes++) {
		uint64_t at = thread->args[1 + writes];

		if (!at || !looker->has_memory || !memory_read(looker->process->pid, at, &set, (count + 63) / 64 * 8))
			continue;
		for (size_t fd = 0; fd < count; fd++)
			if (FD_ISSET(fd, &set) && is_open(looker, thread, (int)fd))
				waits_add_file(looker, thread, (int)fd, writes);
	}
}

/* "tfd: 5 events: 19 ..." for each file that an epoll instance watches (proc(5)). */
void waits_add_watched(struct looker *looker, struct dump_thread *thread)
{
	char path[96], text[8192];
	const char *at = text;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fdinfo/%d", (int)looker->process->pid, (int)thread->tid,
		 (int)thread->args[0]);
	if (!read_small_file(AT_FDCWD, path, text, sizeof(text)))
		return;
	while ((at = strstr(at, "tfd:"))) {
		const char *events = strstr(at, "events:");

		waits_add_file(looker, thread, (int)strtol(at + 4, NULL, 10),
			       events && !(strtoul(events + 7, NULL, 16) & EPOLLIN));
		at += 4;
	}
}

const char *waits_file_kind(const struct dump_file *file)
{
	if (!strncmp(file->path, "pipe:", 5))
		return "a pipe";
	if (!strncmp(file->path, "socket:", 7))
		return "a socket";
	return *file->path ? file->path : "not known";
}

void waits_say_files(struct looker *looker, struct dump_wait *wait, const char *name, const char *verb)
{
	const struct dump_file *file = &wait->files[0];

	wait->kind = WAIT_FILE;
	if (!wait->file_count)
		wait->text = arena_text(looker->arena, "waits for files (%s)", name);
	else if (wait->file_count > 1)
		wait->text = arena_text(looker->arena, "waits for one of %u%s files (%s), the first is fd %d, %s",
					wait->file_count, wait->file_count == DUMP_POLLED_MAX ? " or more" : "", name,
					file->fd, waits_file_kind(file));
	else
		wait->text = arena_text(looker->arena, "waits %s fd %d, %s",
					verb	       ? verb
					: file->writes ? "to write to"
						       : "to read from",
					file->fd, waits_file_kind(file));
}
