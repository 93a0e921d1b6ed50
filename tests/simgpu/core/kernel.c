/*
 * kernel.c: the table of kernels. One entry per mangled name and per registered host stub. A
 * kernel's duration comes from its name, so it is the same in every run.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define BUCKETS 65536u /* libtorch_cuda registers tens of thousands of kernels */
#define SHORTEST_NS 5000u
#define SPREAD_NS 195000u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUkern_st *by_name[BUCKETS];

/* The address that a launch names: a host stub, or the kernel's own handle. */
static struct binding {
	const void *address;
	CUkernel kernel;
	struct binding *next;
} * by_address[BUCKETS];

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash ^ hash >> 29;
}

static unsigned bucket_of(const void *address)
{
	return (unsigned)(((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15u >> 48) % BUCKETS;
}

/* Duration in ns from a name such as "spin_120us" or "spin_700ns"; 0: the name has none. */
static uint64_t duration_in_name(const char *name)
{
	for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_')) {
		char *end;
		uint64_t value = strtoull(at + 1, &end, 10);

		if (end == at + 1 || at[1] == '-' || at[1] == '+' || at[1] == ' ')
			continue;
		if (!strncmp(end, "us", 2))
			return value * 1000;
		if (!strncmp(end, "ns", 2))
			return value;
	}
	return 0;
}

uint64_t sim_kernel_duration(const char *name)
{
	uint64_t said = duration_in_name(name);

	if (!said)
		said = sim_options()->kernel_ns;
	return said ? said : SHORTEST_NS + hash_text(name) % SPREAD_NS;
}

static void bind_locked(const void *address, CUkernel kernel)
{
	unsigned bucket = bucket_of(address);
	struct binding *binding;

	for (binding = by_address[bucket]; binding; binding = binding->next)
		if (binding->address == address)
			break;
	if (!binding) {
		binding = calloc(1, sizeof(*binding));
		if (!binding)
			abort();
		binding->address = address;
		binding->next = by_address[bucket];
		by_address[bucket] = binding;
	}
	binding->kernel = kernel;
}

CUkernel sim_kernel_intern(const char *name)
{
	return sim_kernel_of(NULL, name);
}

CUkernel sim_kernel_of(const void *module, const char *name)
{
	unsigned bucket = (unsigned)(hash_text(name) % BUCKETS);
	CUkernel kernel;

	pthread_mutex_lock(&lock);
	for (kernel = by_name[bucket]; kernel; kernel = kernel->next)
		if (kernel->module == module && !strcmp(kernel->name, name))
			break;
	if (!kernel) {
		kernel = calloc(1, sizeof(*kernel));
		if (!kernel || !(kernel->name = strdup(name)))
			abort();
		kernel->module = module;
		kernel->duration_ns = sim_kernel_duration(name);
		kernel->registers = 16 + (uint32_t)(hash_text(name) % 112);
		kernel->next = by_name[bucket];
		by_name[bucket] = kernel;
		bind_locked(kernel, kernel);
	}
	pthread_mutex_unlock(&lock);
	return kernel;
}

void sim_kernel_bind(CUkernel kernel, const void *host)
{
	pthread_mutex_lock(&lock);
	bind_locked(host, kernel);
	pthread_mutex_unlock(&lock);
}

CUkernel sim_kernel_resolve(const void *host_or_handle)
{
	CUkernel kernel = NULL;

	pthread_mutex_lock(&lock);
	for (struct binding *at = by_address[bucket_of(host_or_handle)]; at; at = at->next)
		if (at->address == host_or_handle)
			kernel = at->kernel;
	pthread_mutex_unlock(&lock);
	return kernel;
}

const void *sim_kernel(const char *name)
{
	return sim_kernel_intern(name);
}

void sim_kernel_work(struct sim_work *work, CUkernel kernel, const uint32_t grid[3], const uint32_t block[3],
		     uint32_t shared)
{
	sim_jit_need(kernel);
	memset(work, 0, sizeof(*work));
	work->kind = SIM_KERNEL;
	work->async = true;
	work->meeting = sim_thread()->meeting;
	work->name = kernel->name;
	work->duration_ns = kernel->duration_ns;
	work->registers = kernel->registers;
	work->shared = shared;
	memcpy(work->grid, grid, sizeof(work->grid));
	memcpy(work->block, block, sizeof(work->block));
}
