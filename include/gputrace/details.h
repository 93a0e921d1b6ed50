/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What a trace leaves out, in this order, when more comes than can be kept, or when it costs too much. At level n the
 * first n are not recorded. Launches and the GPU's records always are.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* X(GPT_DETAIL_..., number, name for programs, words that follow "no") */
#define GPT_DETAILS(X)                                                                                                 \
	X(SAMPLES, 0, samples, "samples of threads")                                                                   \
	X(WAITS, 1, waits, "waits of threads")                                                                         \
	X(SHAPES, 2, shapes, "inputs of PyTorch's ops")                                                                \
	X(OPS, 3, ops, "ops of PyTorch but those that the program names")                                              \
	X(STACKS, 4, stacks, "Python stacks")

#define GPT_DETAIL_NUMBER(detail, number, ...) GPT_DETAIL_##detail = (number),
enum gpt_detail_kind { GPT_DETAILS(GPT_DETAIL_NUMBER) GPT_DETAIL_COUNT };

/* What the level follows; in a GPT_DETAIL_CHANGE what `measured` and `limit` are. */
enum gpt_detail_why {
	GPT_DETAIL_RING = 1,   /* bytes in the ring buffer, of its size */
	GPT_DETAIL_COST = 2,   /* ns that a thread paid in a second, of those that --cost-limit permits */
	GPT_DETAIL_MEMORY = 3, /* bytes of the collector, of --memory-limit */
	GPT_DETAIL_WHYS,
};

/* Bytes of a ring buffer that are left to launches and the records of GPUs: a detail is sent if more are free. */
static inline __u64 gpt_detail_ring_rest(__u64 size)
{
	__u64 rest = size / 8 + (128 << 10);

	return rest < size / 4 ? rest : size / 4;
}
