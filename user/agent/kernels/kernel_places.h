/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Finds the place in the source of a launched kernel by following driver calls: code is loaded (its line table has the
 * places), a function is taken from it, that function is launched or becomes a node of a graph. Each step is followed
 * by its handle, so kernels of one name in two modules are distinct. Code loaded before following began, and functions
 * that the driver gives out in other ways, have no place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_PLACES_TEXT_MAX 1024u /* of one place, "/path/kernels.py:12"; longer ones are not kept */

/* Forgets everything, as code may have been loaded and unloaded unseen. No other function may run at the same time. */
void kernel_places_reset(void);

/* Driver calls that must be followed: kernel_places_cbids[0 .. count - 1]. */
extern const uint16_t kernel_places_cbids[];
extern const unsigned kernel_places_cbid_count;

/* Called on the loading thread for each loaded code. */
void kernel_places_module(const void *cubin, uint64_t size);

/* Entry and return of a call of kernel_places_cbids; result: CUresult. */
bool kernel_places_follows(uint32_t cbid);
bool kernel_places_loads(uint32_t cbid); /* a call that loads code, and is in cuda_api.h, too */
void kernel_places_enter(uint32_t cbid, const void *params);
void kernel_places_return(uint32_t cbid, const void *params, int32_t result);

/*
 * Entry of a driver call outside runtime calls: notes what it launches under its correlation id. _failed: the call
 * failed, so no kernel will have that id.
 */
void kernel_places_launch(uint32_t cbid, const void *params, uint32_t corr);
void kernel_places_failed(uint32_t corr);

/* The launch became a graph node; a node was cloned. */
void kernel_places_node(uint64_t node, uint32_t corr);
void kernel_places_clone(uint64_t node, uint64_t source);

/* The place of the kernel of that launch, or of that node (0: no node); NULL: not known. */
const char *kernel_places_find(uint32_t corr, uint64_t node);

/* Since the reset: kernels, nodes and launches whose place had no room here. */
uint64_t kernel_places_lost(void);

/*
 * Number of launched functions whose handle was not seen being taken: their code was loaded before the reset, or they
 * came in a way that is not followed. Includes functions without a line table, which was not checked.
 */
uint64_t kernel_places_before(void);
