/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program whose lines hold memory of PyTorch, as a log. Include it after cmocka.h. */
#pragma once

#include "model_of.h"

/* An event of PyTorch's allocators. */
LOG_FN void log_memory(struct log_builder *log, uint64_t time_ns, uint64_t address, int64_t bytes, uint8_t device_type)
{
	log_agent_torch_memory(log, (struct gpt_agent_torch_memory){.time_ns = time_ns,
								    .address = address,
								    .bytes = bytes,
								    .stack = bytes > 0 ? 9 : 0,
								    .tid = TID,
								    .kind = bytes > 0 ? GPT_AGENT_TORCH_MEMORY_ALLOCATED
										      : GPT_AGENT_TORCH_MEMORY_FREED,
								    .device_type = device_type,
								    .device = device_type == GPT_TORCH_CPU ? -1 : 0,
								    .has_totals = device_type != GPT_TORCH_CPU});
}

/*
 * Line 5 of a file holds 3 MB of the GPU at the peak, 1 MB of which is never freed, and 500 KB of the CPU. Line 13
 * calls it.
 */
LOG_FN struct model *model_with_memory(const char *path, int64_t wall_ns)
{
	struct log_builder log;

	log_begin(&log, 1000, wall_ns - 1000);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(&log, PID, 0xc0de, "train_step", path, 2);
	log_function(&log, PID, 0xc0df, "main", path, 10);
	log_stack(&log, PID, 0x51, 2,
		  (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 6}, {.code = 0xc0df, .lasti = 6}});
	log_stack_at(&log, (struct gpt_stack_at){.time_ns = 2000,
						 .stack_id = 0x51,
						 .number = 9,
						 .pid = PID,
						 .tid = TID,
						 .what = GPT_STACK_OF_MEMORY});
	log_batch(&log, PID, TID, 900000);
	log_agent_op_name(&log, 1, "aten::empty");
	log_agent_op(&log,
		     &(struct gpt_agent_op){.start_ns = 1500, .end_ns = 4500, .sequence = -1, .tid = TID, .name = 1});
	log_agent_torch_memory_state(&log, 0, "");
	log_memory(&log, 3000, 0x1000, 1000000, GPT_TORCH_CUDA);
	log_memory(&log, 4000, 0x2000, 2000000, GPT_TORCH_CUDA);
	log_memory(&log, 5000, 0x3000, 500000, GPT_TORCH_CPU);
	log_memory(&log, 6000, 0x2000, -2000000, GPT_TORCH_CUDA);
	log_memory(&log, 7000, 0x3000, 0, GPT_TORCH_CPU);
	log_end(&log, 1000000);
	return model_of(&log);
}
