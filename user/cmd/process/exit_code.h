/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gputrace's exit codes; docs/gputrace.1 says when each is used. With a COMMAND they are COMMAND's (record.c). */
#pragma once

enum exit_code {
	EXIT_GOOD = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_INCOMPLETE = 3,
	EXIT_ABOVE = 4,	       /* diff: more than --fail-above */
	EXIT_STANDS_STILL = 4, /* dump: a process makes no progress */
	/* With a COMMAND instead of EXIT_FAILED, which may be COMMAND's own; as of env(1), timeout(1), docker run. */
	EXIT_OWN_FAILURE = 125,
};
