/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of what changed most between two traces: lines, kernels, ops, and other costs of lines. */
#pragma once

#include "analyze/steps/differences.h"
#include "report/page/page.h"

void difference_put_rows(struct report *report, const struct differences *all, const char *id, const char *title,
			 const struct difference_rows *rows, const char *name);
/* What is lost, waited for and held, by line. */
void difference_put_costs(struct report *report, const struct differences *all);
