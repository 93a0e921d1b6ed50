/*
 * memory.c: device, pinned and managed memory. Each kind is one address range, mapped without
 * reserving memory, so a range check tells a pointer's kind. Freed blocks are kept by size and
 * reused. A table per range has the starts of blocks.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "sim.h"

#define GRANULE 512u
#define LARGE (2u << 20)
#define TOTAL_BYTES (80ull << 30)
#define PAGES_SHIFT 20 /* blocks are hashed by the megabyte in which they begin */

struct block {
	uintptr_t address;
	size_t size; /* rounded up */
	size_t asked;
	int device;
	bool live;
	struct block *next_free, *next_in_bucket;
};

struct range {
	enum sim_memory kind;
	size_t size;
	uintptr_t base, top;
	struct block *free[128]; /* by size class */
	struct block *buckets[65536];
};

static struct range ranges[] = {
	{.kind = SIM_DEVICE, .size = 256ull << 30},
	{.kind = SIM_PINNED, .size = 64ull << 30},
	{.kind = SIM_MANAGED, .size = 64ull << 30},
};

/* Host memory that was pinned in place (cudaHostRegister). */
static struct pin {
	uintptr_t address;
	size_t size;
	struct pin *next;
} * pins;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t used_on_device;

static size_t round_size(size_t bytes)
{
	size_t unit = bytes >= LARGE ? LARGE : GRANULE;

	return bytes ? (bytes + unit - 1) / unit * unit : GRANULE;
}

static unsigned size_class(size_t size)
{
	unsigned high = 63u - (unsigned)__builtin_clzll(size);

	return high * 2 + ((size >> (high - 1)) & 1);
}

/*
 * The end-to-end tests limit what their processes allocate (conftest.py). Ranges of memory, and the stack of the thread
 * that each stream has, are hardly ever touched.
 */
static void __attribute__((constructor)) lift_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_DATA, &limit);
}

static bool range_map(struct range *range)
{
	void *at;

	if (range->base)
		return true;
	at = mmap(NULL, range->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		sim_say("cannot map %zu GB of addresses", range->size >> 30);
		return false;
	}
	range->base = ((uintptr_t)at + LARGE - 1) / LARGE * LARGE;
	range->top = range->base;
	return true;
}

static struct range *range_of(uintptr_t address)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ranges[i].base && address >= ranges[i].base && address < ranges[i].top)
			return &ranges[i];
	return NULL;
}

static struct block **bucket_of(struct range *range, uintptr_t address)
{
	return &range->buckets[((address - range->base) >> PAGES_SHIFT) % 65536];
}

static struct block *block_reuse(struct range *range, size_t size)
{
	struct block **at = &range->free[size_class(size)];

	for (; *at; at = &(*at)->next_free)
		if ((*at)->size == size) {
			struct block *found = *at;

			*at = found->next_free;
			return found;
		}
	return NULL;
}

static struct block *block_new(struct range *range, size_t size)
{
	struct block *block, **bucket;

	if (size > range->base + range->size - LARGE - range->top)
		return NULL;
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	if (size >= LARGE)
		range->top = (range->top + LARGE - 1) / LARGE * LARGE;
	block->address = range->top;
	block->size = size;
	range->top += size;
	bucket = bucket_of(range, block->address);
	block->next_in_bucket = *bucket;
	*bucket = block;
	return block;
}

void *sim_memory_alloc(enum sim_memory kind, size_t bytes, int device)
{
	struct range *range = NULL;
	struct block *block = NULL;
	size_t size = round_size(bytes);

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ranges[i].kind == kind)
			range = &ranges[i];
	pthread_mutex_lock(&lock);
	if (range && range_map(range) &&
	    !(kind == SIM_DEVICE && (size > TOTAL_BYTES || used_on_device + size > TOTAL_BYTES))) {
		block = block_reuse(range, size);
		if (!block)
			block = block_new(range, size);
	}
	if (block) {
		block->asked = bytes;
		block->device = device;
		block->live = true;
		used_on_device += kind == SIM_DEVICE ? size : 0;
	}
	pthread_mutex_unlock(&lock);
	return block ? (void *)block->address : NULL;
}

/* The live block that holds the address; blocks may begin some megabytes before it. */
static struct block *block_find(struct range *range, uintptr_t address, bool exact)
{
	uintptr_t from = address;

	for (;;) {
		for (struct block *at = *bucket_of(range, from); at; at = at->next_in_bucket)
			if (at->live && (at->address == address ||
					 (!exact && at->address < address && address - at->address < at->size)))
				return at;
		if (exact || from - range->base < (1u << PAGES_SHIFT))
			return NULL;
		from -= 1u << PAGES_SHIFT;
	}
}

bool sim_memory_free(void *address)
{
	struct range *range;
	struct block *block = NULL;

	pthread_mutex_lock(&lock);
	range = range_of((uintptr_t)address);
	if (range && (block = block_find(range, (uintptr_t)address, true))) {
		unsigned class = size_class(block->size);

		block->live = false;
		block->next_free = range->free[class];
		range->free[class] = block;
		used_on_device -= range->kind == SIM_DEVICE ? block->size : 0;
		if (block->size >= LARGE)
			madvise((void *)block->address, block->size, MADV_DONTNEED);
	}
	pthread_mutex_unlock(&lock);
	return block != NULL;
}

size_t sim_memory_block(const void *address, void **base)
{
	struct range *range;
	struct block *block = NULL;

	pthread_mutex_lock(&lock);
	range = range_of((uintptr_t)address);
	if (range)
		block = block_find(range, (uintptr_t)address, false);
	pthread_mutex_unlock(&lock);
	if (block && base)
		*base = (void *)block->address;
	return block ? block->asked : 0;
}

int sim_memory_device(const void *address)
{
	struct range *range;
	struct block *block = NULL;

	pthread_mutex_lock(&lock);
	range = sim_options()->devices > 1 ? range_of((uintptr_t)address) : NULL;
	if (range)
		block = block_find(range, (uintptr_t)address, false);
	pthread_mutex_unlock(&lock);
	return block ? block->device : 0;
}

enum sim_memory sim_memory_kind(const void *address)
{
	enum sim_memory kind = SIM_PAGEABLE;
	struct range *range;

	pthread_mutex_lock(&lock);
	range = range_of((uintptr_t)address);
	if (range)
		kind = range->kind;
	for (struct pin *pin = pins; !range && pin; pin = pin->next)
		if ((uintptr_t)address - pin->address < pin->size)
			kind = SIM_PINNED;
	pthread_mutex_unlock(&lock);
	return kind;
}

void sim_memory_pin(const void *address, size_t bytes)
{
	pthread_mutex_lock(&lock);
	if (bytes) {
		struct pin *pin = calloc(1, sizeof(*pin));

		if (pin) {
			*pin = (struct pin){(uintptr_t)address, bytes, pins};
			pins = pin;
		}
	} else {
		for (struct pin **at = &pins; *at; at = &(*at)->next)
			if ((*at)->address == (uintptr_t)address) {
				struct pin *gone = *at;

				*at = gone->next;
				free(gone);
				break;
			}
	}
	pthread_mutex_unlock(&lock);
}

void sim_memory_info(size_t *free_bytes, size_t *total_bytes)
{
	pthread_mutex_lock(&lock);
	*free_bytes = TOTAL_BYTES - used_on_device;
	*total_bytes = TOTAL_BYTES;
	pthread_mutex_unlock(&lock);
}
