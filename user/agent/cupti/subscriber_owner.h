/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Guesses from the process who holds CUPTI's subscriber. CUPTI says only that it is taken, and the holder's name if it
 * gave one (13.0 and later).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* True if PyTorch's CPU library is mapped, which contains Kineto: torch.profiler. */
bool owner_has_kineto(void);

/*
 * True if Kineto is going to subscribe, as PyTorch's up to 2.14 does on first use. It tries only once: if the agent had
 * the subscriber then, torch.profiler would see no GPU for the rest of the process's life.
 */
bool owner_kineto_subscribes(void);

/*
 * Gets the name of a tool in the process, other than Kineto, that may hold the subscriber ("Nsight Systems,
 * libToolsInjection64.so"); "": none is known.
 */
void owner_name_other(char *name, size_t size);
