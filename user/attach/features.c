/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One small try for each feature. */
#include "attach/features.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/links.h"

/* Linux 6.18, arch/x86/entry/syscalls/syscall_64.tbl: how a fast probe enters the kernel */
#define SYSCALL_UPROBE 336

static int probe_ring_buffer(void)
{
	return libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL);
}

static int probe_bpf_loop(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL);
}

static int probe_attach_cookie(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL);
}

/* A kernel that has the link looks at the place only after the program, which is ours and does nothing. */
static int probe_multi_link(unsigned attach_type)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = (enum bpf_attach_type)attach_type);
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "GPL", nothing, 2, &options), found;

	if (program == -EINVAL || program == -E2BIG)
		return 0;
	if (program < 0)
		return program;
	found = links_have_multi(program, attach_type);
	close(program);
	return found;
}

static int probe_uprobe_multi(void)
{
	return probe_multi_link(ATTACH_TRACE_UPROBE_MULTI);
}

static int probe_session(void)
{
	return probe_multi_link(ATTACH_TRACE_UPROBE_SESSION);
}

/*
 * The system call refuses whoever does not come from a probe: by an error, or by SIGILL (6.18 itself), so a child makes
 * it. In a kernel without, it is no system call.
 */
static int probe_fast_nop5(void)
{
#ifdef __x86_64__
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (!child) {
		prctl(PR_SET_DUMPABLE, 0); /* no core file */
		syscall(SYSCALL_UPROBE);
		_exit(errno == ENOSYS ? 0 : 1);
	}
	if (waitpid(child, &status, 0) != child)
		return -errno;
	return WIFSIGNALED(status) ? WTERMSIG(status) == SIGILL : WEXITSTATUS(status);
#else
	return 0;
#endif
}

int feature_probe(enum feature feature)
{
	static int (*const probes[FEATURE_COUNT])(void) = {
		[FEATURE_RING_BUFFER] = probe_ring_buffer,
		[FEATURE_BPF_LOOP] = probe_bpf_loop,
		[FEATURE_ATTACH_COOKIE] = probe_attach_cookie,
		[FEATURE_UPROBE_MULTI] = probe_uprobe_multi,
		[FEATURE_SESSION] = probe_session,
		[FEATURE_FAST_NOP5] = probe_fast_nop5,
	};

	return probes[feature]();
}

bool features_need_old_programs(int bpf_loop, int attach_cookie)
{
	/* What cannot be told is taken to be there: loading will say what is wrong. */
	return bpf_loop == 0 || attach_cookie == 0;
}
