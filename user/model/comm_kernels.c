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
	/* NCCL 2.30.7 (its libnccl.so.2; src/device/generate.py: ncclDevKernel_FUNC_RED_TYPE_ALGO_PROTO) and its
	   symmetric kernels (src/device/symmetric/generate.py; ncclSymDevKernel_ up to 2.28); up to 2.18
	   ncclKernel_FUNC_ALGO_... */
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
	/* vLLM: csrc/custom_all_reduce.cuh, at c9eabec7d862; SGLang's sgl-kernel/csrc/allreduce/custom_all_reduce.cuh
	   and FlashInfer's include/flashinfer/comm/vllm_custom_all_reduce.cuh have the same */
	{"cross_device_reduce_1stage", false, COMM_OF_ALL},
	{"cross_device_reduce_2stage", false, COMM_OF_ALL},
	/* vLLM: csrc/custom_all_gather_reduce_scatter.cuh, at 15a3fd47ef45 */
	{"cross_device_all_gather", false, COMM_OF_ALL},
	{"cross_device_reduce_scatter", false, COMM_OF_ALL},
	{"mnnvl_lamport_all_gather", false, COMM_OF_ALL},
	{"mnnvl_lamport_reduce_scatter_kernel", false, COMM_OF_ALL},
	/* SGLang: csrc/distributed/custom_all_reduce_pull.cuh, at 0ba3cdd47463, and
	   custom_all_reduce_push.cuh, at 233f402cba0c */
	{"all_reduce_one_shot_kernel", false, COMM_OF_ALL},
	{"all_reduce_two_shot_kernel", false, COMM_OF_ALL},
	{"all_reduce_one_shot_push_kernel", false, COMM_OF_ALL},
	/* TensorRT-LLM: cpp/tensorrt_llm/kernels/customAllReduceKernels.cu; FlashInfer 0.6.18:
	   include/flashinfer/comm/trtllm_allreduce.cuh.  PyTorch up to 2.6:
	   torch/csrc/distributed/c10d/intra_node_comm.cu, at 0007e752d518, which also has the last of them */
	{"oneShotAllReduceKernel", false, COMM_OF_ALL},
	{"twoShotAllReduceKernel", false, COMM_OF_ALL},
	{"lamport_style_one_shot_all_reduce_norm_kernel", false, COMM_OF_ALL},
	{"one_shot_all_reduce_norm_kernel", false, COMM_OF_ALL},
	{"one_shot_prenorm_all_reduce_norm_kernel", false, COMM_OF_ALL},
	{"hybridCubeAllReduceKernel", false, COMM_OF_ALL},
	/* TensorRT-LLM: cpp/tensorrt_llm/kernels/communicationKernels/, allReduceFusionKernels.cu,
	   moeAllReduceFusionKernels.cu, MiniMaxReduceRMSKernel.cu and customLowPrecisionAllReduceKernels.cu; FlashInfer
	   0.6.18: include/flashinfer/comm/trtllm_allreduce_fusion.cuh and trtllm_moe_allreduce_fusion.cuh */
	{"allreduce_fusion_kernel_oneshot_lamport", false, COMM_OF_ALL},
	{"allreduce_fusion_kernel_twoshot_sync", false, COMM_OF_ALL},
	{"moereduce_allreduce_fusion_kernel_oneshot_lamport", false, COMM_OF_ALL},
	{"moefinalize_allreduce_fusion_kernel_oneshot_lamport", false, COMM_OF_ALL},
	{"minimax_reduce_rms_kernel_lamport", false, COMM_OF_ALL},
	{"lowPrecisionTwoShotAllReduceKernel", false, COMM_OF_ALL},
	/* TensorRT-LLM: in the same folder mnnvlAllreduceKernels.cu (before that mnnvlTwoShotAllreduceKernels.cu),
	   lowlatTwoShotAllreduceKernels.cu, at 0cbf7a7ce410, and mnnvlAllGatherKernels.cu, at 4c9e23db1c62; FlashInfer
	   0.6.18: include/flashinfer/comm/trtllm_mnnvl_allreduce.cuh */
	{"oneshotAllreduceFusionKernel", false, COMM_OF_ALL},
	{"twoshotAllreduceKernel", false, COMM_OF_ALL},
	{"twoshot_allreduce_kernel", false, COMM_OF_ALL},
	{"mnnvlAllGatherSplitKernel", false, COMM_OF_ALL},
	/* TensorRT-LLM: in the same folder moeAlltoAllKernels.cu; FlashInfer 0.6.18:
	   include/flashinfer/comm/trtllm_alltoall.cuh and ulysses_all_to_all.cuh */
	{"moeA2ADispatchKernel", false, COMM_OF_SOME},
	{"moeA2ACombineKernel", false, COMM_OF_SOME},
	{"moeAllToAllKernel", false, COMM_OF_SOME},
	{"ulysses_a2a_kernel", false, COMM_OF_SOME},
	/* FlashInfer 0.6.18: include/flashinfer/comm/mixed_comm.cuh and pcie_ipc_all_reduce.cuh */
	{"mixed_comm::allreduce_kernel", false, COMM_OF_ALL},
	{"mixed_comm::allgather_kernel", false, COMM_OF_ALL},
	{"mixed_comm::reducescatter_kernel", false, COMM_OF_ALL},
	{"mixed_comm::fused_allreduce_allgather_kernel", false, COMM_OF_ALL},
	{"mixed_comm::fused_reducescatter_allreduce_kernel", false, COMM_OF_ALL},
	{"pcie_ipc::ipc_", true, COMM_OF_ALL},
	{"pcie_ipc::push_oneshot_param_kernel", false, COMM_OF_ALL},
	/* PyTorch 2.15.0 (its libtorch_cuda.so; torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu); the
	   first also in Triton by its documentation of symmetric memory */
	{"one_shot_all_reduce_kernel", false, COMM_OF_ALL},
	{"two_shot_all_reduce_kernel", false, COMM_OF_ALL},
	{"two_shot_all_reduce_kernel_inplace", false, COMM_OF_ALL},
	{"multimem_all_reduce_kernel", false, COMM_OF_ALL},
	{"multimem_one_shot_all_reduce_kernel", false, COMM_OF_ALL}, /* before */
	{"multimem_one_shot_reduce_kernel", false, COMM_OF_ALL},
	{"multimem_all_gather_kernel", false, COMM_OF_ALL},
	/* PyTorch 2.15.0 (its libtorch_cuda.so and libtorch_nvshmem.so): in the same folder CUDASymmetricMemory.cu,
	   nccl_extension.cu and nvshmem_extension.cu */
	{"symmetric_memory::barrier_kernel", false, COMM_OF_ALL},
	{"symmetric_memory::multimem_barrier_kernel", false, COMM_OF_ALL},
	{"symmetric_memory::put_signal_kernel", false, COMM_OF_SOME},
	{"symmetric_memory::wait_signal_kernel", false, COMM_OF_SOME},
	{"nccl_extension::", true, COMM_OF_SOME},
	{"nvshmem_extension::", true, COMM_OF_SOME},
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
	return value_of_first(sizeof(known_names) / sizeof(known_names[0]), i, has_name(name, &known_names[i]),
			      known_names[i].kind, COMM_NONE);
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
