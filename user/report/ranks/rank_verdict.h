/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the page of several ranks begins: who comes last, since when, where, and what its process and GPU did. */
#pragma once

#include "report/page/page.h"
#include "report/ranks/ranks.h"

void report_rank_verdict(struct report *report, const struct report_job *job);
