/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tables of GPU code that has a line table: kernels of modules, handles of functions, nodes of graphs, and the place of
 * each. Loading code and taking functions is rare and slow: both take a lock. A launch looks up its function without
 * the lock, and notes it by its correlation id in a ring.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/kernels/cubin.h"

/* Powers of two, except the first three; beyond these limits there are no places. */
#define KERNEL_TABLES_PLACES_MAX 8192u
#define KERNEL_TABLES_TEXT_BYTES (2u << 20)
#define KERNEL_TABLES_KERNELS_MAX 16384u /* of all loaded modules */
#define KERNEL_TABLES_HANDLES 65536u
#define KERNEL_TABLES_NODES 262144u
#define KERNEL_TABLES_LAUNCHES 65536u	  /* under way to the GPU at a time; older ones are overwritten */
#define KERNEL_TABLES_SETTLED 0x80000000u /* of a launch: its place was looked up, or will never be */

/* A kernel of loaded code. */
struct kernel_code {
	uint64_t module; /* CUmodule or CUlibrary; 0: the loading call has not returned, or the slot is free */
	uint64_t name;	 /* hash */
	uint32_t tid;	 /* of the thread that loads it, 0: done */
	uint32_t place;	 /* 0: free */
};

struct kernel_handle {
	_Atomic uint64_t handle; /* CUfunction or CUkernel, 0: free */
	_Atomic uint64_t module;
	_Atomic uint32_t place; /* 0: gone */
};

struct kernel_node {
	_Atomic uint64_t node; /* 0: free */
	_Atomic uint32_t place;
};

struct kernel_tables {
	struct {
		uint64_t hash;
		uint32_t at; /* in text */
	} places[KERNEL_TABLES_PLACES_MAX];
	char text[KERNEL_TABLES_TEXT_BYTES];
	struct kernel_code kernels[KERNEL_TABLES_KERNELS_MAX];
	struct kernel_handle handles[KERNEL_TABLES_HANDLES];
	struct kernel_node nodes[KERNEL_TABLES_NODES];
	_Atomic uint64_t launches[KERNEL_TABLES_LAUNCHES]; /* corr << 32 | place, KERNEL_TABLES_SETTLED */
};

/* The tables; NULL: no code with a line table so far. */
struct kernel_tables *kernel_tables_now(void);

/* Forgets everything. No other function may run at the same time. */
void kernel_tables_reset(void);

/* Protects all changes of tables except the ring of launches. */
void kernel_tables_lock(void);
void kernel_tables_unlock(void);

/* ---- under the lock ---- */

/* NULL: no memory. */
struct kernel_tables *kernel_tables_open(void);

/* Adds a kernel of code that thread `tid` is loading. */
void kernel_tables_add(struct kernel_tables *tables, const struct cubin_kernel *kernel, uint32_t tid);

/* Assigns what this thread has loaded to that module; 0: loading failed. */
void kernel_tables_end_loading(struct kernel_tables *tables, uint64_t module);

/* Notes that the function of that name was taken from that module. */
void kernel_tables_take(struct kernel_tables *tables, uint64_t function, uint64_t module, const char *name);

/* place 0: none, replacing a known place; the handle stays known. */
void kernel_tables_put_handle(struct kernel_tables *tables, uint64_t handle, uint64_t module, uint32_t place);

/* Removes the places of the module's kernels and handles. */
void kernel_tables_unload(struct kernel_tables *tables, uint64_t module);

/* ---- with or without it ---- */

/* The handle's slot; NULL: unknown. With free_too else a free slot; NULL: no room. */
struct kernel_handle *kernel_tables_handle(struct kernel_tables *tables, uint64_t handle, bool free_too);

/* Its slot or a free one; NULL: there is no room. */
struct kernel_node *kernel_tables_node(struct kernel_tables *tables, uint64_t node);

/* Counts places that had no room; returns how many since the reset. */
void kernel_tables_lose(uint64_t count);
uint64_t kernel_tables_lost(void);
