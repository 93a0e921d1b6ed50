/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/comm_kernels.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A function's name: whole, or its beginning. */
static const struct comm_name {
	const char *name;
	bool is_prefix;
	enum comm_kind kind;
} known_names[] = {
	/* NCCL 2.30 (src/device/generate.py: ncclDevKernel_FUNC_RED_TYPE_ALGO_PROTO) and its symmetric kernels
	   (src/device/symmetric/generate.py; ncclSymDevKernel_ up to 2.28); up to 2.18 ncclKernel_FUNC_ALGO_... */
	{"ncclDevKernel_AllReduce_", true, COMM_OF_ALL},
	{"ncclDevKernel_AllGather_", true, COMM_OF_ALL},
	{"ncclDevKernel_ReduceScatter_", true, COMM_OF_ALL},
	{"ncclDevKernel_", true, COMM_OF_SOME},
	{"ncclSymkDevKernel_", true, COMM_OF_ALL},
	{"ncclSymDevKernel_", true, COMM_OF_ALL},
	{"ncclKernel_AllReduce_", true, COMM_OF_ALL},
	{"ncclKernel_AllGather_", true, COMM_OF_ALL},
	{"ncclKernel_ReduceScatter_", true, COMM_OF_ALL},
	{"ncclKernel_", true, COMM_OF_SOME},
	/* vLLM: csrc/custom_all_reduce.cuh; SGLang: sgl-kernel/csrc/allreduce/custom_all_reduce.cuh */
	{"cross_device_reduce_1stage", false, COMM_OF_ALL},
	{"cross_device_reduce_2stage", false, COMM_OF_ALL},
	/* TensorRT-LLM: cpp/tensorrt_llm/kernels/customAllReduceKernels.cu; PyTorch up to 2.6:
	   torch/csrc/distributed/c10d/intra_node_comm.cu */
	{"oneShotAllReduceKernel", false, COMM_OF_ALL},
	{"twoShotAllReduceKernel", false, COMM_OF_ALL},
	/* TensorRT-LLM: cpp/tensorrt_llm/kernels/communicationKernels/allReduceFusionKernels.cu and
	   moeAllReduceFusionKernels.cu; FlashInfer has the same */
	{"allreduce_fusion_kernel_oneshot_lamport", false, COMM_OF_ALL},
	{"allreduce_fusion_kernel_twoshot_sync", false, COMM_OF_ALL},
	{"moereduce_allreduce_fusion_kernel_oneshot_lamport", false, COMM_OF_ALL},
	/* TensorRT-LLM: cpp/tensorrt_llm/kernels/communicationKernels/mnnvlTwoShotAllreduceKernels.cu */
	{"twoshotAllreduceKernel", false, COMM_OF_ALL},
	/* PyTorch 2.10: torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu; the first also in Triton by
	   its documentation of symmetric memory */
	{"one_shot_all_reduce_kernel", false, COMM_OF_ALL},
	{"two_shot_all_reduce_kernel", false, COMM_OF_ALL},
	{"two_shot_all_reduce_kernel_inplace", false, COMM_OF_ALL},
	{"multimem_all_reduce_kernel", false, COMM_OF_ALL},
	{"multimem_one_shot_all_reduce_kernel", false, COMM_OF_ALL},
	{"multimem_all_gather_kernel", false, COMM_OF_ALL},
};

char *comm_kernels_add(struct comm_kernels *kernels, const char *pattern)
{
	char reason[256];
	regex_t regex;
	int err = *pattern ? regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) : REG_BADPAT;

	if (err) {
		regerror(err, NULL, reason, sizeof(reason));
		return xstrdup(*pattern ? reason : "it is empty, and would be every kernel");
	}
	array_push(&kernels->own, regex);
	return NULL;
}

void comm_kernels_free(struct comm_kernels *kernels)
{
	for (size_t i = 0; i < kernels->own.count; i++)
		regfree(&kernels->own.items[i]);
	array_free(&kernels->own);
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether the text has the name as a whole word, or as the beginning of one. */
static bool has_name(const char *text, const struct comm_name *wanted)
{
	size_t length = strlen(wanted->name);

	for (const char *at = strstr(text, wanted->name); at; at = strstr(at + 1, wanted->name))
		if ((at == text || !is_of_name(at[-1])) && (wanted->is_prefix || !is_of_name(at[length])))
			return true;
	return false;
}

enum comm_kind comm_kind_of(const struct comm_kernels *kernels, const char *name)
{
	for (size_t i = 0; kernels && i < kernels->own.count; i++)
		if (!regexec(&kernels->own.items[i], name, 0, NULL, 0))
			return COMM_OF_ALL;
	for (size_t i = 0; i < sizeof(known_names) / sizeof(known_names[0]); i++)
		if (has_name(name, &known_names[i]))
			return known_names[i].kind;
	return COMM_NONE;
}

enum comm_kind comm_names_kind(struct comm_names *names, uint32_t string, const char *name)
{
	uint8_t *kind;

	while (names->kinds.count <= string)
		array_push(&names->kinds, 0);
	kind = &names->kinds.items[string];
	if (!*kind)
		*kind = (uint8_t)(comm_kind_of(names->own, name) + 1);
	return (enum comm_kind)(*kind - 1);
}

void comm_names_free(struct comm_names *names)
{
	array_free(&names->kinds);
}
