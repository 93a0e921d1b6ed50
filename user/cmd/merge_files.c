/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One log is open at a time. */
#include "cmd/merge_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/format.h"
#include "cmd/from_log.h"
#include "cmd/interrupt.h"
#include "cmd/output.h"
#include "cmd/outputs.h"
#include "cmd/reading.h"
#include "export/chrome/merged.h"
#include "export/export.h"

/* A log that is open. */
struct opened {
	const struct options *options;
	const struct ranks *ranks;
	struct delivery delivery;
	struct reading reading;
	char **labels; /* by process, NULL: none */
	char *gpu_label;
	uint32_t processes;
};

static int open_log(struct opened *opened, size_t log)
{
	const char *name = opened->ranks->logs.items[log].name;

	opened->delivery = (struct delivery){.options = opened->options, .log_name = name, .skip = SIZE_MAX};
	opened->delivery.log_fd = from_log_open(name);
	if (opened->delivery.log_fd < 0)
		return -EIO;
	if (!reading_open(&opened->reading, &opened->delivery))
		return 0;
	reading_close(&opened->reading);
	close(opened->delivery.log_fd);
	return -EIO;
}

static void close_log(struct opened *opened)
{
	reading_close(&opened->reading);
	close(opened->delivery.log_fd);
}

/* ---- all in one -------------------------------------------------------------------------------------------------- */

/* "rank 3, node-b": of each process that is one; of the GPUs where all work of the log is one rank's. */
static void label(struct opened *opened, size_t log, const struct model *model)
{
	const struct rank_log *of = &opened->ranks->logs.items[log];
	const struct meetings *meetings = &of->meetings;

	opened->processes = model->process_count;
	opened->labels = xcalloc(model->process_count, sizeof(*opened->labels));
	for (uint32_t i = 0; i < model->process_count; i++) {
		int64_t rank = rank_of_process(opened->ranks, log, i);

		opened->labels[i] = rank >= 0 ? xasprintf("rank %" PRId64 ", %s", rank, of->host) : xstrdup(of->host);
	}
	if (meetings->ranks.list.count == 1 && meetings->ranks.list.items[0].rank >= 0)
		opened->gpu_label = xasprintf("rank %" PRId64 ", %s", meetings->ranks.list.items[0].rank, of->host);
	else
		opened->gpu_label = xstrdup(of->host);
}

static int open_member(void *context, size_t index, struct chrome_member *member)
{
	struct opened *opened = context;
	const struct model *part;
	int err = open_log(opened, index);

	if (err)
		return err;
	part = trace_first(opened->reading.trace);
	if (!part) {
		err = opened->reading.trace->error;
		close_log(opened);
		return err;
	}
	label(opened, index, part);
	*member = (struct chrome_member){.trace = opened->reading.trace,
					 .clock = *rank_log_clock(opened->ranks, index),
					 .process_labels = (const char *const *)opened->labels,
					 .gpu_label = opened->gpu_label};
	return 0;
}

static void close_member(void *context)
{
	struct opened *opened = context;

	for (uint32_t i = 0; i < opened->processes; i++)
		free(opened->labels[i]);
	free(opened->labels);
	free(opened->gpu_label);
	close_log(opened);
}

static void put_about(struct sink *out, const struct ranks *ranks)
{
	sink_literal(out, "{\"world_size\": ");
	sink_i64(out, ranks->world);
	sink_literal(out, ", \"clocks\": [");
	for (size_t i = 0; i < ranks->logs.count; i++) {
		const struct rank_log *log = &ranks->logs.items[i];
		const struct rank_clock *clock = &ranks->clocks.items[log->clock];
		char text[192];

		sink_text(out, i ? ",\n  {\"log\": " : "\n  {\"log\": ");
		sink_json(out, log->name);
		sink_literal(out, ", \"host\": ");
		sink_json(out, log->host);
		snprintf(text, sizeof(text),
			 ", \"aligned by\": \"%s\", \"offset_ns\": %" PRId64
			 ", \"drift_ppm\": %.6f, \"error_ns\": %" PRIu64 ", \"collectives\": %zu}",
			 rank_clock_word(ranks, i), clock->fit.line.offset_ns, clock->fit.line.drift * 1e6,
			 clock->fit.error_ns, clock->fit.used);
		sink_text(out, text);
	}
	sink_literal(out, "]}");
}

static int write_all(const struct options *options, const struct ranks *ranks, const struct export_format *format,
		     int fd)
{
	struct opened opened = {.options = options, .ranks = ranks};
	struct sink sink, about;
	int error, close_error;

	sink_open_memory(&about);
	put_about(&about, ranks);
	sink_char(&about, '\0');
	sink_open(&sink, fd, format->gzip);
	sink.cancel = interrupt();
	error = chrome_write_merged(&sink, &(struct chrome_merge){.count = ranks->logs.count,
								  .start_ns = ranks->begin_ns,
								  .wall_offset_ns = ranks->logs.items[0].wall_offset_ns,
								  .about = about.buffer,
								  .context = &opened,
								  .open = open_member,
								  .close = close_member});
	close_error = sink_close(&sink);
	sink_close(&about);
	return error ? error : close_error;
}

/* ---- one for each ------------------------------------------------------------------------------------------------ */

struct one_rank {
	struct opened *opened;
	size_t log;
	const struct meeting_rank *of;
};

static int write_one(const struct one_rank *one, const struct export_format *format, int fd)
{
	const struct ranks *ranks = one->opened->ranks;
	struct export_place place = {.rank = {.rank = one->of->rank, .world = ranks->world},
				     .is_aligned = true,
				     .clock = *rank_log_clock(ranks, one->log),
				     .start_ns = ranks->begin_ns,
				     .wall_offset_ns = ranks->logs.items[0].wall_offset_ns};

	return export_write(
		fd, format, one->opened->reading.trace,
		&(struct export_options){.process = (int)one->of->process, .place = &place, .cancel = interrupt()});
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* one: NULL: all in one. */
static int write_file(const struct options *options, const struct ranks *ranks, const char *path,
		      const struct one_rank *one)
{
	const struct export_format *format = export_format_by_suffix(path);
	struct output output = {.fd = -1};
	int err = output_open(path, &output);

	if (!err)
		err = one ? write_one(one, format, output.fd) : write_all(options, ranks, format, output.fd);
	if (!err)
		err = output_commit(&output);
	if (!err)
		outputs_say_written(path, output.fd);
	else if (err != -ECANCELED)
		msg_error("%s: not written: %s", path, output_error(err));
	output_close(&output);
	return err;
}

static int write_ranks_of(struct opened *opened, size_t log, const char *path)
{
	const struct meetings *meetings = &opened->ranks->logs.items[log].meetings;
	int first = open_log(opened, log);

	if (first)
		return first;
	for (size_t i = 0; i < meetings->ranks.list.count && first != -ECANCELED; i++) {
		struct one_rank one = {opened, log, &meetings->ranks.list.items[i]};
		char *name;
		int err;

		if (one.of->rank < 0) {
			msg_warn("%s: the rank of process %" PRIu32 " is not known: it has no file of its own",
				 opened->ranks->logs.items[log].name, one.of->pid);
			continue;
		}
		name = format_path_for_rank(path, one.of->rank);
		err = write_file(opened->options, opened->ranks, name, &one);
		first = first ? first : err;
		free(name);
	}
	close_log(opened);
	return first;
}

static int write_per_rank(const struct options *options, const struct ranks *ranks, const char *path)
{
	struct opened opened = {.options = options, .ranks = ranks};
	int first = 0;

	if (!ranks->rows.count)
		msg_warn("%s: no rank is known, so there is no file: ranks are known by their collectives (--ops)",
			 path);
	for (size_t i = 0; i < ranks->logs.count && first != -ECANCELED; i++) {
		int err = ranks->logs.items[i].meetings.ranks.list.count ? write_ranks_of(&opened, i, path) : 0;

		first = first ? first : err;
	}
	return first;
}

int merge_write_files(const struct options *options, const struct ranks *ranks)
{
	int first = 0;

	for (size_t i = 0; i < options->outputs.list.count && first != -ECANCELED; i++) {
		const char *path = options->outputs.list.items[i];
		int err = format_path_is_per_rank(path) ? write_per_rank(options, ranks, path)
							: write_file(options, ranks, path, NULL);

		first = first ? first : err;
	}
	return first;
}
