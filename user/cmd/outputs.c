/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Brings formats, files and the model together; formats and files do not know each other. */
#include "cmd/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/format.h"
#include "cmd/interrupt.h"
#include "cmd/output.h"
#include "export/export.h"

#define COPY_BYTES (1u << 20)

struct writing {
	const struct options *options;
	const struct model *model;
	struct trace *trace; /* the same */
	int log_fd;
};

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

int outputs_check(const struct options *options)
{
	struct format format;
	int err = 0;

	for (size_t i = 0; i < options->outputs.list.count && !err; i++) {
		const char *path = options->outputs.list.items[i];

		if (!is_stdout(path)) {
			err = output_probe(path);
			if (err)
				msg_error("%s: cannot be written: %s", path, output_error(err));
		} else if (format_by_name(options->format, &format) && isatty(STDOUT_FILENO) &&
			   (!format.writer || format.writer->gzip)) {
			msg_error("--output -: %s is no text for a terminal: redirect it", options->format);
			err = -EINVAL;
		}
	}
	return err;
}

static int copy_log(int from, int to)
{
	char *buffer = xmalloc(COPY_BYTES);
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
	free(buffer);
	return err;
}

static bool counts_launches(const struct writing *writing)
{
	if (writing->options->metric == METRIC_DEFAULT)
		return writing->model->metric_launches;
	return writing->options->metric == METRIC_LAUNCHES;
}

static int write_format(const struct writing *writing, const struct format *format, int process, int fd)
{
	struct export_options options = {
		.process = process,
		.by_launches = counts_launches(writing),
		.cancel = interrupt(),
	};

	if (!format->writer)
		return copy_log(writing->log_fd, fd);
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

/* process: index into the model, -1 all. */
static int write_file(const struct writing *writing, const char *path, int process)
{
	struct output output = {.fd = -1};
	struct format format;
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
	else if (err != -ECANCELED)
		msg_error("%s: not written: %s", path, output_error(err));
	output_close(&output);
	return err;
}

static int write_stdout(const struct writing *writing)
{
	struct format format;
	int err;

	if (!format_by_name(writing->options->format, &format))
		return -EINVAL;
	err = write_format(writing, &format, -1, STDOUT_FILENO);
	if (err && err != -ECANCELED)
		msg_error("standard output: not written: %s", strerror(-err));
	return err;
}

static bool has_work(const struct model_process *process)
{
	return process->calls || process->gpu_ops;
}

/* How many processes before this one have its pid (pids are used again) and a file of their own. */
static unsigned count_namesakes(const struct model *model, uint32_t process)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < process; i++)
		count += model->processes[i].pid == model->processes[process].pid && has_work(&model->processes[i]);
	return count;
}

static int write_per_process(const struct writing *writing, const char *path)
{
	const struct model *model = writing->model;
	unsigned written = 0;
	int first = 0;

	for (uint32_t i = 0; i < model->process_count && first != -ECANCELED; i++) {
		unsigned namesakes = count_namesakes(model, i);
		char *name, *own;
		int err;

		if (!has_work(&model->processes[i]))
			continue;
		name = namesakes ? xasprintf("%u.%u", model->processes[i].pid, namesakes + 1)
				 : xasprintf("%u", model->processes[i].pid);
		own = format_path_for_process(path, name);
		err = write_file(writing, own, (int)i);
		first = first ? first : err;
		written++;
		free(own);
		free(name);
	}
	if (!written)
		msg_warn("%s: no process made a CUDA call, so there is no file", path);
	return first;
}

int outputs_write(const struct options *options, const struct model *model, int log_fd, size_t skip)
{
	struct trace_of_model of;
	struct writing writing = {
		.options = options, .model = model, .trace = trace_of_model(&of, model), .log_fd = log_fd};
	int first = 0;

	for (size_t i = 0; i < options->outputs.list.count && first != -ECANCELED; i++) {
		const char *path = options->outputs.list.items[i];
		int err;

		if (i == skip)
			continue;
		if (is_interrupted())
			err = -ECANCELED;
		else if (is_stdout(path))
			err = write_stdout(&writing);
		else if (format_path_is_per_process(path))
			err = write_per_process(&writing, path);
		else
			err = write_file(&writing, path, -1);
		if (!first || err == -ECANCELED)
			first = err;
	}
	return first;
}
