/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/error_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

uint64_t file_size_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

const char *error_text(int error)
{
	static _Thread_local char text[160];
	struct rlimit limit;

	error = abs(error);
	if (error == EMFILE && !getrlimit(RLIMIT_NOFILE, &limit))
		snprintf(text, sizeof(text),
			 "%s: the limit is %llu (ulimit -n): raise it, as by ulimit -n 4096, before gputrace",
			 strerror(error), (unsigned long long)limit.rlim_cur);
	else if (error == EFBIG && file_size_limit() != UINT64_MAX)
		snprintf(text, sizeof(text),
			 "%s: the limit is %llu KB a file (ulimit -f): raise it, as by ulimit -f unlimited",
			 strerror(error), (unsigned long long)(file_size_limit() >> 10));
	else
		return strerror(error);
	return text;
}
