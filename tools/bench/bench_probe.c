/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of a launch under tracing: bare, with an empty uprobe at the same site (the floor that the kernel sets),
 * and with the launch probe and its Python stack.  The rounds are interleaved and the ratio to the floor is taken
 * within each, so that noise on the machine does not matter.
 *
 *     bench_probe HAMMER.so LIBCUDART TARGET.py PYTHON...
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "attach/load/links.h"
#include "attach/load/programs.h"
#include "base/msg.h"
#include "target/image.h"
#include "target/library.h"
#include "traced.h"

#define ROUNDS 7
#define CALLS 40000

static const int depths[] = {4, 16, 64};

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
		const struct uprobe place = {.offset = site->site.offset};

		if (strcmp(site->symbol, "cudaLaunchKernel") == 0 &&
		    links_attach_uprobes(&floor->links, floor->multi, bpf_program__fd(floor->programs.bpf->progs.empty),
					 floor->file, &place, 1))
			die("cudaLaunchKernel", "cannot be probed");
	}
}

/* ---- the launch probe ------------------------------------------------------------------------ */

enum { LAUNCHES, STACKED };

static void count_launches(struct tracer *tracer, const struct gpt_record *record)
{
	if (record->type != GPT_CALL_ARGS)
		return;
	tracer->seen[LAUNCHES]++;
	tracer->seen[STACKED] += ((const struct gpt_call *)record)->stack_state == GPT_STACK_OK;
}

static void stop_counting(struct tracer *tracer)
{
	uint64_t counters[GPT_COUNTER_COUNT];

	tracer_stop(tracer, counters);
	if (counters[GPT_COUNTER_CALLS_LOST] || counters[GPT_COUNTER_STACKS_LOST])
		die("tracing", "records were lost: the figures would be too good");
}

/* ---- figures ------------------------------------------------------------------------------------ */

static void bench_python(struct floor *floor, char *const argv[], const char *name)
{
	enum { DEPTHS = sizeof(depths) / sizeof(depths[0]) };
	double bare[ROUNDS], empty[DEPTHS][ROUNDS], traced[DEPTHS][ROUNDS], ratio[DEPTHS][ROUNDS];
	struct target target;
	struct tracer tracer = {.count = count_launches};

	target_start(&target, argv);
	for (int round = 0; round < ROUNDS; round++) {
		bare[round] = target_ask(&target, "%d %d", 16, CALLS);
		floor_attach(floor);
		for (int i = 0; i < DEPTHS; i++)
			empty[i][round] = target_ask(&target, "%d %d", depths[i], CALLS);
		links_detach(&floor->links);
		tracer_start(&tracer, target.pid, false);
		for (int i = 0; i < DEPTHS; i++) {
			traced[i][round] = target_ask(&target, "%d %d", depths[i], CALLS);
			ratio[i][round] = traced[i][round] / empty[i][round];
		}
		stop_counting(&tracer);
	}
	target_end(&target);
	if (!tracer.seen[LAUNCHES] || tracer.seen[STACKED] < tracer.seen[LAUNCHES])
		fprintf(stderr, "bench_probe: %s: %llu of %llu launches have a stack\n", name,
			(unsigned long long)tracer.seen[STACKED], (unsigned long long)tracer.seen[LAUNCHES]);
	for (int i = 0; i < DEPTHS; i++)
		printf("%-24s %3d frames   bare %5.0f ns   empty uprobe %5.0f ns   launch probe %5.0f ns   %.2f x "
		       "floor\n",
		       name, depths[i], median(bare, ROUNDS), median(empty[i], ROUNDS), median(traced[i], ROUNDS),
		       median(ratio[i], ROUNDS));
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
