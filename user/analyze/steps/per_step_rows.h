/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the rows of tables (per_step_tables.h) whose values are known. */
#pragma once

#include "analyze/steps/per_step_tables.h"

void per_step_rows_make(struct per_step_tables *tables, struct analyses *all, const struct step_blocks *blocks);

/* Those of one process: per_step_tables_make_of. */
void per_step_rows_make_of(struct per_step_tables *tables, struct analyses *all, const struct step_blocks *blocks,
			   uint32_t device);
