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

/* The limit of memory that is set, with its option of ulimit; NULL: none. */
static const char *memory_limit(uint64_t *bytes)
{
	static const struct {
		int resource;
		const char *option;
	} limits[] = {{RLIMIT_AS, "-v"}, {RLIMIT_DATA, "-d"}};
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (!getrlimit(limits[i].resource, &limit) && limit.rlim_cur != RLIM_INFINITY) {
			*bytes = limit.rlim_cur;
			return limits[i].option;
		}
	return NULL;
}

/* What both functions below return. */
static _Thread_local char text[192];

const char *start_error_text(int error)
{
	struct rlimit limit;

	if (abs(error) != EAGAIN)
		return error_text(error);
	if (!getrlimit(RLIMIT_NPROC, &limit) && limit.rlim_cur != RLIM_INFINITY)
		snprintf(text, sizeof(text),
			 "no more processes and threads are allowed: the limit is %llu for a user (ulimit -u), or "
			 "pids.max of the cgroup: raise it",
			 (unsigned long long)limit.rlim_cur);
	else
		snprintf(text, sizeof(text),
			 "no more processes and threads are allowed: pids.max of the cgroup is the limit: raise it");
	return text;
}

const char *error_text(int error)
{
	const char *option;
	struct rlimit limit;
	uint64_t bytes;

	error = abs(error);
	if (error == EMFILE && !getrlimit(RLIMIT_NOFILE, &limit))
		snprintf(text, sizeof(text),
			 "%s: the limit is %llu (ulimit -n): raise it, as by ulimit -n 4096, before gputrace",
			 strerror(error), (unsigned long long)limit.rlim_cur);
	else if (error == EFBIG && file_size_limit() != UINT64_MAX)
		snprintf(text, sizeof(text),
			 "%s: the limit is %llu KB a file (ulimit -f): raise it, as by ulimit -f unlimited",
			 strerror(error), (unsigned long long)(file_size_limit() >> 10));
	else if (error == ENOMEM && (option = memory_limit(&bytes)))
		snprintf(text, sizeof(text),
			 "%s: the limit is %llu KB of memory (ulimit %s): raise it, as by ulimit %s unlimited",
			 strerror(error), (unsigned long long)(bytes >> 10), option, option);
	else
		return strerror(error);
	return text;
}
