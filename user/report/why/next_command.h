/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command that shows more of the largest loss, or of the line that owns most. */
#pragma once

#include "analyze/analyze.h"
#include "analyze/why/why_findings.h"

/*
 * "Next: gputrace why", typed as it is.  finding: the largest loss; NULL: none is worth a line.  has_caution: what is
 * missing has been said.
 */
char *next_command(const struct analyses *all, const struct why_finding *finding, bool has_caution);
