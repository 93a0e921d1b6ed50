/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PyTorch's number of each thread.  A backward op of a Kineto trace names the thread of its forward op by that number
 * ("Fwd thread id"), but forward ops do not have it.  An arrow from a forward op to its backward op ("fwdbwd") gives
 * the number, once for all ops of the thread.  If a process has ops with sequence numbers on one thread only, no arrow
 * is needed.
 */
#pragma once

#include "input/rows/foreign_file.h"

struct kineto_arrow;	/* by its id */
struct kineto_backward; /* op, by thread and start */
struct kineto_forwards; /* of a process */

/* Keeps only the latest arrows and ops. */
struct kineto_threads {
	struct kineto_arrow *arrows;	   /* NULL: none yet */
	struct kineto_backward *backwards; /* the same */
	ARRAY(struct kineto_forwards) processes;
	struct lookup process_lookup; /* (1, pid) */
};

struct kineto_moment {
	uint64_t time_ns;
	uint32_t pid, tid;
};

void kineto_threads_close(struct kineto_threads *threads);

/* An op with a sequence number; forward_thread: 0 for a forward op. */
void kineto_threads_op(struct kineto_threads *threads, struct foreign_file *file, struct kineto_moment at,
		       uint64_t forward_thread);
/* The two ends of an arrow. */
void kineto_threads_begin_arrow(struct kineto_threads *threads, struct foreign_file *file, struct kineto_moment at,
				uint64_t id);
void kineto_threads_end_arrow(struct kineto_threads *threads, struct foreign_file *file, struct kineto_moment at,
			      uint64_t id);

/* At the end of the file: adds numbers that follow without arrows. */
void kineto_threads_finish(struct kineto_threads *threads, struct foreign_file *file);
