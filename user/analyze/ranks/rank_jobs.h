/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logs that do not belong together: recordings and ranks that are there twice, and ranks of several jobs. */
#pragma once

#include "analyze/ranks/ranks.h"

/*
 * ranks: with its rows.  Sets ranks.world.  Returns NULL, or why they do not belong together, which the caller frees.
 * trusts_caller: ranks whose environments name different jobs are accepted.
 */
char *rank_jobs_refuse(struct ranks *ranks, bool trusts_caller);
