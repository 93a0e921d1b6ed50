/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How each field of record.h and agent.h is packed: the rows of this gputrace's schema.  A field that is added to a
 * struct must be added here, at the same place; otherwise schema_text.c does not compile.
 *
 *	F(S, name, member, "code")		a field (codes: schema.h)
 *	A(S, name, member, bytes, "code")	an array, or text of fixed length: fields of `bytes` bytes: name0, name1
 */
#ifndef GPUTRACE_LOG_SCHEMA_ROWS_H
#define GPUTRACE_LOG_SCHEMA_ROWS_H

#define SCHEMA_CALL_IN(F, A, S, at)                                                                                    \
	F(S, time_ns, at time_ns, "time")                                                                              \
	F(S, pid, at pid, "pid")                                                                                       \
	F(S, tid, at tid, "id")                                                                                        \
	F(S, stack_id, at stack_id, "id")                                                                              \
	F(S, native_id, at native_id, "id")                                                                            \
	F(S, corr, at corr, "delta")                                                                                   \
	F(S, api, at api, "id")                                                                                        \
	F(S, origin, at origin, "raw")                                                                                 \
	F(S, stack_state, at stack_state, "raw")

#define SCHEMA_CALL(F, A, S) SCHEMA_CALL_IN(F, A, S, )

#define SCHEMA_CALL_ARGS(F, A, S)                                                                                      \
	SCHEMA_CALL_IN(F, A, S, call.)                                                                                 \
	F(S, function, function, "id")                                                                                 \
	F(S, stream, stream, "id")                                                                                     \
	F(S, bytes, bytes, "id")                                                                                       \
	A(S, grid, grid, 4, "id")                                                                                      \
	A(S, block, block, 4, "id")                                                                                    \
	F(S, shared_bytes, shared_bytes, "id")                                                                         \
	F(S, memcpy_kind, memcpy_kind, "id")

#define SCHEMA_PYSTACK(F, A, S)                                                                                        \
	F(S, id, id, "raw")                                                                                            \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, depth, depth, "delta")
#define SCHEMA_PYFRAME(F, A, S)                                                                                        \
	F(S, code, code, "id")                                                                                         \
	F(S, lasti, lasti, "delta")                                                                                    \
	F(S, pad, pad, "raw")

#define SCHEMA_CODE(F, A, S)                                                                                           \
	F(S, code, code, "delta")                                                                                      \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, first_line, first_line, "delta")                                                                          \
	F(S, name_bytes, name_bytes, "delta")                                                                          \
	F(S, qualname_bytes, qualname_bytes, "delta")                                                                  \
	F(S, filename_bytes, filename_bytes, "delta")                                                                  \
	F(S, name_kind, name_kind, "raw")                                                                              \
	F(S, qualname_kind, qualname_kind, "raw")                                                                      \
	F(S, filename_kind, filename_kind, "raw")                                                                      \
	F(S, linetable, linetable, "raw")                                                                              \
	F(S, linetable_bytes, linetable_bytes, "delta")                                                                \
	F(S, first_traceable, first_traceable, "delta")

#define SCHEMA_CODE_LINES(F, A, S)                                                                                     \
	F(S, code, code, "delta")                                                                                      \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, offset, offset, "delta")                                                                                  \
	F(S, bytes, bytes, "delta")                                                                                    \
	F(S, pad, pad, "raw")

#define SCHEMA_CODE_DEAD(F, A, S)                                                                                      \
	F(S, code, code, "delta")                                                                                      \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, pad, pad, "raw")

#define SCHEMA_PYEVENT(F, A, S)                                                                                        \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, frame, frame, "delta")                                                                                    \
	F(S, value, value, "delta")                                                                                    \
	F(S, kind, kind, "raw")                                                                                        \
	F(S, ends, ends, "raw")                                                                                        \
	F(S, name_kind, name_kind, "raw")                                                                              \
	F(S, pad, pad, "raw")                                                                                          \
	F(S, name_bytes, name_bytes, "delta")

#define SCHEMA_PYCALL(F, A, S)                                                                                         \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, code, code, "id")                                                                                         \
	F(S, frame, frame, "delta")

#define SCHEMA_CUPTI_USE(F, A, S)                                                                                      \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, value, value, "id")                                                                                       \
	F(S, what, what, "raw")                                                                                        \
	F(S, own, own, "raw")                                                                                          \
	F(S, pad, pad, "raw")                                                                                          \
	F(S, caller, caller, "id")

#define SCHEMA_CUPTI_DONE(F, A, S)                                                                                     \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, address, address, "delta")                                                                                \
	F(S, bytes, bytes, "delta")                                                                                    \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	A(S, head, head, 8, "raw")                                                                                     \
	F(S, copied, copied, "delta")                                                                                  \
	F(S, pad, pad, "raw")

#define SCHEMA_STACK_AT(F, A, S)                                                                                       \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, stack_id, stack_id, "id")                                                                                 \
	F(S, number, number, "delta")                                                                                  \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, what, what, "id")                                                                                         \
	F(S, stack_state, stack_state, "id")                                                                           \
	A(S, pad, pad, 1, "raw")

#define SCHEMA_SAMPLE(F, A, S)                                                                                         \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, stack_id, stack_id, "id")                                                                                 \
	F(S, native_id, native_id, "id")                                                                               \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, period_ns, period_ns, "id")                                                                               \
	F(S, stack_state, stack_state, "id")                                                                           \
	F(S, place, place, "id")                                                                                       \
	A(S, pad, pad, 1, "raw")

#define SCHEMA_WAIT(F, A, S)                                                                                           \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, woken_ns, woken_ns, "+time_ns")                                                                           \
	F(S, end_ns, end_ns, "+time_ns")                                                                               \
	F(S, stack_id, stack_id, "id")                                                                                 \
	F(S, native_id, native_id, "id")                                                                               \
	F(S, waker_stack_id, waker_stack_id, "id")                                                                     \
	F(S, arg, arg, "id")                                                                                           \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, waker_pid, waker_pid, "id")                                                                               \
	F(S, waker_tid, waker_tid, "id")                                                                               \
	F(S, holder_tid, holder_tid, "id")                                                                             \
	F(S, syscall, syscall, "id")                                                                                   \
	F(S, reason, reason, "id")                                                                                     \
	F(S, stack_state, stack_state, "id")                                                                           \
	F(S, waker, waker, "id")                                                                                       \
	F(S, waker_stack_state, waker_stack_state, "id")                                                               \
	F(S, pad, pad, "raw")                                                                                          \
	A(S, waker_comm, waker_comm, 8, "id")

#define SCHEMA_NCCL(F, A, S)                                                                                           \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, comm, comm, "id")                                                                                         \
	F(S, comm_id, comm_id, "id")                                                                                   \
	F(S, count, count, "id")                                                                                       \
	F(S, sequence, sequence, "delta")                                                                              \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, calls, calls, "id")                                                                                       \
	F(S, rank, rank, "id")                                                                                         \
	F(S, ranks, ranks, "id")                                                                                       \
	F(S, function, function, "id")                                                                                 \
	F(S, dtype, dtype, "id")                                                                                       \
	A(S, pad, pad, 1, "raw")

#define SCHEMA_NATIVE_STACK(F, A, S)                                                                                   \
	F(S, id, id, "raw")                                                                                            \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, depth, depth, "delta")
#define SCHEMA_IP(F, A, S) F(S, ip, ip, "id")

#define SCHEMA_NATIVE_SYM(F, A, S)                                                                                     \
	F(S, ip, ip, "delta")                                                                                          \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, bytes, bytes, "delta")

#define SCHEMA_GENERATED(F, A, S)                                                                                      \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, line, line, "delta")                                                                                      \
	F(S, kernel_line, kernel_line, "delta")                                                                        \
	F(S, bytes, bytes, "delta")

#define SCHEMA_SOURCE(F, A, S)                                                                                         \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, bytes, bytes, "delta")

#define SCHEMA_THREAD(F, A, S)                                                                                         \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "delta")                                                                                        \
	A(S, comm, comm, 8, "id")                                                                                      \
	F(S, own_tid, own_tid, "delta")                                                                                \
	F(S, pointer, pointer, "delta")

#define SCHEMA_PROCESS_EVENT(F, A, S)                                                                                  \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, other_pid, other_pid, "id")                                                                               \
	A(S, comm, comm, 8, "id")

#define SCHEMA_MAPPED(F, A, S)                                                                                         \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	A(S, name, name, 8, "id")

#define SCHEMA_PROCESS(F, A, S)                                                                                        \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, start_ns, start_ns, "delta")                                                                              \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, parent, parent, "id")                                                                                     \
	F(S, python, python, "id")                                                                                     \
	F(S, mounts, mounts, "id")                                                                                     \
	F(S, pad, pad, "raw")                                                                                          \
	F(S, bytes, bytes, "delta")

#define SCHEMA_TEXT(F, A, S)                                                                                           \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, bytes, bytes, "delta")

#define SCHEMA_SESSION(F, A, S)                                                                                        \
	F(S, metric_launches, metric_launches, "delta")                                                                \
	F(S, min_complete, min_complete, "delta")                                                                      \
	F(S, cpus, cpus, "delta")                                                                                      \
	F(S, bytes, bytes, "delta")

/* struct gpt_clock and struct gpt_agent_clock */
#define SCHEMA_CLOCK(F, A, S)                                                                                          \
	F(S, mono_ns, mono_ns, "time")                                                                                 \
	F(S, wall_offset_ns, wall_offset_ns, "delta")                                                                  \
	F(S, error_ns, error_ns, "delta")

#define SCHEMA_END(F, A, S)                                                                                            \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, cpu_ns, cpu_ns, "delta")                                                                                  \
	F(S, ring_bytes, ring_bytes, "delta")                                                                          \
	F(S, ring_bytes_max, ring_bytes_max, "delta")                                                                  \
	F(S, reason, reason, "delta")                                                                                  \
	F(S, counters_count, counters_count, "delta")
#define SCHEMA_COUNTER(F, A, S) F(S, counter, counter, "delta")

#define SCHEMA_AGENT_BATCH(F, A, S)                                                                                    \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, pid, pid, "pid")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, bytes, bytes, "delta")                                                                                    \
	F(S, error_ns, error_ns, "delta")

/* ---- agent.h ------------------------------------------------------------------------------------------------ */

#define SCHEMA_AGENT_HELLO(F, A, S)                                                                                    \
	F(S, abi, abi, "delta")                                                                                        \
	F(S, state, state, "delta")                                                                                    \
	F(S, failure, failure, "delta")                                                                                \
	F(S, result, result, "delta")                                                                                  \
	F(S, cupti_version, cupti_version, "delta")                                                                    \
	F(S, driver_version, driver_version, "delta")                                                                  \
	F(S, runtime_version, runtime_version, "delta")                                                                \
	F(S, bytes, bytes, "delta")

#define SCHEMA_AGENT_SIZES(F, A, S) A(S, bytes, bytes, 2, "delta")

#define SCHEMA_AGENT_NAME(F, A, S)                                                                                     \
	F(S, id, id, "delta")                                                                                          \
	F(S, bytes, bytes, "delta")

#define SCHEMA_AGENT_API(F, A, S)                                                                                      \
	F(S, start_ns, start_ns, "time")                                                                               \
	F(S, end_ns, end_ns, "+start_ns")                                                                              \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, api, api, "id")                                                                                           \
	F(S, flags, flags, "delta")                                                                                    \
	F(S, result, result, "delta")                                                                                  \
	F(S, tid, tid, "id")

#define SCHEMA_AGENT_API_ACTIVITY(F, A, S)                                                                             \
	F(S, start_wall_ns, start_wall_ns, "wall")                                                                     \
	F(S, end_wall_ns, end_wall_ns, "+start_wall_ns")                                                               \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, api, api, "id")                                                                                           \
	F(S, pad, pad, "raw")                                                                                          \
	F(S, result, result, "delta")                                                                                  \
	F(S, thread, thread, "id")

/* The first fields of kernels, memcpys and memsets. */
#define SCHEMA_GPU_WORK(F, A, S)                                                                                       \
	F(S, start_wall_ns, start_wall_ns, "wall")                                                                     \
	F(S, end_wall_ns, end_wall_ns, "+start_wall_ns")                                                               \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, device, device, "id")                                                                                     \
	F(S, context, context, "id")                                                                                   \
	F(S, stream, stream, "id")

#define SCHEMA_AGENT_KERNEL(F, A, S)                                                                                   \
	SCHEMA_GPU_WORK(F, A, S)                                                                                       \
	F(S, name, name, "id")                                                                                         \
	F(S, graph, graph, "id")                                                                                       \
	F(S, graph_node, graph_node, "delta")                                                                          \
	A(S, grid, grid, 4, "id")                                                                                      \
	A(S, block, block, 4, "id")                                                                                    \
	A(S, cluster, cluster, 4, "id")                                                                                \
	F(S, static_shared_bytes, static_shared_bytes, "id")                                                           \
	F(S, dynamic_shared_bytes, dynamic_shared_bytes, "id")                                                         \
	F(S, local_bytes_per_thread, local_bytes_per_thread, "id")                                                     \
	F(S, registers, registers, "id")                                                                               \
	F(S, priority, priority, "id")                                                                                 \
	F(S, channel, channel, "id")                                                                                   \
	F(S, channel_type, channel_type, "id")

#define SCHEMA_AGENT_MEMCPY(F, A, S)                                                                                   \
	SCHEMA_GPU_WORK(F, A, S)                                                                                       \
	F(S, bytes, bytes, "id")                                                                                       \
	F(S, graph_node, graph_node, "delta")                                                                          \
	F(S, graph, graph, "id")                                                                                       \
	F(S, kind, kind, "raw")                                                                                        \
	F(S, from, from, "raw")                                                                                        \
	F(S, to, to, "raw")                                                                                            \
	F(S, is_async, is_async, "raw")                                                                                \
	F(S, from_device, from_device, "id")                                                                           \
	F(S, to_device, to_device, "id")                                                                               \
	F(S, channel, channel, "id")                                                                                   \
	F(S, channel_type, channel_type, "id")

#define SCHEMA_AGENT_MEMSET(F, A, S)                                                                                   \
	SCHEMA_GPU_WORK(F, A, S)                                                                                       \
	F(S, bytes, bytes, "id")                                                                                       \
	F(S, graph_node, graph_node, "delta")                                                                          \
	F(S, graph, graph, "id")                                                                                       \
	F(S, memory, memory, "id")                                                                                     \
	F(S, flags, flags, "id")                                                                                       \
	F(S, value, value, "id")                                                                                       \
	F(S, pad, pad, "raw")

#define SCHEMA_AGENT_OVERHEAD(F, A, S)                                                                                 \
	F(S, start_wall_ns, start_wall_ns, "wall")                                                                     \
	F(S, end_wall_ns, end_wall_ns, "+start_wall_ns")                                                               \
	F(S, kind, kind, "id")                                                                                         \
	F(S, tid, tid, "id")                                                                                           \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, pad, pad, "raw")

#define SCHEMA_AGENT_DEVICE(F, A, S)                                                                                   \
	F(S, memory_bytes, memory_bytes, "delta")                                                                      \
	F(S, id, id, "delta")                                                                                          \
	F(S, multiprocessors, multiprocessors, "delta")                                                                \
	F(S, compute_major, compute_major, "delta")                                                                    \
	F(S, compute_minor, compute_minor, "delta")                                                                    \
	F(S, warp_size, warp_size, "delta")                                                                            \
	F(S, max_threads_per_multiprocessor, max_threads_per_multiprocessor, "delta")                                  \
	F(S, max_threads_per_block, max_threads_per_block, "delta")                                                    \
	F(S, max_blocks_per_multiprocessor, max_blocks_per_multiprocessor, "delta")                                    \
	F(S, max_registers_per_multiprocessor, max_registers_per_multiprocessor, "delta")                              \
	F(S, max_registers_per_block, max_registers_per_block, "delta")                                                \
	F(S, max_shared_per_multiprocessor, max_shared_per_multiprocessor, "delta")                                    \
	F(S, max_shared_per_block, max_shared_per_block, "delta")                                                      \
	A(S, uuid, uuid, 8, "raw")                                                                                     \
	F(S, mig, mig, "delta")                                                                                        \
	F(S, bytes, bytes, "delta")

#define SCHEMA_AGENT_CONTEXT(F, A, S)                                                                                  \
	F(S, context, context, "delta")                                                                                \
	F(S, device, device, "delta")                                                                                  \
	F(S, null_stream, null_stream, "delta")                                                                        \
	F(S, compute_api, compute_api, "delta")

#define SCHEMA_AGENT_STREAM(F, A, S)                                                                                   \
	F(S, context, context, "delta")                                                                                \
	F(S, stream, stream, "delta")                                                                                  \
	F(S, priority, priority, "delta")                                                                              \
	F(S, flags, flags, "delta")

#define SCHEMA_AGENT_STATS(F, A, S)                                                                                    \
	F(S, calls, calls, "delta")                                                                                    \
	F(S, kernels, kernels, "delta")                                                                                \
	F(S, memcpys, memcpys, "delta")                                                                                \
	F(S, memsets, memsets, "delta")                                                                                \
	F(S, others, others, "delta")                                                                                  \
	F(S, cupti_dropped, cupti_dropped, "delta")                                                                    \
	F(S, buffers_refused, buffers_refused, "delta")                                                                \
	F(S, api_dropped, api_dropped, "delta")                                                                        \
	F(S, names_dropped, names_dropped, "delta")                                                                    \
	F(S, untimed, untimed, "delta")                                                                                \
	F(S, malformed, malformed, "delta")                                                                            \
	F(S, strayed, misdirected, "delta")                                                                            \
	F(S, dropped_unknown, dropped_unknown, "delta")                                                                \
	F(S, places_lost, places_lost, "delta")                                                                        \
	F(S, functions_before, functions_before, "delta")

#define SCHEMA_AGENT_SYNC(F, A, S)                                                                                     \
	F(S, start_wall_ns, start_wall_ns, "wall")                                                                     \
	F(S, end_wall_ns, end_wall_ns, "+start_wall_ns")                                                               \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, kind, kind, "id")                                                                                         \
	F(S, context, context, "id")                                                                                   \
	F(S, stream, stream, "id")                                                                                     \
	F(S, event, event, "id")                                                                                       \
	F(S, result, result, "delta")                                                                                  \
	F(S, event_record, event_record, "delta")

#define SCHEMA_AGENT_EVENT(F, A, S)                                                                                    \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, context, context, "id")                                                                                   \
	F(S, stream, stream, "id")                                                                                     \
	F(S, event, event, "id")                                                                                       \
	F(S, event_record, event_record, "delta")

#define SCHEMA_AGENT_MEMORY(F, A, S)                                                                                   \
	F(S, time_wall_ns, time_wall_ns, "wall")                                                                       \
	F(S, address, address, "id")                                                                                   \
	F(S, bytes, bytes, "id")                                                                                       \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, operation, operation, "id")                                                                               \
	F(S, kind, kind, "id")                                                                                         \
	F(S, device, device, "id")                                                                                     \
	F(S, context, context, "id")                                                                                   \
	F(S, stream, stream, "id")                                                                                     \
	F(S, is_async, is_async, "id")                                                                                 \
	F(S, pad, pad, "raw")                                                                                          \
	F(S, pool, pool, "id")                                                                                         \
	F(S, pool_bytes, pool_bytes, "delta")                                                                          \
	F(S, pool_used_bytes, pool_used_bytes, "delta")

#define SCHEMA_AGENT_GRAPH_NODE(F, A, S)                                                                               \
	F(S, node, node, "delta")                                                                                      \
	F(S, source, source, "delta")                                                                                  \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, pad, pad, "raw")

#define SCHEMA_AGENT_RANGE(F, A, S)                                                                                    \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, id, id, "delta")                                                                                          \
	F(S, tid, tid, "id")                                                                                           \
	F(S, what, what, "id")                                                                                         \
	F(S, domain, domain, "id")                                                                                     \
	F(S, bytes, bytes, "id")                                                                                       \
	F(S, domain_bytes, domain_bytes, "id")                                                                         \
	F(S, pad, pad, "raw")

#define SCHEMA_AGENT_JIT(F, A, S)                                                                                      \
	F(S, start_wall_ns, start_wall_ns, "wall")                                                                     \
	F(S, end_wall_ns, end_wall_ns, "+start_wall_ns")                                                               \
	F(S, unit, unit, "id")                                                                                         \
	F(S, bytes, bytes, "delta")                                                                                    \
	F(S, corr, corr, "delta")                                                                                      \
	F(S, operation, operation, "id")                                                                               \
	F(S, entry, entry, "id")                                                                                       \
	F(S, device, device, "id")                                                                                     \
	F(S, tid, tid, "id")                                                                                           \
	F(S, pad, pad, "raw")

#define SCHEMA_AGENT_OP(F, A, S)                                                                                       \
	F(S, start_ns, start_ns, "time")                                                                               \
	F(S, end_ns, end_ns, "+start_ns")                                                                              \
	F(S, sequence, sequence, "delta")                                                                              \
	F(S, handle, handle, "delta")                                                                                  \
	F(S, thread, thread, "id")                                                                                     \
	F(S, forward_thread, forward_thread, "id")                                                                     \
	F(S, tid, tid, "id")                                                                                           \
	F(S, end_tid, end_tid, "id")                                                                                   \
	F(S, name, name, "id")                                                                                         \
	F(S, inputs, inputs, "id")                                                                                     \
	F(S, scope, scope, "id")                                                                                       \
	F(S, flags, flags, "id")                                                                                       \
	F(S, pad, pad, "id")                                                                                           \
	F(S, collective, collective, "id")                                                                             \
	F(S, stack, stack, "delta")                                                                                    \
	F(S, collective_sequence, collective_sequence, "id")

#define SCHEMA_AGENT_OPS(F, A, S)                                                                                      \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, reported, reported, "delta")                                                                              \
	F(S, lost, lost, "delta")                                                                                      \
	F(S, lost_ns, lost_ns, "delta")                                                                                \
	F(S, state, state, "id")                                                                                       \
	F(S, version, version, "id")                                                                                   \
	F(S, bytes, bytes, "id")                                                                                       \
	F(S, inputs_lost, inputs_lost, "delta")

#define SCHEMA_AGENT_TORCH_MEMORY(F, A, S)                                                                             \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, address, address, "delta")                                                                                \
	F(S, bytes, bytes, "delta")                                                                                    \
	F(S, allocated, allocated, "delta")                                                                            \
	F(S, reserved, reserved, "delta")                                                                              \
	F(S, stack, stack, "delta")                                                                                    \
	F(S, tid, tid, "id")                                                                                           \
	F(S, kind, kind, "id")                                                                                         \
	F(S, device_type, device_type, "id")                                                                           \
	F(S, device, device, "id")                                                                                     \
	F(S, has_totals, has_totals, "id")

#define SCHEMA_AGENT_TORCH_MEMORY_STATE(F, A, S)                                                                       \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, reported, reported, "delta")                                                                              \
	F(S, lost, lost, "delta")                                                                                      \
	F(S, seen, seen, "id")                                                                                         \
	F(S, bytes, bytes, "id")

#define SCHEMA_AGENT_STEP(F, A, S)                                                                                     \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, number, number, "delta")                                                                                  \
	F(S, tid, tid, "id")                                                                                           \
	F(S, cycle, cycle, "id")                                                                                       \
	F(S, phase, phase, "id")                                                                                       \
	F(S, by, by, "id")                                                                                             \
	F(S, late, late, "id")                                                                                         \
	F(S, lost, lost, "id")

#define SCHEMA_AGENT_SCHEDULE(F, A, S)                                                                                 \
	F(S, time_ns, time_ns, "time")                                                                                 \
	F(S, skip_first, skip_first, "id")                                                                             \
	F(S, wait, wait, "id")                                                                                         \
	F(S, warmup, warmup, "id")                                                                                     \
	F(S, active, active, "id")                                                                                     \
	F(S, repeat, repeat, "id")                                                                                     \
	F(S, skip_first_wait, skip_first_wait, "id")                                                                   \
	F(S, by, by, "id")                                                                                             \
	F(S, shared, shared, "id")

/* ---- the types ---------------------------------------------------------------------------------------------- */

/* The structs: T(S, struct, rows). */
#define SCHEMA_STRUCTS(T)                                                                                              \
	T(call, struct gpt_call, SCHEMA_CALL)                                                                          \
	T(call_args, struct gpt_call_args, SCHEMA_CALL_ARGS)                                                           \
	T(pystack, struct gpt_pystack, SCHEMA_PYSTACK)                                                                 \
	T(code, struct gpt_code, SCHEMA_CODE)                                                                          \
	T(code_lines, struct gpt_code_lines, SCHEMA_CODE_LINES)                                                        \
	T(code_dead, struct gpt_code_dead, SCHEMA_CODE_DEAD)                                                           \
	T(native_stack, struct gpt_native_stack, SCHEMA_NATIVE_STACK)                                                  \
	T(thread, struct gpt_thread, SCHEMA_THREAD)                                                                    \
	T(process_event, struct gpt_process_event, SCHEMA_PROCESS_EVENT)                                               \
	T(mapped, struct gpt_mapped, SCHEMA_MAPPED)                                                                    \
	T(agent_batch, struct gpt_agent_batch, SCHEMA_AGENT_BATCH)                                                     \
	T(pyevent, struct gpt_pyevent, SCHEMA_PYEVENT)                                                                 \
	T(pycall, struct gpt_pycall, SCHEMA_PYCALL)                                                                    \
	T(cupti_use, struct gpt_cupti_use, SCHEMA_CUPTI_USE)                                                           \
	T(cupti_done, struct gpt_cupti_done, SCHEMA_CUPTI_DONE)                                                        \
	T(stack_at, struct gpt_stack_at, SCHEMA_STACK_AT)                                                              \
	T(sample, struct gpt_sample, SCHEMA_SAMPLE)                                                                    \
	T(wait, struct gpt_wait, SCHEMA_WAIT)                                                                          \
	T(nccl, struct gpt_nccl, SCHEMA_NCCL)                                                                          \
	T(session, struct gpt_session, SCHEMA_SESSION)                                                                 \
	T(process, struct gpt_process, SCHEMA_PROCESS)                                                                 \
	T(text, struct gpt_text, SCHEMA_TEXT)                                                                          \
	T(native_sym, struct gpt_native_sym, SCHEMA_NATIVE_SYM)                                                        \
	T(generated, struct gpt_generated, SCHEMA_GENERATED)                                                           \
	T(source, struct gpt_python_source, SCHEMA_SOURCE)                                                             \
	T(clock, struct gpt_clock, SCHEMA_CLOCK)                                                                       \
	T(end, struct gpt_end, SCHEMA_END)                                                                             \
	T(agent_hello, struct gpt_agent_hello, SCHEMA_AGENT_HELLO)                                                     \
	T(agent_name, struct gpt_agent_name, SCHEMA_AGENT_NAME)                                                        \
	T(agent_api, struct gpt_agent_api, SCHEMA_AGENT_API)                                                           \
	T(agent_kernel, struct gpt_agent_kernel, SCHEMA_AGENT_KERNEL)                                                  \
	T(agent_memcpy, struct gpt_agent_memcpy, SCHEMA_AGENT_MEMCPY)                                                  \
	T(agent_memset, struct gpt_agent_memset, SCHEMA_AGENT_MEMSET)                                                  \
	T(agent_overhead, struct gpt_agent_overhead, SCHEMA_AGENT_OVERHEAD)                                            \
	T(agent_device, struct gpt_agent_device, SCHEMA_AGENT_DEVICE)                                                  \
	T(agent_context, struct gpt_agent_context, SCHEMA_AGENT_CONTEXT)                                               \
	T(agent_stream, struct gpt_agent_stream, SCHEMA_AGENT_STREAM)                                                  \
	T(agent_clock, struct gpt_agent_clock, SCHEMA_CLOCK)                                                           \
	T(agent_stats, struct gpt_agent_stats, SCHEMA_AGENT_STATS)                                                     \
	T(agent_sync, struct gpt_agent_sync, SCHEMA_AGENT_SYNC)                                                        \
	T(agent_event, struct gpt_agent_event, SCHEMA_AGENT_EVENT)                                                     \
	T(agent_memory, struct gpt_agent_memory, SCHEMA_AGENT_MEMORY)                                                  \
	T(agent_graph_node, struct gpt_agent_graph_node, SCHEMA_AGENT_GRAPH_NODE)                                      \
	T(agent_api_activity, struct gpt_agent_api_activity, SCHEMA_AGENT_API_ACTIVITY)                                \
	T(agent_sizes, struct gpt_agent_sizes, SCHEMA_AGENT_SIZES)                                                     \
	T(agent_range, struct gpt_agent_range, SCHEMA_AGENT_RANGE)                                                     \
	T(agent_jit, struct gpt_agent_jit, SCHEMA_AGENT_JIT)                                                           \
	T(agent_op, struct gpt_agent_op, SCHEMA_AGENT_OP)                                                              \
	T(agent_ops, struct gpt_agent_ops, SCHEMA_AGENT_OPS)                                                           \
	T(agent_torch_memory, struct gpt_agent_torch_memory, SCHEMA_AGENT_TORCH_MEMORY)                                \
	T(agent_torch_memory_state, struct gpt_agent_torch_memory_state, SCHEMA_AGENT_TORCH_MEMORY_STATE)              \
	T(agent_step, struct gpt_agent_step, SCHEMA_AGENT_STEP)                                                        \
	T(agent_schedule, struct gpt_agent_schedule, SCHEMA_AGENT_SCHEDULE)

/* The elements of arrays at the ends of records: E(S, type, rows, what they are elements of). */
#define SCHEMA_ELEMENTS(E)                                                                                             \
	E(pyframe, struct gpt_pyframe, SCHEMA_PYFRAME, ((struct gpt_pystack *)0)->frames[0])                           \
	E(                                                                                                             \
		native_ip, struct { __u64 ip; }, SCHEMA_IP, ((struct gpt_native_stack *)0)->ip[0])                     \
	E(                                                                                                             \
		end_counter, struct { __u64 counter; }, SCHEMA_COUNTER, ((struct gpt_end *)0)->counters[0])

/*
 * The types of the two enumerations, by rising number: R(enumerator, name, S of its struct, tail, S of its elements);
 * the last is none where the tail is no array.
 */
#define SCHEMA_RECORDS(R)                                                                                              \
	R(GPT_CALL, call, call, SCHEMA_BYTES, none)                                                                    \
	R(GPT_CALL_ARGS, call_args, call_args, SCHEMA_BYTES, none)                                                     \
	R(GPT_PYSTACK, pystack, pystack, SCHEMA_ARRAY, pyframe)                                                        \
	R(GPT_CODE, code, code, SCHEMA_BYTES, none)                                                                    \
	R(GPT_CODE_LINES, code_lines, code_lines, SCHEMA_BYTES, none)                                                  \
	R(GPT_CODE_DEAD, code_dead, code_dead, SCHEMA_BYTES, none)                                                     \
	R(GPT_NATIVE_STACK, native_stack, native_stack, SCHEMA_ARRAY, native_ip)                                       \
	R(GPT_THREAD, thread, thread, SCHEMA_BYTES, none)                                                              \
	R(GPT_FORK, fork, process_event, SCHEMA_BYTES, none)                                                           \
	R(GPT_EXEC, exec, process_event, SCHEMA_BYTES, none)                                                           \
	R(GPT_EXIT, exit, process_event, SCHEMA_BYTES, none)                                                           \
	R(GPT_MAPPED, mapped, mapped, SCHEMA_BYTES, none)                                                              \
	R(GPT_AGENT_BATCH, agent_batch, agent_batch, SCHEMA_RECORDS, none)                                             \
	R(GPT_PYEVENT, pyevent, pyevent, SCHEMA_BYTES, none)                                                           \
	R(GPT_PYCALL, pycall, pycall, SCHEMA_BYTES, none)                                                              \
	R(GPT_CUPTI_USE, cupti_use, cupti_use, SCHEMA_BYTES, none)                                                     \
	R(GPT_CUPTI_DONE, cupti_done, cupti_done, SCHEMA_BYTES, none)                                                  \
	R(GPT_STACK_AT, stack_at, stack_at, SCHEMA_BYTES, none)                                                        \
	R(GPT_SAMPLE, sample, sample, SCHEMA_BYTES, none)                                                              \
	R(GPT_WAIT, wait, wait, SCHEMA_BYTES, none)                                                                    \
	R(GPT_GENERATED, generated, generated, SCHEMA_BYTES, none)                                                     \
	R(GPT_PYTHON_SOURCE, source, source, SCHEMA_BYTES, none)                                                       \
	R(GPT_NCCL, nccl, nccl, SCHEMA_BYTES, none)                                                                    \
	R(GPT_SESSION, session, session, SCHEMA_BYTES, none)                                                           \
	R(GPT_PROCESS, process, process, SCHEMA_BYTES, none)                                                           \
	R(GPT_PROBES, probes, text, SCHEMA_BYTES, none)                                                                \
	R(GPT_NATIVE_SYM, native_sym, native_sym, SCHEMA_BYTES, none)                                                  \
	R(GPT_CLOCK, clock, clock, SCHEMA_BYTES, none)                                                                 \
	R(GPT_NOTE, note, text, SCHEMA_BYTES, none)                                                                    \
	R(GPT_END, end, end, SCHEMA_ARRAY, end_counter)

#define SCHEMA_AGENT_RECORDS(R)                                                                                        \
	R(GPT_AGENT_HELLO, agent_hello, agent_hello, SCHEMA_BYTES, none)                                               \
	R(GPT_AGENT_NAME, agent_name, agent_name, SCHEMA_BYTES, none)                                                  \
	R(GPT_AGENT_API, agent_api, agent_api, SCHEMA_BYTES, none)                                                     \
	R(GPT_AGENT_KERNEL, agent_kernel, agent_kernel, SCHEMA_BYTES, none)                                            \
	R(GPT_AGENT_MEMCPY, agent_memcpy, agent_memcpy, SCHEMA_BYTES, none)                                            \
	R(GPT_AGENT_MEMSET, agent_memset, agent_memset, SCHEMA_BYTES, none)                                            \
	R(GPT_AGENT_OVERHEAD, agent_overhead, agent_overhead, SCHEMA_BYTES, none)                                      \
	R(GPT_AGENT_DEVICE, agent_device, agent_device, SCHEMA_BYTES, none)                                            \
	R(GPT_AGENT_CONTEXT, agent_context, agent_context, SCHEMA_BYTES, none)                                         \
	R(GPT_AGENT_STREAM, agent_stream, agent_stream, SCHEMA_BYTES, none)                                            \
	R(GPT_AGENT_CLOCK, agent_clock, agent_clock, SCHEMA_BYTES, none)                                               \
	R(GPT_AGENT_STATS, agent_stats, agent_stats, SCHEMA_BYTES, none)                                               \
	R(GPT_AGENT_SYNC, agent_sync, agent_sync, SCHEMA_BYTES, none)                                                  \
	R(GPT_AGENT_EVENT, agent_event, agent_event, SCHEMA_BYTES, none)                                               \
	R(GPT_AGENT_MEMORY, agent_memory, agent_memory, SCHEMA_BYTES, none)                                            \
	R(GPT_AGENT_GRAPH_NODE, agent_graph_node, agent_graph_node, SCHEMA_BYTES, none)                                \
	R(GPT_AGENT_API_ACTIVITY, agent_api_activity, agent_api_activity, SCHEMA_BYTES, none)                          \
	R(GPT_AGENT_SIZES, agent_sizes, agent_sizes, SCHEMA_BYTES, none)                                               \
	R(GPT_AGENT_RANGE, agent_range, agent_range, SCHEMA_BYTES, none)                                               \
	R(GPT_AGENT_JIT, agent_jit, agent_jit, SCHEMA_BYTES, none)                                                     \
	R(GPT_AGENT_OP, agent_op, agent_op, SCHEMA_BYTES, none)                                                        \
	R(GPT_AGENT_OPS, agent_ops, agent_ops, SCHEMA_BYTES, none)                                                     \
	R(GPT_AGENT_TORCH_MEMORY, agent_torch_memory, agent_torch_memory, SCHEMA_BYTES, none)                          \
	R(GPT_AGENT_TORCH_MEMORY_STATE, agent_torch_memory_state, agent_torch_memory_state, SCHEMA_BYTES, none)        \
	R(GPT_AGENT_STEP, agent_step, agent_step, SCHEMA_BYTES, none)                                                  \
	R(GPT_AGENT_SCHEDULE, agent_schedule, agent_schedule, SCHEMA_BYTES, none)

#endif
