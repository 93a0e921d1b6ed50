/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* All tables are in one mapping, made when the first code with a line table is loaded. */
#include "agent/kernels/kernel_tables.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/process/thread_id.h"
#include "agent/kernels/kernel_places.h"

#define PROBES_MAX 64u /* limit of probes in a hash table, for insertion and lookup */

static struct {
	_Atomic(struct kernel_tables *) tables; /* NULL: no code with a line table so far */
	atomic_flag busy;
	uint32_t places, text_used, kernels; /* number in use, including index 0, which is never used */
	uint32_t first_free;		     /* of kernels: no lower one is free */
	uint32_t loading;		     /* kernels whose call has not returned */
	_Atomic uint64_t lost;		     /* kernel_tables_lost() */
} all = {.busy = ATOMIC_FLAG_INIT};

void kernel_tables_lose(uint64_t count)
{
	atomic_fetch_add_explicit(&all.lost, count, memory_order_relaxed);
}

struct kernel_tables *kernel_tables_now(void)
{
	return atomic_load_explicit(&all.tables, memory_order_acquire);
}

void kernel_tables_lock(void)
{
	while (atomic_flag_test_and_set_explicit(&all.busy, memory_order_acquire))
		sched_yield();
}

void kernel_tables_unlock(void)
{
	atomic_flag_clear_explicit(&all.busy, memory_order_release);
}

static void count_none(void)
{
	all.places = 1;
	all.text_used = all.kernels = all.first_free = all.loading = 0;
}

struct kernel_tables *kernel_tables_open(void)
{
	struct kernel_tables *tables = kernel_tables_now();
	void *memory;

	if (tables)
		return tables;
	memory =
		mmap(NULL, sizeof(*tables), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	count_none();
	atomic_store_explicit(&all.tables, memory, memory_order_release);
	return memory;
}

void kernel_tables_reset(void)
{
	struct kernel_tables *tables = kernel_tables_now();

	if (tables)
		madvise(tables, sizeof(*tables), MADV_DONTNEED); /* back to zero */
	count_none();
	atomic_store(&all.lost, 0);
	atomic_flag_clear(&all.busy);
}

static uint64_t mix_bits(uint64_t value)
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

/* Returns its number; 0: no room, or too long. */
static uint32_t intern_place(struct kernel_tables *tables, const struct cubin_kernel *kernel)
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
	if (all.places == KERNEL_TABLES_PLACES_MAX || bytes > KERNEL_TABLES_TEXT_BYTES - all.text_used)
		return 0;
	memcpy(tables->text + all.text_used, text, bytes);
	tables->places[all.places].hash = hash;
	tables->places[all.places].at = all.text_used;
	all.text_used += (uint32_t)bytes;
	return all.places++;
}

void kernel_tables_add(struct kernel_tables *tables, const struct cubin_kernel *kernel, uint32_t tid)
{
	uint32_t place = intern_place(tables, kernel), i = all.first_free;

	while (i < all.kernels && tables->kernels[i].place)
		i++;
	if (!place || i == KERNEL_TABLES_KERNELS_MAX) {
		kernel_tables_lose(1);
		return;
	}
	if (i == all.kernels)
		all.kernels++;
	all.first_free = i + 1;
	all.loading++;
	tables->kernels[i] = (struct kernel_code){
		.name = hash_of(kernel->name.bytes, kernel->name.size), .tid = tid, .place = place};
}

static void free_kernel(struct kernel_code *kernel, uint32_t index)
{
	*kernel = (struct kernel_code){0};
	if (index < all.first_free)
		all.first_free = index;
}

void kernel_tables_end_loading(struct kernel_tables *tables, uint64_t module)
{
	uint32_t tid = thread_id();

	for (uint32_t i = 0; i < all.kernels && all.loading; i++) {
		struct kernel_code *kernel = &tables->kernels[i];

		if (!kernel->place || kernel->tid != tid)
			continue;
		kernel->tid = 0;
		all.loading--;
		kernel->module = module;
		if (!module)
			free_kernel(kernel, i);
	}
}

struct kernel_handle *kernel_tables_handle(struct kernel_tables *tables, uint64_t handle, bool free_too)
{
	uint32_t at = (uint32_t)mix_bits(handle);

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		struct kernel_handle *slot = &tables->handles[(at + i) % KERNEL_TABLES_HANDLES];
		uint64_t there = atomic_load_explicit(&slot->handle, memory_order_acquire);

		if (there == handle)
			return slot;
		if (!there)
			return free_too ? slot : NULL;
	}
	return NULL;
}

void kernel_tables_put_handle(struct kernel_tables *tables, uint64_t handle, uint64_t module, uint32_t place)
{
	struct kernel_handle *slot = handle ? kernel_tables_handle(tables, handle, true) : NULL;

	if (!slot) {
		kernel_tables_lose(handle && place);
		return;
	}
	atomic_store_explicit(&slot->place, place, memory_order_relaxed);
	atomic_store_explicit(&slot->module, module, memory_order_relaxed);
	atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

void kernel_tables_take(struct kernel_tables *tables, uint64_t function, uint64_t module, const char *name)
{
	uint64_t hash = name ? hash_of(name, strlen(name)) : 0;
	uint32_t place = 0;

	kernel_tables_end_loading(tables, module); /* the driver may load the code only at this call */
	for (uint32_t i = 0; i < all.kernels && !place; i++)
		if (tables->kernels[i].module == module && tables->kernels[i].name == hash)
			place = tables->kernels[i].place;
	kernel_tables_put_handle(tables, function, module, place);
}

void kernel_tables_unload(struct kernel_tables *tables, uint64_t module)
{
	uint32_t i;

	for (i = 0; i < all.kernels; i++)
		if (tables->kernels[i].place && tables->kernels[i].module == module)
			free_kernel(&tables->kernels[i], i);
	for (i = 0; i < KERNEL_TABLES_HANDLES; i++)
		if (atomic_load_explicit(&tables->handles[i].module, memory_order_relaxed) == module)
			atomic_store_explicit(&tables->handles[i].place, 0, memory_order_relaxed);
}

struct kernel_node *kernel_tables_node(struct kernel_tables *tables, uint64_t node)
{
	uint32_t at = (uint32_t)mix_bits(node);

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		struct kernel_node *slot = &tables->nodes[(at + i) % KERNEL_TABLES_NODES];
		uint64_t there = atomic_load_explicit(&slot->node, memory_order_acquire);

		if (there == node || !there)
			return slot;
	}
	return NULL;
}

uint64_t kernel_tables_lost(void)
{
	return atomic_load_explicit(&all.lost, memory_order_relaxed);
}
