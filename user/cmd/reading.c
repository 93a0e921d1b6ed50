/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From options to what of the log is read, and to the slice of that. */
#include "cmd/reading.h"

#include <stdlib.h>
#include <string.h>

#include "input/gpt_slice.h"
#include "input/gpt_trace.h"

/* Ids of processes; none where some are named in another way. */
static uint32_t *find_pids(const struct slice_options *options, uint32_t *count)
{
	size_t names = options->processes.list.count;
	uint32_t *pids = xcalloc(names, sizeof(*pids));

	*count = (uint32_t)names;
	for (size_t i = 0; i < names; i++) {
		const char *name = options->processes.list.items[i];

		pids[i] = slicing_pid(name);
		if (!pids[i])
			*count = 0;
	}
	return pids;
}

/* What of the log a span needs; false: all has to be read. */
static bool find_wanted(struct reading *reading, uint64_t from_ns, uint64_t to_ns)
{
	const struct slice_options *options = &reading->delivery->options->slice;
	struct gpt_span span;
	uint32_t pids;

	if (!gpt_find_span(reading->delivery->log_fd, &span))
		return false;
	if (!from_ns && to_ns == UINT64_MAX)
		slicing_times(options,
			      &(struct moment_clock){.start_ns = span.start_ns,
						     .end_ns = span.end_ns,
						     .wall_offset_ns = span.wall_offset_ns},
			      &from_ns, &to_ns);
	reading->pids = find_pids(options, &pids);
	reading->wanted = gpt_restrict(&span, from_ns, to_ns, reading->pids, pids);
	return true;
}

static int open_log(struct reading *reading, uint64_t from_ns, uint64_t to_ns, const char **why)
{
	bool restricted = options_want_slice(reading->delivery->options) || from_ns || to_ns != UINT64_MAX;

	restricted = restricted && find_wanted(reading, from_ns, to_ns);
	reading->owns_recorded = true;
	return gpt_trace_open(reading->delivery->log_fd, NULL, restricted ? &reading->wanted : NULL, &reading->recorded,
			      why);
}

static int open_slice(struct reading *reading)
{
	reading->slicing.slice.read_from_ns = reading->wanted.from_ns;
	reading->is_sliced = true;
	reading->trace = &reading->sliced.trace;
	return sliced_trace_open(&reading->sliced, reading->recorded, &reading->slicing.slice, reading->slicing.words);
}

static enum exit_code fail(const struct reading *reading, int err, const char *why)
{
	const char *name = reading->delivery->log_name;

	msg_error("%s: %s", name ? name : "the log", why ? why : strerror(-err));
	return EXIT_FAILED;
}

enum exit_code reading_failed(const struct reading *reading, int err)
{
	return fail(reading, err, NULL);
}

enum exit_code reading_open(struct reading *reading, const struct delivery *delivery)
{
	const struct model *first;
	const char *why = NULL;
	enum exit_code code;
	int err;

	*reading = (struct reading){.delivery = delivery};
	err = open_log(reading, 0, UINT64_MAX, &why);
	if (err)
		return fail(reading, err, why);
	reading->trace = reading->recorded;
	if (!options_want_slice(delivery->options) && !delivery->options->max_size)
		return EXIT_GOOD;
	first = trace_first(reading->recorded);
	if (!first)
		return reading_failed(reading, reading->recorded->error);
	reading->is_long = first->more;
	if (!options_want_slice(delivery->options))
		return EXIT_GOOD;
	code = slicing_find(&reading->slicing, &delivery->options->slice, first, delivery->log_name);
	if (code)
		return code;
	err = open_slice(reading);
	return err ? reading_failed(reading, err) : EXIT_GOOD;
}

/* A log of one part is in memory already; of a longer one the span is read anew. */
static int open_recorded(struct reading *span, const struct reading *of, uint64_t from_ns, uint64_t to_ns)
{
	const char *why;

	if (of->is_long)
		return open_log(span, from_ns, to_ns, &why);
	span->recorded = of->recorded;
	span->wanted = of->wanted;
	return 0;
}

int reading_open_span(struct reading *span, const struct reading *of, uint64_t from_ns, uint64_t to_ns)
{
	const struct slice *whole = of->is_sliced ? &of->slicing.slice : &(struct slice){.to_ns = UINT64_MAX};
	const struct model *first;
	int err;

	*span = (struct reading){.delivery = of->delivery};
	from_ns = from_ns ? from_ns : whole->from_ns;
	to_ns = to_ns != UINT64_MAX ? to_ns : whole->to_ns;
	err = open_recorded(span, of, from_ns, to_ns);
	if (err)
		return err;
	first = trace_first(span->recorded);
	if (!first)
		return span->recorded->error;
	slicing_find_span(&span->slicing, &of->delivery->options->slice, first, from_ns, to_ns);
	return open_slice(span);
}

void reading_close(struct reading *reading)
{
	if (reading->is_sliced)
		sliced_trace_close(&reading->sliced);
	slicing_free(&reading->slicing);
	if (reading->owns_recorded)
		gpt_trace_close(reading->recorded);
	free(reading->pids);
}
