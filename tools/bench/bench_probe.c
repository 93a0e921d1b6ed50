/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a launch costs under tracing: bare, with an empty uprobe at the same site (the floor that the kernel sets),
 * and with the launch probe and its Python stack.  The rounds are interleaved and the ratio to the floor is taken
 * within each, so that a noisy machine does not matter.
 *
 *     bench_probe HAMMER.so LIBCUDART TARGET.py PYTHON...
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "attach/attach.h"
#include "attach/links.h"
#include "attach/programs.h"
#include "base/msg.h"
#include "target/image.h"
#include "target/library.h"

#define ROUNDS 7
#define CALLS 200000

static const int depths[] = {4, 16, 64};

struct target {
	pid_t pid;
	FILE *to, *from;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench_probe: %s: %s\n", what, why);
	exit(1);
}

static void target_start(struct target *target, char *const argv[])
{
	int to[2], from[2];
	char line[64];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		die("pipe", strerror(errno));
	target->pid = fork();
	if (!target->pid) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	target->to = fdopen(to[1], "w");
	target->from = fdopen(from[0], "r");
	if (!fgets(line, sizeof(line), target->from) || strcmp(line, "ready\n") != 0)
		die(argv[0], "the target did not start");
}

static void target_end(struct target *target)
{
	fclose(target->to);
	fclose(target->from);
	waitpid(target->pid, NULL, 0);
}

static double target_run(struct target *target, int depth)
{
	char line[64];

	fprintf(target->to, "%d %d\n", depth, CALLS);
	fflush(target->to);
	if (!fgets(line, sizeof(line), target->from))
		die("target", "ended early");
	return strtod(line, NULL);
}

/* ---- the floor ---------------------------------------------------------------------------- */

struct floor {
	struct programs programs;
	struct library_sites sites;
	int file;
	bool multi;
	struct links links;
};

static void floor_open(struct floor *floor, const char *cudart)
{
	const struct gpt_config config = {};
	struct image *image = NULL;
	char why[512];

	if (programs_load(&floor->programs, &config, 1 << 20, why, sizeof(why)))
		die("loading", why);
	floor->multi = floor->programs.multi;
	floor->file = open(cudart, O_RDONLY | O_CLOEXEC);
	if (floor->file < 0 || image_open(dup(floor->file), &image) ||
	    library_sites_find(image, LIBRARY_CUDART, &floor->sites))
		die(cudart, "cannot be read as libcudart");
	image_close(image);
}

static void floor_attach(struct floor *floor)
{
	for (size_t i = 0; i < floor->sites.list.count; i++) {
		const struct library_site *site = &floor->sites.list.items[i];
		const struct link_place place = {.offset = site->site.offset};

		if (strcmp(site->symbol, "cudaLaunchKernel") == 0 &&
		    links_attach_uprobes(&floor->links, floor->multi, bpf_program__fd(floor->programs.bpf->progs.empty),
					 floor->file, &place, 1))
			die("cudaLaunchKernel", "cannot be probed");
	}
}

/* ---- the launch probe ------------------------------------------------------------------------ */

struct tracer {
	struct attach *attach;
	pthread_t thread;
	atomic_bool stop;
	uint64_t calls, stacked;
};

static void ignore_record(void *context, const struct gpt_record *record)
{
	(void)context;
	(void)record;
}

static int count_record(void *context, void *data, size_t size)
{
	const struct gpt_record *record = data;
	struct tracer *tracer = context;

	(void)size;
	if (record->type == GPT_CALL_ARGS) {
		tracer->calls++;
		tracer->stacked += ((const struct gpt_call *)data)->stack_state == GPT_STACK_OK;
	}
	return 0;
}

/* Empties the ring buffer as the collector does: on a timer, never woken by a record. */
static void *drain(void *context)
{
	struct tracer *tracer = context;
	struct ring_buffer *ring = ring_buffer__new(attach_ring_fd(tracer->attach), count_record, tracer, NULL);

	while (!atomic_load(&tracer->stop)) {
		ring_buffer__consume(ring);
		usleep(10000);
	}
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return NULL;
}

static void tracer_start(struct tracer *tracer, pid_t pid)
{
	const struct attach_options options = {.scope = ATTACH_PIDS, .agent = ATTACH_AGENT_OFF, .ring_bytes = 64 << 20};
	char why[512];

	if (attach_open(&options, ignore_record, NULL, &tracer->attach, why, sizeof(why)) ||
	    attach_process(tracer->attach, pid, why, sizeof(why)) || attach_start(tracer->attach, why, sizeof(why)))
		die("attaching", why);
	atomic_store(&tracer->stop, false);
	pthread_create(&tracer->thread, NULL, drain, tracer);
}

static void tracer_stop(struct tracer *tracer)
{
	uint64_t accounts[GPT_ACC_COUNT];

	atomic_store(&tracer->stop, true);
	pthread_join(tracer->thread, NULL);
	attach_accounts(tracer->attach, accounts);
	if (accounts[GPT_ACC_CALLS_LOST] || accounts[GPT_ACC_STACKS_LOST])
		die("tracing", "records were lost: the figures would be too good");
	attach_close(tracer->attach);
}

/* ---- figures ------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

static void bench_python(struct floor *floor, char *const argv[], const char *name)
{
	enum { DEPTHS = sizeof(depths) / sizeof(depths[0]) };
	double bare[ROUNDS], empty[DEPTHS][ROUNDS], traced[DEPTHS][ROUNDS], ratio[DEPTHS][ROUNDS];
	struct target target;
	struct tracer tracer = {};

	target_start(&target, argv);
	for (int round = 0; round < ROUNDS; round++) {
		bare[round] = target_run(&target, 16);
		floor_attach(floor);
		for (int i = 0; i < DEPTHS; i++)
			empty[i][round] = target_run(&target, depths[i]);
		links_detach(&floor->links);
		tracer_start(&tracer, target.pid);
		for (int i = 0; i < DEPTHS; i++) {
			traced[i][round] = target_run(&target, depths[i]);
			ratio[i][round] = traced[i][round] / empty[i][round];
		}
		tracer_stop(&tracer);
	}
	target_end(&target);
	if (!tracer.calls || tracer.stacked < tracer.calls)
		fprintf(stderr, "bench_probe: %s: %llu of %llu launches have a stack\n", name,
			(unsigned long long)tracer.stacked, (unsigned long long)tracer.calls);
	for (int i = 0; i < DEPTHS; i++)
		printf("%-24s %3d frames   bare %5.0f ns   empty uprobe %5.0f ns   launch probe %5.0f ns   %.2f x "
		       "floor\n",
		       name, depths[i], median(bare), median(empty[i]), median(traced[i]), median(ratio[i]));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct floor floor = {};

	if (argc < 5)
		die("usage", "bench_probe HAMMER.so LIBCUDART TARGET.py PYTHON...");
	signal(SIGPIPE, SIG_IGN);
	floor_open(&floor, argv[2]);
	for (int i = 4; i < argc; i++) {
		char *const command[] = {argv[i], argv[3], argv[1], argv[2], NULL};

		bench_python(&floor, command, argv[i]);
	}
	library_sites_free(&floor.sites);
	programs_unload(&floor.programs);
	close(floor.file);
	return 0;
}
