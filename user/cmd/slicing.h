/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slice that the command line asks for, found in a recording: its times, processes, thread and GPU. */
#ifndef GPUTRACE_SLICING_H
#define GPUTRACE_SLICING_H

#include "cmd/exit_code.h"
#include "cmd/options/options.h"
#include "model/slice/slice.h"
#include "model/steps/steps.h"

struct slicing {
	struct slice slice;
	bool *processes, *threads; /* what the slice points to */
	struct slice_span *spans;
	char *words; /* "5.0 s to 10.0 s of 63.2 s; GPU 1" */
};

/* The times that options ask for, 0 and UINT64_MAX: no bound; they may lie anywhere. */
void slicing_times(const struct slice_options *options, const struct moment_clock *clock, uint64_t *from_ns,
		   uint64_t *to_ns);

/* A process id, 0: the name of a process. */
uint32_t slicing_pid(const char *process);

/*
 * EXIT_GOOD; EXIT_FAILED, when there is no such thing in the recording, or EXIT_USAGE, when nothing can lie in the
 * slice: then a message has said so.  recorded: any part of it.  Free it in any case.
 */
enum exit_code slicing_find(struct slicing *slicing, const struct slice_options *options, const struct model *recorded,
			    const char *log_name);

/* The same in a part of a recording that need not have what is in it: with these times, and nothing is said. */
void slicing_find_span(struct slicing *slicing, const struct slice_options *options, const struct model *recorded,
		       uint64_t from_ns, uint64_t to_ns);
/* Narrows it to the times of these steps, of each process to those of its own. */
void slicing_add_steps(struct slicing *slicing, const struct steps *steps, const struct model *recorded);

/* Says which steps a cycle has. */
void slicing_name_steps(struct slicing *slicing, const struct steps *steps);
void slicing_free(struct slicing *slicing);

#endif
