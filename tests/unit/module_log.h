/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of modules of PyTorch: Net calls a Block, which calls a Linear; launches inside of them. */
#pragma once

#include "forward_log.h"

#define NET 0x7f0000010000ull
#define BLOCK (NET + 0x100)
#define LEAF (NET + 0x200)
#define LOOSE (NET + 0x300)
#define OTHER_NET 0x7f0000090000ull
#define OTHER_LEAF (OTHER_NET + 0x200)

#define CODE(n) (0xc0de0000ull + 16 * (n))

/* name, class, class of the root, why it has no name */
static void describe(struct forward_log *made, uint64_t module, uint32_t root, const char *const text[4])
{
	char bytes[256];
	size_t size = log_join(bytes, sizeof(bytes), 4, text);

	log_module(&made->log,
		   &(struct gpt_module){.hdr.flags = *text[3] ? GPT_MODULE_UNNAMED : 0,
					.module = module,
					.root = root == 1 ? NET : OTHER_NET,
					.pid = PID,
					.root_number = root,
					.names = 1},
		   bytes, (uint32_t)size);
}

static void describe_net(struct forward_log *made)
{
	describe(made, NET, 1, (const char *const[]){"", "Net", "Net", ""});
	describe(made, BLOCK, 1, (const char *const[]){"blocks.0", "Block", "Net", ""});
	describe(made, LEAF, 1, (const char *const[]){"blocks.0.up", "Linear", "Net", ""});
}

/* The stack of a launch inside these modules, innermost first; 0 ends them. */
static uint64_t stack_in(struct forward_log *made, const uint64_t modules[4])
{
	struct gpt_stack_module entries[4];
	struct gpt_pyframe frames[5];
	uint64_t id = 1;
	uint32_t count = 0;

	for (; count < 4 && modules[count]; count++) {
		frames[count] = (struct gpt_pyframe){.code = CODE(1)};
		entries[count] = (struct gpt_stack_module){.module = modules[count], .frame = (int32_t)count};
		id = id * 31 + modules[count];
	}
	frames[count] = (struct gpt_pyframe){.code = CODE(0)};
	log_function(&made->log, PID, CODE(0), "main", "/src/train.py", 10);
	log_function(&made->log, PID, CODE(1), "__call__", "/src/module.py", 20);
	if (count)
		log_stack_of_modules(&made->log, PID, id, count + 1, frames, count, entries);
	else
		log_stack(&made->log, PID, id, 1, frames);
	return id;
}

/* The stack of an op inside these modules, as the next one that was taken. */
LOG_FN void log_stack_of_op_in(struct forward_log *made, uint64_t time_ns, const uint64_t modules[4])
{
	log_stack_at(&made->log, (struct gpt_stack_at){.time_ns = time_ns,
						       .stack_id = stack_in(made, modules),
						       .number = ++made->taken,
						       .pid = PID,
						       .tid = TID,
						       .what = GPT_STACK_OF_OP});
}

static void launch_in(struct forward_log *made, uint64_t time_us, uint64_t gpu_us, const uint64_t modules[4])
{
	forward_log_call(made, TID, time_us, gpu_us, stack_in(made, modules), GPT_STACK_OK);
}

#define IN(...) ((const uint64_t[4]){__VA_ARGS__})

/* A kernel of a graph: captured inside these modules, and the graph launched inside those. */
LOG_FN void launch_graph_in(struct forward_log *made, uint64_t time_us, uint64_t gpu_us, const uint64_t captured[4],
			    const uint64_t launching[4])
{
	struct log_builder *log = &made->log;
	const uint64_t *in[2] = {captured, launching};

	for (uint32_t i = 0; i < 2; i++)
		log_call(log, (struct gpt_call){.time_ns = (time_us + i) * 1000,
						.pid = PID,
						.tid = TID,
						.stack_id = stack_in(made, in[i]),
						.corr = ++made->corr,
						.api = i ? GPT_API(GPT_DOMAIN_RUNTIME, 311) : CUDA_LAUNCH,
						.origin = GPT_ORIGIN_AGENT,
						.stack_state = GPT_STACK_OK});
	log_batch(log, PID, TID, 900000000);
	log_agent_graph_node(log, (struct gpt_agent_graph_node){.node = 9, .corr = made->corr - 1});
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = (time_us + 2) * 1000,
							.end_wall_ns = (time_us + 2 + gpu_us) * 1000,
							.corr = made->corr,
							.name = 1,
							.graph = 5,
							.graph_node = 9});
}
