/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sudo(8) gives gputrace another PATH, but sudo's own environment still has the one that it was started with.  The user
 * can forge that environment, which does no harm: the command runs with the user's rights only.
 */
#include "cmd/process/caller.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "cmd/process/destination.h"
#include "target/process.h"

#define PARENTS_MAX 16

static pid_t parent_of(pid_t pid)
{
	struct process_info info;
	pid_t parent = 0;

	if (!process_info_read(pid, &info)) {
		parent = info.parent;
		process_info_free(&info);
	}
	return parent;
}

/* The nearest parent whose environment sudo has not made, which is sudo itself; 0: none. */
static pid_t find_sudo(void)
{
	pid_t pid = getppid();

	for (int i = 0; i < PARENTS_MAX && pid > 1; i++, pid = parent_of(pid)) {
		AUTO_FREE char *made_by_sudo = process_variable(pid, "SUDO_UID");

		if (!made_by_sudo)
			return pid;
	}
	return 0;
}

struct caller *caller_find(void)
{
	struct caller caller = {0}, *found;
	pid_t sudo;

	if (!destination_sudo_user(&caller.uid, &caller.gid) || !caller.uid)
		return NULL;
	user_database_find(&caller);
	sudo = find_sudo();
	if (sudo) {
		caller.path = process_variable(sudo, "PATH");
		caller.state_home = process_variable(sudo, "XDG_STATE_HOME");
	}
	found = xmalloc(sizeof(*found));
	*found = caller;
	return found;
}

static void set_variable(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
}

int caller_become(const struct caller *caller)
{
	static const char *const of_sudo[] = {"SUDO_COMMAND", "SUDO_USER", "SUDO_UID", "SUDO_GID"};

	if (user_database_take_groups(caller) || setgid(caller->gid) || setuid(caller->uid))
		return -errno;
	set_variable("PATH", caller->path);
	set_variable("HOME", caller->home);
	set_variable("SHELL", caller->shell);
	set_variable("USER", caller->name);
	set_variable("LOGNAME", caller->name);
	for (size_t i = 0; i < sizeof(of_sudo) / sizeof(of_sudo[0]); i++)
		unsetenv(of_sudo[i]);
	return 0;
}

void caller_free(struct caller *caller)
{
	if (!caller)
		return;
	free(caller->name);
	free(caller->home);
	free(caller->shell);
	free(caller->path);
	free(caller->state_home);
	free(caller);
}
