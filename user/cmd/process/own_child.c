/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/process/own_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"

#define WORDS_MOST 30

/* Below the traced programs. */
#define CHILD_NICE 10

/* The recording's threads block signals. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	sigdelset(&all, SIGKILL);
	sigdelset(&all, SIGSTOP);
	return -(posix_spawnattr_setsigmask(attributes, &none) ?: posix_spawnattr_setsigdefault(attributes, &all) ?:
		 posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

static int set_files(posix_spawn_file_actions_t *files, int input, int out, bool messages)
{
	int err = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
			  ?: posix_spawn_file_actions_adddup2(files, out, STDOUT_FILENO);

	if (!err && messages)
		err = posix_spawn_file_actions_adddup2(files, out, STDERR_FILENO);
	else if (!err)
		err = posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!err && input >= 0)
		err = posix_spawn_file_actions_adddup2(files, input, STDERR_FILENO + 1);
	return -err;
}

static int spawn_child(struct own_child *child, const char *const *words, int input, bool messages)
{
	const char *argv[WORDS_MOST + 2] = {"gputrace"};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int err;

	for (size_t i = 0; i < WORDS_MOST && words[i]; i++)
		argv[i + 1] = words[i];
	err = -posix_spawnattr_init(&attributes);
	if (err)
		return err;
	err = -posix_spawn_file_actions_init(&files);
	if (!err) {
		err = set_attributes(&attributes) ?: set_files(&files, input, fileno(child->out), messages);
		if (!err)
			err = -posix_spawn(&child->pid, "/proc/self/exe", &files, &attributes, (char *const *)argv,
					   environ);
		posix_spawn_file_actions_destroy(&files);
	}
	posix_spawnattr_destroy(&attributes);
	return err;
}

int own_child_start(struct own_child *child, const char *const *words, int input, bool messages, uint64_t longest_ns)
{
	int fd = memfd_create("gputrace-child", MFD_CLOEXEC), err;

	*child = (struct own_child){.until_ns = monotonic_ns() + longest_ns};
	if (fd < 0)
		return -errno;
	child->out = fdopen(fd, "r+");
	if (!child->out) {
		err = -errno;
		close(fd);
		return err;
	}
	err = spawn_child(child, words, input, messages);
	if (err) {
		child->pid = 0;
		own_child_close(child);
		return err;
	}
	(void)setpriority(PRIO_PROCESS, (id_t)child->pid, CHILD_NICE);
	return 0;
}

static bool has_ended(struct own_child *child, int flags)
{
	pid_t ended;

	do
		ended = waitpid(child->pid, &child->status, flags);
	while (ended < 0 && errno == EINTR);
	return ended != 0;
}

bool own_child_is_over(struct own_child *child, uint64_t now_ns)
{
	if (!child->pid)
		return true;
	if (now_ns >= child->until_ns)
		kill(child->pid, SIGKILL);
	if (!has_ended(child, WNOHANG))
		return false;
	child->pid = 0;
	rewind(child->out);
	return true;
}

void own_child_close(struct own_child *child)
{
	if (child->pid) {
		kill(child->pid, SIGKILL);
		(void)has_ended(child, 0);
	}
	if (child->out)
		fclose(child->out);
	*child = (struct own_child){0};
}
