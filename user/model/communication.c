/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/communication.h"

#include <string.h>

#include "model/collectives.h"

/* A library's kernels: names that begin with `start` and contain `inner` after it. */
static const struct kernel_names {
	const char *start, *inner;
} communication_kernels[] = {
	{"nccl", "Kernel"}, /* NCCL and RCCL: ncclKernel_ up to 2.17, ncclDevKernel_ since, ncclSymkDevKernel_ */
};

/* Longer words first: ReduceScatter is no Reduce. */
static const struct {
	const char *in_name, *word;
} words[] = {
	{"AllReduce", "all-reduce"}, {"AllGather", "all-gather"}, {"ReduceScatter", "reduce-scatter"},
	{"AllToAll", "all-to-all"},  {"SendRecv", "send/recv"},	  {"Broadcast", "broadcast"},
	{"Reduce", "reduce"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool kernel_name_is_communication(const char *name)
{
	for (size_t i = 0; i < COUNT(communication_kernels); i++) {
		const struct kernel_names *names = &communication_kernels[i];
		size_t length = strlen(names->start);

		if (!strncmp(name, names->start, length) && strstr(name + length, names->inner))
			return true;
	}
	return false;
}

bool gpu_is_communication(const struct model *model, const struct model_gpu *op, const struct model_call *call)
{
	if (op->kind != MODEL_KERNEL)
		return false;
	return (op->name != NONE && kernel_name_is_communication(model->strings[op->name])) ||
	       (call && model_nccl_call_of(model, call));
}

const char *communication_word(const char *name)
{
	for (size_t i = 0; i < COUNT(words); i++)
		if (strstr(name, words[i].in_name))
			return words[i].word;
	return "communication";
}
