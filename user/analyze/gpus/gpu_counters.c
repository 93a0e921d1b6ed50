/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/gpus/gpu_counters.h"

#include <stdlib.h>

#include "base/order.h"

#define MB 1000000ull

void gpu_counters_free(struct gpu_counter_sums *sums)
{
	gpu_clocks_free(&sums->clocks);
	tally_free(&sums->device_index);
	tally_free(&sums->values);
	tally_free(&sums->reasons);
	tally_free(&sums->error_index);
	tally_free(&sums->process_index);
	array_free(&sums->devices);
	array_free(&sums->errors);
	array_free(&sums->processes);
	array_free(&sums->rows);
	array_free(&sums->throttles);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Three digits, so that a long recording has few different ones. */
static uint32_t round_value(uint64_t value)
{
	uint64_t step = 1;

	while (value / step >= 1000)
		step *= 10;
	value = value / step * step;
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX - 1;
}

static void add_value(struct gpu_counter_sums *sums, uint32_t device, enum gpu_counter counter, uint64_t value,
		      uint64_t ns)
{
	struct tally_key key = {{device, (uint32_t)counter, (uint32_t)value}};

	if (value != MODEL_NOT_SAID)
		tally_at(&sums->values, key)->ns += ns;
}

/* A counter of bytes between two samples; one that went back has wrapped around, or begun again. */
static void add_rate(struct gpu_counter_sums *sums, uint32_t device, enum gpu_counter counter, uint64_t from,
		     uint64_t to, uint64_t ns)
{
	double rate;

	if (from == MODEL_NOT_SAID_64 || to == MODEL_NOT_SAID_64 || to < from)
		return;
	rate = (double)(to - from) * 1e9 / (double)ns / (double)MB;
	add_value(sums, device, counter, round_value(rate < UINT32_MAX ? (uint64_t)rate : UINT32_MAX), ns);
}

static void add_reasons(struct gpu_counter_sums *sums, const struct model_gpu_sample *sample, bool low, uint64_t ns)
{
	uint64_t reasons = sample->reasons == MODEL_NOT_SAID_64 ? 0 : sample->reasons & ~(uint64_t)GPT_CLOCK_IDLE;

	for (unsigned bit = 0; bit < GPU_CLOCK_REASONS; bit++) {
		struct tally_entry *entry;

		if (!(reasons >> bit & 1))
			continue;
		entry = tally_at(&sums->reasons, (struct tally_key){{sample->device, bit}});
		entry->ns += ns;
		entry->more += low ? ns : 0;
	}
	if (low && !reasons) {
		struct tally_entry *entry =
			tally_at(&sums->reasons, (struct tally_key){{sample->device, GPU_REASON_NOT_SAID}});

		entry->ns += ns;
		entry->more += ns;
	}
}

/* The values of a sample for the time up to the next one. */
static void add_time(struct gpu_counter_sums *sums, struct gpu_sampled *device, const struct model_gpu_sample *next)
{
	const struct model_gpu_sample *sample = &device->last;
	uint64_t ns = next->time_ns - sample->time_ns;
	bool low = clock_pace_of(sample) == CLOCK_SLOW;

	device->ns += ns;
	device->low_ns += low ? ns : 0;
	device->low_mhz_ns += low ? (double)sample->sm_mhz * (double)ns : 0;
	add_value(sums, sample->device, GPU_COUNTER_SM_CLOCK, sample->sm_mhz, ns);
	add_value(sums, sample->device, GPU_COUNTER_MEMORY_CLOCK, sample->memory_mhz, ns);
	if (sample->power_mw != MODEL_NOT_SAID)
		add_value(sums, sample->device, GPU_COUNTER_POWER, (sample->power_mw + 500u) / 1000u, ns);
	add_value(sums, sample->device, GPU_COUNTER_TEMPERATURE, sample->temperature_c, ns);
	add_rate(sums, sample->device, GPU_COUNTER_PCIE_TX, sample->pcie_tx, next->pcie_tx, ns);
	add_rate(sums, sample->device, GPU_COUNTER_PCIE_RX, sample->pcie_rx, next->pcie_rx, ns);
	add_rate(sums, sample->device, GPU_COUNTER_NVLINK_TX, sample->nvlink_tx, next->nvlink_tx, ns);
	add_rate(sums, sample->device, GPU_COUNTER_NVLINK_RX, sample->nvlink_rx, next->nvlink_rx, ns);
	add_reasons(sums, sample, low, ns);
}

/* The latest one that NVML said. */
static void take_limit(uint32_t *limit, uint32_t said)
{
	if (said != MODEL_NOT_SAID)
		*limit = said;
}

void gpu_counters_add_sample(struct gpu_counter_sums *sums, const struct gpu_sample_event *event)
{
	const struct model_gpu_sample *sample = event->sample;
	uint32_t index = tally_number(&sums->device_index, (struct tally_key){{sample->device}});
	struct gpu_sampled *device;

	gpu_clocks_add_sample(&sums->clocks, sample);
	if (index == sums->devices.count)
		array_push(&sums->devices, ((struct gpu_sampled){.device = sample->device,
								 .last = *sample,
								 .sm_max_mhz = MODEL_NOT_SAID,
								 .memory_max_mhz = MODEL_NOT_SAID,
								 .power_limit_mw = MODEL_NOT_SAID}));
	device = &sums->devices.items[index];
	if (sample->time_ns > device->last.time_ns && sample->time_ns - device->last.time_ns <= GPU_SAMPLE_HOLDS_NS)
		add_time(sums, device, sample);
	device->last = *sample;
	take_limit(&device->sm_max_mhz, sample->sm_max_mhz);
	take_limit(&device->memory_max_mhz, sample->memory_max_mhz);
	take_limit(&device->power_limit_mw, sample->power_limit_mw);
}

/* ---- processes and errors ---------------------------------------------------------------------------------------- */

void gpu_counters_add_process(struct gpu_counter_sums *sums, const struct gpu_process_event *event)
{
	const struct model_gpu_process *process = event->memory;
	struct tally_key key = {{process->device, process->pid, process->process}};
	uint32_t index = tally_number(&sums->process_index, key);
	struct gpu_process_row *row;

	if (index == sums->processes.count)
		array_push(&sums->processes, ((struct gpu_process_row){.device = process->device,
								       .pid = process->pid,
								       .process = process->process,
								       .most = MODEL_NOT_SAID_64}));
	row = &sums->processes.items[index];
	row->name = process->name;
	row->last = process->bytes;
	if (row->most == MODEL_NOT_SAID_64 || (process->bytes != MODEL_NOT_SAID_64 && process->bytes > row->most))
		row->most = process->bytes;
}

void gpu_counters_add_error(struct gpu_counter_sums *sums, const struct gpu_error_event *event)
{
	const struct model_gpu_error *error = event->error;
	struct tally_key key = {{error->device, error->kind, (uint32_t)error->data, (uint32_t)(error->data >> 32)}};
	uint32_t index = tally_number(&sums->error_index, key);

	if (index == sums->errors.count)
		array_push(&sums->errors, ((struct gpu_error_row){.device = error->device,
								  .kind = error->kind,
								  .data = error->data,
								  .first_ns = error->time_ns}));
	sums->errors.items[index].count++;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const struct gpu_sampled *find_device(const struct gpu_counter_sums *sums, uint32_t device)
{
	return array_find(&sums->devices, item, item->device == device);
}

static uint64_t limit_of(const struct gpu_sampled *device, enum gpu_counter counter)
{
	switch (counter) {
	case GPU_COUNTER_SM_CLOCK:
		return device->sm_max_mhz;
	case GPU_COUNTER_MEMORY_CLOCK:
		return device->memory_max_mhz;
	case GPU_COUNTER_POWER:
		return device->power_limit_mw == MODEL_NOT_SAID ? MODEL_NOT_SAID : device->power_limit_mw / 1000;
	default:
		return MODEL_NOT_SAID;
	}
}

/* Of the values of one counter, by value. */
static void add_counter_row(struct gpu_counter_sums *sums, const struct tally_entry *values, size_t count)
{
	struct gpu_counter_row row = {.device = values->key.part[0],
				      .counter = (enum gpu_counter)values->key.part[1],
				      .least = values[0].key.part[2],
				      .most = values[count - 1].key.part[2]};
	uint64_t passed_ns = 0;

	for (size_t i = 0; i < count; i++)
		row.ns += values[i].ns;
	for (size_t i = 0; i < count && passed_ns * 2 < row.ns; i++) {
		passed_ns += values[i].ns;
		row.median = values[i].key.part[2];
	}
	row.limit = limit_of(find_device(sums, row.device), row.counter);
	array_push(&sums->rows, row);
}

static void make_counter_rows(struct gpu_counter_sums *sums)
{
	struct tally_entry *values = sums->values.entries;
	size_t count = sums->values.count;

	tally_sort_by_key(&sums->values);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && values[end].key.part[0] == values[i].key.part[0] &&
			      values[end].key.part[1] == values[i].key.part[1];)
			end++;
		add_counter_row(sums, values + i, end - i);
	}
}

DEFINE_ORDER(by_device_and_time, struct gpu_throttle_row,
	     least_first(a->device, b->device) ?: most_first(a->ns, b->ns) ?: lower_first(a->reason, b->reason))

DEFINE_ORDER(by_memory, struct gpu_process_row,
	     least_first(a->device, b->device) ?: most_first(a->most + 1, b->most + 1) ?: least_first(a->pid, b->pid))

void gpu_counters_finish(struct gpu_counter_sums *sums)
{
	gpu_clocks_finish(&sums->clocks);
	make_counter_rows(sums);
	for (size_t i = 0; i < sums->reasons.count; i++) {
		const struct tally_entry *entry = &sums->reasons.entries[i];

		array_push(&sums->throttles, ((struct gpu_throttle_row){.device = entry->key.part[0],
									.reason = entry->key.part[1],
									.ns = entry->ns,
									.low_ns = entry->more}));
	}
	array_sort(&sums->throttles, by_device_and_time);
	array_sort(&sums->processes, by_memory);
}
