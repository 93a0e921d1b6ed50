/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts words that other tools write back to the CUPTI numbers that they came from. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/events.h"

/*
 * The id of a CUDA call (cuda_api.h) by CUPTI's callback id, if gputrace follows that call and it has that name; else
 * 0.
 */
uint16_t name_to_api(const char *name, size_t size, enum gpt_api_domain domain, int64_t cbid);

/* The same by name alone, without a suffix such as _v7000; other calls get api_named. */
uint16_t name_to_any_api(const char *name, size_t size);

/* The name of a call that gputrace does not follow, by CUPTI's callback id; NULL: unknown. */
const char *name_of_cbid(enum gpt_api_domain domain, int64_t cbid);

/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)": sets the kinds of the work, 0 if unknown. */
void name_to_memory_kinds(const char *name, size_t size, struct model_gpu *work);

/* "pinned", as gputrace writes the kind of memory from CUDA; 0: unknown. */
uint32_t name_to_memory(const char *name, size_t size);

/* "Stream Sync"; 0: something else. */
enum gpt_agent_sync_kind name_to_sync(const char *name, size_t size);

/* "cudaStreamSynchronize": what a call of that name waits for, or makes a stream wait for; 0: nothing. */
enum gpt_agent_sync_kind name_to_wait(const char *name, size_t size);

/* "Buffer Flush"; 0: unknown. */
uint32_t name_to_overhead(const char *name, size_t size);
