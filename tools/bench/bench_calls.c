/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What --python-calls costs a Python call: bare, with an empty uprobe at the same entry (what the kernel takes for
 * half of it), and traced, entry and end.  The rounds are interleaved.
 *
 *     bench_calls TARGET.py PYTHON...
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
#include "target/python.h"
#include "target/python_events.h"

#define ROUNDS 7
#define CALLS 200000

struct target {
	pid_t pid;
	FILE *to, *from;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench_calls: %s: %s\n", what, why);
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

static double target_run(struct target *target)
{
	char line[64];

	fprintf(target->to, "%d\n", CALLS);
	fflush(target->to);
	if (!fgets(line, sizeof(line), target->from))
		die("target", "ended early");
	return strtod(line, NULL);
}

/* ---- an empty probe at the entry -------------------------------------------------------------------------- */

struct floor {
	struct programs programs;
	struct links links;
	int file;
	struct link_place place;
};

static void floor_find(struct floor *floor, pid_t pid)
{
	struct python_places places;
	struct python_info python;
	struct mappings mappings = {};
	struct image *image = NULL;
	char why[256] = "";

	if (mappings_read(pid, &mappings) || python_find(pid, &mappings, &python, why, sizeof(why)))
		die("the interpreter", why);
	floor->file = dup(python.fd);
	if (image_open(dup(python.fd), &image) || python_calls_find(image, python.walk.layout.version, &places))
		die(python.path, "its calls cannot be traced");
	for (size_t i = 0; i < places.list.count; i++)
		if (places.list.items[i].what.kind == GPT_PY_CALL_ENTER)
			floor->place.offset = places.list.items[i].offset;
	python_places_free(&places);
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

struct tracer {
	struct attach *attach;
	pthread_t thread;
	atomic_bool stop;
	uint64_t entries, ends;
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
	if (record->type == GPT_PYCALL) {
		tracer->entries += ((const struct gpt_pycall *)data)->code != 0;
		tracer->ends += ((const struct gpt_pycall *)data)->code == 0;
	}
	return 0;
}

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
	const struct attach_options options = {
		.scope = ATTACH_PIDS, .agent = ATTACH_AGENT_OFF, .python_calls = true, .ring_bytes = 64 << 20};
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
	if (accounts[GPT_ACC_PYCALLS_LOST])
		die("tracing", "records were lost: the figures would be too good");
	if (tracer->entries < CALLS || tracer->ends < CALLS)
		die("tracing", "not every call was seen");
	attach_close(tracer->attach);
	tracer->entries = tracer->ends = 0;
}

/* ---- figures ------------------------------------------------------------------------------------------------- */

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

static void bench_python(struct floor *floor, char *const argv[])
{
	double bare[ROUNDS], empty[ROUNDS], traced[ROUNDS];
	struct tracer tracer = {};
	struct target target;

	target_start(&target, argv);
	floor_find(floor, target.pid);
	for (int round = 0; round < ROUNDS; round++) {
		bare[round] = target_run(&target);
		floor_attach(floor);
		empty[round] = target_run(&target);
		links_detach(&floor->links);
		tracer_start(&tracer, target.pid);
		traced[round] = target_run(&target);
		tracer_stop(&tracer);
	}
	close(floor->file);
	fclose(target.to);
	fclose(target.from);
	waitpid(target.pid, NULL, 0);
	printf("%-24s a Python call: bare %4.0f ns   empty uprobe at its entry %5.0f ns   --python-calls %5.0f ns   "
	       "%.1f x bare\n",
	       argv[0], median(bare), median(empty), median(traced), median(traced) / median(bare));
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
