/*
 * hammer.c: loads a given libcudart and launches from N threads as fast as it can for S seconds.
 * Prints how many calls each thread made. Without a GPU every launch fails. This is intended: the
 * program measures the tracer.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_THREADS 64

struct dim3 {
	unsigned x, y, z;
};

typedef int launch_function(const void *, struct dim3, struct dim3, void **, size_t, void *);

static launch_function *launch;
static atomic_int stop;

static void *run(void *argument)
{
	unsigned long *count = argument;
	struct dim3 grid = {32, 1, 1}, block = {256, 1, 1};

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		launch((const void *)0x1000, grid, block, NULL, 0, NULL);
		++*count;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static unsigned long counts[MAX_THREADS][16]; /* a cache line each */
	unsigned long total = 0;
	pthread_t threads[MAX_THREADS];
	int seconds = argc > 2 ? atoi(argv[2]) : 0, n = argc > 3 ? atoi(argv[3]) : 2;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!library || seconds < 1 || n < 1 || n > MAX_THREADS) {
		fprintf(stderr, "usage: hammer LIBCUDART SECONDS [THREADS]\n%s\n", library ? "" : dlerror());
		return 2;
	}
	*(void **)&launch = dlsym(library, "cudaLaunchKernel");
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, counts[i]))
			return 1;
	sleep((unsigned)seconds);
	atomic_store(&stop, 1);
	printf("launches");
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		total += counts[i][0];
		printf(" %lu", counts[i][0]);
	}
	printf(" total %lu\n", total);
	return 0;
}
