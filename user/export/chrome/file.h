/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One file that is being written: what its parts have in common. */
#ifndef GPUTRACE_CHROME_FILE_H
#define GPUTRACE_CHROME_FILE_H

#include "export/chrome/codes.h"
#include "export/chrome/numbers.h"
#include "export/chrome/stacks.h"
#include "export/format.h"
#include "export/sink.h"
#include "timeline/timeline.h"

struct chrome {
	struct sink *out;
	const struct timeline *timeline;
	uint64_t start_ns;		   /* that times are counted from, on the file's clock */
	const char *const *process_labels; /* by model.processes, NULL: "CPU"; all NULL: those of all */
	const char *gpu_label;		   /* of the GPUs of one of several timelines: whose they are */
	const struct export_place *place;  /* NULL: it is the log's own */
	struct chrome_numbers numbers;
	struct chrome_codes codes;
	struct chrome_stacks stacks;
	struct sink text; /* of the stack at hand */
};

#endif
