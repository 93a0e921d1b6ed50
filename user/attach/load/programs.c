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
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/load/features.h"
#include "attach/load/links.h"
#include "base/error_text.h"
#include "base/msg.h"
#include "gputrace_old.skel.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * Both objects are built from the same files and used through one skeleton: the layout of what it points to must agree.
 */
_Static_assert(offsetof(struct gputrace_bpf__rodata, config) == offsetof(struct gputrace_old_bpf__rodata, config),
	       "the configuration is at the same place in both objects");
_Static_assert(offsetof(struct gputrace_bpf__bss, ring_pass) == offsetof(struct gputrace_old_bpf__bss, ring_pass),
	       "and the number of the pass over the ring");

#define VERIFIER_LOG (1u << 20)
/* The verifier gives up while a signal waits for the thread, or a freezer does (bpf_check: signal_pending). */
#define ATTEMPTS 20u
#define AGAIN_NS 50000000L

static char last_words[1024]; /* libbpf's first warning, for the reason in `why` */

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

/* Leaves out programs that are not needed: the verifier takes 10 to 30 ms for each. */
static void leave_out(struct gputrace_bpf *bpf, const struct gpt_config *config)
{
	bpf_program__set_autoload(bpf->progs.sample_cpu, config->samples);
	bpf_program__set_autoload(bpf->progs.thread_switch, config->off_cpu_min_ns != 0);
	bpf_program__set_autoload(bpf->progs.thread_waking, config->off_cpu_min_ns != 0);
	if (!config->off_cpu_min_ns)
		bpf_map__set_max_entries(bpf->maps.off_cpu, 1);
}

/* libbpf has the same error for each of these. */
static void explain_no_btf(char *why, size_t why_size)
{
	if (!access(KERNEL_BTF, R_OK))
		snprintf(why, why_size, "the kernel's BTF cannot be loaded: %s", error_text(ENOMEM));
	else
		snprintf(why, why_size,
			 access("/sys/kernel", F_OK)
				 ? "the kernel's BTF cannot be read: /sys is not mounted here (mount -t sysfs sysfs "
				   "/sys)"
				 : "this kernel has no BTF (" KERNEL_BTF "): it needs CONFIG_DEBUG_INFO_BTF");
}

static void explain_error(int error, char *why, size_t why_size)
{
	/* The verifier returns EACCES also to root. */
	if (error == -EPERM || (error == -EACCES && geteuid() != 0))
		snprintf(why, why_size,
			 "the kernel refuses to load BPF programs (%s): %s; `gputrace doctor` says what is missing",
			 strerror(-error),
			 geteuid() ? "run as root (sudo gputrace ...)"
				   : "lockdown, a security module or a container's seccomp profile forbids it to root");
	else if (feature_probe(FEATURE_RING_BUFFER) == 0)
		snprintf(why, why_size, "this kernel has no BPF ring buffer: Linux 5.10 or newer is needed");
	else if (error == -ENOENT || error == -ESRCH)
		explain_no_btf(why, why_size);
	else
		snprintf(why, why_size, "cannot load the BPF programs: %s%s%s (-v shows what the kernel says)",
			 error_text(error), last_words[0] ? ": " : "", last_words);
}

/* ---- programs loaded when needed ------------------------------------------------------------- */

#define LATER "uprobe.later"

static struct programs *loading; /* the one whose object libbpf is about to load */

/*
 * Called when libbpf is about to load such a program: keeps what the kernel would get, and has a program that does
 * nothing loaded instead.
 */
static int put_off(struct bpf_program *program, struct bpf_prog_load_opts *options, long unused)
{
	static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	size_t count = bpf_program__insn_cnt(program), bytes = count * sizeof(struct bpf_insn);
	struct later_program later = {
		.program = program,
		.instructions = xcalloc(count, sizeof(struct bpf_insn)),
		.count = count,
		.functions = xcalloc(options->func_info_cnt + 1, options->func_info_rec_size + 1),
		.function_size = options->func_info_rec_size,
		.function_count = options->func_info_cnt,
		.btf_fd = (int)options->prog_btf_fd,
		.fd = -1,
	};

	memcpy(later.instructions, bpf_program__insns(program), bytes);
	if (later.function_count)
		memcpy(later.functions, options->func_info, (size_t)later.function_count * later.function_size);
	array_push(&loading->later, later);
	options->func_info = options->line_info = NULL;
	options->func_info_cnt = options->line_info_cnt = 0;
	return bpf_program__set_insns(program, (struct bpf_insn *)nothing, sizeof(nothing) / sizeof(nothing[0]));
}

/* Registers the section once: libbpf keeps the handler for the whole process. */
static int know_later_section(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = put_off);
	static int handler = -1;

	if (handler < 0)
		handler = libbpf_register_prog_handler(LATER, BPF_PROG_TYPE_KPROBE, 0, &options);
	return handler < 0 ? handler : 0;
}

static int load_later(const struct later_program *later)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = bpf_program__expected_attach_type(later->program),
		    .prog_btf_fd = (uint32_t)later->btf_fd, .func_info = later->functions,
		    .func_info_cnt = later->function_count, .func_info_rec_size = later->function_size);
	const char *name = bpf_program__name(later->program);
	char *log;
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, name, "GPL", later->instructions, later->count, &options);

	if (fd >= 0 || msg_level() < MSG_VERBOSE)
		return fd;
	log = xcalloc(1, VERIFIER_LOG);
	options.log_buf = log;
	options.log_size = VERIFIER_LOG;
	options.log_level = 1;
	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, name, "GPL", later->instructions, later->count, &options);
	msg_debug("%s: %s", name, log);
	free(log);
	return fd;
}

/* NULL: the program is loaded with the object. */
static struct later_program *later_of(const struct programs *programs, const struct bpf_program *program)
{
	return array_find(&programs->later, item, item->program == program);
}

static int loaded_fd(const struct programs *programs, const struct bpf_program *program)
{
	const struct later_program *later = later_of(programs, program);

	return later ? later->fd : bpf_program__fd(program);
}

int programs_fd(struct programs *programs, const struct bpf_program *program)
{
	struct later_program *later = later_of(programs, program);

	if (later && later->fd < 0) {
		int fd = load_later(later);

		if (fd < 0)
			return fd;
		later->fd = fd;
	}
	return loaded_fd(programs, program);
}

static void forget_later(struct programs *programs)
{
	for (size_t i = 0; i < programs->later.count; i++) {
		if (programs->later.items[i].fd >= 0)
			close(programs->later.items[i].fd);
		free(programs->later.items[i].instructions);
		free(programs->later.items[i].functions);
	}
	array_free(&programs->later);
}

/* ---- all programs ---------------------------------------------------------------------------- */

struct gputrace_bpf *programs_open(bool old)
{
	struct gputrace_bpf *bpf = calloc(1, sizeof(*bpf));
	int error = bpf ? gputrace_bpf__create_skeleton(bpf) : -ENOMEM;

	if (!error)
		error = know_later_section();
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

/* All or none: on failure nothing is left, and why says what is missing. */
static int open_and_load(struct programs *programs, const struct gpt_config *config, size_t ring_bytes, bool old,
			 char *why, size_t why_size)
{
	int cpus = libbpf_num_possible_cpus(), error;

	last_words[0] = '\0';
	programs->bpf = programs_open(old);
	if (!programs->bpf) {
		error = -errno;
		explain_error(error, why, why_size);
		return error;
	}
	programs->bpf->rodata->config = *config;
	bpf_map__set_max_entries(programs->bpf->maps.ring, (uint32_t)ring_bytes);
	bpf_map__set_max_entries(programs->bpf->maps.slots, (uint32_t)(cpus > 0 ? cpus : 1) * GPT_SLOTS_PER_CPU);
	set_uprobe_type(programs->bpf);
	leave_out(programs->bpf, config);
	loading = programs;
	error = gputrace_bpf__load(programs->bpf);
	if (error) {
		explain_error(error, why, why_size);
		programs_unload(programs);
	}
	return error;
}

int programs_load(struct programs *programs, const struct gpt_config *config, size_t ring_bytes, char *why,
		  size_t why_size)
{
	const struct timespec pause = {.tv_nsec = AGAIN_NS};
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	int error = -EAGAIN;
	bool old;

	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* needed before Linux 5.11 */
	libbpf_set_print(keep_words);
	old = features_need_old_programs(feature_probe(FEATURE_BPF_LOOP), feature_probe(FEATURE_ATTACH_COOKIE));
	if (old)
		msg_debug("no bpf_loop or no probe cookies in this kernel: the programs for older ones are used");
	for (unsigned i = 0; i < ATTEMPTS && error == -EAGAIN; i++) {
		if (i)
			nanosleep(&pause, NULL);
		error = open_and_load(programs, config, ring_bytes, old, why, why_size);
	}
	if (error)
		return error;
	programs->multi = links_have_multi(bpf_program__fd(programs->bpf->progs.empty), ATTACH_TRACE_UPROBE_MULTI);
	programs->apart = programs->multi && links_have_processes(bpf_program__fd(programs->bpf->progs.empty));
	programs->sites = old ? bpf_object__find_map_fd_by_name(programs->bpf->obj, "sites") : -1;
	return 0;
}

static bool is_of_all_processes(const struct gputrace_bpf *bpf, const struct bpf_program *program)
{
	return program == bpf->progs.process_fork || program == bpf->progs.process_exec ||
	       program == bpf->progs.process_exit || program == bpf->progs.library_mapped;
}

static uint64_t sum_missed(const struct programs *programs, bool of_all_processes)
{
	struct bpf_program *program;
	uint64_t missed = 0;

	bpf_object__for_each_program(program, programs->bpf->obj)
	{
		struct bpf_prog_info info = {};
		uint32_t bytes = sizeof(info);

		if (is_of_all_processes(programs->bpf, program) == of_all_processes &&
		    !bpf_obj_get_info_by_fd(loaded_fd(programs, program), &info, &bytes))
			missed += info.recursion_misses;
	}
	return missed;
}

uint64_t programs_missed(const struct programs *programs)
{
	return sum_missed(programs, false);
}

uint64_t programs_missed_changes(const struct programs *programs)
{
	return sum_missed(programs, true);
}

void programs_unload(struct programs *programs)
{
	forget_later(programs);
	gputrace_bpf__destroy(programs->bpf);
	programs->bpf = NULL;
}
