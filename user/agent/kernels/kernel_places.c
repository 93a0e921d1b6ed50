/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Follows driver calls: enters into the tables what they load, take, launch and capture. */
#include "agent/kernels/kernel_places.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/process/thread_id.h"
#include "agent/kernels/cubin.h"
#include "agent/kernels/kernel_tables.h"
#include "cupti/cupti_abi.h"

const uint16_t kernel_places_cbids[] = {CUPTI_DRIVER_MODULE_LOAD,	  CUPTI_DRIVER_MODULE_LOAD_DATA,
					CUPTI_DRIVER_MODULE_LOAD_DATA_EX, CUPTI_DRIVER_MODULE_LOAD_FAT_BINARY,
					CUPTI_DRIVER_MODULE_UNLOAD,	  CUPTI_DRIVER_MODULE_GET_FUNCTION,
					CUPTI_DRIVER_LIBRARY_LOAD_DATA,	  CUPTI_DRIVER_LIBRARY_LOAD_FROM_FILE,
					CUPTI_DRIVER_LIBRARY_UNLOAD,	  CUPTI_DRIVER_LIBRARY_GET_KERNEL,
					CUPTI_DRIVER_KERNEL_GET_FUNCTION};
const unsigned kernel_places_cbid_count = sizeof(kernel_places_cbids) / sizeof(kernel_places_cbids[0]);

static struct {
	_Atomic uint64_t before; /* kernel_places_before() */
	atomic_bool read;	 /* kernels are recorded, so their places will be looked up */
} all;

void kernel_places_reset(void)
{
	kernel_tables_reset();
	atomic_store(&all.before, 0);
	atomic_store(&all.read, false);
}

void kernel_places_module(const void *cubin, uint64_t size)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	uint64_t left_out = 0;
	unsigned count = cubin ? cubin_kernels(cubin, (size_t)size, kernels, &left_out) : 0;
	struct kernel_tables *tables;

	kernel_tables_lose(left_out);
	if (!count)
		return;
	kernel_tables_lock();
	tables = kernel_tables_open();
	if (!tables)
		kernel_tables_lose(count);
	for (unsigned i = 0; i < count && tables; i++)
		kernel_tables_add(tables, &kernels[i], thread_id());
	kernel_tables_unlock();
}

bool kernel_places_follows(uint32_t cbid)
{
	return cbid - CUPTI_DRIVER_MODULE_LOAD <= CUPTI_DRIVER_MODULE_GET_FUNCTION - CUPTI_DRIVER_MODULE_LOAD ||
	       cbid - CUPTI_DRIVER_LIBRARY_LOAD_DATA <=
		       CUPTI_DRIVER_KERNEL_GET_FUNCTION - CUPTI_DRIVER_LIBRARY_LOAD_DATA;
}

bool kernel_places_loads(uint32_t cbid)
{
	return cbid - CUPTI_DRIVER_MODULE_LOAD <= CUPTI_DRIVER_MODULE_LOAD_FAT_BINARY - CUPTI_DRIVER_MODULE_LOAD ||
	       cbid - CUPTI_DRIVER_LIBRARY_LOAD_DATA <=
		       CUPTI_DRIVER_LIBRARY_LOAD_FROM_FILE - CUPTI_DRIVER_LIBRARY_LOAD_DATA;
}

/* A word of a call's parameters, by index from 0. */
static uint64_t read_parameter(const void *params, unsigned index)
{
	uint64_t value;

	memcpy(&value, (const char *)params + index * sizeof(value), sizeof(value));
	return value;
}

/* The value that the call wrote to the address in its first parameter. */
static uint64_t read_result(const void *params)
{
	const void *where = (const void *)(uintptr_t)read_parameter(params, 0);

	return where ? read_parameter(where, 0) : 0;
}

void kernel_places_enter(uint32_t cbid, const void *params)
{
	struct kernel_tables *tables = kernel_tables_now();

	if (!tables || !params || (cbid != CUPTI_DRIVER_MODULE_UNLOAD && cbid != CUPTI_DRIVER_LIBRARY_UNLOAD) ||
	    !read_parameter(params, 0))
		return;
	kernel_tables_lock();
	kernel_tables_unload(tables, read_parameter(params, 0));
	kernel_tables_unlock();
}

void kernel_places_return(uint32_t cbid, const void *params, int32_t result)
{
	struct kernel_tables *tables;
	struct kernel_handle *kernel;

	if (!params)
		return;
	kernel_tables_lock();
	tables = kernel_tables_open();
	if (!tables) {
		kernel_tables_unlock();
		return;
	}
	switch (cbid) {
	case CUPTI_DRIVER_MODULE_GET_FUNCTION:
	case CUPTI_DRIVER_LIBRARY_GET_KERNEL:
		if (!result)
			kernel_tables_take(tables, read_result(params), read_parameter(params, 1),
					   (const char *)(uintptr_t)read_parameter(params, 2));
		break;
	case CUPTI_DRIVER_KERNEL_GET_FUNCTION:
		kernel = result ? NULL : kernel_tables_handle(tables, read_parameter(params, 1), false);
		if (kernel)
			kernel_tables_put_handle(tables, read_result(params), atomic_load(&kernel->module),
						 atomic_load(&kernel->place));
		break;
	case CUPTI_DRIVER_MODULE_UNLOAD:
	case CUPTI_DRIVER_LIBRARY_UNLOAD:
		break;
	default:
		kernel_tables_end_loading(tables, result ? 0 : read_result(params));
	}
	kernel_tables_unlock();
}

/* Counts a function that was not seen being taken, once each. */
static void count_before(uint64_t function)
{
	struct kernel_tables *tables;
	struct kernel_handle *slot;

	kernel_tables_lock();
	tables = kernel_tables_open();
	slot = tables ? kernel_tables_handle(tables, function, true) : NULL;
	if (slot && !atomic_load(&slot->handle)) {
		atomic_store_explicit(&slot->handle, function, memory_order_release);
		atomic_fetch_add_explicit(&all.before, 1, memory_order_relaxed);
	}
	kernel_tables_unlock();
}

void kernel_places_launch(uint32_t cbid, const void *params, uint32_t corr)
{
	struct kernel_tables *tables = kernel_tables_now();
	const struct kernel_handle *handle;
	uint64_t function = 0, older;
	uint32_t place;

	if (!params)
		return;
	if (cbid == CUPTI_DRIVER_LAUNCH_KERNEL || cbid == CUPTI_DRIVER_LAUNCH_KERNEL_PTSZ ||
	    cbid == CUPTI_DRIVER_LAUNCH_COOPERATIVE || cbid == CUPTI_DRIVER_LAUNCH_COOPERATIVE_PTSZ)
		function = read_parameter(params, 0);
	else if (cbid == CUPTI_DRIVER_LAUNCH_KERNEL_EX || cbid == CUPTI_DRIVER_LAUNCH_KERNEL_EX_PTSZ)
		function = read_parameter(params, 1);
	if (!function)
		return;
	handle = tables ? kernel_tables_handle(tables, function, true) : NULL;
	if (!tables || (handle && !atomic_load_explicit(&handle->handle, memory_order_acquire))) {
		count_before(function);
		return;
	}
	place = handle ? atomic_load_explicit(&handle->place, memory_order_relaxed) : 0;
	if (!place)
		return;
	older = atomic_exchange_explicit(&tables->launches[corr % KERNEL_TABLES_LAUNCHES], (uint64_t)corr << 32 | place,
					 memory_order_acq_rel);
	if (older && !(older & KERNEL_TABLES_SETTLED) && atomic_load_explicit(&all.read, memory_order_relaxed))
		kernel_tables_lose(1);
}

static uint32_t settle_launch(struct kernel_tables *tables, uint32_t corr)
{
	_Atomic uint64_t *slot = &tables->launches[corr % KERNEL_TABLES_LAUNCHES];
	uint64_t launch = atomic_load_explicit(slot, memory_order_acquire);
	uint32_t place;

	if (launch >> 32 != corr)
		return 0;
	place = (uint32_t)launch & ~KERNEL_TABLES_SETTLED;
	atomic_compare_exchange_strong_explicit(slot, &launch, launch | KERNEL_TABLES_SETTLED, memory_order_relaxed,
						memory_order_relaxed); /* on failure it was overwritten just now */
	return place;
}

void kernel_places_failed(uint32_t corr)
{
	struct kernel_tables *tables = kernel_tables_now();

	if (tables)
		settle_launch(tables, corr);
}

static uint32_t place_of_node(struct kernel_tables *tables, uint64_t node)
{
	const struct kernel_node *slot = kernel_tables_node(tables, node);

	return slot && atomic_load_explicit(&slot->node, memory_order_acquire) == node
		       ? atomic_load_explicit(&slot->place, memory_order_relaxed)
		       : 0;
}

static void put_node(struct kernel_tables *tables, uint64_t node, uint32_t place)
{
	struct kernel_node *slot;

	kernel_tables_lock();
	slot = kernel_tables_node(tables, node);
	kernel_tables_lose(!slot && place);
	if (slot && (place || atomic_load(&slot->node) == node)) {
		atomic_store_explicit(&slot->place, place, memory_order_relaxed);
		atomic_store_explicit(&slot->node, node, memory_order_release);
	}
	kernel_tables_unlock();
}

void kernel_places_node(uint64_t node, uint32_t corr)
{
	struct kernel_tables *tables = kernel_tables_now();

	if (tables && node)
		put_node(tables, node, settle_launch(tables, corr));
}

void kernel_places_clone(uint64_t node, uint64_t source)
{
	struct kernel_tables *tables = kernel_tables_now();

	if (tables && node)
		put_node(tables, node, place_of_node(tables, source));
}

const char *kernel_places_find(uint32_t corr, uint64_t node)
{
	struct kernel_tables *tables = kernel_tables_now();
	uint32_t place = 0;

	if ((corr || node) && !atomic_load_explicit(&all.read, memory_order_relaxed))
		atomic_store_explicit(&all.read, true, memory_order_relaxed);
	if (tables)
		place = node ? place_of_node(tables, node) : settle_launch(tables, corr);
	return place && place < KERNEL_TABLES_PLACES_MAX ? tables->text + tables->places[place].at : NULL;
}

uint64_t kernel_places_lost(void)
{
	return kernel_tables_lost();
}

uint64_t kernel_places_before(void)
{
	return atomic_load_explicit(&all.before, memory_order_relaxed);
}
