/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Launches in a tight loop; called from Python at some depth. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define BATCH_CALLS 50

struct dim3 {
	uint32_t x, y, z;
};

typedef int launch(const void *function, struct dim3 grid, struct dim3 block, void **args, uint64_t shared,
		   void *stream);

/* Launches no kernel; nanoseconds per call: the median of batches that are shorter than the scheduler's time slices. */
double hammer(launch *function, long calls);
/* Launches one kernel into one stream; returns the number of failed calls. */
long burst(launch *function, const void *kernel, void *stream, long calls);

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double batch_ns(launch *function, long calls)
{
	const struct dim3 one = {1, 1, 1};
	double start = now_ns();

	for (long i = 0; i < calls; i++)
		function(0, one, one, 0, 0, 0);
	return now_ns() - start;
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double hammer(launch *function, long calls)
{
	long count = calls / BATCH_CALLS, i;
	double *batches, median;

	if (count < 2)
		return batch_ns(function, calls) / (double)calls;
	batches = malloc((size_t)count * sizeof(*batches));
	if (!batches)
		abort();
	for (i = 0; i < count; i++)
		batches[i] = batch_ns(function, BATCH_CALLS);
	qsort(batches, (size_t)count, sizeof(*batches), compare_times);
	median = batches[count / 2] / BATCH_CALLS;
	free(batches);
	return median;
}

long burst(launch *function, const void *kernel, void *stream, long calls)
{
	const struct dim3 grid = {64, 1, 1}, block = {256, 1, 1};
	long failed = 0;

	for (long i = 0; i < calls; i++)
		failed += function(kernel, grid, block, 0, 0, stream) != 0;
	return failed;
}
