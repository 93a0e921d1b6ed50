/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How full a kernel makes a multiprocessor, estimated from its launch and the limits of the device.  Granules are taken
 * from the CUDA toolkit's occupancy calculator (cuda_occupancy.h, 13.0).
 */
#include "timeline/rows/occupancy.h"

#include "base/array.h"

#define REGISTER_GRANULE 256u	/* per warp, since compute capability 3.0 */
#define SUBPARTITIONS 4u	/* register files of a multiprocessor, since 5.0 */
#define SHARED_GRANULE 256u	/* bytes, before 8.0 */
#define SHARED_GRANULE_8 128u	/* bytes, since 8.0 */
#define SHARED_RESERVED_8 1024u /* bytes of each block that the driver keeps, since 8.0 */

static uint64_t round_up(uint64_t value, uint64_t granule)
{
	return (value + granule - 1) / granule * granule;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t blocks_by_registers(const struct model_device *device, uint64_t warps, uint32_t registers)
{
	uint64_t per_warp = round_up((uint64_t)registers * device->warp_size, REGISTER_GRANULE);

	if (!per_warp || !device->max_registers_per_multiprocessor)
		return UINT64_MAX;
	return device->max_registers_per_multiprocessor / SUBPARTITIONS / per_warp * SUBPARTITIONS / warps;
}

static uint64_t blocks_by_shared(const struct model_device *device, uint64_t bytes)
{
	bool since_8 = device->compute_major >= 8;
	uint64_t per_block =
		round_up(bytes + (since_8 ? SHARED_RESERVED_8 : 0), since_8 ? SHARED_GRANULE_8 : SHARED_GRANULE);

	if (!per_block || !device->max_shared_per_multiprocessor)
		return UINT64_MAX;
	return device->max_shared_per_multiprocessor / per_block;
}

/* Blocks that can be on one multiprocessor at a time. */
static uint64_t resident_blocks(const struct model_device *device, const struct model_gpu *kernel, uint64_t threads)
{
	uint64_t warps = (threads + device->warp_size - 1) / device->warp_size;
	uint64_t blocks = device->max_threads_per_multiprocessor / device->warp_size / warps;

	if (device->max_blocks_per_multiprocessor)
		blocks = least_of(blocks, device->max_blocks_per_multiprocessor);
	blocks = least_of(blocks, blocks_by_registers(device, warps, kernel->registers));
	return least_of(blocks,
			blocks_by_shared(device, (uint64_t)kernel->static_shared_bytes + kernel->dynamic_shared_bytes));
}

static const struct model_device *device_of(const struct model *model, uint32_t id)
{
	return find_item(model->devices, model->device_count, item, item->id == id);
}

struct occupancy occupancy_of(const struct model *model, const struct model_gpu *kernel)
{
	const struct model_device *device = device_of(model, kernel->device);
	double blocks = (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
	double threads = (double)kernel->block[0] * kernel->block[1] * kernel->block[2];
	struct occupancy occupancy = {0};
	double active;

	if (!device || !device->multiprocessors || kernel->unknown & MODEL_GPU_NO_LAUNCH)
		return occupancy;
	occupancy.blocks_per_sm = blocks / device->multiprocessors;
	if (!device->warp_size || threads < 1 || threads > UINT32_MAX)
		return occupancy;
	occupancy.warps_per_sm = occupancy.blocks_per_sm * threads / device->warp_size;
	if (!device->max_threads_per_multiprocessor ||
	    kernel->unknown & (MODEL_GPU_NO_REGISTERS | MODEL_GPU_NO_DYNAMIC_SHARED))
		return occupancy;
	active = (double)resident_blocks(device, kernel, (uint64_t)threads);
	if (occupancy.blocks_per_sm < active)
		active = occupancy.blocks_per_sm;
	active = 100 * active * threads / device->max_threads_per_multiprocessor + 0.5;
	occupancy.percent = active > 100 ? 100 : (uint32_t)active;
	return occupancy;
}
