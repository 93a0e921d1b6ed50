/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `gputrace serve` makes of a log of the last seconds: sums, or a profile.  Each is made by a child: what a traced
 * program wrote can at most end that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "top/live_sums.h"

struct serve_work {
	pid_t pid;	   /* of the child at work; 0: none */
	int done;	   /* becomes readable when it has ended; -1: none is at work */
	uint64_t until_ns; /* it is ended then */
	uint64_t from_ns, to_ns;
	uint64_t cpu_ns;	/* that the latest one took */
	struct live_sums *sums; /* shared with it */
};

enum serve_result {
	SERVE_WORKS, /* not over yet */
	SERVE_GOOD,
	SERVE_BAD,
};

/* The sums of work that makes some; 0 or -errno. */
int serve_work_open(struct serve_work *work);

struct serve_profiles {
	const char *folder;
	unsigned keep;
};

/*
 * Begins with the span of that log, whose descriptor it takes over.  profiles: NULL: sums are made.  False: no child
 * could be started.
 */
bool serve_work_begin(struct serve_work *work, int log_fd, uint64_t from_ns, uint64_t to_ns,
		      const struct serve_profiles *profiles);

/* Whether it is over.  What takes too long is bad. */
enum serve_result serve_work_check(struct serve_work *work, uint64_t now_ns);
