/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a collective of torch.distributed says of itself, as a text of several fields: hostile. */
#ifndef GPUTRACE_MODEL_COLLECTIVES_H
#define GPUTRACE_MODEL_COLLECTIVES_H

#include <stdbool.h>

#include "model/model.h"

#define COLLECTIVE_PARAMS_MAX 8192

/* Of a long trace so many collectives are kept for the GPU work that they launched. */
#define COLLECTIVES_MAX (1u << 17)

/* The fields, each terminated; those that are numbers as such, too. */
struct collective {
	const char *fields[GPT_COLLECTIVE_FIELDS];
	int64_t numbers[GPT_COLLECTIVE_FIELDS]; /* of GPT_COLLECTIVE_IN_ELEMENTS and those after it */
	char text[COLLECTIVE_PARAMS_MAX];
};

/* False: it is not such a text. */
bool collective_read(struct collective *collective, const char *params);

/* "Float"; "UNKNOWN_SCALAR" as PyTorch has it. */
const char *collective_dtype(const struct collective *collective);

/* The other way, as GPT_COLLECTIVE_DTYPE has it; -1: not known. */
int64_t collective_dtype_number(const char *name, size_t size);

/* Of one element; 0: not known. */
unsigned collective_element_bytes(const struct collective *collective);

/* What torch.profiler calls "Comms Id": the same number on every rank of the group, from what they all know. */
uint64_t collective_id(const struct collective *collective, int64_t sequence);

/* The same on every rank, too, for joining alone: of 100,000 collectives of a group some 30 share their "Comms Id". */
uint64_t collective_key(const struct collective *collective, int64_t sequence);

/* Drops the earliest where there are more than twice as many; returns how many are left, in front. */
size_t collectives_keep_latest(struct model_collective *items, size_t count);

/* Of an op (model_call.op); NULL: it is none, or was too long ago. */
const struct model_collective *model_collective_of(const struct model *model, uint64_t op);

/* Of what a call launches: what its op says, else what NCCL was called for; NULL: neither. */
const struct model_collective *model_collective_of_call(const struct model *model, const struct model_call *call);

#endif
