/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of user/analyze: the sample run (test_export_log.h) as a model, and checks of a row's line. */
#pragma once

#include "model_of.h"
#include "sample_model.h"
#include "whole_trace.h"

#include "analyze/analyze.h"
#include "idle_check.h"

/* Runs the analyses over a whole model, and checks its account of idle time. */
__attribute__((unused)) static void analyze_model(struct analyses *all, const struct model *model,
						  const enum analysis *which)
{
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(analyze(all, WHOLE_TRACE(model), which, NULL), 0);
}

__attribute__((unused)) static bool is_line(const struct analyses *all, uint32_t line, const char *label)
{
	char *found = line_label(&all->lines, line);
	bool same = !strcmp(found, label);

	free(found);
	return same;
}

__attribute__((unused)) static void assert_line(const struct analyses *all, uint32_t line, const char *label)
{
	char *found = line_label(&all->lines, line);

	assert_string_equal(found, label);
	free(found);
}
