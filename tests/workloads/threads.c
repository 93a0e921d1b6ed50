/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Launches from many threads; CUPTI has a buffer of records for each.
 *
 *     threads at-once THREADS LAUNCHES   all threads live until the last has launched
 *     threads one-by-one THREADS LAUNCHES   each thread ends before the next begins
 *
 * Then prints "done" and waits for the end of standard input.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "../simgpu/core/sim.h"

#define STACK_BYTES (64 << 10)

static int launches;
static pthread_barrier_t all;
static bool at_once;

static void check(int status, const char *what)
{
	if (status) {
		fprintf(stderr, "threads: %s: %d\n", what, status);
		exit(1);
	}
}

static void *launch(void *unused)
{
	dim3 one = {1, 1, 1};

	for (int i = 0; i < launches; i++)
		check(cudaLaunchKernel(sim_kernel("tick_1us"), one, one, NULL, 0, NULL), "launch");
	if (at_once)
		pthread_barrier_wait(&all);
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc == 4 ? atoi(argv[2]) : 0;
	pthread_attr_t attributes;
	pthread_t *threads;

	if (count <= 0) {
		fprintf(stderr, "usage: threads at-once|one-by-one THREADS LAUNCHES\n");
		return 2;
	}
	at_once = !strcmp(argv[1], "at-once");
	launches = atoi(argv[3]);
	threads = calloc((size_t)count, sizeof(*threads));
	check(!threads, "memory");
	pthread_barrier_init(&all, NULL, (unsigned)count);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	check(cudaFree(NULL), "context");
	for (int i = 0; i < count; i++) {
		check(pthread_create(&threads[i], &attributes, launch, NULL), "thread");
		if (!at_once)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < count && at_once; i++)
		pthread_join(threads[i], NULL);
	check(cudaDeviceSynchronize(), "synchronize");
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
