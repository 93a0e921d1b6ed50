/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For tests of backward passes: layers on the main thread with a sampled Python stack, and nodes on the engine's thread
 * with the stack of the call to backward(). Times in us; one GPU operation for each launch.
 */
#pragma once

#include "model_of.h"

#define ENGINE (TID + 5) /* the thread of the autograd engine */
#define FORWARD_THREAD 1 /* PyTorch's number of the main thread; the next one is the engine's */
#define ENGINE_THREAD 2
#define STEP_LINE 40 /* the line that calls backward() */

struct forward_log {
	struct log_builder log;
	uint32_t corr, names;
	uint64_t taken;
};

static uint64_t forward_log_stack(struct forward_log *forward, const char *function, uint32_t line)
{
	uint64_t code = 0xc0de0000 + 16 * (uint64_t)line;

	log_function(&forward->log, PID, code, function, "/src/model.py", line - 3);
	log_stack(&forward->log, PID, code + 1, 1, (struct gpt_pyframe[]){{.code = code, .lasti = 6}});
	return code + 1;
}

static struct forward_log forward_log_begin(void)
{
	struct forward_log forward = {0};

	log_begin(&forward.log, 10, 0);
	log_process(&forward.log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&forward.log, PID, TID, 900000000);
	log_agent_name(&forward.log, 1, "kernel");
	log_agent_ops(&forward.log, GPT_AGENT_OPS_OBSERVING, 0, "");
	return forward;
}

/* An op; line: that of its sampled stack, 0: it has none. */
static void forward_log_op(struct forward_log *forward, const char *name, struct gpt_agent_op op, uint32_t line)
{
	struct log_builder *log = &forward->log;

	op.tid = op.tid ? op.tid : TID;
	op.start_ns *= 1000;
	op.end_ns *= 1000;
	op.name = ++forward->names;
	if (line) {
		op.stack = ++forward->taken;
		log_stack_at(log, (struct gpt_stack_at){.time_ns = op.start_ns - 1,
							.stack_id = forward_log_stack(
								forward, line == STEP_LINE ? "step" : "forward", line),
							.number = op.stack,
							.pid = PID,
							.tid = op.tid,
							.what = GPT_STACK_OF_OP});
	}
	log_batch(log, PID, TID, 900000000);
	log_agent_op_name(log, op.name, name);
	log_agent_op(log, &op);
}

/* A forward op of the main thread with a sequence number. */
static void forward_log_layer(struct forward_log *forward, const char *name, uint64_t start_us, uint64_t end_us,
			      int64_t sequence, uint32_t line)
{
	forward_log_op(forward, name,
		       (struct gpt_agent_op){
			       .start_ns = start_us, .end_ns = end_us, .sequence = sequence, .thread = FORWARD_THREAD},
		       line);
}

/* A node on the engine's thread. */
static void forward_log_node(struct forward_log *forward, const char *name, uint64_t start_us, uint64_t end_us,
			     int64_t sequence, uint64_t forward_thread)
{
	forward_log_op(forward, name,
		       (struct gpt_agent_op){.start_ns = start_us,
					     .end_ns = end_us,
					     .sequence = sequence,
					     .thread = ENGINE_THREAD,
					     .forward_thread = forward_thread,
					     .tid = ENGINE,
					     .scope = GPT_AGENT_OP_BACKWARD_FUNCTION},
		       STEP_LINE);
}

static void forward_log_call(struct forward_log *forward, uint32_t tid, uint64_t time_us, uint64_t gpu_us,
			     uint64_t stack, uint8_t state)
{
	struct log_builder *log = &forward->log;

	log_call(log, (struct gpt_call){.time_ns = time_us * 1000,
					.pid = PID,
					.tid = tid,
					.stack_id = stack,
					.corr = ++forward->corr,
					.api = CUDA_LAUNCH,
					.origin = GPT_ORIGIN_AGENT,
					.stack_state = state});
	log_batch(log, PID, TID, 900000000);
	log_agent_api(log,
		      (struct gpt_agent_api){
			      .end_ns = time_us * 1000 + 500, .corr = forward->corr, .tid = tid, .api = CUDA_LAUNCH});
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = time_us * 1000 + 1000,
							.end_wall_ns = (time_us + 1 + gpu_us) * 1000,
							.corr = forward->corr,
							.name = 1});
}

/* A launch in a node, with the stack of the call to backward(). */
static void forward_log_launch(struct forward_log *forward, uint64_t time_us, uint64_t gpu_us)
{
	forward_log_call(forward, ENGINE, time_us, gpu_us, forward_log_stack(forward, "step", STEP_LINE),
			 GPT_STACK_BACKWARD);
}

static struct model *forward_log_end(struct forward_log *forward)
{
	log_end(&forward->log, 900000000);
	return model_of(&forward->log);
}

/* Two layers with 40 and 7 us backward, 5 us in a node without a known forward op, 3 us forward. */
LOG_FN struct model *forward_log_training_step(void)
{
	struct forward_log forward = forward_log_begin();

	forward_log_layer(&forward, "aten::mm", 100, 110, 7, 20);
	forward_log_call(&forward, TID, 105, 3, forward_log_stack(&forward, "forward", 20), GPT_STACK_OK);
	forward_log_layer(&forward, "aten::add", 120, 130, 8, 21);
	forward_log_launch(&forward, 205, 7);
	forward_log_node(&forward, "AddBackward0", 200, 210, 8, FORWARD_THREAD);
	forward_log_launch(&forward, 225, 40);
	forward_log_node(&forward, "MmBackward0", 220, 230, 7, FORWARD_THREAD);
	forward_log_launch(&forward, 285, 5);
	forward_log_node(&forward, "AccumulateGrad", 280, 290, -1, FORWARD_THREAD);
	return forward_log_end(&forward);
}
