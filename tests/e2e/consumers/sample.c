/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the sample run of tests/unit/test_export_log.h into a folder in every format, for checks with real
 * consumers:  sample FOLDER PROCESSES STEPS [parts|hostile|cpu]
 * parts: reads it like a long log, in the smallest parts.  hostile: a function, its file and a kernel have a name of
 * all control characters, characters that formats use as marks, and invalid UTF-8.  cpu: with samples and waits of
 * threads, and clocks of the GPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "input/gpt/gpt_trace.h"
#include "report/report.h"
#include "report/sums/activities.h"
#include "test_export_log.h"

static int write_format(const char *folder, const struct export_format *format, struct trace *trace)
{
	const struct export_options options = {.process = -1};
	char path[4096];
	int fd, error;

	snprintf(path, sizeof(path), "%s/sample%s", folder, format->suffixes[0]);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		return -1;
	error = export_write(fd, format, trace, &options);
	if (error == -ENODATA && format->no_data)
		error = 0; /* the run has no data of PyTorch */
	return close(fd) || error ? -1 : 0;
}

static const char *hostile_name(void)
{
	static char name[128];
	size_t length = 0;

	for (int c = 1; c < 0x20; c++)
		name[length++] = (char)c;
	snprintf(name + length, sizeof(name) - length, "%s",
		 "\x7f\"\\;<>&'%%(){}[]\xff\xc3\xed\xa0\x80\xe2\x80\xae\xf0\x9f\x98\x80\xf0\x9f");
	return name;
}

/* The report's tables, and the activity lists like nvprof's. */
static int write_tables(const char *folder, const struct table_format *format, struct trace *trace)
{
	const struct report_options options = {.format = format};
	char path[4096];
	FILE *out;
	int error;

	snprintf(path, sizeof(path), "%s/tables.%s", folder, format->name);
	out = fopen(path, "w");
	error = out ? report_write(out, trace, &options) : -1;
	if (out)
		fclose(out);
	snprintf(path, sizeof(path), "%s/activities.%s", folder, format->name);
	out = fopen(path, "w");
	if (!out || error)
		return -1;
	error = report_write_activities(out, trace, &options, LIST_GPU_TRACE | LIST_GPU_SUM | LIST_API_SUM);
	return fclose(out) || error ? -1 : 0;
}

int main(int argc, char **argv)
{
	const struct report_options options = {.width = 100};
	const struct trace_division whole = {.whole_bytes = UINT64_MAX}, parts = {.chunk_records = 1, .part_events = 1};
	struct sample sample = {0};
	struct trace *trace;
	const char *why, *how = argc == 5 ? argv[4] : "";
	int fd, failed = 0;

	if (argc != 4 && argc != 5)
		return 2;
	sample.name = strcmp(how, "hostile") ? NULL : hostile_name();
	sample.cpu = !strcmp(how, "cpu");
	fd = sample_log_of(sample, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
	if (gpt_trace_open(fd, strcmp(how, "parts") ? &whole : &parts, NULL, &trace, &why)) {
		fprintf(stderr, "%s\n", why ? why : "gpt_trace_open failed");
		return 1;
	}
	for (const struct export_format *format = export_formats; format->name; format++)
		failed |= write_format(argv[1], format, trace);
	failed |= write_tables(argv[1], &table_format_csv, trace);
	failed |= write_tables(argv[1], &table_format_json, trace);
	failed |= write_tables(argv[1], &table_format_md, trace);
	failed |= report_write(stdout, trace, &options);
	gpt_trace_close(trace);
	close(fd);
	return failed ? 1 : 0;
}
