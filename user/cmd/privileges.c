/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities, kernel version, bpf(2), pid namespace: asked before anything is loaded. */
#include "cmd/privileges.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "target/process.h"

/* From Linux 5.8, which every header we build with should know, but the numbers are ABI anyway. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* CAP_SYS_ADMIN contains the first two, not the third (capabilities(7)). */
static const struct needed_capability {
	const char *name;
	unsigned bit;
	bool in_sys_admin;
} needed[] = {
	{"CAP_BPF", CAP_BPF, true},
	{"CAP_PERFMON", CAP_PERFMON, true},
	{"CAP_SYS_PTRACE", CAP_SYS_PTRACE, false},
};

uint64_t privileges_effective(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	uint64_t effective = 0;

	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "CapEff:", 7))
			effective = strtoull(line + 7, NULL, 16);
	fclose(status);
	return effective;
}

const char *privileges_missing(uint64_t effective, char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = 0;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		bool has = effective >> needed[i].bit & 1;

		if (has || (needed[i].in_sys_admin && (effective >> CAP_SYS_ADMIN & 1)))
			continue;
		used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", needed[i].name);
		if (used >= size)
			break;
	}
	return buffer;
}

const char *privileges_remedy(void)
{
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

	/* libbpf raises it where the kernel counts maps as locked memory (before 5.11); a command must not inherit
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
