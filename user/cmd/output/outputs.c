/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Brings formats, files and the model together; formats and files do not know each other. */
#include "cmd/output/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/options/format.h"
#include "cmd/process/interrupt.h"
#include "cmd/output/output.h"
#include "cmd/output/own_files.h"
#include "cmd/output/pieces.h"
#include "export/export.h"

#define COPY_BYTES (1u << 20)

struct writing {
	const struct options *options;
	struct reading *reading;
	struct trace *trace;
	int log_fd;
	uint64_t most;			  /* bytes of a file, 0: any */
	const struct export_place *place; /* rank and clock of the file, NULL: of the whole trace */
};

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

char *outputs_file_of(const char *path)
{
	return format_path_is_folder(path) ? format_path_in_folder(path, "", 0) : xstrdup(path);
}

static int probe_output(const char *path)
{
	AUTO_FREE char *file = outputs_file_of(path);

	return output_probe(file);
}

int outputs_check(const struct options *options)
{
	struct format format;
	int err = 0;

	for (size_t i = 0; i < options->outputs.list.count && !err; i++) {
		const char *path = options->outputs.list.items[i];

		if (!is_stdout(path)) {
			err = probe_output(path);
			if (err)
				msg_error("%s: cannot be written: %s", path, output_error(err));
		} else if (options->format && format_by_name(options->format, &format) && isatty(STDOUT_FILENO) &&
			   (!format.writer || format.writer->gzip)) {
			msg_error("--output -: %s is no text for a terminal: redirect it", options->format);
			err = -EINVAL;
		}
	}
	return err;
}

int outputs_copy(int from, int to)
{
	AUTO_FREE char *buffer = xmalloc(COPY_BYTES);
	off_t at = 0;
	int err = 0;

	while (!err) {
		ssize_t bytes = pread(from, buffer, COPY_BYTES, at);

		if (bytes == 0)
			break;
		if (bytes < 0)
			err = -errno;
		else
			err = write_unless(to, buffer, (size_t)bytes, interrupt());
		at += bytes > 0 ? bytes : 0;
	}
	return err;
}

/* Any part of the trace knows what was asked for when it was taken; NULL: there is none. */
static const struct model *any_part(const struct writing *writing)
{
	if (!writing->trace->part)
		trace_first(writing->trace);
	return writing->trace->part;
}

static bool counts_launches(const struct writing *writing)
{
	const struct model *part;

	if (writing->options->metric != METRIC_DEFAULT)
		return writing->options->metric == METRIC_LAUNCHES;
	part = any_part(writing);
	return part && part->metric_launches;
}

/* Samples that no one asked for change no file's meaning. */
static bool has_metric(const struct writing *writing)
{
	const struct model *part;

	if (writing->options->metric != METRIC_DEFAULT)
		return true;
	part = any_part(writing);
	return part && part->samples_unasked;
}

static int write_format(const struct writing *writing, const struct format *format, int process, int fd)
{
	struct export_options options = {
		.process = process,
		.has_metric = has_metric(writing),
		.by_launches = counts_launches(writing),
		.by_idle = writing->options->metric == METRIC_IDLE,
		.by_cpu = writing->options->metric == METRIC_CPU,
		.folded_by = writing->options->folded_by,
		.attribution = writing->options->attribution,
		.most = writing->most,
		.place = writing->place,
		.cancel = interrupt(),
	};

	if (!format->writer)
		return outputs_copy(writing->log_fd, fd);
	return export_write(fd, format->writer, writing->trace, &options);
}

void outputs_say_written(const char *path, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return;
	if (stat.st_size < 1000000)
		msg_info("%s: written, %.1f KB", path, (double)stat.st_size / 1e3);
	else
		msg_info("%s: written, %.1f MB", path, (double)stat.st_size / 1e6);
}

/* Writes one file, and prints how large it is; the caller prints errors. */
static int try_file(const struct writing *writing, const char *path, int process, uint64_t *bytes)
{
	struct output output = {.fd = -1};
	struct format format;
	struct stat stat;
	int err;

	if (!format_by_path(path, &format))
		return -EINVAL;
	err = output_open(path, &output);
	if (!err)
		err = write_format(writing, &format, process, output.fd);
	if (!err)
		err = output_commit(&output);
	if (!err)
		outputs_say_written(path, output.fd);
	*bytes = !err && fstat(output.fd, &stat) == 0 ? (uint64_t)stat.st_size : 0;
	output_close(&output);
	return err;
}

static int say_why_not_written(const struct trace *trace, const char *path, const struct format *format, int err)
{
	const struct export_format *writer = format ? format->writer : NULL;
	const char *no_data = writer ? writer->no_data : NULL;

	if (writer && writer->no_data_in_file && trace->part && model_is_of_other_tool(trace->part))
		no_data = writer->no_data_in_file;
	if (err && err != -ECANCELED)
		msg_error("%s: not written: %s", path, err == -ENODATA && no_data ? no_data : output_error(err));
	return err;
}

static int say_not_written(const struct trace *trace, const char *path, int err)
{
	struct format format;

	return say_why_not_written(trace, path, format_by_path(path, &format) ? &format : NULL, err);
}

/* ---- files of a greatest size ----------------------------------------------------------------------------------- */

struct piece_writing {
	const struct writing *writing;
	struct spans *spans;
	const char *path;
	int process;	   /* -1: all */
	uint32_t pid, nth; /* index among those with that pid: a span that is read again may order processes anew */
	uint64_t start_ns, end_ns;
};

static int find_process(struct trace *trace, uint32_t pid, uint32_t nth)
{
	const struct model *model = trace_first(trace);

	for (uint32_t i = 0; model && i < model->process_count; i++)
		if (model->processes[i].pid == pid && !nth--)
			return (int)i;
	return model ? -ESRCH : trace->error;
}

static int write_piece(void *context, unsigned number, uint64_t from_ns, uint64_t to_ns, uint64_t *bytes)
{
	const struct piece_writing *all = context;
	struct writing writing = *all->writing;
	AUTO_FREE char *path = format_path_for_piece(all->path, number);
	int err, process = all->process;
	struct reading span;

	/* the first and the last also have what lies outside the recording */
	err = spans_take(all->spans, &span, from_ns == all->start_ns ? 0 : from_ns,
			 to_ns == all->end_ns ? UINT64_MAX : to_ns);
	writing.trace = span.trace;
	writing.most = writing.options->max_size;
	if (!err && process >= 0)
		process = find_process(writing.trace, all->pid, all->nth);
	if (!err)
		err = process < -1 ? process : try_file(&writing, path, process, bytes);
	if (err != -EFBIG)
		say_not_written(all->writing->trace, path, err);
	reading_close(&span);
	return err;
}

static int write_pieces(const struct writing *writing, const char *path, int process)
{
	const struct model *part = trace_first(writing->trace);
	struct piece_writing all = {.writing = writing, .path = path, .process = process};
	struct spans spans;
	struct pieces pieces = {.most = writing->options->max_size, .write = write_piece, .context = &all};
	int err;

	if (!part)
		return say_not_written(writing->trace, path, writing->trace->error);
	for (int i = 0; i < process; i++)
		all.nth += part->processes[i].pid == part->processes[process].pid;
	all.pid = process >= 0 ? part->processes[process].pid : 0;
	pieces.start_ns = all.start_ns = part->start_ns;
	pieces.end_ns = all.end_ns = part->end_ns > part->start_ns ? part->end_ns : part->start_ns;
	err = spans_open(&spans, writing->reading);
	all.spans = &spans;
	err = err ? say_not_written(writing->trace, path, err) : pieces_write(&pieces);
	spans_close(&spans);
	if (err == -EFBIG)
		msg_error("%s: not written: --max-size %s is too small: no file of this trace can be so small: take a "
			  "larger one",
			  path, writing->options->max_size_text);
	return err;
}

/* process: index into the model, -1: all. */
static int write_file(const struct writing *writing, const char *path, int process)
{
	uint64_t bytes;

	if (writing->options->max_size)
		return write_pieces(writing, path, process);
	return say_not_written(writing->trace, path, try_file(writing, path, process, &bytes));
}

/* ----------------------------------------------------------------------------------------------------------------- */

static int write_stdout(const struct writing *writing)
{
	struct format format;
	int err;

	if (!format_by_name(writing->options->format, &format))
		return -EINVAL;
	err = write_format(writing, &format, -1, STDOUT_FILENO);
	if (err && err != -ECANCELED)
		return say_why_not_written(writing->trace, "standard output", &format, err);
	return err;
}

/* needs_rank: ranks are needed although the name has no %r. */
static int write_own_files(const struct writing *writing, const char *path, bool needs_rank)
{
	struct own_files files = {0};
	int first = own_files_find(&files, writing->trace, path, needs_rank);

	if (first)
		return say_not_written(writing->trace, path, first);
	array_each (file, &files.list) {
		const struct export_place place = {.rank = file->rank};
		struct writing own = *writing;
		int err;

		own.place = &place;
		err = first != -ECANCELED ? write_file(&own, file->path, file->process) : 0;
		first = first && err != -ECANCELED ? first : err;
	}
	if (!files.list.count && format_path_is_per_rank(path)) {
		msg_error("%s: not written: the rank of no process is known: PyTorch reports it with its collectives, "
			  "which --ops records",
			  path);
		first = -ENODATA;
	} else if (!files.list.count) {
		msg_warn("%s: no process made a CUDA call or reported ops, so there is no file", path);
	}
	own_files_free(&files);
	return first;
}

static int write_into_folder(const struct writing *writing, const char *folder)
{
	const struct model *model = trace_first(writing->trace);
	const struct model_source *source = model ? model_source(model) : NULL;
	AUTO_FREE char *path = NULL;

	if (!model)
		return say_not_written(writing->trace, folder, writing->trace->error);
	path = format_path_in_folder(folder, source->host, model->start_ns + (uint64_t)source->wall_offset_ns);
	return write_own_files(writing, path, true);
}

int outputs_write(struct reading *reading, size_t skip, struct child_work *work)
{
	const struct options *options = reading->delivery->options;
	struct writing writing = {
		.options = options, .reading = reading, .trace = reading->trace, .log_fd = reading->delivery->log_fd};
	int first = 0;

	for (size_t i = 0; i < options->outputs.list.count && first != -ECANCELED; i++) {
		const char *path = options->outputs.list.items[i];
		int err;

		if (i == skip || !child_work_begins(work, is_stdout(path) ? "standard output" : path))
			continue;
		if (is_interrupted())
			err = -ECANCELED;
		else if (is_stdout(path))
			err = write_stdout(&writing);
		else if (format_path_is_folder(path))
			err = write_into_folder(&writing, path);
		else if (format_path_is_per_process(path) || format_path_is_per_rank(path))
			err = write_own_files(&writing, path, false);
		else
			err = write_file(&writing, path, -1);
		if (!first || err == -ECANCELED)
			first = err;
	}
	return first;
}

void outputs_clean(const struct options *options)
{
	for (size_t i = 0; i < options->outputs.list.count; i++) {
		AUTO_FREE char *file = outputs_file_of(options->outputs.list.items[i]);

		if (!is_stdout(file))
			output_remove_marked(file);
	}
}
