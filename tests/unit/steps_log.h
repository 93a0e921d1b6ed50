/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of training steps: a log with nine of them, and its trace with the steps found. */
#pragma once

#include "ops_log.h"

#include "model/steps/steps.h"
#include "model/trace.h"
#include "whole_trace.h"

#define STEP_US 50u
#define STEPS 9u
#define SLOW 6u /* the step that takes twice as long */

enum { ADAM = 10, COPY, MM };

static void add_op(struct ops_log *ops, uint32_t name, uint64_t start_us, uint64_t end_us)
{
	ops_log_op(ops, (struct gpt_agent_op){.start_ns = start_us,
					      .end_ns = end_us,
					      .name = name,
					      .sequence = -1,
					      .scope = name == ADAM ? GPT_AGENT_OP_USER_SCOPE : GPT_AGENT_OP_FUNCTION});
}

/*
 * Steps 0 to 8: each ends with an optimizer, has an op and a launch of 15 us. Step 6 takes twice as long because of a
 * copy of 45 us, and has 25 us more GPU work.
 */
__attribute__((unused)) static struct ops_log steps_log(void)
{
	struct ops_log ops = {0};
	uint64_t at_us = 100;

	log_begin(&ops.log, 10, 0);
	log_process(&ops.log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&ops.log, PID, TID, 900000);
	log_agent_name(&ops.log, 1, "kernel");
	log_agent_op_name(&ops.log, ADAM, "Optimizer.step#Adam.step");
	log_agent_op_name(&ops.log, COPY, "aten::copy_");
	log_agent_op_name(&ops.log, MM, "aten::mm");
	for (uint32_t i = 0; i < STEPS; i++) {
		uint64_t wall_us = i == SLOW ? 2 * STEP_US : STEP_US;

		log_batch(&ops.log, PID, TID, 900000);
		add_op(&ops, MM, at_us + 5, at_us + 10);
		if (i == SLOW)
			add_op(&ops, COPY, at_us + 35, at_us + 80);
		add_op(&ops, ADAM, at_us + wall_us - 1, at_us + wall_us);
		ops_log_launch(&ops, TID, at_us + 6, 15);
		if (i == SLOW)
			ops_log_launch(&ops, TID, at_us + 50, 25);
		at_us += wall_us;
	}
	return ops;
}

/* A model's trace with its steps found. */
struct found {
	struct model *model;
	struct trace_of_model of;
	struct steps steps;
};

__attribute__((unused)) static struct trace *find(struct found *found, struct ops_log *ops)
{
	struct trace *trace;

	log_end(&ops->log, 1000000);
	found->model = model_of(&ops->log);
	trace = trace_of_model(&found->of, found->model);
	assert_int_equal(steps_find(&found->steps, trace, &(struct step_request){0}), 0);
	trace->steps = &found->steps;
	return trace;
}

__attribute__((unused)) static void found_free(struct found *found)
{
	steps_free(&found->steps);
	model_free(found->model);
}
