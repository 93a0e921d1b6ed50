/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What of gputrace a traced program pays for: the parts of its cost, which a trace counts (GPT_COST). */
#pragma once

/* How a thread comes into a BPF program, which the program's own clock does not see. */
enum gpt_cost_entry {
	GPT_ENTRY_NONE,	     /* no program */
	GPT_ENTRY_PROBE,     /* a uprobe, by a breakpoint */
	GPT_ENTRY_AGENT,     /* a uprobe in the agent, for which the kernel may have a faster way */
	GPT_ENTRY_INTERRUPT, /* the kernel calls the program */
};

/*
 * The parts, by their numbers in logs; new ones at the end, up to GPT_PART_COUNT.
 *	X(GPT_PART_..., number, name for programs, how it is entered, words)
 */
#define GPT_COST_PARTS(X)                                                                                              \
	X(IDLE, 0, probes_without_record, PROBE, "probes that had nothing to record, also in other programs")          \
	X(CALLS, 1, calls, PROBE, "CUDA calls at their symbols, with their stacks")                                    \
	X(NESTED, 2, nested_calls, PROBE, "CUDA calls made inside others, or reported by the agent, too")              \
	X(AGENT_CALLS, 3, agent_calls, AGENT, "CUDA calls that the agent reports, with their stacks")                  \
	X(BATCHES, 4, agent_batches, AGENT, "records handed over by the agent")                                        \
	X(AGENT_STACKS, 5, agent_stacks, AGENT, "stacks that the agent asks for")                                      \
	X(PYTHON, 6, python, PROBE, "Python's collections, imports, calls, and code that is freed")                    \
	X(BACKWARD, 7, backward, PROBE, "backward passes of PyTorch")                                                  \
	X(NCCL, 8, nccl, PROBE, "calls of NCCL")                                                                       \
	X(CUPTI, 9, cupti, PROBE, "calls of CUPTI's activity API, and buffers that it hands to others")                \
	X(SAMPLES, 10, samples, INTERRUPT, "samples of running threads")                                               \
	X(SWITCHES, 11, switches, INTERRUPT, "followed threads that left a processor")                                 \
	X(WAKINGS, 12, wakings, INTERRUPT, "followed threads that woke others")                                        \
	X(PROBE_ENTRIES, 13, probe_entries, NONE, "the way into these programs and out of them, by a breakpoint")      \
	X(AGENT_ENTRIES, 14, agent_entries, NONE, "the way into these programs and out of them, in the agent")         \
	X(INTERRUPT_ENTRIES, 15, interrupt_entries, NONE,                                                              \
	  "the way into these programs and out of them, by the kernel")                                                \
	X(CALLBACKS, 16, agent_callbacks, NONE, "the agent's callbacks, without these programs")                       \
	X(AGENT_THREADS, 17, agent_threads, NONE, "the agent's own threads")                                           \
	X(CUPTI_OWN, 18, cupti_own, NONE, "CUPTI's own work for the agent")                                            \
	X(STOPS, 19, stops, NONE, "stops of threads to let the agent in")                                              \
	X(OPS, 20, torch_ops, NONE, "the agent's observer of PyTorch")                                                 \
	X(CHANGES, 21, process_changes, NONE, "starts, ends and mappings of processes")

#define GPT_PART_COUNT 32u /* numbers in logs are less */

#define GPT_PART(part, number, ...) GPT_PART_##part = (number),
enum gpt_cost_part { GPT_COST_PARTS(GPT_PART) GPT_PART_CALIBRATION = GPT_PART_COUNT };

/* How the time of a part is known. */
enum gpt_cost_state {
	GPT_COST_MEASURED = 1,	   /* by the clock, each time */
	GPT_COST_CALIBRATED = 2,   /* each one as long as one of a measurement on this machine, when the trace began */
	GPT_COST_ESTIMATED = 3,	   /* each one as long as on other machines (docs/costs.md) */
	GPT_COST_NOT_MEASURED = 4, /* it took some time that is not known */
	GPT_COST_SAMPLED = 5,	   /* some of them by the clock; the others as long on average */
};
