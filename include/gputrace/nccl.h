/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The NCCL calls that gputrace follows: one row per public function.  Used by attach/ (symbols to probe), bpf/ (where
 * the arguments are) and input/ (names).
 *
 * Source: nccl.h of NCCL 2.30.7, x86-64 System V ABI. Functions that a libnccl lacks are left out.
 */
#pragma once

/* Where the arguments worth keeping are at entry. */
enum gpt_nccl_args {
	GPT_NCCL_ARGS_NONE,	     /* ncclGroupStart, ncclGroupEnd */
	GPT_NCCL_ARGS_REDUCE_ALL,    /* send, recv, count, type, op, comm, stream */
	GPT_NCCL_ARGS_REDUCE,	     /* send, recv, count, type, op, root, comm, stream */
	GPT_NCCL_ARGS_ROOT,	     /* send, recv, count, type, root, comm, stream */
	GPT_NCCL_ARGS_ONE_BUFFER,    /* buffer, count, type, root or other rank, comm, stream */
	GPT_NCCL_ARGS_TWO_BUFFERS,   /* send, recv, count, type, comm, stream */
	GPT_NCCL_ARGS_COMM,	     /* comm */
	GPT_NCCL_ARGS_INIT,	     /* &comm, ranks, unique id (128 bytes, by value), rank */
	GPT_NCCL_ARGS_INIT_SCALABLE, /* &comm, ranks, rank, ids, unique ids, config */
	GPT_NCCL_ARGS_INIT_ALL,	     /* comms, their number, GPUs */
};

/*
 * R(id, function, arguments, name): the name is PyTorch's for torch.profiler, where PyTorch has the operation
 * (opTypeToString, torch/csrc/distributed/c10d/Work.cpp); "" for functions that are no operation.
 */
#define GPT_NCCL_TABLE(R)                                                                                              \
	R(ALL_REDUCE, ncclAllReduce, REDUCE_ALL, "allreduce")                                                          \
	R(REDUCE, ncclReduce, REDUCE, "reduce")                                                                        \
	R(BROADCAST, ncclBroadcast, ROOT, "broadcast")                                                                 \
	R(BCAST, ncclBcast, ONE_BUFFER, "broadcast")                                                                   \
	R(ALL_GATHER, ncclAllGather, TWO_BUFFERS, "allgather")                                                         \
	R(REDUCE_SCATTER, ncclReduceScatter, REDUCE_ALL, "reduce_scatter")                                             \
	R(GATHER, ncclGather, ROOT, "gather")                                                                          \
	R(SCATTER, ncclScatter, ROOT, "scatter")                                                                       \
	R(ALL_TO_ALL, ncclAlltoAll, TWO_BUFFERS, "all_to_all")                                                         \
	R(SEND, ncclSend, ONE_BUFFER, "send")                                                                          \
	R(RECV, ncclRecv, ONE_BUFFER, "recv")                                                                          \
	R(GROUP_START, ncclGroupStart, NONE, "")                                                                       \
	R(GROUP_END, ncclGroupEnd, NONE, "")                                                                           \
	R(GROUP_SIMULATE_END, ncclGroupSimulateEnd, NONE, "")                                                          \
	R(INIT, ncclCommInitRank, INIT, "")                                                                            \
	R(INIT_CONFIG, ncclCommInitRankConfig, INIT, "")                                                               \
	R(INIT_SCALABLE, ncclCommInitRankScalable, INIT_SCALABLE, "")                                                  \
	R(DESTROY, ncclCommDestroy, COMM, "")                                                                          \
	R(ABORT, ncclCommAbort, COMM, "")                                                                              \
	R(INIT_ALL, ncclCommInitAll, INIT_ALL, "")

/* In the log (gpt_nccl.function): append only. */
enum gpt_nccl_function {
	GPT_NCCL_SEVERAL, /* calls of different functions, in one group */
#define GPT_NCCL_ID(id, function, arguments, name) GPT_NCCL_##id,
	GPT_NCCL_TABLE(GPT_NCCL_ID)
#undef GPT_NCCL_ID
		GPT_NCCL_FUNCTIONS,
};

#define GPT_NCCL_DTYPES 12	     /* ncclDataType_t */
#define GPT_NCCL_ID_BYTES 128	     /* NCCL_UNIQUE_ID_BYTES */
#define GPT_NCCL_ALL_MAX 32	     /* ranks of one call of ncclCommInitAll that are followed */
#define GPT_NCCL_RANKS_MAX (1 << 24) /* a larger value is no number of ranks */
