/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One small test for each feature. */
#include "attach/load/features.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/load/links.h"
#include "attach/load/own_code.h"

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

/* A kernel with such links checks the site only after the program, which is gputrace's and does nothing. */
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
 * The system call rejects callers other than a probe: by an error, or by SIGILL (6.18 itself), so a child makes it. A
 * kernel without it returns ENOSYS.
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

#ifdef __x86_64__
#define TRIES 16

static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static void __attribute__((naked, noinline, aligned(16))) probed_function(void)
{
	__asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tret");
}

/* Runs into the probe, and reports afterwards whether the instruction is as before. */
static void __attribute__((noreturn)) run_into_probe(int asked, int answer)
{
	uint8_t code[sizeof(nop5)];
	char byte = 0;

	if (read(asked, &byte, 1) != 1)
		_exit(0); /* the parent is gone */
	for (int i = 0; i < TRIES; i++)
		probed_function();
	if (write(answer, &byte, 1) != 1 || read(asked, &byte, 1) != 1)
		_exit(0);
	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = ((const volatile uint8_t *)(uintptr_t)probed_function)[i];
	_exit(memcmp(code, nop5, sizeof(code)) != 0);
}

static int probe_and_undo(int ask, int answered)
{
	struct uprobe uprobe = {};
	struct links links = {};
	char byte = 0;
	int error, self;

	uprobe.offset = own_code_offset((uintptr_t)probed_function);
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (self < 0)
		return -errno;
	/*
	 * Attached in all processes of this program: a probe in one makes the kernel patch its scheduler, which
	 * emulators cannot handle.
	 */
	error = links_raise_counter(&links, self, &uprobe, -1);
	close(self);
	if (error)
		return error;
	if (write(ask, &byte, 1) != 1 || read(answered, &byte, 1) != 1)
		error = -EIO;
	links_detach(&links);
	if (!error && write(ask, &byte, 1) != 1)
		error = -EIO;
	return error;
}

/* Tries it in another process: a child with a copy of this program. */
static int try_nop5(void)
{
	int ask[2] = {-1, -1}, answer[2] = {-1, -1}, status = 0, error = 0;
	pid_t child = -1;

	if (pipe2(ask, O_CLOEXEC) || pipe2(answer, O_CLOEXEC))
		error = -errno;
	if (!error && (child = fork()) < 0)
		error = -errno;
	if (!child) {
		close(ask[1]);
		close(answer[0]);
		run_into_probe(ask[0], answer[1]);
	}
	if (!error)
		error = probe_and_undo(ask[1], answer[0]);
	for (int i = 0; i < 2; i++) {
		close(ask[i]);
		close(answer[i]);
	}
	if (child > 0 && waitpid(child, &status, 0) != child)
		error = -errno;
	return error ? error : WIFEXITED(status) && !WEXITSTATUS(status);
}
static pid_t trial; /* 0: none */

void feature_begin_nop5(void)
{
	if (trial || probe_fast_nop5() != 1)
		return;
	trial = fork();
	if (!trial)
		_exit(try_nop5() == 0);
}

static int probe_nop5_undone(void)
{
	int status;

	if (trial > 0 && waitpid(trial, &status, 0) == trial) {
		trial = 0;
		return WIFEXITED(status) && !WEXITSTATUS(status);
	}
	return probe_fast_nop5() == 1 ? try_nop5() : 1;
}
#else
void feature_begin_nop5(void)
{
}

static int probe_nop5_undone(void)
{
	return 1;
}
#endif

int feature_probe(enum feature feature)
{
	static int (*const probes[FEATURE_COUNT])(void) = {
		[FEATURE_RING_BUFFER] = probe_ring_buffer,
		[FEATURE_BPF_LOOP] = probe_bpf_loop,
		[FEATURE_ATTACH_COOKIE] = probe_attach_cookie,
		[FEATURE_UPROBE_MULTI] = probe_uprobe_multi,
		[FEATURE_SESSION] = probe_session,
		[FEATURE_FAST_NOP5] = probe_fast_nop5,
		[FEATURE_NOP5_UNDONE] = probe_nop5_undone,
	};

	return probes[feature]();
}

bool features_need_old_programs(int bpf_loop, int attach_cookie)
{
	/* An unknown feature is assumed to be present: loading will report what is wrong. */
	return bpf_loop == 0 || attach_cookie == 0;
}
