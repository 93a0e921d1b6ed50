/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Every cause of loss. The live display, the receipt, the report and the Chrome trace are made from this list: a new
 * row appears in all four, and nothing else changes.
 */
#pragma once

/* What a loss means for the launches of a trace; used by model_completeness (model/join/completeness.c). */
enum gpt_loss_kind {
	GPT_LOST_CALL,	/* a call, maybe a launch, of which nothing is known */
	GPT_LOST_GPU,	/* GPU times of a call, which may be known to lack them */
	GPT_LOST_STACK, /* the Python line of a call, which may be known to lack it */
	GPT_LOST_EXTRA, /* something that no launch needs */
};

/* Of enum gpt_counter, counted while a trace is made: X(GPT_COUNTER_..., name in the Chrome trace, kind, words) */
#define GPT_COUNTER_LOSSES(X)                                                                                          \
	X(CALLS_LOST, calls_lost, CALL, "calls lost: the ring buffer was full")                                        \
	X(THREADS_FULL, threads_full, CALL, "calls of threads beyond what gputrace can follow")                        \
	X(PROCESSES_FULL, processes_full, CALL, "processes, or calls of them, beyond what gputrace can follow")        \
	X(FILES_UNPROBED, files_unprobed, CALL, "files with CUDA calls that could not be probed")                      \
	X(PROCESSES_SILENT, processes_silent, CALL,                                                                    \
	  "processes left alone: they, or others of their user, keep readers waiting")                                 \
	X(PROCESSES_UNSEEN, processes_unseen, CALL,                                                                    \
	  "processes whose calls no one saw once another profiler had CUPTI's callbacks")                              \
	X(PROCESSES_UNENTERED, processes_unentered, CALL,                                                              \
	  "processes that the agent could not enter: no one saw their calls")                                          \
	X(MISSED, missed, CALL, "hits that the kernel did not hand to gputrace's programs")                            \
	X(STACKS_LOST, stacks_lost, STACK, "stacks lost: the ring buffer was full")                                    \
	X(STACKS_FILTERED, stacks_filtered, STACK,                                                                     \
	  "stacks not read: the program has set a filter of system calls, which may kill the reader")                  \
	X(CODE_LOST, code_lost, STACK, "code objects lost: the ring buffer was full")                                  \
	X(CODE_UNREAD, code_unread, STACK,                                                                             \
	  "functions without lines or name: memory that could not be read, however often it was tried")                \
	X(BATCHES_LOST, batches_lost, GPU, "batches of GPU records lost: the ring buffer was full")                    \
	X(OTHER_LOST, other_lost, EXTRA, "other records lost: the ring buffer was full")                               \
	X(PYEVENT_LOST, python_events_lost, EXTRA,                                                                     \
	  "starts and ends of collections and imports lost: the ring buffer was full")                                 \
	X(PYCALLS_LOST, python_calls_lost, EXTRA, "entries and ends of Python calls lost: the ring buffer was full")   \
	X(OP_STACKS_LOST, op_stacks_lost, EXTRA,                                                                       \
	  "Python stacks of ops and of memory events lost: the ring buffer was full")                                  \
	X(SAMPLES_LOST, samples_lost, EXTRA, "samples of threads lost: the ring buffer was full")                      \
	X(WAITS_LOST, waits_lost, EXTRA,                                                                               \
	  "waits of threads lost: the ring buffer or a table was full, or their end is not known")                     \
	X(MEMORY_CALLS, memory_calls_dropped, CALL, "calls dropped: --memory-limit was reached")                       \
	X(MEMORY_BATCHES, memory_batches_dropped, GPU, "batches of GPU records dropped: --memory-limit was reached")   \
	X(MEMORY_OTHERS, memory_others_dropped, EXTRA, "other records dropped: --memory-limit was reached")            \
	X(MALFORMED, malformed, EXTRA, "records of processes that were none, or only in part")

/* Of struct gpt_agent_stats, which come with an agent's batches: X(member, name in the Chrome trace, kind, words) */
#define GPT_AGENT_LOSSES(X)                                                                                            \
	X(cupti_dropped, gpu_records_dropped, GPU, "GPU records dropped by CUPTI")                                     \
	X(dropped_unknown, gpu_records_dropped_not_known, GPU,                                                         \
	  "times that CUPTI did not say how many GPU records it dropped: not known")                                   \
	X(buffers_refused, buffers_refused, GPU,                                                                       \
	  "buffers CUPTI asked for and did not get: all 64 MB of the agent's were in use")                             \
	X(malformed, gpu_records_malformed, GPU, "malformed GPU records")                                              \
	X(api_dropped, returns_dropped, EXTRA, "returns of calls not reported by the agent")                           \
	X(names_dropped, names_dropped, EXTRA, "kernel names not kept by the agent")                                   \
	X(misdirected, misdirected, EXTRA,                                                                             \
	  "records of another profiler's session that CUPTI gave to the agent instead")                                \
	X(places_lost, kernel_places_lost, EXTRA, "places in the source of kernels not kept by the agent")

/* Of the same struct, facts that are no loss, as they precede gputrace: X(member, name, words) */
#define GPT_AGENT_NOTES(X)                                                                                             \
	X(functions_before, kernels_loaded_before,                                                                     \
	  "kernels of code that was loaded before gputrace came, or unseen: no file and line")

/* Of the same struct, what the agent takes of the program's threads: X(member) */
#define GPT_AGENT_COSTS(X) X(callbacks_timed) X(callbacks_timed_ns) X(callbacks_long) X(callbacks_long_ns)

/* Of other records of the agent; members of the receipt: X(member, name in the Chrome trace, kind, words) */
#define GPT_RECORD_LOSSES(X)                                                                                           \
	X(ranges_lost, nvtx_lost, EXTRA, "starts and ends of NVTX ranges not kept by the agent")                       \
	X(ops_lost, ops_lost, EXTRA, "ops of PyTorch not kept by the agent")                                           \
	X(op_inputs_lost, op_inputs_lost, EXTRA, "inputs of PyTorch ops not kept by the agent")                        \
	X(torch_memory_lost, torch_memory_lost, EXTRA, "events of PyTorch's allocators not kept by the agent")         \
	X(late_steps, late_steps, CALL, "steps of the schedule that began before CUPTI recorded: launches not seen")   \
	X(steps_lost, steps_lost, EXTRA, "steps of training not reported by the agent")
