/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tools that may hold CUPTI's subscriber in a process, by the library that the tool loads into it. The agent then stays
 * away from the activity API; `gputrace doctor` names the tool.
 */
#pragma once

/* torch.profiler: the agent can use CUPTI between its sessions. */
#define GPT_KINETO_FILE "libtorch_cpu.so"
/* Exported by PyTorch up to 2.14, whose Kineto subscribes when first used and keeps the subscriber. */
#define GPT_KINETO_SUBSCRIBES "_ZN9libkineto22setupCuptiInitCallbackEb"

/*
 * X(prefix of the file's name, the tool): as Nsight Systems and Compute of 2025, CUDA 13 and the others install them.
 */
#define GPT_CUPTI_USERS(X)                                                                                             \
	X("libToolsInjection", "Nsight Systems")                                                                       \
	X("libcuda-injection", "Nsight Compute")                                                                       \
	X("libInterceptorInjection", "an Nsight tool")                                                                 \
	X("libTreeLauncher", "an Nsight tool")                                                                         \
	X("libsanitizer-collection", "compute-sanitizer")                                                              \
	X("libsanitizer-public", "compute-sanitizer")                                                                  \
	X("libcudadebugger", "cuda-gdb")                                                                               \
	X("libproton", "Triton's Proton")                                                                              \
	X("xla_cuda_plugin", "JAX")                                                                                    \
	X("libtensorflow", "TensorFlow")                                                                               \
	X("libpaddle", "PaddlePaddle")                                                                                 \
	X("libparcagpu", "Parca")                                                                                      \
	X("libwprofcupti", "wprof")                                                                                    \
	X("libscorep_", "Score-P")                                                                                     \
	X("libTAU", "TAU")                                                                                             \
	X("libhpcrun", "HPCToolkit")                                                                                   \
	X("libcudatrace", "Extrae")
