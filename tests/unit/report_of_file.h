/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of what is printed of other tools' files: a file of few events, and the text that a report makes of it. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "database_builder.h"
#include "report/report.h"
#include "report/why/why.h"

#define EVENT(category, name, ts, dur, args)                                                                           \
	"{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":70,\"tid\":71,\"ts\":" ts                \
	",\"dur\":" dur ",\"args\":{" args "}}"
#define OP EVENT("cpu_op", "aten::add", "10", "5", "")
#define CALL EVENT("cuda_runtime", "cudaLaunchKernel", "12", "1", "\"cbid\":211,\"correlation\":5")
#define KERNEL                                                                                                         \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":9,"                     \
	"\"args\":{\"device\":0,\"stream\":7,\"correlation\":5}}"
#define FUNCTION EVENT("python_function", "/a.py(3): f", "5", "50", "")

typedef int write_fn(FILE *out, struct trace *trace);

__attribute__((unused)) static int write_report(FILE *out, struct trace *trace)
{
	return report_write(out, trace, &(struct report_options){.width = 100});
}

__attribute__((unused)) static int write_why(FILE *out, struct trace *trace)
{
	return report_write_why(out, trace, &(struct report_options){.width = 100});
}

/* Closes the trace. */
__attribute__((unused)) static char *said_of(write_fn *write, struct trace *trace)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write(out, trace), 0);
	fclose(out);
	two_pass_trace_close(trace);
	return text;
}

__attribute__((unused)) static char *said(write_fn *write, const char *document)
{
	return said_of(write, open_file(file_of_bytes(document, strlen(document)), &in_one));
}

__attribute__((unused)) static void assert_says(write_fn *write, const char *document, const char *expected)
{
	char *text = said(write, document);

	if (!strstr(text, expected))
		fail_msg("not in it: %s\n%s", expected, text);
	free(text);
}
