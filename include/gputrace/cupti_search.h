/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Where a process's libcupti is looked for, in this order: by the agent, which opens it, and by `gputrace doctor`,
 * which says what the agent would find.
 */
#pragma once

/* CUDA majors, newest first, and the SONAME of each: 11.x keeps the minor, and before 11.8 records were shorter. */
#define GPT_CUPTI_GENERATIONS                                                                                          \
	{                                                                                                              \
		{13, "libcupti.so.13"}, {12, "libcupti.so.12"},                                                        \
		{                                                                                                      \
			11, "libcupti.so.11.8"                                                                         \
		}                                                                                                      \
	}

/* From the folder of libcudart: wheels of CUDA 13 (one folder), of 11 and 12, toolkits with and without targets/. */
#define GPT_CUPTI_BESIDE_CUDART                                                                                        \
	{                                                                                                              \
		".", "../../cuda_cupti/lib", "../extras/CUPTI/lib64", "../../extras/CUPTI/lib64",                      \
			"../../../extras/CUPTI/lib64"                                                                  \
	}

/* From the folder of a toolkit. */
#define GPT_CUPTI_IN_TOOLKIT                                                                                           \
	{                                                                                                              \
		"extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib"             \
	}

/* Environment: folders of toolkits; the one libcupti to use, except where another one is mapped already. */
#define GPT_CUPTI_TOOLKIT_VARIABLES                                                                                    \
	{                                                                                                              \
		"CUDA_HOME", "CUDA_PATH"                                                                               \
	}
#define GPT_CUPTI_VARIABLE "GPUTRACE_CUPTI"
#define GPT_CUPTI_TOOLKIT "/usr/local/cuda"
