/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library whose function runs every thread on a small stack that it allocates, as fibers and goroutines have.  All
 * stacks lie in one mapping, each above a canary that must stay unchanged.  At the end of standard input it prints
 * "overrun N".  For any glibc from 2.17 on.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join, pthread_join@GLIBC_2.2.5");

#define THREADS 24
#define STACK 16384
#define LEFT 2500 /* bytes left of a stack while its thread waits: enough for the kernel's signal frame */
#define CANARY 0xa5

static char *stacks; /* canary, stack, canary, stack, ... */
static int input[2];
static _Atomic unsigned waiting;

static void wait_deep(int fd)
{
	volatile char used[STACK - LEFT];
	char byte;

	used[0] = used[sizeof(used) - 1] = 1;
	waiting++;
	while (read(fd, &byte, 1) > 0)
		;
	used[0] = used[1];
}

static void until_woken(void)
{
	wait_deep(input[0]);
}

static void until_end(void)
{
	wait_deep(0);
	close(input[1]);
}

static void call_on_small_stack(void (*function)(void), size_t number)
{
	ucontext_t before, small;

	getcontext(&small);
	small.uc_stack.ss_sp = stacks + (2 * number + 1) * STACK;
	small.uc_stack.ss_size = STACK;
	small.uc_link = &before;
	makecontext(&small, function, 0);
	swapcontext(&before, &small);
}

static void *thread(void *number)
{
	call_on_small_stack(until_woken, (size_t)number);
	return NULL;
}

static void *wait_on_own_stack(void *unused)
{
	char byte;

	waiting++;
	while (read(input[0], &byte, 1) > 0)
		;
	return unused;
}

/* own: one more thread waits on its original stack. */
int small_stacks(int own)
{
	pthread_t threads[THREADS], another;
	unsigned overrun = 0;

	stacks = mmap(NULL, (THREADS + 1) * 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stacks == MAP_FAILED || pipe(input))
		return 1;
	memset(stacks, CANARY, (THREADS + 1) * 2 * STACK);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	if (own)
		pthread_create(&another, NULL, wait_on_own_stack, NULL);
	while (waiting < THREADS + (own != 0))
		usleep(1000);
	puts("ready");
	fflush(stdout);
	call_on_small_stack(until_end, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (own)
		pthread_join(another, NULL);
	for (unsigned i = 0; i < THREADS + 1; i++)
		for (unsigned at = 0; at < STACK; at++)
			if ((unsigned char)stacks[2 * i * STACK + at] != CANARY) {
				overrun++;
				break;
			}
	printf("overrun %u\n", overrun);
	return 0;
}
