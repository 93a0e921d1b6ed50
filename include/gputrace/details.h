/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What a trace leaves out, in this order, when more comes than can be kept, or when it costs too much. At level n the
 * first n are not recorded. Launches and the GPU's records always are.
 */
#pragma once

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
