/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report of a log in memory; the caller frees it. */
#pragma once

#include "model_of.h"
#include "report/report.h"
#include "whole_trace.h"

/* Ends the log. */
LOG_FN char *report_of(struct log_builder *log)
{
	struct model *model;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	log_end(log, 1000000);
	model = model_of(log);
	assert_int_equal(report_write(out, WHOLE_TRACE(model), &(struct report_options){.width = 100}), 0);
	fclose(out);
	model_free(model);
	return text;
}
