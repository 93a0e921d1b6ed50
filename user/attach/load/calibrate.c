/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/load/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gputrace/costs.h>

#include "attach/load/links.h"
#include "attach/load/own_code.h"
#include "base/array.h"
#include "base/monotonic.h"

/* Of some rounds the shortest one counts: the others were interrupted. */
#define ROUNDS 16
#define RUNS 200
#define PATIENCE_MS 1000

#ifdef __x86_64__
/* As the sites in libraries (push), which the kernel emulates, and those in the agent (nop5). */
static void __attribute__((naked, noinline, aligned(16))) function_with_push(void)
{
	__asm__ volatile("push %rbp\n\tpop %rbp\n\tret");
}

static void __attribute__((naked, noinline, aligned(16))) function_with_nop5(void)
{
	__asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tret");
}

/* What the program's own clock has seen so far. */
static uint64_t seen_ns(const struct programs *programs)
{
	int cpus = libbpf_num_possible_cpus();
	struct gpt_cost_sum *sums = xcalloc((size_t)(cpus > 0 ? cpus : 1), sizeof(*sums));
	uint32_t part = GPT_PART_CALIBRATION;
	uint64_t ns = 0;

	if (!bpf_map_lookup_elem(bpf_map__fd(programs->bpf->maps.costs), &part, sums))
		for (int cpu = 0; cpu < cpus; cpu++)
			ns += sums[cpu].ns;
	free(sums);
	return ns;
}

/* ns of a call, at the least, less what the program saw. */
static double time_calls(const struct programs *programs, void (*function)(void))
{
	double least = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t seen = seen_ns(programs), begin_ns = monotonic_ns(), ns;
		double each;

		for (int i = 0; i < RUNS; i++)
			function();
		ns = monotonic_ns() - begin_ns;
		seen = seen_ns(programs) - seen;
		each = (double)(ns - (seen < ns ? seen : ns)) / RUNS;
		if (!round || each < least)
			least = each;
	}
	return least;
}

static struct entry_costs measure_entry(const struct programs *programs, bool at_nop5)
{
	void (*const functions[])(void) = {function_with_push, function_with_nop5};
	const size_t count = at_nop5 ? 2 : 1;
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct uprobe uprobes[2] = {};
	struct links links = {};
	double ns[2] = {};

	if (self < 0)
		return (struct entry_costs){};
	for (size_t i = 0; i < count; i++) {
		ns[i] = -time_calls(programs, functions[i]);
		uprobes[i].offset = own_code_offset((uintptr_t)functions[i]);
	}
	/* In all processes of this program, of which this one alone runs into it (features.c, probe_and_undo). */
	if (links_attach_uprobes(&links, programs->multi, bpf_program__fd(programs->bpf->progs.calibrate), self,
				 uprobes, count)) {
		close(self);
		return (struct entry_costs){};
	}
	for (size_t i = 0; i < count; i++) {
		ns[i] += time_calls(programs, functions[i]);
		ns[i] = ns[i] > 0 ? ns[i] : 0;
	}
	links_detach(&links);
	close(self);
	return (struct entry_costs){.probe = ns[0], .agent = at_nop5 ? ns[1] : ns[0]};
}
#else
static struct entry_costs measure_entry(const struct programs *programs, bool at_nop5)
{
	(void)programs;
	(void)at_nop5;
	return (struct entry_costs){};
}
#endif

void calibrate_start(struct calibration *calibration, const struct programs *programs, bool at_nop5)
{
	int answer[2];
	pid_t child;

	if (pipe2(answer, O_CLOEXEC))
		return;
	child = fork();
	if (!child) {
		struct entry_costs costs;
		sigset_t all;

		/* A process that is killed while it places a probe leaves it behind. */
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		costs = measure_entry(programs, at_nop5);
		_exit(write(answer[1], &costs, sizeof(costs)) != sizeof(costs));
	}
	close(answer[1]);
	if (child < 0) {
		close(answer[0]);
		return;
	}
	*calibration = (struct calibration){.child = child, .answer = answer[0]};
}

/* Whether the child has answered, or ended. */
static bool has_answer(const struct calibration *calibration)
{
	struct pollfd answer = {.fd = calibration->answer, .events = POLLIN};
	uint64_t end_ns = monotonic_ns() + PATIENCE_MS * (uint64_t)1000000;
	int ready;

	do
		ready = poll(&answer, 1, PATIENCE_MS);
	while (ready < 0 && errno == EINTR && monotonic_ns() < end_ns);
	return ready > 0;
}

bool calibrate_is_over(const struct calibration *calibration)
{
	struct pollfd answer = {.fd = calibration->answer, .events = POLLIN};

	return !calibration->child || poll(&answer, 1, 0) > 0;
}

struct entry_costs calibrate_finish(struct calibration *calibration)
{
	struct entry_costs costs = {};
	bool answers;

	if (!calibration->child)
		return calibration->costs;
	answers = has_answer(calibration);
	if (answers && read(calibration->answer, &costs, sizeof(costs)) != sizeof(costs))
		costs = (struct entry_costs){};
	close(calibration->answer);
	/* One that hangs is left to itself: killed while it places a probe, it would leave that behind. */
	while (waitpid(calibration->child, NULL, answers ? 0 : WNOHANG) < 0 && errno == EINTR)
		;
	*calibration = (struct calibration){.costs = costs};
	return costs;
}
