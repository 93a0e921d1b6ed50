/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds and opens the libcupti of this process: the mapped one, else the one that fits its CUDA. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cupti/cupti_abi.h"

struct found_cuda {
	uint32_t driver_version;  /* as gpt_agent_hello */
	uint32_t runtime_version; /* from the mapped file's name: a wheel's libcudart.so.12 has no minor */
};

/*
 * Opens CUPTI, which is never closed again, and finds the CUDA of the process. Only `given` is tried unless it is "".
 * Returns an enum gpt_agent_failure; `detail` says what was wrong or where it looked. Slow (files, loader): not for a
 * launch.
 */
uint32_t cupti_find(struct cupti *cupti, struct found_cuda *cuda, const char *given, char *detail, size_t detail_size);

/* For tests: CUDA major (11, 12, 13) of a CUPTI version; 0: unknown. `name` decides for 18, which 11 and 12 share. */
unsigned cupti_major(uint32_t version, const char *name);
