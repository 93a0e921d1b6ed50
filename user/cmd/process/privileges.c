/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities, kernel version, bpf(2), pid namespace: asked before anything is loaded. */
#include "cmd/process/privileges.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "target/process.h"

/* From Linux 5.8.  Headers should have them, but the numbers are ABI anyway. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

#define YAMA_NO_ATTACH 3 /* Documentation/admin-guide/LSM/Yama.rst: no one may attach to a thread, not even root */

/* From the folder of the gputrace that every user may execute: beside the agent, of which it loads no other. */
#define INSTALLED_CAPABLE "/../lib/gputrace/gputrace-capable"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

struct needed_capability {
	const char *name;
	unsigned bit;
	bool in_sys_admin; /* capabilities(7) */
};

static const struct needed_capability needed[] = {
	{"CAP_BPF", CAP_BPF, true},
	{"CAP_PERFMON", CAP_PERFMON, true},
	{"CAP_SYS_PTRACE", CAP_SYS_PTRACE, false},
};

/*
 * To let the agent into a running process (attach/inject/file_server.h): the file server needs mounts and a root of its
 * own.
 */
static const struct needed_capability needed_to_serve[] = {
	{"CAP_SYS_ADMIN", CAP_SYS_ADMIN, false},
	{"CAP_SYS_CHROOT", CAP_SYS_CHROOT, false},
};

/* For processes of other users, too: the other user's ids, and paths through the process's folder in /proc. */
static const struct needed_capability needed_for_others[] = {
	{"CAP_SETUID", CAP_SETUID, false},
	{"CAP_SETGID", CAP_SETGID, false},
	{"CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH, false},
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* name: with its colon. */
static uint64_t read_capabilities(const char *name)
{
	FILE *status = fopen("/proc/self/status", "re");
	size_t length = strlen(name);
	char line[256];
	uint64_t set = 0;

	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, name, length))
			set = strtoull(line + length, NULL, 16);
	fclose(status);
	return set;
}

uint64_t privileges_effective(void)
{
	return read_capabilities("CapEff:");
}

static void add_missing(uint64_t effective, const struct needed_capability *rows, size_t count, char *buffer,
			size_t size)
{
	size_t used = strlen(buffer);

	for (size_t i = 0; i < count && used < size; i++) {
		bool has = effective >> rows[i].bit & 1;

		if (has || (rows[i].in_sys_admin && (effective >> CAP_SYS_ADMIN & 1)))
			continue;
		used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", rows[i].name);
	}
}

const char *privileges_missing(uint64_t effective, char *buffer, size_t size)
{
	buffer[0] = 0;
	add_missing(effective, needed, COUNT(needed), buffer, size);
	return buffer;
}

const char *privileges_missing_to_serve(uint64_t effective, bool others, char *buffer, size_t size)
{
	buffer[0] = 0;
	add_missing(effective, needed_to_serve, COUNT(needed_to_serve), buffer, size);
	if (others)
		add_missing(effective, needed_for_others, COUNT(needed_for_others), buffer, size);
	return buffer;
}

bool privileges_may_stop_own(int *scope)
{
	FILE *yama = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");

	if (!yama || fscanf(yama, "%d", scope) != 1)
		*scope = 0;
	if (yama)
		fclose(yama);
	return !*scope || (*scope < YAMA_NO_ATTACH && privileges_effective() >> CAP_SYS_PTRACE & 1);
}

bool privileges_of_file(void)
{
	return geteuid() && getauxval(AT_SECURE);
}

void privileges_take_installed(char **argv)
{
	char own[PATH_MAX], path[PATH_MAX + sizeof(INSTALLED_CAPABLE)];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (!geteuid() || privileges_of_file() || length <= 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return;
	own[length] = 0;
	*strrchr(own, '/') = 0;
	snprintf(path, sizeof(path), "%s%s", own, INSTALLED_CAPABLE);
	if (!access(path, X_OK))
		(void)execv(path, argv);
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	/* Giving up capabilities is always permitted. */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0;
}

void privileges_drop(void)
{
	if (geteuid())
		(void)drop_capabilities();
}

bool privileges_give_up(void)
{
	bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;

	/* Without CAP_SETPCAP the set stays, and then no new privileges are what matters. */
	for (unsigned long capability = 0; !prctl(PR_CAPBSET_DROP, capability); capability++)
		;
	return drop_capabilities() && done;
}

/* A program that sudo starts gets no capability beyond the bounding set; one of a user namespace holds only there. */
static bool are_out_of_reach(void)
{
	char missing[128];

	return *privileges_missing(read_capabilities("CapBnd:"), missing, sizeof(missing)) ||
	       !process_in_initial_user_namespace();
}

bool privileges_sudo_gives(void)
{
	char missing[128];

	if (are_out_of_reach() || !process_in_initial_pid_namespace())
		return false;
	return geteuid() ? prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1
			 : !*privileges_missing(privileges_effective(), missing, sizeof(missing));
}

const char *privileges_remedy(void)
{
	if (geteuid() && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return "sudo gives none here, as NoNewPrivs is set: run it as root, outside of this container";
	if (geteuid() && are_out_of_reach())
		return "sudo gives none here, as this container lacks them: give them to the container "
		       "(--cap-add=BPF,PERFMON,SYS_PTRACE or --privileged), or run it as root on the host";
	return geteuid() ? "run it with sudo"
			 : "root has lost them here: give them to the container (--cap-add=BPF,PERFMON,SYS_PTRACE or "
			   "--privileged), or run on the host";
}

unsigned privileges_kernel_version(const char *release)
{
	unsigned major, minor;

	if (sscanf(release, "%3u.%3u", &major, &minor) != 2 || minor > 255)
		return 0;
	return major << 8 | minor;
}

int privileges_try_bpf(void)
{
	struct rlimit limit;
	bool limited = getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), sizeof(uint32_t), 1, NULL);

	/* libbpf raises the limit if the kernel counts maps as locked memory (before 5.11); a command must not inherit
	 * that. */
	if (limited)
		setrlimit(RLIMIT_MEMLOCK, &limit);
	if (map < 0)
		return map == -1 ? -errno : map;
	close(map);
	return 0;
}

int privileges_check(char *why, size_t why_size)
{
	struct utsname kernel = {0};
	char missing[128];
	int err;

	uname(&kernel);
	if (privileges_kernel_version(kernel.release) < PRIVILEGES_KERNEL_MIN) {
		snprintf(why, why_size, "Linux 5.10 or newer is needed; this is %s", kernel.release);
		return -ENOSYS;
	}
	if (*privileges_missing(privileges_effective(), missing, sizeof(missing))) {
		snprintf(why, why_size, "not permitted: %s missing; %s", missing, privileges_remedy());
		return -EPERM;
	}
	err = privileges_try_bpf();
	if (err) {
		snprintf(why, why_size, "%s (bpf: %s); gputrace doctor says more",
			 err == -ENOSYS ? "this kernel has no BPF" : "BPF cannot be used here", strerror(-err));
		return err;
	}
	if (access(KERNEL_BTF, R_OK)) {
		snprintf(why, why_size, "the kernel's BTF cannot be read (" KERNEL_BTF "); gputrace doctor says more");
		return -ENOENT;
	}
	if (!process_in_initial_pid_namespace()) {
		snprintf(why, why_size,
			 "gputrace runs in a container with process ids of its own: run it on the host, or start the "
			 "container with --pid=host");
		return -EPERM;
	}
	return 0;
}
