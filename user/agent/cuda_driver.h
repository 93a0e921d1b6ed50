/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the CUDA driver of this process says, where it is loaded. */
#ifndef GPUTRACE_AGENT_CUDA_DRIVER_H
#define GPUTRACE_AGENT_CUDA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

/* As gpt_agent_hello; 0: no driver is loaded, or it does not say. */
uint32_t cuda_driver_version(void);

/* True when the driver initialises (waits for a cuInit in progress: never ask inside of one) and has a GPU. */
bool cuda_works(void);

/* True once the application has called cuInit; asks without doing it. */
bool cuda_started(void);

#endif
