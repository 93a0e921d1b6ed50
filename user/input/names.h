/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What other tools write as words, back to the numbers of CUPTI that it was made of. */
#ifndef GPUTRACE_INPUT_NAMES_H
#define GPUTRACE_INPUT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "model/events.h"

/* The id of a CUDA call (cuda_api.h) by CUPTI's callback id, where that is one that gputrace follows and has that name;
 * else 0. */
uint16_t name_to_api(const char *name, size_t size, enum gpt_api_domain domain, int64_t cbid);

/* The same by name alone, of which an ending such as _v7000 is left out; of others api_named. */
uint16_t name_to_any_api(const char *name, size_t size);

/* The name of a call that gputrace does not follow, by CUPTI's callback id; NULL: it is not known. */
const char *name_of_cbid(enum gpt_api_domain domain, int64_t cbid);

/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)": kinds of the work, 0 what is not known. */
void name_to_memory_kinds(const char *name, size_t size, struct new_gpu_work *work);

/* "pinned", as gputrace writes memory that CUDA handed out; 0: unknown. */
uint32_t name_to_memory(const char *name, size_t size);

/* "Stream Sync"; 0: something else. */
enum gpt_agent_sync_kind name_to_sync(const char *name, size_t size);

/* "cudaStreamSynchronize": what a call of that name waits for, or lets a stream wait for; 0: it does not. */
enum gpt_agent_sync_kind name_to_wait(const char *name, size_t size);

/* "Buffer Flush"; 0: unknown. */
uint32_t name_to_overhead(const char *name, size_t size);

#endif
