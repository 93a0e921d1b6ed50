/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the files of a merge; one log is open at a time. */
#include "cmd/merge/merge_logs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cmd/options/format.h"
#include "cmd/process/interrupt.h"
#include "cmd/output/output.h"
#include "cmd/output/outputs.h"
#include "export/export.h"

/* ---- all in one -------------------------------------------------------------------------------------------------- */

static int open_member(void *context, size_t index, struct merge_member *member)
{
	struct merge_log *opened = context;
	int err = merge_log_open(opened, index);

	if (err)
		return err;
	*member = (struct merge_member){.trace = opened->reading.trace,
					.clock = *rank_log_clock(opened->ranks, index),
					.process_labels = (const char *const *)opened->labels,
					.gpu_label = opened->gpu_label,
					.splits = &opened->splits};
	return 0;
}

static void close_member(void *context)
{
	merge_log_close(context);
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

static int write_all(const struct options *options, const struct ranks *ranks, const struct collective_split *split,
		     const struct export_format *format, int fd)
{
	struct merge_log opened = {.options = options, .ranks = ranks, .split = split};
	struct sink about;
	int error;

	sink_open_memory(&about);
	put_about(&about, ranks);
	sink_char(&about, '\0');
	error = export_write_merged(fd, format,
				    &(struct merge){.count = ranks->logs.count,
						    .start_ns = ranks->begin_ns,
						    .wall_offset_ns = ranks->logs.items[0].wall_offset_ns,
						    .slept_ns = ranks->logs.items[0].slept_ns,
						    .about = about.buffer,
						    .context = &opened,
						    .open = open_member,
						    .close = close_member},
				    interrupt());
	sink_close(&about);
	return error;
}

/* ---- one for each ------------------------------------------------------------------------------------------------ */

struct one_rank {
	struct merge_log *opened;
	size_t log;
	const struct arriving_rank *of;
};

static int write_one(const struct one_rank *one, const struct export_format *format, int fd)
{
	const struct ranks *ranks = one->opened->ranks;
	struct export_place place = {.rank = {.rank = one->of->rank, .world = ranks->world},
				     .is_aligned = true,
				     .clock = *rank_log_clock(ranks, one->log),
				     .start_ns = ranks->begin_ns,
				     .wall_offset_ns = ranks->logs.items[0].wall_offset_ns,
				     .slept_ns = ranks->logs.items[0].slept_ns,
				     .splits = &one->opened->splits};

	return export_write(
		fd, format, one->opened->reading.trace,
		&(struct export_options){.process = (int)one->of->process, .place = &place, .cancel = interrupt()});
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* one NULL: all ranks in one file. */
static int write_file(const struct options *options, const struct ranks *ranks, const struct collective_split *split,
		      const char *path, const struct one_rank *one)
{
	const struct export_format *format = export_format_by_suffix(path);
	struct output output = {.fd = -1};
	int err = output_open(path, &output);

	if (!err && format_path_is_archive(path))
		err = merge_write_tar(options, ranks, split, output.fd);
	else if (!err)
		err = one ? write_one(one, format, output.fd) : write_all(options, ranks, split, format, output.fd);
	if (!err)
		err = output_commit(&output);
	if (!err)
		outputs_say_written(path, output.fd);
	else if (err != -ECANCELED)
		msg_error("%s: not written: %s", path, output_error(err));
	output_close(&output);
	return err;
}

static int write_ranks_of(struct merge_log *opened, size_t log, const char *path)
{
	const struct collective_arrivals *arrivals = &opened->ranks->logs.items[log].arrivals;
	int first = merge_log_open(opened, log);

	if (first)
		return first;
	for (size_t i = 0; i < arrivals->ranks.list.count && first != -ECANCELED; i++) {
		struct one_rank one = {opened, log, &arrivals->ranks.list.items[i]};
		char *name;
		int err;

		if (arriving_rank_is_further_gpu(arrivals->ranks.list.items, i))
			continue;
		if (one.of->rank < 0) {
			msg_warn("%s: the rank of process %" PRIu32 " is not known: it has no file of its own",
				 opened->ranks->logs.items[log].name, one.of->pid);
			continue;
		}
		name = format_path_for_rank(path, one.of->rank, 1);
		if (one.of->device != NONE)
			msg_warn("%s: GPUs of process %" PRIu32 " are ranks: %s has all of them",
				 opened->ranks->logs.items[log].name, one.of->pid, name);
		err = write_file(opened->options, opened->ranks, opened->split, name, &one);
		first = first ? first : err;
		free(name);
	}
	merge_log_close(opened);
	return first;
}

static int write_per_rank(const struct options *options, const struct ranks *ranks,
			  const struct collective_split *split, const char *path)
{
	struct merge_log opened = {.options = options, .ranks = ranks, .split = split};
	int first = 0;

	if (!ranks->rows.count)
		msg_warn("%s: no rank is known, so there is no file: ranks are known by their collectives (--ops)",
			 path);
	for (size_t i = 0; i < ranks->logs.count && first != -ECANCELED; i++) {
		int err = ranks->logs.items[i].arrivals.ranks.list.count ? write_ranks_of(&opened, i, path) : 0;

		first = first ? first : err;
	}
	return first;
}

int merge_write_files(const struct options *options, const struct ranks *ranks, const struct collective_split *split)
{
	int first = 0;

	for (size_t i = 0; i < options->outputs.list.count && first != -ECANCELED; i++) {
		const char *path = options->outputs.list.items[i];
		int err = format_path_is_per_rank(path) ? write_per_rank(options, ranks, split, path)
							: write_file(options, ranks, split, path, NULL);

		first = first ? first : err;
	}
	return first;
}
