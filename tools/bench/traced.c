/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Starts, queries and traces a target; see traced.h. */
#include "traced.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(1);
}

/* ---- the target ---------------------------------------------------------------------------------------------- */

void target_start(struct target *target, char *const argv[])
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

double target_ask(struct target *target, const char *format, ...)
{
	char line[64];
	va_list arguments;

	va_start(arguments, format);
	vfprintf(target->to, format, arguments);
	va_end(arguments);
	fputc('\n', target->to);
	fflush(target->to);
	if (!fgets(line, sizeof(line), target->from))
		die("target", "ended early");
	return strtod(line, NULL);
}

void target_end(struct target *target)
{
	fclose(target->to);
	fclose(target->from);
	waitpid(target->pid, NULL, 0);
}

/* ---- the trace ----------------------------------------------------------------------------------------------- */

static void ignore_record(void *context, const struct gpt_record *record)
{
	(void)context;
	(void)record;
}

static int count_record(void *context, void *data, size_t size)
{
	struct tracer *tracer = context;

	(void)size;
	tracer->count(tracer, data);
	return 0;
}

/* Empties the ring buffer as the collector does: on a timer, never woken by a record. */
static void *drain_ring(void *context)
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

void tracer_start(struct tracer *tracer, pid_t pid, bool python_calls)
{
	const struct attach_options options = {
		.scope = ATTACH_PIDS, .agent = ATTACH_AGENT_OFF, .python_calls = python_calls, .ring_bytes = 64 << 20};
	char why[512];

	if (attach_open(&options, ignore_record, NULL, &tracer->attach, why, sizeof(why)) ||
	    attach_process(tracer->attach, pid, why, sizeof(why)) || attach_start(tracer->attach, why, sizeof(why)))
		die("attaching", why);
	atomic_store(&tracer->stop, false);
	pthread_create(&tracer->thread, NULL, drain_ring, tracer);
}

void tracer_stop(struct tracer *tracer, uint64_t counters[GPT_COUNTER_COUNT])
{
	atomic_store(&tracer->stop, true);
	pthread_join(tracer->thread, NULL);
	attach_counters(tracer->attach, counters);
	attach_close(tracer->attach);
}

/* ---- figures ------------------------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_times);
	return values[count / 2];
}
