/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stacks of a row of `gputrace top`: of which time they are, and as lines of text. */
#pragma once

enum top_time {
	TOP_GPU_TIME,  /* of GPU work, by who launched it */
	TOP_IDLE_TIME, /* of GPUs that are idle, by who kept them waiting */
	TOP_CPU_TIME,
};

/*
 * The stacks of the folded text that contain `needle`, largest first, as lines; the caller frees them.  Of idle time it
 * must be in the part that is to blame: after the cause, where anything follows that.
 */
char *top_stacks(const char *folded, const char *needle, enum top_time time);
