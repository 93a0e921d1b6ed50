/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tables of one mapping, made when the first code with a line table is loaded.  Loading and taking functions is rare
 * and slow: these share a lock.  A launch looks its function up without one, and notes it by its correlation id in a
 * ring.
 */
#include "agent/kernel_places.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/callbacks.h"
#include "agent/cubin.h"
#include "cupti/cupti_abi.h"

/* Powers of two, but for the first three; more than that has no places. */
#define PLACES_MAX 8192u
#define TEXT_BYTES (2u << 20)
#define KERNELS_MAX 16384u /* of all modules that are loaded */
#define HANDLES 65536u
#define NODES 262144u
#define LAUNCHES 65536u	    /* under way to the GPU at a time; older ones are forgotten */
#define SETTLED 0x80000000u /* of a launch: its place was asked for, or nobody will */
#define PROBES_MAX 64u	    /* of a hash table; further on nothing is put or found */

const uint16_t kernel_places_cbids[] = {CUPTI_DRIVER_MODULE_LOAD,	  CUPTI_DRIVER_MODULE_LOAD_DATA,
					CUPTI_DRIVER_MODULE_LOAD_DATA_EX, CUPTI_DRIVER_MODULE_LOAD_FAT_BINARY,
					CUPTI_DRIVER_MODULE_UNLOAD,	  CUPTI_DRIVER_MODULE_GET_FUNCTION,
					CUPTI_DRIVER_LIBRARY_LOAD_DATA,	  CUPTI_DRIVER_LIBRARY_LOAD_FROM_FILE,
					CUPTI_DRIVER_LIBRARY_UNLOAD,	  CUPTI_DRIVER_LIBRARY_GET_KERNEL,
					CUPTI_DRIVER_KERNEL_GET_FUNCTION};
const unsigned kernel_places_cbid_count = sizeof(kernel_places_cbids) / sizeof(kernel_places_cbids[0]);

/* A kernel of code that is loaded. */
struct kernel {
	uint64_t module; /* CUmodule or CUlibrary, 0: the call that loads it has not returned, or free */
	uint64_t name;	 /* hash */
	uint32_t tid;	 /* of the thread that loads it, 0: done */
	uint32_t place;	 /* 0: free */
};

struct handle {
	_Atomic uint64_t handle; /* CUfunction or CUkernel, 0: free */
	_Atomic uint64_t module;
	_Atomic uint32_t place; /* 0: gone */
};

struct node {
	_Atomic uint64_t node; /* 0: free */
	_Atomic uint32_t place;
};

struct tables {
	struct {
		uint64_t hash;
		uint32_t at; /* in text */
	} places[PLACES_MAX];
	char text[TEXT_BYTES];
	struct kernel kernels[KERNELS_MAX];
	struct handle handles[HANDLES];
	struct node nodes[NODES];
	_Atomic uint64_t launches[LAUNCHES]; /* corr << 32 | place, SETTLED */
};

static struct {
	_Atomic(struct tables *) tables; /* NULL: no code with a line table so far */
	atomic_flag busy;
	uint32_t places, text_used, kernels; /* in use, the first of each not */
	_Atomic uint64_t lost, before;	     /* kernel_places_lost(), kernel_places_before() */
	atomic_bool read;		     /* kernels are recorded: their places are asked for */
} all = {.busy = ATOMIC_FLAG_INIT};

static void lose(uint64_t count)
{
	atomic_fetch_add_explicit(&all.lost, count, memory_order_relaxed);
}

static struct tables *tables_now(void)
{
	return atomic_load_explicit(&all.tables, memory_order_acquire);
}

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&all.busy, memory_order_acquire))
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&all.busy, memory_order_release);
}

static struct tables *tables_open(void)
{
	struct tables *tables = tables_now();
	void *memory;

	if (tables)
		return tables;
	memory =
		mmap(NULL, sizeof(*tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	all.places = 1;
	all.text_used = all.kernels = 0;
	atomic_store_explicit(&all.tables, memory, memory_order_release);
	return memory;
}

void kernel_places_reset(void)
{
	struct tables *tables = tables_now();

	if (tables)
		madvise(tables, sizeof(*tables), MADV_DONTNEED); /* zero again */
	all.places = 1;
	all.text_used = all.kernels = 0;
	atomic_store(&all.lost, 0);
	atomic_store(&all.before, 0);
	atomic_store(&all.read, false);
	atomic_flag_clear(&all.busy);
}

static uint64_t mix(uint64_t value)
{
	value *= 0x9e3779b97f4a7c15u;
	return value ^ value >> 32;
}

/* FNV-1a, never 0. */
static uint64_t hash_of(const char *text, size_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325u;

	while (bytes--)
		hash = (hash ^ (uint8_t)*text++) * 0x100000001b3u;
	return hash ? hash : 1;
}

/* ---- under the lock ------------------------------------------------------------------------------ */

/* Its number; 0: no room, or longer than allowed. */
static uint32_t intern_place(struct tables *tables, const struct cubin_kernel *kernel)
{
	char text[KERNEL_PLACES_TEXT_MAX];
	const char *slash = kernel->folder.size ? "/" : "";
	size_t bytes = kernel->folder.size + kernel->file.size;
	uint64_t hash;

	if (bytes > sizeof(text) - sizeof("/:4294967295"))
		return 0;
	bytes = (size_t)snprintf(text, sizeof(text), "%.*s%s%.*s:%u", (int)kernel->folder.size, kernel->folder.bytes,
				 slash, (int)kernel->file.size, kernel->file.bytes, kernel->line) +
		1;
	hash = hash_of(text, bytes);
	for (uint32_t i = 1; i < all.places; i++)
		if (tables->places[i].hash == hash && !strcmp(tables->text + tables->places[i].at, text))
			return i;
	if (all.places == PLACES_MAX || bytes > TEXT_BYTES - all.text_used)
		return 0;
	memcpy(tables->text + all.text_used, text, bytes);
	tables->places[all.places].hash = hash;
	tables->places[all.places].at = all.text_used;
	all.text_used += (uint32_t)bytes;
	return all.places++;
}

static void add_kernel(struct tables *tables, const struct cubin_kernel *kernel, uint32_t tid)
{
	uint32_t place = intern_place(tables, kernel), i = 0;

	while (i < all.kernels && tables->kernels[i].place)
		i++;
	if (!place || i == KERNELS_MAX) {
		lose(1);
		return;
	}
	if (i == all.kernels)
		all.kernels++;
	tables->kernels[i] =
		(struct kernel){.name = hash_of(kernel->name.bytes, kernel->name.size), .tid = tid, .place = place};
}

/* What this thread has loaded belongs to that module; 0: loading it has failed. */
static void end_loading(struct tables *tables, uint64_t module)
{
	uint32_t tid = callbacks_thread_id();

	for (uint32_t i = 0; i < all.kernels; i++) {
		struct kernel *kernel = &tables->kernels[i];

		if (!kernel->place || kernel->tid != tid)
			continue;
		kernel->tid = 0;
		kernel->module = module;
		if (!module)
			kernel->place = 0;
	}
}

static struct handle *handle_slot(struct tables *tables, uint64_t handle, bool free_too)
{
	uint32_t at = (uint32_t)mix(handle);

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		struct handle *slot = &tables->handles[(at + i) % HANDLES];
		uint64_t there = atomic_load_explicit(&slot->handle, memory_order_acquire);

		if (there == handle)
			return slot;
		if (!there)
			return free_too ? slot : NULL;
	}
	return NULL;
}

/* place 0: it has none, whatever was known of that handle; that it was seen is kept. */
static void put_handle(struct tables *tables, uint64_t handle, uint64_t module, uint32_t place)
{
	struct handle *slot = handle ? handle_slot(tables, handle, true) : NULL;

	if (!slot) {
		lose(handle && place);
		return;
	}
	atomic_store_explicit(&slot->place, place, memory_order_relaxed);
	atomic_store_explicit(&slot->module, module, memory_order_relaxed);
	atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

static void take_function(struct tables *tables, uint64_t function, uint64_t module, const char *name)
{
	uint64_t hash = name ? hash_of(name, strlen(name)) : 0;
	uint32_t place = 0;

	end_loading(tables, module); /* the driver may load it as late as here */
	for (uint32_t i = 0; i < all.kernels && !place; i++)
		if (tables->kernels[i].module == module && tables->kernels[i].name == hash)
			place = tables->kernels[i].place;
	put_handle(tables, function, module, place);
}

static void unload(struct tables *tables, uint64_t module)
{
	uint32_t i;

	for (i = 0; i < all.kernels; i++)
		if (tables->kernels[i].module == module)
			tables->kernels[i] = (struct kernel){0};
	for (i = 0; i < HANDLES; i++)
		if (atomic_load_explicit(&tables->handles[i].module, memory_order_relaxed) == module)
			atomic_store_explicit(&tables->handles[i].place, 0, memory_order_relaxed);
}

/* ---- what the driver does ------------------------------------------------------------------------ */

void kernel_places_module(const void *cubin, uint64_t size)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	uint64_t left_out = 0;
	unsigned count = cubin ? cubin_kernels(cubin, (size_t)size, kernels, &left_out) : 0;
	struct tables *tables;

	lose(left_out);
	if (!count)
		return;
	lock();
	tables = tables_open();
	if (!tables)
		lose(count);
	for (unsigned i = 0; i < count && tables; i++)
		add_kernel(tables, &kernels[i], callbacks_thread_id());
	unlock();
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

/* The word of a call's parameters; the first is number 0. */
static uint64_t word(const void *params, unsigned index)
{
	uint64_t value;

	memcpy(&value, (const char *)params + index * sizeof(value), sizeof(value));
	return value;
}

/* What the call has written where its first parameter points. */
static uint64_t given(const void *params)
{
	const void *where = (const void *)(uintptr_t)word(params, 0);

	return where ? word(where, 0) : 0;
}

void kernel_places_enter(uint32_t cbid, const void *params)
{
	struct tables *tables = tables_now();

	if (!tables || !params || (cbid != CUPTI_DRIVER_MODULE_UNLOAD && cbid != CUPTI_DRIVER_LIBRARY_UNLOAD) ||
	    !word(params, 0))
		return;
	lock();
	unload(tables, word(params, 0));
	unlock();
}

void kernel_places_return(uint32_t cbid, const void *params, int32_t result)
{
	struct tables *tables;
	struct handle *kernel;

	if (!params)
		return;
	lock();
	tables = tables_open();
	if (!tables) {
		unlock();
		return;
	}
	switch (cbid) {
	case CUPTI_DRIVER_MODULE_GET_FUNCTION:
	case CUPTI_DRIVER_LIBRARY_GET_KERNEL:
		if (!result)
			take_function(tables, given(params), word(params, 1), (const char *)(uintptr_t)word(params, 2));
		break;
	case CUPTI_DRIVER_KERNEL_GET_FUNCTION:
		kernel = result ? NULL : handle_slot(tables, word(params, 1), false);
		if (kernel)
			put_handle(tables, given(params), atomic_load(&kernel->module), atomic_load(&kernel->place));
		break;
	case CUPTI_DRIVER_MODULE_UNLOAD:
	case CUPTI_DRIVER_LIBRARY_UNLOAD:
		break;
	default:
		end_loading(tables, result ? 0 : given(params));
	}
	unlock();
}

/* A function that nobody was seen to take: once each. */
static void count_before(uint64_t function)
{
	struct tables *tables;
	struct handle *slot;

	lock();
	tables = tables_open();
	slot = tables ? handle_slot(tables, function, true) : NULL;
	if (slot && !atomic_load(&slot->handle)) {
		atomic_store_explicit(&slot->handle, function, memory_order_release);
		atomic_fetch_add_explicit(&all.before, 1, memory_order_relaxed);
	}
	unlock();
}

void kernel_places_launch(uint32_t cbid, const void *params, uint32_t corr)
{
	struct tables *tables = tables_now();
	const struct handle *handle;
	uint64_t function = 0, older;
	uint32_t place;

	if (!params)
		return;
	if (cbid == CUPTI_DRIVER_LAUNCH_KERNEL || cbid == CUPTI_DRIVER_LAUNCH_KERNEL_PTSZ ||
	    cbid == CUPTI_DRIVER_LAUNCH_COOPERATIVE || cbid == CUPTI_DRIVER_LAUNCH_COOPERATIVE_PTSZ)
		function = word(params, 0);
	else if (cbid == CUPTI_DRIVER_LAUNCH_KERNEL_EX || cbid == CUPTI_DRIVER_LAUNCH_KERNEL_EX_PTSZ)
		function = word(params, 1);
	if (!function)
		return;
	handle = tables ? handle_slot(tables, function, true) : NULL;
	if (!tables || (handle && !atomic_load_explicit(&handle->handle, memory_order_acquire))) {
		count_before(function);
		return;
	}
	place = handle ? atomic_load_explicit(&handle->place, memory_order_relaxed) : 0;
	if (!place)
		return;
	older = atomic_exchange_explicit(&tables->launches[corr % LAUNCHES], (uint64_t)corr << 32 | place,
					 memory_order_acq_rel);
	if (older && !(older & SETTLED) && atomic_load_explicit(&all.read, memory_order_relaxed))
		lose(1);
}

static uint32_t settle_launch(struct tables *tables, uint32_t corr)
{
	_Atomic uint64_t *slot = &tables->launches[corr % LAUNCHES];
	uint64_t launch = atomic_load_explicit(slot, memory_order_acquire);
	uint32_t place;

	if (launch >> 32 != corr)
		return 0;
	place = (uint32_t)launch & ~SETTLED;
	atomic_compare_exchange_strong_explicit(slot, &launch, launch | SETTLED, memory_order_relaxed,
						memory_order_relaxed); /* else it was forgotten just now */
	return place;
}

void kernel_places_failed(uint32_t corr)
{
	struct tables *tables = tables_now();

	if (tables)
		settle_launch(tables, corr);
}

static struct node *node_slot(struct tables *tables, uint64_t node)
{
	uint32_t at = (uint32_t)mix(node);

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		struct node *slot = &tables->nodes[(at + i) % NODES];
		uint64_t there = atomic_load_explicit(&slot->node, memory_order_acquire);

		if (there == node || !there)
			return slot;
	}
	return NULL;
}

static uint32_t place_of_node(struct tables *tables, uint64_t node)
{
	const struct node *slot = node_slot(tables, node);

	return slot && atomic_load_explicit(&slot->node, memory_order_acquire) == node
		       ? atomic_load_explicit(&slot->place, memory_order_relaxed)
		       : 0;
}

static void put_node(struct tables *tables, uint64_t node, uint32_t place)
{
	struct node *slot;

	lock();
	slot = node_slot(tables, node);
	lose(!slot && place);
	if (slot && (place || atomic_load(&slot->node) == node)) {
		atomic_store_explicit(&slot->place, place, memory_order_relaxed);
		atomic_store_explicit(&slot->node, node, memory_order_release);
	}
	unlock();
}

void kernel_places_node(uint64_t node, uint32_t corr)
{
	struct tables *tables = tables_now();

	if (tables && node)
		put_node(tables, node, settle_launch(tables, corr));
}

void kernel_places_clone(uint64_t node, uint64_t source)
{
	struct tables *tables = tables_now();

	if (tables && node)
		put_node(tables, node, place_of_node(tables, source));
}

const char *kernel_places_find(uint32_t corr, uint64_t node)
{
	struct tables *tables = tables_now();
	uint32_t place = 0;

	if ((corr || node) && !atomic_load_explicit(&all.read, memory_order_relaxed))
		atomic_store_explicit(&all.read, true, memory_order_relaxed);
	if (tables)
		place = node ? place_of_node(tables, node) : settle_launch(tables, corr);
	return place && place < PLACES_MAX ? tables->text + tables->places[place].at : NULL;
}

uint64_t kernel_places_lost(void)
{
	return atomic_load_explicit(&all.lost, memory_order_relaxed);
}

uint64_t kernel_places_before(void)
{
	return atomic_load_explicit(&all.before, memory_order_relaxed);
}
