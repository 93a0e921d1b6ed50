/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Which libcupti belongs to this process, opened: the one that is there, else the one that fits its CUDA. */
#ifndef GPUTRACE_AGENT_FIND_CUPTI_H
#define GPUTRACE_AGENT_FIND_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#include "cupti/cupti_abi.h"

struct found_cuda {
	uint32_t driver_version;  /* as gpt_agent_hello */
	uint32_t runtime_version; /* by the name of the mapped file: a wheel's libcudart.so.12 has no minor */
};

/*
 * Opens CUPTI (never closed again; `given` and no other unless it is "") and learns what CUDA is in the process.
 * Returns an enum gpt_agent_failure; `detail` says what was wrong or where it looked.  Slow (files, loader): not on a
 * launch.
 */
uint32_t cupti_find(struct cupti *cupti, struct found_cuda *cuda, const char *given, char *detail, size_t detail_size);

/* For tests: CUDA major of a version CUPTI gives: 11, 12, 13; 0: none that we know. `name` decides where 18 is both. */
unsigned cupti_major(uint32_t version, const char *name);

#endif
