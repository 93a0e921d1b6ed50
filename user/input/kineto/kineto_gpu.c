/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU events of a Kineto trace: work, waits, CUPTI's overhead. */
#include "input/kineto/kineto_event.h"
#include "input/kineto/kineto_row.h"
#include "input/names.h"

static uint32_t at_most(int64_t value, uint32_t most)
{
	return value < 0 ? 0 : value > most ? most : (uint32_t)value;
}

/* Kineto gives static and dynamic shared memory as one number, and no local memory of threads. */
static uint8_t unknown_of(const struct kineto_event *event)
{
	unsigned unknown = MODEL_GPU_NO_STATIC_SHARED | MODEL_GPU_NO_LOCAL;

	if (event->numbers[KINETO_BYTES] < 0)
		unknown |= MODEL_GPU_NO_BYTES;
	if (event->numbers[KINETO_REGISTERS] < 0)
		unknown |= MODEL_GPU_NO_REGISTERS;
	if (event->numbers[KINETO_SHARED] < 0)
		unknown |= MODEL_GPU_NO_DYNAMIC_SHARED;
	for (int i = 0; i < 3; i++)
		if (event->grid[i] < 0 || event->block[i] < 0)
			unknown |= MODEL_GPU_NO_LAUNCH;
	return (uint8_t)unknown;
}

void kineto_add_gpu(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		    enum model_gpu_kind kind)
{
	struct row_gpu gpu = {.row = kineto_row(event, ROW_GPU), .near_pid = reading->near_pid};
	int64_t priority = event->numbers[KINETO_PRIORITY];

	gpu.row.pid = gpu.row.tid = 0;
	gpu.work = (struct model_gpu){
		.bytes = kineto_wide(event, KINETO_BYTES),
		.graph = kineto_small(event, KINETO_GRAPH, 0),
		.graph_node = kineto_wide(event, KINETO_GRAPH_NODE),
		.device = kineto_small(event, KINETO_DEVICE, (uint32_t)(event->pid > 0 ? kineto_id(event->pid) : 0)),
		.context = kineto_small(event, KINETO_CONTEXT, 0),
		.stream = kineto_small(event, KINETO_STREAM, kineto_id(event->tid)),
		/* static and dynamic in one number */
		.dynamic_shared_bytes = kineto_small(event, KINETO_SHARED, 0),
		.registers = kineto_small(event, KINETO_REGISTERS, 0),
		.channel = kineto_small(event, KINETO_CHANNEL, 0),
		.channel_type = (uint8_t)at_most(event->numbers[KINETO_CHANNEL_TYPE], UINT8_MAX),
		.priority = (int8_t)(priority >= INT8_MIN && priority <= INT8_MAX ? priority : 0),
		.kind = kind & 63,
		.unknown = unknown_of(event),
	};
	kineto_own_gpu(file, event, &gpu);
	for (int i = 0; i < 3; i++) {
		gpu.work.grid[i] = at_most(event->grid[i], UINT32_MAX);
		gpu.work.block[i] = at_most(event->block[i], UINT32_MAX);
	}
	if (kind == MODEL_KERNEL)
		gpu.row.text = kineto_text(file, &event->name, &reading->scratch);
	else
		name_to_memory_kinds(event->name.bytes, event->name.size, &gpu.work);
	rows_add(&file->rows, &gpu.row, sizeof(gpu));
}

void kineto_add_sync(struct foreign_file *file, const struct kineto_event *event, const struct kineto_reading *reading)
{
	struct row_sync sync = {.row = kineto_row(event, ROW_SYNC),
				.device = kineto_small(event, KINETO_DEVICE, 0),
				.near_pid = reading->near_pid};
	enum gpt_agent_sync_kind kind = name_to_sync(event->name.bytes, event->name.size);

	if (!kind)
		return;
	sync.row.pid = sync.row.tid = 0;
	sync.sync = (struct gpt_agent_sync){.context = kineto_small(event, KINETO_CONTEXT, 0),
					    .stream = kineto_small(event, KINETO_STREAM, UINT32_MAX),
					    .event = kineto_small(event, KINETO_EVENT, 0),
					    .kind = kind};
	rows_add(&file->rows, &sync.row, sizeof(sync));
}

void kineto_add_overhead(struct foreign_file *file, const struct kineto_event *event)
{
	struct row_overhead overhead = {.row = kineto_row(event, ROW_OVERHEAD)};

	overhead.overhead = name_to_overhead(event->name.bytes, event->name.size);
	overhead.row.pid = overhead.row.tid = 0;
	rows_add(&file->rows, &overhead.row, sizeof(overhead));
}
