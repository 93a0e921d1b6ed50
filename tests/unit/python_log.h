/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of recorded Python function calls. */
#pragma once

#include "model_of.h"

#define MAIN 0x1000
#define STEP 0x2000
#define FORWARD 0x3000
#define MS 1000000ull

LOG_FN void python_log_begin(struct log_builder *log)
{
	log_begin(log, 0, 0);
	log_function(log, PID, MAIN, "main", "/src/train.py", 90);
	log_function(log, PID, STEP, "step", "/src/train.py", 20);
	log_function(log, PID, FORWARD, "forward", "/src/model.py", 40);
	/* forward, called from two lines of step; and step alone */
	log_stack(log, PID, 1, 3,
		  (struct gpt_pyframe[]){{.code = FORWARD, .lasti = 4}, {.code = STEP, .lasti = 6}, {.code = MAIN}});
	log_stack(log, PID, 2, 3,
		  (struct gpt_pyframe[]){{.code = FORWARD, .lasti = 4}, {.code = STEP, .lasti = 8}, {.code = MAIN}});
	log_stack(log, PID, 3, 2, (struct gpt_pyframe[]){{.code = STEP, .lasti = 6}, {.code = MAIN}});
}

LOG_FN void python_log_call(struct log_builder *log, uint64_t ms, uint64_t frame, uint64_t code)
{
	struct gpt_pycall record = {.time_ns = ms * MS, .pid = PID, .tid = PID, .code = code, .frame = frame};

	log_put(log, GPT_PYCALL, &record, sizeof(record), NULL, 0);
}
