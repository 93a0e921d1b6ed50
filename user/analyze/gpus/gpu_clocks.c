/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/gpus/gpu_clocks.h"

#include <stdlib.h>

/* More kernels than any GPU runs between two samples. */
#define WAITING_MOST 1000000u

void gpu_clocks_free(struct gpu_clocks *clocks)
{
	for (size_t i = 0; i < clocks->devices.count; i++)
		array_free(&clocks->devices.items[i].waiting);
	array_free(&clocks->devices);
	array_free(&clocks->shape_devices);
	tally_free(&clocks->device_index);
	tally_free(&clocks->names);
	tally_free(&clocks->grids);
	tally_free(&clocks->shapes);
	tally_free(&clocks->durations);
}

static uint32_t index_of(struct gpu_clocks *clocks, uint32_t device)
{
	uint32_t index = tally_number(&clocks->device_index, (struct tally_key){{device}});

	if (index == clocks->devices.count)
		array_push(&clocks->devices, ((struct clock_device){0}));
	return index;
}

/* Durations within 1.6 % of each other are of one class: the 6 bits below the highest one. */
static uint32_t class_of(uint64_t ns)
{
	unsigned bits = ns ? 64 - (unsigned)__builtin_clzll(ns) : 0;

	return bits <= 7 ? (uint32_t)ns : bits << 6 | (uint32_t)(ns >> (bits - 7) & 63);
}

static void count_kernel(struct gpu_clocks *clocks, const struct clock_kernel *kernel, enum clock_pace pace)
{
	struct tally_key key = {{kernel->shape, (uint32_t)pace, class_of(kernel->ns)}};
	struct tally_entry *entry = tally_at(&clocks->durations, key);

	entry->ns += kernel->ns;
	entry->count++;
}

/* Kernels that are over count, if the samples agree; of those that run on, all samples so far must. */
void gpu_clocks_add_sample(struct gpu_clocks *clocks, const struct model_gpu_sample *sample)
{
	uint32_t index = index_of(clocks, sample->device); /* may move the devices */
	struct clock_device *device = &clocks->devices.items[index];
	enum clock_pace pace = clock_pace_of(sample);
	bool agrees = pace != CLOCK_NOT_KNOWN && pace == device->pace && device->sample_ns &&
		      sample->time_ns - device->sample_ns <= GPU_SAMPLE_HOLDS_NS;
	size_t kept = 0;

	for (size_t i = 0; i < device->waiting.count; i++) {
		const struct clock_kernel *kernel = &device->waiting.items[i];

		if (agrees && kernel->end_ns <= sample->time_ns)
			count_kernel(clocks, kernel, pace);
		else if (agrees)
			device->waiting.items[kept++] = *kernel;
	}
	device->waiting.count = kept;
	device->sample_ns = sample->time_ns;
	device->pace = pace;
}

static uint32_t shape_of(struct gpu_clocks *clocks, const struct model_gpu *kernel, uint32_t device)
{
	uint32_t shared = kernel->static_shared_bytes + kernel->dynamic_shared_bytes;
	uint32_t name = tally_number(&clocks->names, (struct tally_key){{kernel->name, device, shared}});
	uint32_t grid = tally_number(&clocks->grids,
				     (struct tally_key){{name, kernel->grid[0], kernel->grid[1], kernel->grid[2]}});
	uint32_t shape = tally_number(&clocks->shapes,
				      (struct tally_key){{grid, kernel->block[0], kernel->block[1], kernel->block[2]}});

	if (shape == clocks->shape_devices.count)
		array_push(&clocks->shape_devices, device);
	return shape;
}

void gpu_clocks_add_kernel(struct gpu_clocks *clocks, const struct model_gpu *kernel)
{
	uint32_t index;
	struct clock_device *device;

	if (!clocks->devices.count || kernel->kind != MODEL_KERNEL || kernel->end_ns <= kernel->start_ns)
		return;
	index = index_of(clocks, kernel->device);
	device = &clocks->devices.items[index];
	if (device->sample_ns && device->pace != CLOCK_NOT_KNOWN && device->waiting.count < WAITING_MOST)
		array_push(&device->waiting, ((struct clock_kernel){.end_ns = kernel->end_ns,
								    .ns = kernel->end_ns - kernel->start_ns,
								    .shape = shape_of(clocks, kernel, index)}));
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The mean of the class in which the median lies. */
static double median_of(const struct tally_entry *entries, size_t count)
{
	uint64_t all = 0, passed = 0;

	for (size_t i = 0; i < count; i++)
		all += entries[i].count;
	for (size_t i = 0; i < count; i++) {
		passed += entries[i].count;
		if (passed * 2 >= all)
			return (double)entries[i].ns / (double)entries[i].count;
	}
	return 0;
}

/*
 * Entries of one shape, those at the highest clock first.  Both sides by their medians: a kernel whose duration depends
 * on its data has some long ones at any clock.
 */
static void finish_shape(struct clock_device *device, const struct tally_entry *entries, size_t count)
{
	size_t full = 0;
	uint64_t slow_ns = 0, slow_kernels = 0;

	while (full < count && entries[full].key.part[1] == CLOCK_FULL)
		full++;
	if (!full || full == count)
		return;
	for (size_t i = full; i < count; i++) {
		slow_ns += entries[i].ns;
		slow_kernels += entries[i].count;
	}
	device->slow_ns += slow_ns;
	device->slow_kernels += slow_kernels;
	device->cost_ns += (double)slow_kernels * (median_of(entries + full, count - full) - median_of(entries, full));
}

void gpu_clocks_finish(struct gpu_clocks *clocks)
{
	struct tally_entry *entries = clocks->durations.entries;
	size_t count = clocks->durations.count;

	tally_sort_by_key(&clocks->durations);
	for (size_t i = 0, end; i < count; i = end) {
		uint32_t shape = entries[i].key.part[0];

		for (end = i; end < count && entries[end].key.part[0] == shape;)
			end++;
		finish_shape(&clocks->devices.items[clocks->shape_devices.items[shape]], entries + i, end - i);
	}
}

const struct clock_device *gpu_clocks_of(const struct gpu_clocks *clocks, uint32_t device)
{
	for (size_t i = 0; i < clocks->device_index.count; i++)
		if (clocks->device_index.entries[i].key.part[0] == device && clocks->devices.items[i].slow_kernels)
			return &clocks->devices.items[i];
	return NULL;
}
