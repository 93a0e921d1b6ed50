/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel offers: each feature is tried where trying it has no effect, else told by the version. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/links.h"
#include "cmd/doctor.h"
#include "cmd/privileges.h"
#include "target/process.h"

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe/type"
#define KPROBE_PMU "/sys/bus/event_source/devices/kprobe/type"
#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define LOCKDOWN "/sys/kernel/security/lockdown"

#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h of Linux 6.6 */

static struct utsname kernel;
static unsigned kernel_version;

static bool check_version(void)
{
	bool good = kernel_version >= PRIVILEGES_KERNEL_MIN;

	doctor_say(good ? HEALTH_OK : HEALTH_MISSING, "kernel", "Linux %s%s", kernel.release,
		   good ? "" : "; 5.10 or newer is needed");
	return good;
}

static bool check_capabilities(void)
{
	char missing[128];
	bool good = !*privileges_missing(privileges_effective(), missing, sizeof(missing));

	doctor_say(good ? HEALTH_OK : HEALTH_MISSING, "capabilities", "%s%s",
		   good ? "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE" : missing, good ? "" : " missing: run with sudo");
	return good;
}

static bool check_pid_namespace(void)
{
	bool good = process_in_initial_pid_namespace();

	doctor_say(good ? HEALTH_OK : HEALTH_MISSING, "pid namespace", "%s",
		   good ? "the host's" : "a container's: run on the host, or start it with --pid=host");
	return good;
}

/* Text between brackets is the mode that is on: "none [integrity] confidentiality". */
static bool check_lockdown(void)
{
	FILE *file = fopen(LOCKDOWN, "re");
	char line[128] = "";
	bool confidential;

	if (file) {
		if (!fgets(line, sizeof(line), file))
			line[0] = 0;
		fclose(file);
	}
	confidential = strstr(line, "[confidentiality]") != NULL;
	doctor_say(confidential ? HEALTH_MISSING : HEALTH_OK, "lockdown", "%s",
		   confidential			 ? "confidentiality: boot without lockdown=confidentiality"
		   : strstr(line, "[integrity]") ? "integrity: tracing is allowed"
						 : "none");
	return !confidential;
}

static bool check_bpf(void)
{
	int err = privileges_try_bpf();

	doctor_say(err ? HEALTH_MISSING : HEALTH_OK, "BPF", "%s",
		   !err		    ? "bpf(2) works"
		   : err == -ENOSYS ? "the kernel is built without CONFIG_BPF_SYSCALL"
		   : err == -EPERM  ? "not permitted: run with sudo; in a container also check its seccomp profile"
				    : strerror(-err));
	return !err;
}

static bool check_btf(void)
{
	bool good = access(KERNEL_BTF, R_OK) == 0;

	doctor_say(good ? HEALTH_OK : HEALTH_MISSING, "BTF", "%s%s", KERNEL_BTF,
		   good ? "" : " is not there: a kernel with CONFIG_DEBUG_INFO_BTF is needed");
	return good;
}

static bool check_ring_buffer(void)
{
	int found = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL);

	doctor_say(found == 1 ? HEALTH_OK : HEALTH_MISSING, "ring buffer", "%s",
		   found == 1  ? "BPF_MAP_TYPE_RINGBUF"
		   : found < 0 ? strerror(-found)
			       : "Linux 5.8 or newer is needed");
	return found == 1;
}

static bool check_uprobes(void)
{
	bool good = access(UPROBE_PMU, R_OK) == 0;

	doctor_say(good ? HEALTH_OK : HEALTH_MISSING, "uprobes", "%s",
		   good ? "perf event source" : "a kernel with CONFIG_UPROBE_EVENTS is needed");
	return good;
}

static bool check_tracepoints(void)
{
	int found = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL);

	doctor_say(found == 1 ? HEALTH_OK : HEALTH_MISSING, "tracepoints", "%s",
		   found == 1  ? "raw tracepoints, for processes that start and end"
		   : found < 0 ? strerror(-found)
			       : "a kernel with CONFIG_BPF_EVENTS is needed");
	return found == 1;
}

static bool check_tracefs(void)
{
	bool mounted = access("/sys/kernel/tracing/events/syscalls", F_OK) == 0;
	bool present = access("/sys/kernel/tracing", F_OK) == 0;

	doctor_say(present ? HEALTH_OK : HEALTH_LIMITED, "tracefs", "%s",
		   mounted   ? "/sys/kernel/tracing"
		   : present ? "not mounted; gputrace opens one of its own"
			     : "a kernel with CONFIG_FTRACE is needed to be there for a command's first launch");
	return true;
}

/* A kernel that has it looks at the offsets only after the program, which is ours and does nothing. */
static bool have_uprobe_multi(void)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "GPL", nothing, 2, &options);
	bool found;

	if (program < 0)
		return false;
	found = links_have_multi(program);
	close(program);
	return found;
}

static bool check_uprobe_multi(void)
{
	bool found = have_uprobe_multi();

	doctor_say(found ? HEALTH_OK : HEALTH_LIMITED, "uprobe.multi", "%s",
		   found ? "all probes of a file at once" : "one by one: starts slower; Linux 6.6 has it");
	return true;
}

static bool check_bpf_loop(void)
{
	int found = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL);

	doctor_say(found == 1 ? HEALTH_OK : HEALTH_MISSING, "bpf_loop", "%s",
		   found == 1 ? "stacks are walked in one go"
			      : "stacks cannot be walked; Linux 5.17 and later have it");
	return found == 1;
}

static bool check_session(void)
{
	bool found = kernel_version >= (6u << 8 | 13);

	doctor_say(found ? HEALTH_OK : HEALTH_LIMITED, "uprobe.session", "%s",
		   found ? "by version" : "Linux 6.13 has it; nothing depends on it");
	return true;
}

static bool check_nop5(void)
{
	bool found = kernel_version >= (6u << 8 | 18) && !strcmp(kernel.machine, "x86_64");

	doctor_say(found ? HEALTH_OK : HEALTH_LIMITED, "fast nop5", "%s",
		   found ? "the agent's probes take the fast way (by version)"
			 : "the agent's probes cost twice as much; Linux 6.18 on x86-64 has it");
	return true;
}

static bool check_kprobes(void)
{
	bool found = access(KPROBE_PMU, R_OK) == 0;

	doctor_say(HEALTH_OK, "kprobes", "%s", found ? "there, and not needed" : "not there, and not needed");
	return true;
}

bool doctor_check_kernel(void)
{
	static bool (*const checks[])(void) = {
		check_version,	   check_capabilities, check_pid_namespace, check_lockdown,	check_bpf,
		check_btf,	   check_ring_buffer,  check_uprobes,	    check_uprobe_multi, check_session,
		check_tracepoints, check_tracefs,      check_bpf_loop,	    check_nop5,		check_kprobes,
	};
	bool works = true;

	uname(&kernel);
	kernel_version = privileges_kernel_version(kernel.release);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		works &= checks[i]();
	return works;
}
