/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of GPUs: what NVML said, value by value. */
#include "timeline/kinds.h"
#include "timeline/visit.h"

static void put_value(struct visit *visit, const struct model_gpu_sample *sample, uint32_t counter, const char *name,
		      const char *unit, uint32_t value, double scale)
{
	if (visit->ended || value == MODEL_NOT_SAID)
		return;
	visit->ended = !visit->visitor->counter(
		visit->visitor->context,
		&(struct timeline_value){.device = sample->device,
					 .counter = counter,
					 .time_ns = timeline_time(visit->timeline, sample->time_ns),
					 .name = name,
					 .unit = unit,
					 .value = (double)value * scale});
}

void visit_gpu_samples(struct visit *visit)
{
	const struct model *model = visit->timeline->model;
	uint32_t end = in_part_end(&model->gpu_samples_in_part, model->gpu_sample_count);

	if (!visit->visitor->counter)
		return;
	for (uint32_t i = model->gpu_samples_in_part.from; i < end && !visit->ended; i++) {
		const struct model_gpu_sample *sample = &model->gpu_samples[i];

		put_value(visit, sample, 0, "SM clock", "MHz", sample->sm_mhz, 1);
		put_value(visit, sample, 1, "memory clock", "MHz", sample->memory_mhz, 1);
		put_value(visit, sample, 2, "power", "W", sample->power_mw, 0.001);
		put_value(visit, sample, 3, "temperature", "C", sample->temperature_c, 1);
	}
}
