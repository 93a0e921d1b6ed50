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
#include "capture/live_collectives.h"
#include "capture/live_gaps.h"
#include "capture/live_hangs.h"
#include "capture/live_steps.h"

/* What a process says that took longer is not believed. */
#define LONGEST_NS 3600000000000ull

#define APIS GPT_API(GPT_DOMAIN_RUNTIME + 1, 0)

/* Code that was compiled or loaded by a process that had work on a GPU before. */
struct compiled {
	uint32_t pid;		      /* of the first; 0: none */
	uint64_t from_ns, to_ns;      /* CLOCK_MONOTONIC, as the next two */
	uint64_t first_ns, latest_ns; /* when they were seen */
};

struct trigger {
	struct trigger_options options;
	pthread_mutex_t lock; /* guards what follows */
	struct live_gaps gaps;
	struct live_collectives *collectives; /* NULL: no lateness is wanted */
	struct live_hangs *hangs;	      /* NULL: no hang is */
	struct live_late late;		      /* from and to are equal: none */
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
	trigger->gaps.least_ns = options->idle_ns;
	if (options->gap_ns && (!options->idle_ns || options->gap_ns < options->idle_ns))
		trigger->gaps.least_ns = options->gap_ns;
	if (options->late_ns)
		trigger->collectives = xcalloc(1, sizeof(*trigger->collectives));
	if (options->hang_ns) {
		trigger->hangs = xcalloc(1, sizeof(*trigger->hangs));
		live_hangs_init(trigger->hangs);
	}
	find_loading_calls(trigger);
	return trigger;
}

void trigger_free(struct trigger *trigger)
{
	if (!trigger)
		return;
	pthread_mutex_destroy(&trigger->lock);
	free(trigger->collectives);
	free(trigger->hangs);
	free(trigger);
}

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

static void see_compiled(struct trigger *trigger, uint32_t pid, uint64_t from_ns, uint64_t to_ns, uint64_t now_ns)
{
	struct compiled *compiled = &trigger->compiled;

	if (!live_gaps_have_work(&trigger->gaps, pid, from_ns) || to_ns < from_ns)
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
	offset_ns = live_wall_offset_ns(batch->hdr.flags & GPT_BATCH_MONOTONIC);
	see_compiled(trigger, batch->pid, jit->start_wall_ns - offset_ns, jit->end_wall_ns - offset_ns, now_ns);
}

/* -------------------------------------------------------------------------------------------------------------------
 */

/* Of several, the one that was later by most. */
static void see_late(struct trigger *trigger, const struct gpt_agent_batch *batch, const struct live_work *work)
{
	struct live_late late;

	if (live_collectives_see_work(trigger->collectives, batch, work, &late) &&
	    late.to_ns - late.from_ns > trigger->options.late_ns &&
	    late.to_ns - late.from_ns > trigger->late.to_ns - trigger->late.from_ns)
		trigger->late = late;
}

static void see_memory(struct trigger *trigger, uint32_t pid, const struct gpt_record *record)
{
	const struct gpt_agent_torch_memory *memory = (const struct gpt_agent_torch_memory *)record;

	if (record->type != GPT_AGENT_TORCH_MEMORY || record->size < sizeof(*memory) ||
	    memory->kind != GPT_AGENT_TORCH_MEMORY_OUT)
		return;
	trigger->out_pid = pid;
	trigger->out_bytes = memory->bytes;
	trigger->out_ns = memory->time_ns;
}

static void see_record(struct trigger *trigger, const struct gpt_agent_batch *batch, const struct gpt_record *record,
		       uint64_t now_ns)
{
	struct live_work work;
	bool is_work = live_work_of(record, &work);

	if (trigger_wants_steps(&trigger->options) || trigger->options.counts_steps)
		see_step(trigger, batch->pid, record);
	if (trigger->options.compile)
		see_compiler(trigger, batch, record, now_ns);
	if (trigger->options.oom)
		see_memory(trigger, batch->pid, record);
	if (trigger->hangs)
		live_hangs_see_agent(trigger->hangs, batch->pid, record, is_work, now_ns);
	if (is_work && (trigger->gaps.least_ns || trigger->options.compile))
		live_gaps_see(&trigger->gaps, batch, &work, now_ns);
	if (is_work && trigger->collectives)
		see_late(trigger, batch, &work);
}

bool trigger_wants(const struct trigger *trigger, const struct gpt_record *record)
{
	return record->type == GPT_AGENT_BATCH || trigger->collectives || trigger->hangs;
}

void trigger_see(struct trigger *trigger, const struct gpt_record *record, uint64_t now_ns)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	bool is_batch = record->type == GPT_AGENT_BATCH && record->size >= sizeof(*batch);
	const struct gpt_record *inner;
	size_t at = 0;

	if (!trigger_wants(trigger, record))
		return;
	pthread_mutex_lock(&trigger->lock);
	if (trigger->collectives)
		live_collectives_see_call(trigger->collectives, record);
	if (trigger->hangs)
		live_hangs_see(trigger->hangs, record, now_ns);
	while (is_batch && (inner = batch_next(batch, &at)))
		see_record(trigger, batch, inner, now_ns);
	pthread_mutex_unlock(&trigger->lock);
}

/* Times are a process's word. */
static void set_times(struct trigger_event *event, uint64_t from_ns, uint64_t to_ns, uint64_t now_ns)
{
	bool makes_sense =
		to_ns <= now_ns && now_ns - to_ns <= LIVE_LATE_NS && from_ns <= to_ns && to_ns - from_ns <= LONGEST_NS;

	event->from_ns = makes_sense ? from_ns : now_ns;
	event->to_ns = makes_sense ? to_ns : now_ns;
}

/* Takes all gaps that count by now: they are in one file. */
static bool take_gaps(struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	struct live_gaps_taken taken;
	const struct live_gap *gap = &taken.longest;
	bool counts;

	if (!live_gaps_take(&trigger->gaps, now_ns, &taken))
		return false;
	snprintf(event->why, sizeof(event->why), "pid %" PRIu32 " left GPU %" PRIu32 " without work for %.3f s",
		 gap->place.pid, gap->place.device, (double)(gap->to_ns - gap->from_ns) / 1e9);
	counts = trigger->options.idle_ns && gap->to_ns - gap->from_ns >= trigger->options.idle_ns;
	event->kind = counts ? TRIGGER_HAPPENED : TRIGGER_GAP;
	set_times(event, counts ? taken.from_ns : gap->from_ns, counts ? taken.to_ns : gap->to_ns, now_ns);
	return true;
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

static void take_late(const struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	const struct live_late *late = &trigger->late;

	snprintf(event->why, sizeof(event->why),
		 "rank %d, pid %" PRIu32 ", came %.3f s after the median rank to %s %" PRId64, (int)late->rank,
		 late->pid, (double)(late->to_ns - late->from_ns) / 1e9, live_collective_name(late->function),
		 late->number);
	set_times(event, late->from_ns, late->to_ns, now_ns);
}

static bool take_hang(struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	struct live_hang hang;

	if (!trigger->hangs || !live_hangs_take(trigger->hangs, trigger->options.hang_ns, now_ns, &hang))
		return false;
	snprintf(event->why, sizeof(event->why), "pid %" PRIu32 " hangs for %.1f s, in %s", hang.pid,
		 (double)(now_ns - hang.since_ns) / 1e9, live_call_name(hang.api));
	event->kind = TRIGGER_HANG;
	event->from_ns = hang.since_ns;
	event->to_ns = now_ns;
	return true;
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

/* One at a time; the others are for the next calls. */
bool trigger_take(struct trigger *trigger, uint64_t now_ns, struct trigger_event *event)
{
	bool is_taken = true;

	event->kind = TRIGGER_HAPPENED;
	pthread_mutex_lock(&trigger->lock);
	if (trigger->out_pid) {
		take_out(trigger, now_ns, event);
		trigger->out_pid = 0;
	} else if (trigger->slow.ns) {
		take_step(trigger, now_ns, event);
		trigger->slow.ns = 0;
	} else if (trigger->late.to_ns != trigger->late.from_ns) {
		take_late(trigger, now_ns, event);
		trigger->late = (struct live_late){0};
	} else {
		is_taken = take_gaps(trigger, now_ns, event) || take_compiled(trigger, now_ns, event) ||
			   take_hang(trigger, now_ns, event);
	}
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

unsigned trigger_processes(struct trigger *trigger, uint32_t *pids, unsigned most)
{
	unsigned count;

	pthread_mutex_lock(&trigger->lock);
	count = trigger->hangs ? live_hangs_processes(trigger->hangs, pids, most) : 0;
	pthread_mutex_unlock(&trigger->lock);
	return count;
}

const char *trigger_lacks(struct trigger *trigger)
{
	const char *lacks = NULL;

	pthread_mutex_lock(&trigger->lock);
	if (trigger_wants_steps(&trigger->options) && !trigger->has_steps)
		lacks = "step: no step was seen: torch.profiler's steps are, and those of an optimizer of PyTorch";
	else if (trigger->collectives && !trigger->collectives->has_compared)
		lacks = "late: no two ranks were compared: as root those are that are recorded together, of NCCL's "
			"communicators that are made while they are";
	pthread_mutex_unlock(&trigger->lock);
	return lacks;
}
