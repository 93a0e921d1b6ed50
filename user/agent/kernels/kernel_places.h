/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Where in the source the kernel of a launch is, by the calls to the driver: code is loaded (its line table says the
 * places), a function is taken from it, that function is launched, or becomes a node of a graph.  Each step is followed
 * by its handle, so kernels of one name in two modules are distinct.  Code that was loaded before anyone followed,
 * and functions that the driver gives out in other ways, have no place.
 */
#ifndef GPUTRACE_AGENT_KERNEL_PLACES_H
#define GPUTRACE_AGENT_KERNEL_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_PLACES_TEXT_MAX 1024u /* of one place, "/path/kernels.py:12"; longer ones are not kept */

/* Forgets all: what was loaded and unloaded meanwhile is not known.  No one may call the others then. */
void kernel_places_reset(void);

/* Driver calls that must be followed: kernel_places_cbids[0 .. count - 1]. */
extern const uint16_t kernel_places_cbids[];
extern const unsigned kernel_places_cbid_count;

/* On the thread that loads: code is there. */
void kernel_places_module(const void *cubin, uint64_t size);

/* A call of kernel_places_cbids enters; returns, result as CUresult. */
bool kernel_places_follows(uint32_t cbid);
bool kernel_places_loads(uint32_t cbid); /* one that loads code: a call of cuda_api.h, too */
void kernel_places_enter(uint32_t cbid, const void *params);
void kernel_places_return(uint32_t cbid, const void *params, int32_t result);

/*
 * A driver call of that correlation id, not within one of the runtime, enters: notes what it launches.  It failed: no
 * kernel will come of it.
 */
void kernel_places_launch(uint32_t cbid, const void *params, uint32_t corr);
void kernel_places_failed(uint32_t corr);

/* It became a node; a node was cloned. */
void kernel_places_node(uint64_t node, uint32_t corr);
void kernel_places_clone(uint64_t node, uint64_t source);

/* The place of a kernel of that launch, or of that node (0: none); NULL: not known. */
const char *kernel_places_find(uint32_t corr, uint64_t node);

/* Since the reset: kernels, nodes and launches whose place had no room here. */
uint64_t kernel_places_lost(void);

/*
 * Functions that driver calls launched and that no one was seen to take: their code was loaded before the reset, or
 * they were given out in a way that is not followed.  Functions without a line table are among them: no one looked.
 */
uint64_t kernel_places_before(void);

#endif
