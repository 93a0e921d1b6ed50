/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For tests of PyTorch's ops: a step of training on two threads, times in us.
 *
 *	main thread  |step 100.................................................300|
 *	               |linear 110...........150| launch 160 (a 5 us kernel, in step)
 *	                |addmm 115......148|
 *	                   launch 120 (10 us), launch 130 (20 us)
 *	engine                                    |AddmmBackward0 200.....260|
 *	                                             |mm 210..240| launch 220 (40 us)
 *	main thread  launch 400 (1 us, in no op)
 */
#pragma once

#include "model_of.h"

#define ENGINE (TID + 5) /* the thread of the autograd engine */

struct ops_log {
	struct log_builder log;
	uint32_t corr;
};

static void ops_log_op(struct ops_log *ops, struct gpt_agent_op op)
{
	op.start_ns *= 1000;
	op.end_ns *= 1000;
	op.tid = op.tid ? op.tid : TID;
	log_agent_op(&ops->log, &op);
}

static void ops_log_launch(struct ops_log *ops, uint32_t tid, uint64_t time_us, uint64_t gpu_us)
{
	log_launch(&ops->log, PID, tid, time_us * 1000, 0, ++ops->corr);
	log_batch(&ops->log, PID, TID, 900000);
	log_agent_api(&ops->log,
		      (struct gpt_agent_api){
			      .end_ns = time_us * 1000 + 2000, .corr = ops->corr, .tid = tid, .api = CUDA_LAUNCH});
	log_agent_kernel(&ops->log, (struct gpt_agent_kernel){.start_wall_ns = time_us * 1000 + 5000,
							      .end_wall_ns = (time_us + 5 + gpu_us) * 1000,
							      .corr = ops->corr,
							      .name = 1});
}

/* The whole log without its end. */
static struct ops_log ops_log_begin(void)
{
	static const char *const names[] = {"",	       "step \"1\"", "aten::linear", "aten::addmm", "AddmmBackward0",
					    "aten::mm"};
	struct ops_log ops = {0};

	log_begin(&ops.log, 10, 0);
	log_process(&ops.log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&ops.log, PID, TID, 900000);
	log_agent_name(&ops.log, 1, "kernel");
	for (uint32_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		log_agent_op_name(&ops.log, i, names[i]);
	log_agent_ops(&ops.log, GPT_AGENT_OPS_OBSERVING, 0, "");
	log_agent_op_inputs(&ops.log, 1, "[[8], []] [\"float\", \"Scalar\"] [[1], []] [\"\", \"0.5\"]");
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 115,
					       .end_ns = 148,
					       .name = 3,
					       .sequence = 7,
					       .thread = 1,
					       .inputs = 1 | GPT_AGENT_NAME_OF_INPUTS});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 110, .end_ns = 150, .name = 2, .sequence = 7, .thread = 1});
	ops_log_op(&ops,
		   (struct gpt_agent_op){
			   .start_ns = 210, .end_ns = 240, .name = 5, .sequence = -1, .thread = 2, .tid = ENGINE});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 200,
					       .end_ns = 260,
					       .name = 4,
					       .sequence = 7,
					       .thread = 2,
					       .forward_thread = 1,
					       .tid = ENGINE,
					       .scope = GPT_AGENT_OP_BACKWARD_FUNCTION});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 100,
					       .end_ns = 300,
					       .name = 1,
					       .sequence = -1,
					       .thread = 1,
					       .scope = GPT_AGENT_OP_USER_SCOPE});
	ops_log_launch(&ops, TID, 120, 10);
	ops_log_launch(&ops, TID, 130, 20);
	ops_log_launch(&ops, TID, 160, 5);
	ops_log_launch(&ops, ENGINE, 220, 40);
	ops_log_launch(&ops, TID, 400, 1);
	return ops;
}

__attribute__((unused)) static struct model *ops_model(void)
{
	struct ops_log ops = ops_log_begin();

	log_end(&ops.log, 1000000);
	return model_of(&ops.log);
}
