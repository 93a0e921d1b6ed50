/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/communication.h"

#include <string.h>

#include "model/collectives.h"

/* Longer words first: ReduceScatter is no Reduce. */
static const struct {
	const char *in_name, *word;
} words[] = {
	{"AllReduce", "all-reduce"},
	{"AllGather", "all-gather"},
	{"ReduceScatter", "reduce-scatter"},
	{"AllToAll", "all-to-all"},
	{"SendRecv", "send/recv"},
	{"Broadcast", "broadcast"},
	{"Reduce", "reduce"},
	{"all_reduce", "all-reduce"},
	{"llreduce", "all-reduce"},
	{"cross_device_reduce", "all-reduce"},
	{"all_gather", "all-gather"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool gpu_is_communication(struct comm_names *names, const struct model *model, const struct model_gpu *op,
			  const struct model_call *call)
{
	if (op->kind != MODEL_KERNEL)
		return false;
	return (op->name != NONE && comm_names_kind(names, op->name, model->strings[op->name]) != COMM_NONE) ||
	       (call && model_nccl_call_of(model, call));
}

const char *communication_word(const char *name)
{
	return value_of_first(COUNT(words), i, strstr(name, words[i].in_name), words[i].word, "communication");
}
