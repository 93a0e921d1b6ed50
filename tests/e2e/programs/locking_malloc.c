/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An allocator with two locks: a thread holds the outer one while it waits for the inner one, which another thread
 * holds while it sleeps.  A nested allocation on a thread that is in the allocator deadlocks.  For LD_PRELOAD;
 * locking_malloc() starts threads that do nothing but allocate.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");

#define ROOM (1ULL << 36) /* memory is never freed */

static _Atomic uint32_t outer, inner;
static _Atomic unsigned allocations;
static char *room, *next;
static __thread int sleeps __attribute__((tls_model("initial-exec")));

static void lock(_Atomic uint32_t *word)
{
	uint32_t free = 0;

	if (__atomic_compare_exchange_n((uint32_t *)word, &free, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	while (__atomic_exchange_n((uint32_t *)word, 2, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(_Atomic uint32_t *word)
{
	if (__atomic_exchange_n((uint32_t *)word, 0, __ATOMIC_SEQ_CST) == 2)
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The tests limit what their processes allocate (conftest.py); the room is hardly ever touched. */
static void reserve_room(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_DATA, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_DATA, &limit);
	}
	room = next = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void *take(size_t bytes)
{
	const struct timespec pause = {0, 50000000};
	size_t *block;

	lock(&outer);
	lock(&inner);
	if (!room)
		reserve_room();
	block = (size_t *)next;
	next += (bytes + 31) / 16 * 16;
	block[0] = bytes;
	if (sleeps) {
		unlock(&outer);
		nanosleep(&pause, NULL);
		unlock(&inner);
		return block + 2;
	}
	unlock(&inner);
	unlock(&outer);
	return block + 2;
}

void *malloc(size_t bytes)
{
	return take(bytes);
}

void free(void *block)
{
}

void *calloc(size_t count, size_t bytes)
{
	return take(count * bytes);
}

void *realloc(void *old, size_t bytes)
{
	void *block = take(bytes);
	size_t before = old ? ((size_t *)old)[-2] : 0;

	if (old)
		memcpy(block, old, before < bytes ? before : bytes);
	return block;
}

static void *allocate(void *slow)
{
	sleeps = slow != NULL;
	for (;;) {
		take(16);
		allocations++;
	}
	return NULL;
}

/* Waits for twenty more allocations after each line of standard input. */
int locking_malloc(void)
{
	pthread_t threads[3];
	unsigned before;
	char byte;

	for (size_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)i);
	write(1, "ready\n", 6);
	while (read(0, &byte, 1) == 1) {
		alarm(20); /* kills a process that hangs */
		for (before = allocations; allocations < before + 20;)
			usleep(1000);
		alarm(0);
		write(1, "goes on\n", 8);
	}
	_exit(0);
}
