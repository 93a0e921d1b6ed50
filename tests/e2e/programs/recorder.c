/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Another profiler: subscribes to CUPTI under the name in its first argument ("": gives none) and records kernels.  It
 * reads lines from standard input: "work N" launches N kernels and prints "done".  With the argument "later" it does
 * nothing at first: the line "subscribe" only subscribes, the line "record" only records.  At the end it prints how
 * many calls and kernels it received.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL 10 /* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL */
#define RUNTIME 2 /* CUPTI_CB_DOMAIN_RUNTIME_API */
#define LAUNCH_KERNEL 211
#define BUFFER (1 << 20)

struct params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_size;
};

unsigned cuptiSubscribe(void **subscriber, void *callback, void *user);
unsigned cuptiSubscribe_v2(void **subscriber, void *callback, void *user, struct params *params);
unsigned cuptiEnableCallback(uint32_t enable, void *subscriber, unsigned domain, uint32_t cbid);
unsigned cuptiActivityRegisterCallbacks(void *request, void *complete);
unsigned cuptiActivityEnable(unsigned kind);
unsigned cuptiActivityFlushAll(uint32_t flag);
unsigned cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);
unsigned cudaFree(void *pointer);
unsigned cudaDeviceSynchronize(void);
unsigned cudaLaunchKernel(const void *func, uint64_t grid_xy, uint32_t grid_z, uint64_t block_xy, uint32_t block_z,
			  void **args, size_t shared, void *stream);
void *sim_kernel(const char *name);

static unsigned calls, kernels;

/* Called at entry and at return of each launch. */
static void called(void *user, unsigned domain, uint32_t cbid, const void *data)
{
	calls++;
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = BUFFER;
	*max_records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint8_t *record = NULL;
	uint32_t kind;

	while (!cuptiActivityGetNextRecord(buffer, valid, &record)) {
		memcpy(&kind, record, sizeof(kind));
		kernels += kind == KERNEL;
	}
	free(buffer);
}

static int subscribe(const char *name)
{
	struct params params = {.size = sizeof(params), .name = name};
	void *subscriber;
	unsigned failed = *name ? cuptiSubscribe_v2(&subscriber, (void *)called, NULL, &params)
				: cuptiSubscribe(&subscriber, (void *)called, NULL);

	return failed || cuptiEnableCallback(1, subscriber, RUNTIME, LAUNCH_KERNEL);
}

static int record(void)
{
	return cuptiActivityRegisterCallbacks((void *)request, (void *)complete) || cuptiActivityEnable(KERNEL);
}

static void work(unsigned count)
{
	const uint64_t one = 1 | 1ull << 32;

	while (count--)
		cudaLaunchKernel(sim_kernel("work_10us"), one, 1, one, 1, NULL, 0, NULL);
	cudaDeviceSynchronize();
	cuptiActivityFlushAll(0);
}

int main(int argc, char **argv)
{
	char line[64];

	cudaFree(NULL);
	if (argc != 2 || (strcmp(argv[1], "later") && (subscribe(argv[1]) || record())))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "subscribe\n")) {
			if (subscribe(""))
				return 1;
		} else if (!strcmp(line, "record\n")) {
			if (record())
				return 1;
		} else {
			work((unsigned)strtoul(line + strlen("work "), NULL, 10));
		}
		puts("done");
		fflush(stdout);
	}
	cuptiActivityFlushAll(1);
	printf("received %u calls, %u kernels\n", calls / 2, kernels);
	return 0;
}
