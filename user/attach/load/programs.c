/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loads one of the two BPF objects; owns the skeleton. */
#include "attach/load/programs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/load/features.h"
#include "attach/load/links.h"
#include "base/msg.h"
#include "gputrace_old.skel.h"

/* Both objects are made of the same files and are used through one skeleton: what it points into must agree. */
_Static_assert(offsetof(struct gputrace_bpf__rodata, config) == offsetof(struct gputrace_old_bpf__rodata, config),
	       "the configuration is at the same place in both objects");

static char last_words[1024]; /* of libbpf, for the reason we give */

static int keep_words(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;

	if (level == LIBBPF_DEBUG || vasprintf(&text, format, args) < 0)
		return 0;
	/* the verifier's log is one message of many lines */
	for (const char *line = text; msg_level() >= MSG_VERBOSE && *line; line += strspn(line, "\n")) {
		int length = (int)strcspn(line, "\n");

		msg_debug("%.*s", length, line);
		line += length;
	}
	text[strcspn(text, "\n")] = 0;
	if (level == LIBBPF_WARN && *text && !last_words[0])
		snprintf(last_words, sizeof(last_words), "%s", text);
	free(text);
	return 0;
}

static void set_uprobe_type(struct gputrace_bpf *bpf)
{
	struct bpf_program *program;

	/* Kernels without uprobe.multi ignore the type. */
	bpf_object__for_each_program(program, bpf->obj) if (bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
		bpf_program__set_expected_attach_type(program, ATTACH_TRACE_UPROBE_MULTI);
}

static void explain(int error, char *why, size_t why_size)
{
	/* To root the verifier says EACCES, too. */
	if (error == -EPERM || (error == -EACCES && geteuid() != 0))
		snprintf(why, why_size,
			 "the kernel refuses to load BPF programs (%s): %s; `gputrace doctor` says what is missing",
			 strerror(-error),
			 geteuid() ? "run as root (sudo gputrace ...)"
				   : "lockdown, a security module or a container's seccomp profile forbids it to root");
	else if (feature_probe(FEATURE_RING_BUFFER) == 0)
		snprintf(why, why_size, "this kernel has no BPF ring buffer: Linux 5.10 or newer is needed");
	else if (error == -ENOENT || error == -ESRCH)
		snprintf(why, why_size,
			 access("/sys/kernel", F_OK)
				 ? "the kernel's BTF cannot be read: /sys is not mounted here (mount -t sysfs sysfs "
				   "/sys)"
				 : "this kernel has no BTF (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF");
	else
		snprintf(why, why_size, "cannot load the BPF programs: %s%s%s (-v shows what the kernel says)",
			 strerror(-error), last_words[0] ? ": " : "", last_words);
}

struct gputrace_bpf *programs_open(bool old)
{
	struct gputrace_bpf *bpf = calloc(1, sizeof(*bpf));
	int error = bpf ? gputrace_bpf__create_skeleton(bpf) : -ENOMEM;

	if (!error && old)
		bpf->skeleton->data = (void *)gputrace_old_bpf__elf_bytes(&bpf->skeleton->data_sz);
	if (!error)
		error = bpf_object__open_skeleton(bpf->skeleton, NULL);
	if (!error)
		return bpf;
	gputrace_bpf__destroy(bpf);
	errno = -error;
	return NULL;
}

int programs_load(struct programs *programs, const struct gpt_config *config, size_t ring_bytes, char *why,
		  size_t why_size)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	int cpus, error;
	bool old;

	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* needed before Linux 5.11 */
	libbpf_set_print(keep_words);
	cpus = libbpf_num_possible_cpus();
	old = features_need_old_programs(feature_probe(FEATURE_BPF_LOOP), feature_probe(FEATURE_ATTACH_COOKIE));
	if (old)
		msg_debug("no bpf_loop or no probe cookies in this kernel: the programs for older ones are used");
	programs->bpf = programs_open(old);
	if (!programs->bpf) {
		error = -errno;
		explain(error, why, why_size);
		return error;
	}
	programs->bpf->rodata->config = *config;
	bpf_map__set_max_entries(programs->bpf->maps.ring, (uint32_t)ring_bytes);
	bpf_map__set_max_entries(programs->bpf->maps.slots, (uint32_t)(cpus > 0 ? cpus : 1) * GPT_SLOTS_PER_CPU);
	set_uprobe_type(programs->bpf);
	error = gputrace_bpf__load(programs->bpf);
	if (error) {
		explain(error, why, why_size);
		programs_unload(programs);
		return error;
	}
	programs->multi = links_have_multi(bpf_program__fd(programs->bpf->progs.empty), ATTACH_TRACE_UPROBE_MULTI);
	programs->sites = old ? bpf_object__find_map_fd_by_name(programs->bpf->obj, "sites") : -1;
	return 0;
}

uint64_t programs_missed(const struct programs *programs)
{
	struct bpf_program *program;
	uint64_t missed = 0;

	bpf_object__for_each_program(program, programs->bpf->obj)
	{
		struct bpf_prog_info info = {};
		uint32_t bytes = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes))
			missed += info.recursion_misses;
	}
	return missed;
}

void programs_unload(struct programs *programs)
{
	gputrace_bpf__destroy(programs->bpf);
	programs->bpf = NULL;
}
