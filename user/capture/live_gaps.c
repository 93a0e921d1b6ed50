/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/live_gaps.h"

#include <time.h>

#include "base/monotonic.h"

uint64_t live_wall_offset_ns(bool is_monotonic)
{
	return is_monotonic ? 0 : clock_ns(CLOCK_REALTIME) - monotonic_ns();
}

bool live_work_of(const struct gpt_record *record, struct live_work *work)
{
	const struct gpt_agent_kernel *kernel = (const struct gpt_agent_kernel *)record;
	const struct gpt_agent_memcpy *copy = (const struct gpt_agent_memcpy *)record;
	const struct gpt_agent_memset *fill = (const struct gpt_agent_memset *)record;

	if (record->type == GPT_AGENT_KERNEL && record->size >= sizeof(*kernel))
		*work = (struct live_work){kernel->device, kernel->corr, kernel->start_wall_ns, kernel->end_wall_ns};
	else if (record->type == GPT_AGENT_MEMCPY && record->size >= sizeof(*copy))
		*work = (struct live_work){copy->device, copy->corr, copy->start_wall_ns, copy->end_wall_ns};
	else if (record->type == GPT_AGENT_MEMSET && record->size >= sizeof(*fill))
		*work = (struct live_work){fill->device, fill->corr, fill->start_wall_ns, fill->end_wall_ns};
	else
		return false;
	return work->start_ns && work->end_ns >= work->start_ns;
}

static bool is_at(const struct live_place *place, const struct live_place *other)
{
	return place->pid == other->pid && place->device == other->device && place->is_monotonic == other->is_monotonic;
}

/* The GPU of a process; in place of the one that was reported longest ago, of the same process if it has many. */
static struct live_gap_gpu *find_gpu(struct live_gaps *gaps, const struct live_place *place, uint64_t start_ns)
{
	struct live_gap_gpu *gpu, *oldest = &gaps->gpus[0], *own = NULL;
	unsigned of_process = 0;

	for (unsigned i = 0; i < gaps->gpu_count; i++) {
		gpu = &gaps->gpus[i];
		if (is_at(&gpu->place, place))
			return gpu;
		oldest = gpu->seen_ns < oldest->seen_ns ? gpu : oldest;
		if (gpu->place.pid != place->pid)
			continue;
		own = !of_process++ || gpu->seen_ns < own->seen_ns ? gpu : own;
	}
	if (of_process >= LIVE_GPUS_OF_PROCESS)
		gpu = own;
	else
		gpu = gaps->gpu_count < LIVE_GPUS ? &gaps->gpus[gaps->gpu_count++] : oldest;
	*gpu = (struct live_gap_gpu){.place = *place, .first_ns = start_ns, .end_ns = start_ns};
	return gpu;
}

static void remove_gap(struct live_gaps *gaps, unsigned index)
{
	gaps->gaps[index] = gaps->gaps[--gaps->gap_count];
}

/* Leaves of each gap the longer part that is still without work. */
static void fill_gaps(struct live_gaps *gaps, const struct live_gap_gpu *gpu, const struct live_work *work)
{
	uint64_t start_ns = work->start_ns, end_ns = work->end_ns;

	for (unsigned i = gaps->gap_count; i-- > 0;) {
		struct live_gap *gap = &gaps->gaps[i];

		if (!is_at(&gap->place, &gpu->place) || start_ns >= gap->to_ns || end_ns <= gap->from_ns)
			continue;
		if (start_ns > gap->from_ns && (end_ns >= gap->to_ns || start_ns - gap->from_ns >= gap->to_ns - end_ns))
			gap->to_ns = start_ns;
		else if (end_ns < gap->to_ns)
			gap->from_ns = end_ns;
		else
			gap->from_ns = gap->to_ns;
		if (gap->to_ns - gap->from_ns < gaps->least_ns)
			remove_gap(gaps, i);
	}
}

static unsigned gaps_of(const struct live_gaps *gaps, uint32_t pid)
{
	unsigned count = 0;

	for (unsigned i = 0; i < gaps->gap_count; i++)
		count += gaps->gaps[i].place.pid == pid;
	return count;
}

/* The clock of these times was set: what was known of the GPU is at other times now. */
static bool clock_was_set(const struct live_gap_gpu *gpu, const struct live_work *work, uint64_t now_ns)
{
	if (work->start_ns <= gpu->end_ns)
		return gpu->end_ns - work->start_ns > LIVE_LATE_NS + (work->end_ns - work->start_ns);
	return gpu->seen_ns && work->start_ns - gpu->end_ns > now_ns - gpu->seen_ns + LIVE_LATE_NS;
}

static void restart_gpu(struct live_gaps *gaps, struct live_gap_gpu *gpu, uint64_t start_ns)
{
	for (unsigned i = gaps->gap_count; i-- > 0;)
		if (is_at(&gaps->gaps[i].place, &gpu->place))
			remove_gap(gaps, i);
	gpu->first_ns = gpu->end_ns = start_ns;
}

void live_gaps_see(struct live_gaps *gaps, const struct gpt_agent_batch *batch, const struct live_work *work,
		   uint64_t now_ns)
{
	const struct live_place place = {.pid = batch->pid,
					 .device = work->device,
					 .is_monotonic = (batch->hdr.flags & GPT_BATCH_MONOTONIC) != 0};
	struct live_gap_gpu *gpu = find_gpu(gaps, &place, work->start_ns);

	if (clock_was_set(gpu, work, now_ns))
		restart_gpu(gaps, gpu, work->start_ns);
	fill_gaps(gaps, gpu, work);
	gpu->seen_ns = now_ns;
	gpu->first_ns = work->start_ns < gpu->first_ns ? work->start_ns : gpu->first_ns;
	if (gaps->least_ns && work->start_ns > gpu->end_ns && work->start_ns - gpu->end_ns >= gaps->least_ns &&
	    gaps->gap_count < LIVE_GAPS && gaps_of(gaps, place.pid) < LIVE_GAPS_OF_PROCESS)
		gaps->gaps[gaps->gap_count++] = (struct live_gap){
			.place = place, .from_ns = gpu->end_ns, .to_ns = work->start_ns, .seen_ns = now_ns};
	gpu->end_ns = work->end_ns > gpu->end_ns ? work->end_ns : gpu->end_ns;
}

/* Times are a process's word: those of one that lies are no one's else. */
static bool makes_sense(const struct live_gap *gap, uint64_t now_ns)
{
	return gap->from_ns <= gap->to_ns && gap->to_ns <= now_ns && now_ns - gap->to_ns <= LIVE_LATE_NS;
}

static void add_gap(struct live_gaps_taken *taken, const struct live_gap *gap, uint64_t now_ns)
{
	bool sense = makes_sense(gap, now_ns), first = !taken->count++ || (sense && !taken->makes_sense);

	if (!first && taken->makes_sense && !sense)
		return;
	if (first || gap->to_ns - gap->from_ns > taken->longest.to_ns - taken->longest.from_ns)
		taken->longest = *gap;
	taken->from_ns = first || gap->from_ns < taken->from_ns ? gap->from_ns : taken->from_ns;
	taken->to_ns = first || gap->to_ns > taken->to_ns ? gap->to_ns : taken->to_ns;
	taken->makes_sense = sense;
}

bool live_gaps_take(struct live_gaps *gaps, uint64_t now_ns, struct live_gaps_taken *taken)
{
	const uint64_t wall_ns = live_wall_offset_ns(false);

	*taken = (struct live_gaps_taken){0};
	for (unsigned i = gaps->gap_count; i-- > 0;) {
		struct live_gap gap = gaps->gaps[i];

		if (now_ns < gap.seen_ns + LIVE_GAP_WAITS_NS)
			continue;
		gap.from_ns -= gap.place.is_monotonic ? 0 : wall_ns;
		gap.to_ns -= gap.place.is_monotonic ? 0 : wall_ns;
		add_gap(taken, &gap, now_ns);
		remove_gap(gaps, i);
	}
	return taken->count;
}

bool live_gaps_have_work(const struct live_gaps *gaps, uint32_t pid, uint64_t before_ns)
{
	for (unsigned i = 0; i < gaps->gpu_count; i++) {
		const struct live_gap_gpu *gpu = &gaps->gpus[i];
		uint64_t first_ns = gpu->first_ns - live_wall_offset_ns(gpu->place.is_monotonic);

		if (gpu->place.pid == pid && (int64_t)first_ns < (int64_t)before_ns)
			return true;
	}
	return false;
}
