/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#define STANDARD_STREAMS 3

/*
 * Leaves /dev/null in place of the standard streams, for a child that may outlive gputrace: a reader of gputrace's
 * output waits until the last copy of them is closed.
 */
void standard_streams_leave(void);
