/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Connecting to a collector (gputrace/share.h). */
#pragma once

#include <stdbool.h>

#include <gputrace/share.h>

#include "agent/share/ring.h"

struct joined {
	const volatile struct gpt_share_control *control;
	struct own_ring *ring;
};

/*
 * name: of its socket. patient: the program does not wait for the calling thread. False: there is no collector, it does
 * not answer, or its messages are invalid. Nothing is left open.
 */
bool join(const char *name, bool patient, struct joined *out);

/* Whether the peer of the socket is of the same user, or root: any user can bind a free name. */
bool share_trusts(int connection);
