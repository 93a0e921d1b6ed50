/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Coming together with the collector that the environment names (gputrace/share.h). */
#ifndef GPUTRACE_AGENT_SHARE_JOIN_H
#define GPUTRACE_AGENT_SHARE_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/share.h>

struct joined {
	const volatile struct gpt_share_control *control;
	struct gpt_share_ring *ring; /* with its data twice */
	uint64_t bytes;		     /* of the data */
};

/* False: there is no collector, it does not answer, or what it sends is not what it should be. Nothing is left open. */
bool join(struct joined *out);

#endif
