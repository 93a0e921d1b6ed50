/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Another client of CUPTI's activity API, like torch.profiler of PyTorch 2.15: no subscriber, its own buffers and
 * clock, records of fills. It is linked with CUPTI; with UNLINKED it asks the loader for CUPTI's functions. It discards
 * buffers that it never handed out.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KIND_MEMSET 2
#define BUFFER_BYTES 65536u
#define BUFFERS_MAX 4096u
#define BYTES_AT 8 /* offset in the record of a fill */

typedef void (*requester)(uint8_t **buffer, size_t *size, size_t *max);
typedef void (*completer)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

unsigned cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void));
unsigned cuptiActivityRegisterCallbacks(requester request, completer complete);
unsigned cuptiActivityEnable(int kind);
unsigned cuptiActivityDisable(int kind);
unsigned cuptiActivityFlushAll(uint32_t flag);
unsigned cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);

#ifdef UNLINKED
#define CALL(function) ((__typeof__(&(function)))dlsym(RTLD_DEFAULT, #function))
#else
#define CALL(function) function
#endif

static uint8_t *buffers[BUFFERS_MAX];
static unsigned handed_out, unknown;
static unsigned fills[4096]; /* count by size in bytes */

static void request_buffer(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = calloc(1, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max = 0;
	buffers[handed_out++ % BUFFERS_MAX] = *buffer;
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	void *record = NULL;
	uint64_t bytes;
	unsigned i;

	for (i = 0; i < BUFFERS_MAX && buffers[i] != buffer;)
		i++;
	unknown += i == BUFFERS_MAX;
	if (i == BUFFERS_MAX)
		return;
	while (!CALL(cuptiActivityGetNextRecord)(buffer, valid, &record)) {
		memcpy(&bytes, (char *)record + BYTES_AT, sizeof(bytes));
		if (*(uint32_t *)record == KIND_MEMSET && bytes < 4096)
			__atomic_add_fetch(&fills[bytes], 1, __ATOMIC_RELAXED);
	}
}

static uint64_t read_ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 3000000000u + (uint64_t)t.tv_nsec * 3;
}

void client_clock(void)
{
	CALL(cuptiActivityRegisterTimestampCallback)(read_ticks);
}

void client_begin(void)
{
	client_clock();
	CALL(cuptiActivityRegisterCallbacks)(request_buffer, take_buffer);
	CALL(cuptiActivityEnable)(KIND_MEMSET);
}

void client_end(void)
{
	CALL(cuptiActivityDisable)(KIND_MEMSET);
	CALL(cuptiActivityFlushAll)(0);
	CALL(cuptiActivityFlushAll)(1);
}

unsigned client_fills(unsigned bytes)
{
	return fills[bytes];
}

unsigned client_unknown(void)
{
	return unknown;
}
