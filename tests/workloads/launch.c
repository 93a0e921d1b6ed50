/*
 * launch.c: a CUDA program without Python: launches, copies, fills, two streams, an event between
 * them, a graph, driver launches, for N rounds. Prints its own counts, to be compared with a
 * tracer's. Made for the simulated GPU, whose kernels need no device code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "../simgpu/core/sim.h"

#define BYTES 65536

struct program {
	cudaStream_t streams[2];
	cudaEvent_t event;
	cudaGraphExec_t graph;
	void *device, *pinned;
	char pageable[BYTES];
	unsigned long kernels, copies, fills, graphs;
};

static void check(cudaError_t error, const char *what)
{
	if (error) {
		fprintf(stderr, "launch: %s: %s\n", what, cudaGetErrorString(error));
		exit(1);
	}
}

static void launch_one(struct program *self, const char *name, cudaStream_t stream)
{
	dim3 grid = {64, 1, 1}, block = {128, 1, 1};

	check(cudaLaunchKernel(sim_kernel(name), grid, block, NULL, 0, stream), name);
	self->kernels++;
}

static void graph_build(struct program *self)
{
	cudaGraph_t graph;
	dim3 one = {1, 1, 1};

	check(cudaStreamBeginCapture(self->streams[0], cudaStreamCaptureModeRelaxed), "capture");
	for (int i = 0; i < 3; i++)
		check(cudaLaunchKernel(sim_kernel("node_15us"), one, one, NULL, 0, self->streams[0]),
		      "captured launch");
	check(cudaMemsetAsync(self->device, 0, BYTES, self->streams[0]), "captured fill");
	check(cudaStreamEndCapture(self->streams[0], &graph), "end capture");
	check(cudaGraphInstantiate(&self->graph, graph, 0), "instantiate");
	check(cudaGraphDestroy(graph), "destroy graph");
}

static void prepare(struct program *self)
{
	for (int i = 0; i < 2; i++)
		check(cudaStreamCreate(&self->streams[i]), "stream");
	check(cudaEventCreate(&self->event), "event");
	check(cudaMalloc(&self->device, BYTES), "malloc");
	check(cudaMallocHost(&self->pinned, BYTES), "malloc host");
	graph_build(self);
}

static void round_trip(struct program *self, int number)
{
	char back[64];

	memset(self->pageable, number & 0x7f, BYTES);
	memcpy(self->pinned, self->pageable, BYTES);
	check(cudaMemcpyAsync(self->device, self->pinned, BYTES, cudaMemcpyHostToDevice, self->streams[0]), "copy in");
	launch_one(self, "first_20us", self->streams[0]);
	check(cudaEventRecord(self->event, self->streams[0]), "record");
	check(cudaStreamWaitEvent(self->streams[1], self->event, 0), "wait");
	launch_one(self, "second_35us", self->streams[1]);
	check((cudaError_t)cuLaunchKernel((CUfunction)sim_kernel("driver_10us"), 8, 1, 1, 32, 1, 1, 0, self->streams[1],
					  NULL, NULL),
	      "driver launch");
	self->kernels++;
	check(cudaMemcpy(back, self->device, sizeof(back), cudaMemcpyDeviceToHost), "copy out");
	if (back[0] != (number & 0x7f)) {
		fprintf(stderr, "launch: copied data is wrong\n");
		exit(1);
	}
	self->copies += 2;
	check(cudaGraphLaunch(self->graph, self->streams[0]), "graph");
	self->graphs++;
	check(cudaMemsetAsync(self->device, 1, BYTES, self->streams[1]), "fill");
	self->fills++;
	check(cudaDeviceSynchronize(), "synchronize");
}

int main(int argc, char **argv)
{
	static struct program self;
	int rounds = argc > 1 ? atoi(argv[1]) : 10;

	prepare(&self);
	for (int i = 0; i < rounds; i++)
		round_trip(&self, i);
	printf("rounds %d kernels %lu copies %lu fills %lu graphs %lu\n", rounds, self.kernels, self.copies, self.fills,
	       self.graphs);
	return 0;
}
