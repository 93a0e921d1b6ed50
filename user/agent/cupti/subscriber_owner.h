/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Who holds CUPTI's subscriber, as far as the process itself shows.  CUPTI says only that someone does, and his name
 * when he gave one (13.0 and later).
 */
#ifndef GPUTRACE_AGENT_SUBSCRIBER_OWNER_H
#define GPUTRACE_AGENT_SUBSCRIBER_OWNER_H

#include <stdbool.h>
#include <stddef.h>

/* True where PyTorch's CPU library is mapped, which holds Kineto: torch.profiler. */
bool owner_has_kineto(void);

/*
 * True where Kineto will want to subscribe, as that of PyTorch up to 2.14 does when it is first used.  It tries once:
 * were the subscriber ours at that moment, torch.profiler would see no GPU for the rest of the process's life.
 */
bool owner_kineto_subscribes(void);

/*
 * The name of something in the process, other than Kineto, that may hold the subscriber ("Nsight Systems,
 * libToolsInjection64.so"); "" none is known.
 */
void owner_name_other(char *name, size_t size);

#endif
