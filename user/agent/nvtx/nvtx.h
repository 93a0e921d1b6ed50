/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The agent as an NVTX tool: NVTX_INJECTION64_PATH loads it, and each library that contains NVTX initialises it once
 * and reports its ranges from then on. CUPTI could do the same, but from 13.0 on it starts CUDA at the program's first
 * range (such a process can no longer fork workers that use CUDA), 13.2 ends a program without a usable driver there,
 * and its clock differs from the calls'.
 */
#pragma once

#include <stdint.h>

/* Called by NVTX on a thread of the application; returns nonzero: NVTX reports to the agent from now on. */
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

/* Name of a domain by its number, "" for the default one; NUL-terminated, at most NVTX_DOMAIN_BYTES with the NUL. */
#define NVTX_DOMAIN_BYTES 64u
const char *nvtx_domain_name(uint32_t number);
