/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the rows of line_costs.h from its sums.  For line_costs.c alone. */
#pragma once

#include "analyze/costs/line_costs.h"

void line_cost_rows_make(struct line_costs *costs, struct lines *lines, const struct torch_memory_sums *memory);
