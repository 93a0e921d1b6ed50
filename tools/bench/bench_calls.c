/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of a Python call under --python-calls: bare, with an empty uprobe at the same entry (the kernel's cost of
 * half of it), and traced at entry and end.  The rounds are interleaved.
 *
 *     bench_calls TARGET.py PYTHON...
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
#include "target/python/python.h"
#include "target/python/python_events.h"
#include "traced.h"

#define ROUNDS 7
#define CALLS 200000

/* ---- an empty probe at the entry -------------------------------------------------------------------------- */

struct floor {
	struct programs programs;
	struct links links;
	int file;
	struct uprobe place;
};

static void floor_find(struct floor *floor, pid_t pid)
{
	struct python_sites places;
	struct python_info python;
	struct mappings mappings = {};
	struct image *image = NULL;
	char why[256] = "";

	if (mappings_read(pid, &mappings) || python_find(pid, &mappings, &python, why, sizeof(why)))
		die("the interpreter", why);
	floor->file = open(python.path, O_RDONLY | O_CLOEXEC);
	if (image_open(dup(floor->file), &image) || python_calls_find(image, python.walk.layout.version, &places))
		die(python.path, "its calls cannot be traced");
	for (size_t i = 0; i < places.list.count; i++)
		if (places.list.items[i].what.kind == GPT_PY_CALL_ENTER)
			floor->place.offset = places.list.items[i].offset;
	python_sites_free(&places);
	image_close(image);
	python_info_free(&python);
	mappings_free(&mappings);
}

static void floor_attach(struct floor *floor)
{
	if (links_attach_uprobes(&floor->links, floor->programs.multi,
				 bpf_program__fd(floor->programs.bpf->progs.empty), floor->file, &floor->place, 1))
		die("the entry", "cannot be probed");
}

/* ---- --python-calls ------------------------------------------------------------------------------------------- */

enum { ENTRIES, ENDS };

static void count_calls(struct tracer *tracer, const struct gpt_record *record)
{
	if (record->type == GPT_PYCALL)
		tracer->seen[((const struct gpt_pycall *)record)->code ? ENTRIES : ENDS]++;
}

static void stop_counting(struct tracer *tracer)
{
	uint64_t counters[GPT_COUNTER_COUNT];

	tracer_stop(tracer, counters);
	if (counters[GPT_COUNTER_PYCALLS_LOST])
		die("tracing", "records were lost: the figures would be too good");
	if (tracer->seen[ENTRIES] < CALLS || tracer->seen[ENDS] < CALLS)
		die("tracing", "not every call was seen");
	tracer->seen[ENTRIES] = tracer->seen[ENDS] = 0;
}

/* ---- figures ------------------------------------------------------------------------------------------------- */

static void bench_python(struct floor *floor, char *const argv[])
{
	double bare[ROUNDS], empty[ROUNDS], traced[ROUNDS];
	struct tracer tracer = {.count = count_calls};
	struct target target;

	target_start(&target, argv);
	floor_find(floor, target.pid);
	for (int round = 0; round < ROUNDS; round++) {
		bare[round] = target_ask(&target, "%d", CALLS);
		floor_attach(floor);
		empty[round] = target_ask(&target, "%d", CALLS);
		links_detach(&floor->links);
		tracer_start(&tracer, target.pid, true);
		traced[round] = target_ask(&target, "%d", CALLS);
		stop_counting(&tracer);
	}
	close(floor->file);
	target_end(&target);
	printf("%-24s a Python call: bare %4.0f ns   empty uprobe at its entry %5.0f ns   --python-calls %5.0f ns   "
	       "%.1f x bare\n",
	       argv[0], median(bare, ROUNDS), median(empty, ROUNDS), median(traced, ROUNDS),
	       median(traced, ROUNDS) / median(bare, ROUNDS));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct gpt_config config = {};
	struct floor floor = {};
	char why[512];

	if (argc < 3)
		die("usage", "bench_calls TARGET.py PYTHON...");
	signal(SIGPIPE, SIG_IGN);
	if (programs_load(&floor.programs, &config, 1 << 20, why, sizeof(why)))
		die("loading", why);
	for (int i = 2; i < argc; i++) {
		char *const command[] = {argv[i], argv[1], NULL};

		bench_python(&floor, command);
	}
	programs_unload(&floor.programs);
	return 0;
}
