/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slice that the command line asks for, found in a recording: its times, processes, thread and GPU. */
#pragma once

#include "cmd/process/exit_code.h"
#include "cmd/options/options.h"
#include "model/slice/slice.h"
#include "model/steps/steps.h"

struct slicing {
	struct slice slice;
	bool *processes, *threads; /* arrays that the slice points to */
	struct slice_span *spans;
	char *words; /* "5.0 s to 10.0 s of 63.2 s; GPU 1" */
};

/* The times that the options ask for, which may lie outside the recording; 0 and UINT64_MAX: no bound. */
void slicing_times(const struct slice_options *options, const struct moment_clock *clock, uint64_t *from_ns,
		   uint64_t *to_ns);

/* The process id that the text is; 0: it is the name of a process. */
uint32_t slicing_pid(const char *process);

/*
 * EXIT_GOOD; EXIT_FAILED: the recording lacks what the slice names; EXIT_USAGE: nothing can lie in the slice.  A
 * message has then said so.  recorded: any part of the recording.  Free it in any case.
 */
enum exit_code slicing_find(struct slicing *slicing, const struct slice_options *options, const struct model *recorded,
			    const char *log_name);

/* The same with these times, without messages: the part need not have all that the slice names. */
void slicing_find_span(struct slicing *slicing, const struct slice_options *options, const struct model *recorded,
		       uint64_t from_ns, uint64_t to_ns);
/* Narrows the slice to the times of these steps: each process to its own steps. */
void slicing_add_steps(struct slicing *slicing, const struct steps *steps, const struct model *recorded);

/* Adds to `words` which steps the cycle has. */
void slicing_name_steps(struct slicing *slicing, const struct steps *steps);
void slicing_free(struct slicing *slicing);
