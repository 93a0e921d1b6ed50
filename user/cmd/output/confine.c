/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One ruleset: reading is allowed everywhere, writing beneath some folders. */
#include "cmd/output/confine.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/temporary.h"
#include "cmd/process/destination.h"
#include "cmd/output/outputs.h"

/* include/uapi/linux/landlock.h, Linux 6.12: the headers of a build may be older than the kernel that it runs on. */
#define CREATE_RULESET_VERSION 1u

enum {
	RULE_PATH_BENEATH = 1,
	RULE_NET_PORT = 2,

	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_REG = 1 << 8,
	FS_FIRST = (1 << 13) - 1, /* of the first version */
	FS_REFER = 1 << 13,	  /* 2: files moved between folders */
	FS_TRUNCATE = 1 << 14,	  /* 3 */
	FS_IOCTL_DEV = 1 << 15,	  /* 5: of devices that are opened from then on */

	NET_BIND_TCP = 1, /* 4 */
	NET_CONNECT_TCP = 2,

	SCOPE_ABSTRACT_UNIX_SOCKET = 1, /* 6 */
	SCOPE_SIGNAL = 2,
};

struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

struct path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

struct net_port_attr {
	uint64_t allowed_access, port;
};

/* What the kernel's version of Landlock can deny. */
static struct ruleset_attr all_of(long version)
{
	struct ruleset_attr all = {.handled_access_fs = FS_FIRST};

	if (version >= 2)
		all.handled_access_fs |= FS_REFER;
	if (version >= 3)
		all.handled_access_fs |= FS_TRUNCATE;
	if (version >= 4)
		all.handled_access_net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (version >= 5)
		all.handled_access_fs |= FS_IOCTL_DEV;
	if (version >= 6)
		all.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
	return all;
}

static bool add_rule(int ruleset, unsigned type, const void *rule)
{
	return syscall(SYS_landlock_add_rule, ruleset, type, rule, 0) == 0;
}

static bool allow_beneath(int ruleset, int directory, uint64_t allowed)
{
	const struct path_beneath_attr rule = {.allowed_access = allowed, .parent_fd = directory};

	return add_rule(ruleset, RULE_PATH_BENEATH, &rule);
}

/* A folder that cannot be opened needs no rule. */
static bool allow_folder(int ruleset, const char *path, uint64_t allowed)
{
	int directory = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	bool done = directory < 0 || allow_beneath(ruleset, directory, allowed);

	if (directory >= 0)
		close(directory);
	return done;
}

/* The folders of temporary files; those that are not made for them only if no earlier one is writable. */
static bool allow_temporary(int ruleset, uint64_t writes)
{
	bool writable = false, done = true;

	for (unsigned i = 0; i < TEMPORARY_FOLDERS && done; i++) {
		const char *folder = temporary_folder(i);

		if (i < TEMPORARY_USUAL || !writable)
			done = allow_folder(ruleset, folder, writes);
		writable |= folder && access(folder, W_OK) == 0;
	}
	return done;
}

/* Allows writing in the folder in which the file will be; path may be a link. */
static bool allow_output(int ruleset, const char *path, uint64_t writes)
{
	AUTO_FREE char *file = outputs_file_of(path);
	struct destination destination = {.directory = -1};
	bool done = true;

	if (destination_find(file, &destination) == 0)
		done = allow_beneath(ruleset, destination.directory, writes);
	destination_free(&destination);
	return done;
}

static bool allow_access(int ruleset, const struct ruleset_attr *all, const struct options *options)
{
	const struct net_port_attr port = {.allowed_access = NET_BIND_TCP, .port = options->port};
	const uint64_t reads = FS_READ_FILE | FS_READ_DIR;
	const uint64_t writes = all->handled_access_fs & (FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_TRUNCATE);

	/* What answers for `serve` has open what it reads. */
	if (options->subcommand == SUBCOMMAND_SERVE)
		return !options->profiles || allow_folder(ruleset, options->profiles, reads | writes);
	if (!allow_folder(ruleset, "/", reads) || !allow_temporary(ruleset, writes))
		return false;
	return !any_of(options->outputs.list.count, i,
		       strcmp(options->outputs.list.items[i], "-") &&
			       !allow_output(ruleset, options->outputs.list.items[i], writes)) &&
	       (options->subcommand != SUBCOMMAND_VIEW || !all->handled_access_net ||
		add_rule(ruleset, RULE_NET_PORT, &port));
}

long confine_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return version < 0 ? 0 : version;
}

bool confine_reader(const struct options *options)
{
	long version = confine_version();
	struct ruleset_attr all;
	int ruleset;
	bool done;

	if (version < 1)
		return false;
	all = all_of(version);
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (ruleset < 0)
		return false;
	done = allow_access(ruleset, &all, options) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
	close(ruleset);
	return done;
}
