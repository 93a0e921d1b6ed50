/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/detail.h"

#include <string.h>

#include "attach/attach_state.h"
#include "attach/probes/probes.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "base/resident.h"

/* Since a change nothing must have spoken against a rise for that long; each rise that was too early doubles it. */
#define WAIT_NS 1000000000ull
#define WAIT_NS_MOST 64000000000ull

/* A rise after which the level falls again within so many times what was waited for was too early. */
#define EARLY_FACTOR 2u

/*
 * The level falls by one step at a time where the ring is more than three quarters full and was so in the round before:
 * more came than the drain took.  It does not rise while a quarter is filled.
 */
#define RING_RISE_PART 4u

/* It does not rise above that part of --cost-limit. */
#define COST_RISE_PART 2u

/*
 * Of --memory-limit: from there on the level falls by a step each MEMORY_NS, as memory is given back later than detail
 * goes; from there on all detail goes at once; and up to there it may come back.
 */
#define MEMORY_FALL(limit) ((limit) / 100 * 75)
#define MEMORY_LEAST(limit) ((limit) / 100 * 85)
#define MEMORY_RISE(limit) ((limit) / 100 * 70)
#define MEMORY_NS 100000000ull

/* What a cause of lower detail says now, in the order of their weight. */
enum pressure_kind {
	PRESSURE_NONE,	/* the level may rise */
	PRESSURE_STAY,	/* it stays */
	PRESSURE_LOWER, /* it falls by a step */
	PRESSURE_LEAST, /* only launches and GPU records are to be recorded, at once */
};

struct pressure {
	enum pressure_kind kind;
	enum gpt_detail_why why;
	uint64_t since_ns;	  /* 0: now */
	uint64_t measured, limit; /* as in a record */
	uint32_t pid, tid;
};

static struct gpt_detail_state *shared_detail(const struct attach *attach)
{
	return &attach->programs.bpf->bss->detail;
}

static uint32_t details_below(uint32_t level)
{
	return (1u << level) - 1;
}

void detail_start(struct attach *attach)
{
	const struct attach_options *options = &attach->options;
	const bool in_use[GPT_DETAIL_COUNT] = {
		[GPT_DETAIL_SAMPLES] = options->sample_period_ns,
		[GPT_DETAIL_WAITS] = options->off_cpu_min_ns,
		[GPT_DETAIL_SHAPES] = options->shapes,
		[GPT_DETAIL_OPS] = options->ops,
		[GPT_DETAIL_STACKS] = true,
	};

	attach->detail = (struct detail){.wait_ns = WAIT_NS};
	if (options->cost_limit_ns)
		thread_costs_begin(&attach->detail.costs, attach, monotonic_ns());
	for (unsigned i = 0; i < GPT_DETAIL_COUNT; i++)
		attach->detail.in_use |= (uint32_t)in_use[i] << i;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

/* Records are in order of time: while a rise is under way a program may find the ring short again. */
static void emit_record(struct attach *attach, uint64_t time_ns, uint16_t flags, const struct pressure *by)
{
	struct detail *detail = &attach->detail;
	struct gpt_detail record = {
		.hdr = {.size = sizeof(record), .type = GPT_DETAIL_CHANGE, .flags = flags},
		.time_ns = time_ns > detail->emitted_ns ? time_ns : detail->emitted_ns,
		.measured = by->measured,
		.limit = by->limit,
		.level = detail->level,
		.off = detail->in_use & details_below(detail->level),
		.why = by->why,
		.pid = by->pid,
		.tid = by->tid,
	};

	detail->emitted_ns = record.time_ns;
	attach->emit(attach->emit_context, &record.hdr);
	msg_debug("detail level %u of %u: cause %u, %llu of %llu", detail->level, (unsigned)GPT_DETAIL_COUNT, by->why,
		  (unsigned long long)by->measured, (unsigned long long)by->limit);
}

static void apply_level(struct attach *attach, uint64_t now_ns)
{
	uint32_t level = attach->detail.level;
	int error;

	if (attach->shares) {
		shares_control(attach->shares)->detail_level = level;
		return;
	}
	/* A wait that has begun is not known to be one: the thread may have run meanwhile. */
	if (level <= GPT_DETAIL_WAITS && shared_detail(attach)->level > GPT_DETAIL_WAITS)
		attach->programs.bpf->bss->activity.resumed_ns = now_ns;
	__atomic_store_n(&shared_detail(attach)->level, level, __ATOMIC_RELEASE);
	error = files_set_detail(&attach->files, level);
	if (error)
		msg_debug("the agent cannot be asked for that detail: %s", strerror(-error));
}

static void change_level(struct attach *attach, uint32_t level, uint64_t now_ns, const struct pressure *by)
{
	struct detail *detail = &attach->detail;

	if (level == detail->level)
		return;
	detail->rose = level < detail->level;
	detail->level = level;
	apply_level(attach, now_ns);
	/* What is left out lies between a fall's record and a rise's. */
	emit_record(attach, detail->rose ? monotonic_ns() : by->since_ns ? by->since_ns : now_ns, 0, by);
	detail->changed_ns = detail->calm_ns = now_ns;
	if (attach->options.cost_limit_ns)
		thread_costs_begin(&detail->costs, attach, now_ns);
}

/* The next level at which something less is recorded; the same: there is none. */
static uint32_t level_below(const struct detail *detail)
{
	for (uint32_t level = detail->level; level < GPT_DETAIL_COUNT; level++)
		if (detail->in_use >> level & 1)
			return level + 1;
	return detail->level;
}

static uint32_t level_above(const struct detail *detail)
{
	uint32_t level = detail->level - 1;

	while (level && !(detail->in_use >> (level - 1) & 1))
		level--;
	return level;
}

static void lower_level(struct attach *attach, uint64_t now_ns, const struct pressure *by)
{
	struct detail *detail = &attach->detail;
	uint64_t since_ns = now_ns - detail->changed_ns;

	if (detail->rose && since_ns < EARLY_FACTOR * detail->wait_ns)
		detail->wait_ns = detail->wait_ns < WAIT_NS_MOST / 2 ? 2 * detail->wait_ns : WAIT_NS_MOST;
	else if (!detail->level)
		detail->wait_ns = WAIT_NS;
	detail->why = by->why;
	detail->calm_ns = now_ns;
	change_level(attach, by->kind == PRESSURE_LEAST ? GPT_DETAIL_COUNT : level_below(detail), now_ns, by);
}

/* ---- causes ------------------------------------------------------------------------------------------------------ */

void attach_report_ring(struct attach *attach, uint64_t fill, uint64_t bytes)
{
	if (fill > attach->detail.ring_fill)
		attach->detail.ring_fill = fill;
	attach->detail.ring_bytes = bytes;
	attach->detail.ring_is_reported = true;
}

static enum pressure_kind pressure_of_fill(struct detail *detail, bool by_agents)
{
	uint64_t fill = detail->ring_fill, bytes = detail->ring_bytes;
	bool was_high = detail->ring_was_high, is_high = fill > bytes - bytes / RING_RISE_PART;

	if (detail->ring_is_reported)
		detail->ring_was_high = is_high;
	/* Their agents do not say that they have sent no stacks. */
	if (by_agents && fill > bytes - gpt_detail_ring_rest(bytes))
		return PRESSURE_LEAST;
	if (was_high && is_high)
		return PRESSURE_LOWER;
	return fill > bytes / RING_RISE_PART ? PRESSURE_STAY : PRESSURE_NONE;
}

/* Where a detail has found the ring short of room, that has precedence: details are not sent then (ring_is_short). */
static struct pressure ring_pressure(struct attach *attach)
{
	struct detail *detail = &attach->detail;
	struct pressure ring = {.why = GPT_DETAIL_RING,
				.measured = detail->ring_fill,
				.limit = detail->ring_bytes,
				.kind = PRESSURE_NONE};
	uint64_t least = detail->ring_bytes - gpt_detail_ring_rest(detail->ring_bytes);

	/* Of several users each has a part of the ring (ring_admits): one's flood takes no detail from others. */
	if (!attach->shares && attach->options.scope >= ATTACH_SELECTED)
		return ring;
	ring.kind = pressure_of_fill(detail, attach->shares);
	if (!attach->shares && shared_detail(attach)->refused_ns) {
		ring.kind = PRESSURE_LEAST;
		ring.since_ns = shared_detail(attach)->refused_ns;
		shared_detail(attach)->refused_ns = 0;
		/* it may have been emptied before it was looked at */
		if (ring.measured < least)
			ring.measured = least;
	}
	detail->ring_fill = 0;
	detail->ring_is_reported = false;
	return ring;
}

/* Without BPF the limit is refused (recording_check.c). */
static struct pressure cost_pressure(struct attach *attach, uint64_t now_ns)
{
	struct detail *detail = &attach->detail;
	uint64_t limit_ns = attach->options.cost_limit_ns;
	struct pressure cost = {.why = GPT_DETAIL_COST, .limit = limit_ns, .kind = PRESSURE_NONE};
	bool is_new;

	if (!limit_ns)
		return cost;
	is_new = thread_costs_measure(&detail->costs, attach, now_ns, &detail->cost);
	detail->cost_is_known |= is_new;
	cost.measured = detail->cost.ns;
	cost.pid = detail->cost.pid;
	cost.tid = detail->cost.tid;
	if (cost.measured > limit_ns / COST_RISE_PART)
		cost.kind = PRESSURE_STAY;
	if (cost.measured > limit_ns && is_new)
		cost.kind = PRESSURE_LOWER;
	return cost;
}

static struct pressure memory_pressure(struct attach *attach, uint64_t now_ns)
{
	uint64_t limit = attach->options.memory_limit;
	struct pressure memory = {.why = GPT_DETAIL_MEMORY, .limit = limit, .kind = PRESSURE_NONE};

	if (!limit)
		return memory;
	memory.measured = resident_bytes();
	if (memory.measured > MEMORY_RISE(limit))
		memory.kind = PRESSURE_STAY;
	if (memory.measured > MEMORY_FALL(limit) && now_ns - attach->detail.changed_ns > MEMORY_NS)
		memory.kind = PRESSURE_LOWER;
	if (memory.measured > MEMORY_LEAST(limit))
		memory.kind = PRESSURE_LEAST;
	return memory;
}

/* A rise has the cause of the last fall, with what that measures now. */
static void raise_level(struct attach *attach, uint64_t now_ns, const struct pressure *causes, size_t count)
{
	const struct pressure *by = &causes[0];

	for (size_t i = 0; i < count; i++)
		if (causes[i].why == attach->detail.why)
			by = &causes[i];
	change_level(attach, level_above(&attach->detail), now_ns, by);
}

void detail_tick(struct attach *attach, uint64_t now_ns)
{
	const struct pressure causes[] = {ring_pressure(attach), cost_pressure(attach, now_ns),
					  memory_pressure(attach, now_ns)};
	const size_t count = sizeof(causes) / sizeof(causes[0]);
	struct detail *detail = &attach->detail;
	struct pressure worst = causes[0];

	for (size_t i = 1; i < count; i++)
		if (causes[i].kind > worst.kind)
			worst = causes[i];
	if (worst.kind >= PRESSURE_LOWER)
		lower_level(attach, now_ns, &worst);
	else if (worst.kind == PRESSURE_STAY)
		detail->calm_ns = now_ns;
	else if (detail->level && now_ns - detail->calm_ns >= detail->wait_ns)
		raise_level(attach, now_ns, causes, count);
}

void detail_stop(struct attach *attach)
{
	const struct detail *detail = &attach->detail;
	const struct pressure last = {.why = GPT_DETAIL_COST,
				      .measured = detail->cost.ns,
				      .limit = attach->options.cost_limit_ns,
				      .pid = detail->cost.pid,
				      .tid = detail->cost.tid};

	if (detail->cost_is_known)
		emit_record(attach, monotonic_ns(), GPT_DETAIL_LAST, &last);
}

void detail_close(struct detail *detail)
{
	thread_costs_free(&detail->costs);
}
