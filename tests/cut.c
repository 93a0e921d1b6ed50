/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a log as a whole and writes the output of the log when it is cut into parts (unit/trace_cut.h), to compare it
 * with the output of the whole:
 *
 *	cut EVENTS FORMAT LOG	a part has about EVENTS events, 0: one part; FORMAT: report, json, folded
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "log_model.h"
#include "report/report.h"
#include "trace_cut.h"
#include "whole_trace.h"

static int write_format(struct trace *trace, const char *name)
{
	const struct report_options report = {.width = 100};
	const struct export_options options = {.process = -1};
	const struct export_format *format = export_format_by_name(name);

	if (!strcmp(name, "report"))
		return report_write(stdout, trace, &report);
	return format ? export_write(STDOUT_FILENO, format, trace, &options) : -1;
}

int main(int argc, char **argv)
{
	struct trace_of_model whole;
	struct trace *cut = NULL;
	struct model *model;
	const char *why = "";
	int fd, error;
	long events;

	if (argc != 4)
		return 2;
	events = strtol(argv[1], NULL, 0);
	fd = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || model_build(fd, &model, &why)) {
		fprintf(stderr, "cut: %s: %s\n", argv[3], why ? why : "not read");
		return 1;
	}
	if (events > 0)
		cut = trace_cut_each(model, (uint32_t)events);
	error = write_format(cut ? cut : trace_of_model(&whole, model), argv[2]);
	if (cut)
		trace_cut_free(cut);
	model_free(model);
	close(fd);
	return error ? 1 : 0;
}
