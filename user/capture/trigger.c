/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/trigger.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gputrace/agent.h>
#include <gputrace/cuda_api.h>
#include <gputrace/walk.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "capture/live_steps.h"

/* The most pairs of process and GPU that are watched, and gaps that wait; others are not seen. */
#define GPUS_MOST 256u
#define GAPS_MOST 64u

/* What a process says that took longer is not believed. */
#define LONGEST_NS 3600000000000ull

#define APIS GPT_API(GPT_DOMAIN_RUNTIME + 1, 0)

/* A process's GPU, and the clock of times of its work: another profiler's buffers have another one than the agent's. */
struct place {
	uint32_t pid, device;
	bool is_monotonic; /* CLOCK_MONOTONIC; else CUPTI's, the wall clock in most cases */
};

struct gpu {
	struct place place;
	uint64_t first_ns, end_ns; /* of its work so far */
};

struct gap {
	struct place place;
	uint64_t from_ns, to_ns;
	uint64_t seen_ns; /* CLOCK_MONOTONIC */
};

/* Code that was compiled or loaded by a process that had work on a GPU before. */
struct compiled {
	uint32_t pid;		      /* of the first; 0: none */
	uint64_t from_ns, to_ns;      /* CLOCK_MONOTONIC, as the next two */
	uint64_t first_ns, latest_ns; /* when they were seen */
};

struct trigger {
	struct trigger_options options;
	pthread_mutex_t lock; /* guards what follows */
	struct gpu gpus[GPUS_MOST];
	struct gap gaps[GAPS_MOST];
	unsigned gpu_count, gap_count;
	struct live_steps steps;
	bool has_steps;
	struct trigger_steps counted;
	struct live_step slow; /* ns 0: none */
	uint32_t slow_pid;
	uint32_t out_pid; /* a process that ran out of memory, 0: none */
	int64_t out_bytes;
	uint64_t out_ns;
	struct compiled compiled;
	bool loads_code[APIS]; /* by gpt_agent_api.api */
};

static void find_loading_calls(struct trigger *trigger)
{
	static const struct {
		uint16_t api;
		enum gpt_api_class class;
	} calls[] = {
#define CALL(domain, symbol, of_class, args, twin, cbid, twin_cbid)                                                    \
	{GPT_API(GPT_DOMAIN_##domain, cbid), GPT_CLASS_##of_class},
		GPT_CUDA_API_TABLE(CALL)
#undef CALL
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		trigger->loads_code[calls[i].api] = calls[i].class == GPT_CLASS_MODULE;
}

struct trigger *trigger_new(const struct trigger_options *options)
{
	struct trigger *trigger = xcalloc(1, sizeof(*trigger));

	pthread_mutex_init(&trigger->lock, NULL);
	trigger->options = *options;
	find_loading_calls(trigger);
	return trigger;
}

void trigger_free(struct trigger *trigger)
{
	if (!trigger)
		return;
	pthread_mutex_destroy(&trigger->lock);
	free(trigger);
}

/* ---- idle ---------------------------------------------------------------------------------------------------------
 */

static bool is_at(const struct place *place, const struct place *other)
{
	return place->pid == other->pid && place->device == other->device && place->is_monotonic == other->is_monotonic;
}

/* The GPU of a process; in place of the one whose work ended first, if there are too many. */
static struct gpu *find_gpu(struct trigger *trigger, const struct place *place, uint64_t start_ns)
{
	struct gpu *gpu, *oldest = &trigger->gpus[0];

	for (unsigned i = 0; i < trigger->gpu_count; i++) {
		gpu = &trigger->gpus[i];
		if (is_at(&gpu->place, place))
			return gpu;
		oldest = gpu->end_ns < oldest->end_ns ? gpu : oldest;
	}
	gpu = trigger->gpu_count < GPUS_MOST ? &trigger->gpus[trigger->gpu_count++] : oldest;
	*gpu = (struct gpu){.place = *place, .first_ns = start_ns, .end_ns = start_ns};
	return gpu;
}

static void remove_gap(struct trigger *trigger, unsigned index)
{
	trigger->gaps[index] = trigger->gaps[--trigger->gap_count];
}

/* Leaves of each gap the longer part that is still without work. */
static void fill_gaps(struct trigger *trigger, const struct gpu *gpu, uint64_t start_ns, uint64_t end_ns)
{
	for (unsigned i = trigger->gap_count; i-- > 0;) {
		struct gap *gap = &trigger->gaps[i];

		if (!is_at(&gap->place, &gpu->place) || start_ns >= gap->to_ns || end_ns <= gap->from_ns)
			continue;
		if (start_ns > gap->from_ns && (end_ns >= gap->to_ns || start_ns - gap->from_ns >= gap->to_ns - end_ns))
			gap->to_ns = start_ns;
		else if (end_ns < gap->to_ns)
			gap->from_ns = end_ns;
		else
			gap->from_ns = gap->to_ns;
		if (gap->to_ns - gap->from_ns < trigger->options.idle_ns)
			remove_gap(trigger, i);
	}
}

static void see_work(struct trigger *trigger, const struct gpt_agent_batch *batch, uint32_t device, uint64_t start_ns,
		     uint64_t end_ns, uint64_t now_ns)
{
	const struct place place = {
		.pid = batch->pid, .device = device, .is_monotonic = (batch->hdr.flags & GPT_BATCH_MONOTONIC) != 0};
	struct gpu *gpu;

	if (!start_ns || end_ns < start_ns)
		return;
	gpu = find_gpu(trigger, &place, start_ns);
	fill_gaps(trigger, gpu, start_ns, end_ns);
	gpu->first_ns = start_ns < gpu->first_ns ? start_ns : gpu->first_ns;
	if (trigger->options.idle_ns && start_ns > gpu->end_ns && start_ns - gpu->end_ns >= trigger->options.idle_ns &&
	    trigger->gap_count < GAPS_MOST)
		trigger->gaps[trigger->gap_count++] =
			(struct gap){.place = place, .from_ns = gpu->end_ns, .to_ns = start_ns, .seen_ns = now_ns};
	gpu->end_ns = end_ns > gpu->end_ns ? end_ns : gpu->end_ns;
}

/* -------------------------------------------------------------------------------------------------------------------
 */

static void see_step(struct trigger *trigger, uint32_t pid, const struct gpt_record *record)
{
	const struct trigger_options *options = &trigger->options;
	struct live_step step;

	if (!live_steps_see(&trigger->steps, pid, record, &step))
		return;
	trigger->has_steps = true;
	if (step.ns <= LONGEST_NS) {
		trigger->counted.ns[trigger->counted.count++ % TRIGGER_STEPS_KEPT] = step.ns;
		trigger->counted.sum_ns += step.ns;
	}
	if ((!options->step_ns || step.ns <= options->step_ns) &&
	    (!options->step_percent || !step.median_ns ||
	     (double)step.ns * 100 <= (double)step.median_ns * options->step_percent))
		return;
	trigger->slow = step;
	trigger->slow_pid = pid;
}

/* ---- compile ------------------------------------------------------------------------------------------------------
 */

/* How much later the clock of CUPTI's times is. */
static uint64_t wall_offset_ns(bool is_monotonic)
{
	return is_monotonic ? 0 : clock_ns(CLOCK_REALTIME) - monotonic_ns();
}

/*
 * Whether a GPU had work of the process before that.  While a program starts it loads code before it has any, and
 * nothing waits for that.  Records of calls may be reported after those of later work.
 */
static bool has_worked(const struct trigger *trigger, uint32_t pid, uint64_t before_ns)
{
	for (unsigned i = 0; i < trigger->gpu_count; i++) {
		const struct gpu *gpu = &trigger->gpus[i];
		uint64_t first_ns = gpu->first_ns - wall_offset_ns(gpu->place.is_monotonic);

		if (gpu->place.pid == pid && (int64_t)first_ns < (int64_t)before_ns)
			return true;
	}
	return false;
}

static void see_compiled(struct trigger *trigger, uint32_t pid, uint64_t from_ns, uint64_t to_ns, uint64_t now_ns)
{
	struct compiled *compiled = &trigger->compiled;

	if (!has_worked(trigger, pid, from_ns) || to_ns < from_ns)
		return;
	if (!compiled->pid)
		*compiled = (struct compiled){.pid = pid, .from_ns = from_ns, .to_ns = to_ns, .first_ns = now_ns};
	compiled->from_ns = from_ns < compiled->from_ns ? from_ns : compiled->from_ns;
	compiled->to_ns = to_ns > compiled->to_ns ? to_ns : compiled->to_ns;
	compiled->latest_ns = now_ns;
}

static void see_compiler(struct trigger *trigger, const struct gpt_agent_batch *batch, const struct gpt_record *record,
			 uint64_t now_ns)
{
	const struct gpt_agent_api *call = (const struct gpt_agent_api *)record;
	const struct gpt_agent_jit *jit = (const struct gpt_agent_jit *)record;
	uint64_t offset_ns;

	if (record->type == GPT_AGENT_API && record->size >= sizeof(*call) && call->api < APIS &&
	    trigger->loads_code[call->api])
		see_compiled(trigger, batch->pid, call->start_ns, call->end_ns, now_ns);
	if (record->type != GPT_AGENT_JIT || record->size < sizeof(*jit) || jit->operation != GPT_AGENT_JIT_COMPILE)
		return;
	offset_ns = wall_offset_ns(batch->hdr.flags & GPT_BATCH_MONOTONIC);
	see_compiled(trigger, batch->pid, jit->start_wall_ns - offset_ns, jit->end_wall_ns - offset_ns, now_ns);
}

/* -------------------------------------------------------------------------------------------------------------------
 */

static void see_record(struct trigger *trigger, const struct gpt_agent_batch *batch, const struct gpt_record *record,
		       uint64_t now_ns)
{
	const struct gpt_agent_kernel *kernel = (const struct gpt_agent_kernel *)record;
	const struct gpt_agent_memcpy *copy = (const struct gpt_agent_memcpy *)record;
	const struct gpt_agent_memset *fill = (const struct gpt_agent_memset *)record;
	const struct gpt_agent_torch_memory *memory = (const struct gpt_agent_torch_memory *)record;
	bool idle = trigger->options.idle_ns != 0 || trigger->options.compile;

	if (trigger_wants_steps(&trigger->options) || trigger->options.counts_steps)
		see_step(trigger, batch->pid, record);
	if (trigger->options.compile)
		see_compiler(trigger, batch, record, now_ns);
	if (idle && record->type == GPT_AGENT_KERNEL && record->size >= sizeof(*kernel))
		see_work(trigger, batch, kernel->device, kernel->start_wall_ns, kernel->end_wall_ns, now_ns);
	else if (idle && record->type == GPT_AGENT_MEMCPY && record->size >= sizeof(*copy))
		see_work(trigger, batch, copy->device, copy->start_wall_ns, copy->end_wall_ns, now_ns);
	else if (idle && record->type == GPT_AGENT_MEMSET && record->size >= sizeof(*fill))
		see_work(trigger, batch, fill->device, fill->start_wall_ns, fill->end_wall_ns, now_ns);
	else if (trigger->options.oom && record->type == GPT_AGENT_TORCH_MEMORY && record->size >= sizeof(*memory) &&
		 memory->kind == GPT_AGENT_TORCH_MEMORY_OUT) {
		trigger->out_pid = batch->pid;
		trigger->out_bytes = memory->bytes;
		trigger->out_ns = memory->time_ns;
	}
}

void trigger_see(struct trigger *trigger, const struct gpt_record *record, uint64_t now_ns)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	const struct gpt_record *inner;
	size_t at = 0;

	if (record->type != GPT_AGENT_BATCH || record->size < sizeof(*batch))
		return;
	pthread_mutex_lock(&trigger->lock);
	while ((inner = batch_next(batch, &at)))
		see_record(trigger, batch, inner, now_ns);
	pthread_mutex_unlock(&trigger->lock);
}

/* The latest that an event is reported after its end: the time until buffers are handed over, and that of waiting. */
#define LATE_NS 30000000000ull

/* Times are a process's word. */
static void set_times(struct trigger_event *event, uint64_t from_ns, uint64_t to_ns, uint64_t now_ns)
{
	bool makes_sense =
		to_ns <= now_ns && now_ns - to_ns <= LATE_NS && from_ns <= to_ns && to_ns - from_ns <= LONGEST_NS;

	event->from_ns = makes_sense ? from_ns : now_ns;
	event->to_ns = makes_sense ? to_ns : now_ns;
}

/* Takes the oldest gap that counts; what else counts by now is in the same file. */
static bool take_gap(struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	const uint64_t wall_ns = clock_ns(CLOCK_REALTIME) - monotonic_ns();
	bool is_taken = false;

	for (unsigned i = trigger->gap_count; i-- > 0;) {
		struct gap gap = trigger->gaps[i];
		uint64_t offset_ns = gap.place.is_monotonic ? 0 : wall_ns;

		if (now_ns < gap.seen_ns + TRIGGER_WAITS_NS)
			continue;
		snprintf(event->why, sizeof(event->why), "pid %" PRIu32 " left GPU %" PRIu32 " without work for %.3f s",
			 gap.place.pid, gap.place.device, (double)(gap.to_ns - gap.from_ns) / 1e9);
		set_times(event, gap.from_ns - offset_ns, gap.to_ns - offset_ns, now_ns);
		is_taken = true;
		remove_gap(trigger, i);
	}
	return is_taken;
}

static void take_step(const struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	const struct live_step *slow = &trigger->slow;
	int length = snprintf(event->why, sizeof(event->why), "a step of pid %" PRIu32 " took %.3f s",
			      trigger->slow_pid, (double)slow->ns / 1e9);

	if (slow->median_ns)
		snprintf(event->why + length, sizeof(event->why) - (size_t)length, ", the median is %.3f s",
			 (double)slow->median_ns / 1e9);
	set_times(event, slow->end_ns - slow->ns, slow->end_ns, now_ns);
}

static void take_out(const struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	snprintf(event->why, sizeof(event->why),
		 "pid %" PRIu32 " had not enough memory for %" PRId64 " bytes of PyTorch's", trigger->out_pid,
		 trigger->out_bytes);
	set_times(event, trigger->out_ns, trigger->out_ns, now_ns);
}

/* Takes what was compiled once it is over, or has taken long. */
static bool take_compiled(struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	struct compiled *compiled = &trigger->compiled;

	if (!compiled->pid ||
	    (now_ns < compiled->latest_ns + TRIGGER_WAITS_NS && now_ns < compiled->first_ns + TRIGGER_COMPILES_NS))
		return false;
	snprintf(event->why, sizeof(event->why), "pid %" PRIu32 " compiled or loaded code for a GPU, within %.3f s",
		 compiled->pid, (double)(compiled->to_ns - compiled->from_ns) / 1e9);
	set_times(event, compiled->from_ns, compiled->to_ns, now_ns);
	compiled->pid = 0;
	return true;
}

bool trigger_take(struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	bool is_taken = true;

	pthread_mutex_lock(&trigger->lock);
	if (trigger->out_pid)
		take_out(trigger, now_ns, event);
	else if (trigger->slow.ns)
		take_step(trigger, now_ns, event);
	else
		is_taken = take_gap(trigger, now_ns, event) || take_compiled(trigger, now_ns, event);
	trigger->out_pid = 0;
	trigger->slow.ns = 0;
	pthread_mutex_unlock(&trigger->lock);
	return is_taken;
}

bool trigger_steps(struct trigger *trigger, struct trigger_steps *steps)
{
	bool has_more;

	pthread_mutex_lock(&trigger->lock);
	has_more = trigger->counted.count != steps->count;
	if (has_more)
		*steps = trigger->counted;
	pthread_mutex_unlock(&trigger->lock);
	return has_more;
}

bool trigger_lacks_steps(struct trigger *trigger)
{
	bool lacks;

	pthread_mutex_lock(&trigger->lock);
	lacks = trigger_wants_steps(&trigger->options) && !trigger->has_steps;
	pthread_mutex_unlock(&trigger->lock);
	return lacks;
}
