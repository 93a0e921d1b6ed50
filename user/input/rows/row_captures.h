/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When the streams of a process were captured into graphs, by the calls that begin and end a capture: what is launched
 * meanwhile becomes a node of a graph and runs only when the graph does.  Other tools do not say it of the launch.  The
 * thread that begins a capture also ends it; meanwhile other threads, such as autograd's, may add to the graph.
 */
#pragma once

#include "input/rows/foreign_file.h"

/* Adds the row of a call, and notes whether it begins or ends a capture. */
void row_captures_add_call(struct foreign_file *file, const struct row_call *call);

/*
 * After the last row: makes captures of what was noted.  What a process launches meanwhile became a node of a graph.  A
 * capture whose end is not in the file has no known launches.
 */
void row_captures_finish(struct foreign_file *file);
