/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel offers, and what is lost where it does not. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/load/features.h"
#include "cmd/output/confine.h"
#include "cmd/doctor/doctor_checks.h"
#include "cmd/process/privileges.h"
#include "target/process.h"

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe/type"
#define KPROBE_PMU "/sys/bus/event_source/devices/kprobe/type"
#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define LOCKDOWN "/sys/kernel/security/lockdown"

#define SYS_NOT_MOUNTED "/sys is not mounted here: mount -t sysfs sysfs /sys"
#define NOT_PERMITTED "not known: asking is not permitted (see capabilities and BPF)"

static struct utsname kernel;
static bool denied; /* bpf(2) is not permitted, so that features cannot be probed by it */
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

	doctor_say(good ? HEALTH_OK : HEALTH_MISSING, "capabilities", "%s%s%s",
		   good ? "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE" : missing, good ? "" : ": ",
		   good ? "" : privileges_remedy());
	return good;
}

/* The capabilities to let the agent into processes that run already. */
static bool check_serving(void)
{
	uint64_t effective = privileges_effective();
	char own[128], all[128];

	privileges_missing_to_serve(effective, false, own, sizeof(own));
	privileges_missing_to_serve(effective, true, all, sizeof(all));
	if (*own)
		doctor_say(HEALTH_LIMITED, "running ones",
			   "by BPF no GPU times of processes that run already: %s missing: %s", all,
			   privileges_remedy());
	else if (*all)
		doctor_say(HEALTH_LIMITED, "running ones",
			   "no GPU times of other users' processes that run already: %s missing: %s", all,
			   privileges_remedy());
	else
		doctor_say(HEALTH_OK, "running ones",
			   "the agent may be let into processes that run already, those of other users, too");
	return true;
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

	denied = err == -EPERM;
	doctor_say(err ? HEALTH_MISSING : HEALTH_OK, "BPF", "%s",
		   !err		    ? "bpf(2) works"
		   : err == -ENOSYS ? "the kernel is built without CONFIG_BPF_SYSCALL"
		   : err == -EPERM  ? "not permitted: it takes the capabilities above, and in a container a seccomp "
				      "profile that lets it"
				    : strerror(-err));
	return !err;
}

static bool has_sys(void)
{
	return !access("/sys/kernel", F_OK);
}

static bool check_btf(void)
{
	bool good = access(KERNEL_BTF, R_OK) == 0;

	doctor_say(good ? HEALTH_OK : HEALTH_MISSING, "BTF", "%s%s", KERNEL_BTF,
		   good	       ? ""
		   : has_sys() ? " is not there: a kernel with CONFIG_DEBUG_INFO_BTF is needed"
			       : " is not there: " SYS_NOT_MOUNTED);
	return good;
}

static bool check_ring_buffer(void)
{
	int found = feature_probe(FEATURE_RING_BUFFER);

	doctor_say(found == 1 ? HEALTH_OK : HEALTH_MISSING, "ring buffer", "%s",
		   found == 1  ? "BPF_MAP_TYPE_RINGBUF"
		   : denied    ? NOT_PERMITTED
		   : found < 0 ? strerror(-found)
			       : "a kernel of 5.10 or newer is needed");
	return found == 1;
}

static bool check_uprobes(void)
{
	bool good = access(UPROBE_PMU, R_OK) == 0;

	doctor_say(good ? HEALTH_OK : HEALTH_MISSING, "uprobes", "%s",
		   good	       ? "perf event source"
		   : has_sys() ? "a kernel with CONFIG_UPROBE_EVENTS is needed"
			       : SYS_NOT_MOUNTED);
	return good;
}

static bool check_tracepoints(void)
{
	int found = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL);

	doctor_say(found == 1 ? HEALTH_OK : HEALTH_MISSING, "tracepoints", "%s",
		   found == 1  ? "raw tracepoints, for processes that start and end"
		   : denied    ? NOT_PERMITTED
		   : found < 0 ? strerror(-found)
			       : "a kernel with CONFIG_BPF_EVENTS is needed");
	return found == 1;
}

static bool check_tracefs(void)
{
	bool mounted = access("/sys/kernel/tracing/events/syscalls", F_OK) == 0;
	bool present = access("/sys/kernel/tracing", F_OK) == 0;

	doctor_say(present ? HEALTH_OK : HEALTH_LIMITED, "tracefs", "%s",
		   mounted	? "/sys/kernel/tracing"
		   : present	? "not mounted; gputrace opens one of its own"
		   : !has_sys() ? SYS_NOT_MOUNTED
				: "a kernel with CONFIG_FTRACE is needed to be there for a command's first launch");
	return true;
}

/* Features that a trace can do without, at a cost. */
static bool check_features(void)
{
	static const struct {
		enum feature feature;
		const char *name, *there, *absent;
	} rows[] = {
		{FEATURE_BPF_LOOP, "bpf_loop", "stacks are walked in one go",
		 "stacks are walked by older programs, slower; Linux 5.17 has it"},
		{FEATURE_ATTACH_COOKIE, "attach cookies", "probes know which they are",
		 "each call is looked up by its probe's place, slower; Linux 5.15"},
		{FEATURE_UPROBE_MULTI, "uprobe.multi", "all probes of a file at once",
		 "probes go in and out one by one: starts and ends slower; Linux 6.6"},
		{FEATURE_SESSION, "uprobe.session", "there, and not needed",
		 "Linux 6.13 has it; nothing depends on it"},
		{FEATURE_FAST_NOP5, "fast nop5", "the agent's probes take the fast way",
		 "the agent's probes cost twice as much; Linux 6.18 on x86-64"},
		{FEATURE_NOP5_UNDONE, "nop5 undone", "they leave no trace",
		 "this kernel would leave them in place: the agent's probes take the slow way; Linux 6.18.44 is "
		 "mended"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int found = feature_probe(rows[i].feature);

		doctor_say(found == 1 ? HEALTH_OK : HEALTH_LIMITED, rows[i].name, "%s",
			   found == 1			    ? rows[i].there
			   : denied			    ? NOT_PERMITTED
			   : found == -ENOENT && !has_sys() ? SYS_NOT_MOUNTED
			   : found < 0			    ? strerror(-found)
							    : rows[i].absent);
	}
	return true;
}

/* --cpu opens a perf event on each CPU. */
static bool check_perf_events(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000000,
				       .disabled = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		doctor_say(
			HEALTH_LIMITED, "perf events",
			"%s: no samples (--cpu); they take CAP_PERFMON, and in a container a seccomp profile that lets "
			"perf_event_open(2)",
			strerror(errno));
	else
		doctor_say(HEALTH_OK, "perf events", "CPU clocks, for --cpu");
	if (fd >= 0)
		close(fd);
	return true;
}

/* What a hostile file can do that takes over the command that reads it (confine.h). */
static bool check_landlock(void)
{
	long version = confine_version();

	doctor_say(version ? HEALTH_OK : HEALTH_LIMITED, "Landlock", "%s",
		   version >= 6 ? "commands that read files can only write their outputs, and reach no other process"
		   : version	? "commands that read files can only write their outputs"
				: "commands that read files are not confined; Linux 5.13 has it, where lsm= names it");
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
		check_version, check_capabilities, check_serving,     check_pid_namespace, check_lockdown,
		check_bpf,     check_btf,	   check_ring_buffer, check_uprobes,	   check_tracepoints,
		check_tracefs, check_features,	   check_perf_events, check_landlock,	   check_kprobes,
	};
	bool works = true;

	uname(&kernel);
	kernel_version = privileges_kernel_version(kernel.release);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		works &= checks[i]();
	return works;
}
