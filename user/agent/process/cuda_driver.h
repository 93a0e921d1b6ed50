/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Queries the CUDA driver of this process, where it is loaded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* As in gpt_agent_hello; 0: no driver is loaded, or it gives no version. */
uint32_t cuda_driver_version(void);

/* True if the driver initialises and has a GPU. Waits for a cuInit in progress: never call it inside one. */
bool cuda_works(void);

/* True once the application has called cuInit; does not call it itself. */
bool cuda_started(void);
