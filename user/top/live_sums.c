/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The account of idle time says of each part of a gap which charge it has, and when finished what that is. */
#include "top/live_sums.h"

#include "analyze/analyze.h"
#include "base/tally.h"

struct summing {
	struct live_sums *sums;
	struct tally gaps; /* device, charge: time of gaps */
};

static void take_gap(void *context, uint32_t device, const struct idle_part *parts, size_t count)
{
	struct summing *summing = context;

	for (size_t i = 0; i < count; i++)
		tally_at(&summing->gaps, (struct tally_key){{device, parts[i].charge}})->ns +=
			parts[i].to_ns - parts[i].from_ns;
}

static struct live_gpu *find_gpu(struct live_sums *sums, uint32_t device)
{
	return find_item(sums->gpus, sums->gpu_count, gpu, gpu->gpu == device);
}

static void set_uuid(struct live_gpu *gpu, const struct model *model)
{
	const struct model_device *device = find_item(model->devices, model->device_count, item, item->id == gpu->gpu);

	if (device)
		memcpy(gpu->uuid, device->uuid, sizeof(gpu->uuid));
}

static void add_gpus(struct live_sums *sums, const struct utilization *utilization, const struct model *model)
{
	array_each (row, &utilization->rows) {
		if (sums->gpu_count == LIVE_GPUS_MOST) {
			sums->gpus_left_out++;
			continue;
		}
		sums->gpus[sums->gpu_count] = (struct live_gpu){
			.gpu = row->device, .busy_ns = row->busy_ns, .launches = row->launches + row->unseen};
		set_uuid(&sums->gpus[sums->gpu_count++], model);
	}
}

/* Divides a charge's time by what it was charged to in the end. */
static void add_idle(struct live_gpu *gpu, const struct idle *idle, uint32_t charge, uint64_t ns)
{
	size_t first, count = idle_charges_of(idle, charge, &first);
	uint64_t sum = 0, left = ns;

	for (size_t i = first; i < first + count; i++)
		sum += idle_charge_at(idle, i).ns;
	for (size_t i = first; i < first + count; i++) {
		const struct idle_charge of = idle_charge_at(idle, i);
		uint64_t part = i + 1 == first + count
					? left
					: (uint64_t)((double)ns * (double)of.ns / (double)(sum ? sum : 1));

		part = part < left ? part : left;
		gpu->idle_ns[of.what.part[1]] += part;
		left -= part;
	}
}

static int make_sums(struct trace *trace, void *context)
{
	struct summing *summing = context;
	struct live_sums *sums = summing->sums;
	struct analyses all;
	int error = analyze_with(&all, trace, ANALYSES(ANALYZE_IDLE, ANALYZE_UTILIZATION),
				 &(struct analyze_options){.take_gap = take_gap, .gap_context = summing});

	if (!error) {
		sums->span_ns = window_timed_ns(&all.window);
		add_gpus(sums, &all.utilization, all.model);
		for (size_t i = 0; i < summing->gaps.count; i++) {
			const struct tally_entry *entry = &summing->gaps.entries[i];
			struct live_gpu *gpu = find_gpu(sums, entry->key.part[0]);

			if (gpu)
				add_idle(gpu, &all.idle, entry->key.part[1], entry->ns);
		}
#define LOSS(member, ...) sums->member = model_source(all.model)->receipt.member;
		GPT_AGENT_LOSSES(LOSS)
#undef LOSS
	}
	analyses_free(&all);
	return error;
}

int live_log_sums(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, struct live_sums *sums)
{
	struct summing summing = {.sums = sums};
	int error;

	*sums = (struct live_sums){0};
	error = live_log_use(live, from_ns, to_ns, make_sums, &summing);
	tally_free(&summing.gaps);
	return error;
}

/* Of one GPU; idle time that is not in gaps has no cause. */
static bool gpu_makes_sense(const struct live_gpu *gpu, uint64_t span_ns)
{
	uint64_t used_ns = gpu->busy_ns;

	for (unsigned i = 0; i < WHY_CAUSES; i++) {
		if (used_ns > span_ns || gpu->idle_ns[i] > span_ns)
			return false;
		used_ns += gpu->idle_ns[i];
	}
	return used_ns <= span_ns && gpu->launches <= UINT32_MAX;
}

static bool is_same(const struct live_gpu *gpu, const struct live_gpu *other)
{
	static const uint8_t unknown[sizeof(gpu->uuid)];

	return gpu->gpu == other->gpu ||
	       (memcmp(gpu->uuid, unknown, sizeof(unknown)) != 0 && !memcmp(gpu->uuid, other->uuid, sizeof(gpu->uuid)));
}

bool live_sums_make_sense(const struct live_sums *sums)
{
	if (sums->gpu_count > LIVE_GPUS_MOST)
		return false;
	for (uint32_t i = 0; i < sums->gpu_count; i++)
		if (!gpu_makes_sense(&sums->gpus[i], sums->span_ns) ||
		    any_of(i, k, is_same(&sums->gpus[k], &sums->gpus[i])))
			return false;
	return true;
}
