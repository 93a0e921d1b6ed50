/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parameters of a torch.distributed collective, as a text of several fields.  The text is hostile. */
#pragma once

#include <stdbool.h>

#include "model/model.h"

#define COLLECTIVE_PARAMS_MAX 8192

/* How many collectives of a long trace are kept for the GPU work that they launched. */
#define COLLECTIVES_MAX (1u << 17)

/* The fields, each NUL-terminated; numeric fields as numbers, too. */
struct collective {
	const char *fields[GPT_COLLECTIVE_FIELDS];
	int64_t numbers[GPT_COLLECTIVE_FIELDS]; /* valid from GPT_COLLECTIVE_IN_ELEMENTS on */
	char text[COLLECTIVE_PARAMS_MAX];
};

/* False: not a text in that format. */
bool collective_read(struct collective *collective, const char *params);

/* "Float" and so on; "UNKNOWN_SCALAR", as in PyTorch. */
const char *collective_dtype(const struct collective *collective);

/* The reverse: the number in GPT_COLLECTIVE_DTYPE of a name; -1: not known. */
int64_t collective_dtype_number(const char *name, size_t size);

/* The size of one element; 0: not known. */
unsigned collective_element_bytes(const struct collective *collective);

/* Whether a rank may be done with it before others begin: a broadcast's root. */
bool collective_is_one_way(const struct collective *collective);

/* The larger of a rank's input and output; -1: not known. */
int64_t collective_bytes(const struct collective *collective);

/* The same number on every rank for a group or communicator, of which no two that differ in name or ranks share one. */
uint64_t collective_group_key(const struct collective *collective);

/* torch.profiler's "Comms Id": the same number on every rank of the group, computed from values that all ranks know. */
uint64_t collective_id(const struct collective *collective, int64_t sequence);

/*
 * Also the same on every rank; used for joining only, since some 30 of 100,000 collectives of a group share a "Comms
 * Id".
 */
uint64_t collective_key(const struct collective *collective, int64_t sequence);

/* The same with the op's name, as several ops may share a sequence number. */
uint64_t collective_key_of_op(const struct collective *collective, int64_t sequence);

/*
 * Drops the earliest if there are more than twice COLLECTIVES_MAX; returns how many remain, at the start of the array.
 */
size_t collectives_keep_latest(struct model_collective *items, size_t count);

/* The collective of an op (model_call.op); NULL: the op is not one, or was too long ago. */
const struct model_collective *model_collective_of(const struct model *model, uint64_t op);

/* The call of NCCL in which a CUDA call was made; NULL: none. */
const struct model_collective *model_nccl_call_of(const struct model *model, const struct model_call *call);

/* The collective that a call launches, from its op, else from its NCCL call; NULL: neither. */
const struct model_collective *model_collective_of_call(const struct model *model, const struct model_call *call);
