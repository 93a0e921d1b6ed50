/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/idle_ran.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/events/callers.h"
#include "base/distance.h"
#include "base/order.h"

/* Samples and waits of a thread that are kept without checking whether they are needed. */
#define KEPT_LEAST 256u

void ran_threads_init(struct ran_threads *ran, uint32_t thread_count)
{
	*ran = (struct ran_threads){.count = thread_count};
	ran->all = xcalloc(thread_count, sizeof(*ran->all));
}

void ran_threads_free(struct ran_threads *ran)
{
	for (uint32_t i = 0; i < ran->count; i++) {
		if (ran->all[i]) {
			array_free(&ran->all[i]->samples);
			array_free(&ran->all[i]->waits);
			array_free(&ran->all[i]->awaits);
		}
		free(ran->all[i]);
	}
	free(ran->all);
	array_free(&ran->others);
}

/* ---- samples and waits that are kept ----------------------------------------------------------------------------- */

/* Index of the first sample at that time or later. */
static size_t sample_from(const struct ran_thread *thread, uint64_t time_ns)
{
	return count_while(thread->samples.count, i, thread->samples.items[i].time_ns < time_ns);
}

/* Index of the first wait that ends after that time. */
static size_t wait_beyond(const struct ran_thread *thread, uint64_t time_ns)
{
	return count_while(thread->waits.count, i, thread->waits.items[i].end_ns <= time_ns);
}

static void drop_awaits(struct ran_threads *ran, struct ran_thread *thread, size_t count)
{
	if (!count)
		return;
	thread->awaits.count -= count;
	memmove(thread->awaits.items, thread->awaits.items + count,
		thread->awaits.count * sizeof(*thread->awaits.items));
	ran->kept -= count;
}

/* Drops those of waits that are not kept.  The latest ones may belong to a wait that is still to come. */
static void drop_awaits_before(struct ran_threads *ran, struct ran_thread *thread, uint64_t time_ns)
{
	size_t count = 0;

	while (count < thread->awaits.count && thread->awaits.items[count].time_ns < time_ns)
		count++;
	drop_awaits(ran, thread, count);
}

static void drop_before(struct ran_threads *ran, struct ran_thread *thread, uint64_t from_ns)
{
	size_t samples = sample_from(thread, from_ns), waits = wait_beyond(thread, from_ns);

	if (waits < thread->waits.count)
		drop_awaits_before(ran, thread, thread->waits.items[waits].start_ns);
	else if (waits)
		drop_awaits_before(ran, thread, thread->waits.items[waits - 1].end_ns);

	if (samples) {
		thread->samples.count -= samples;
		memmove(thread->samples.items, thread->samples.items + samples,
			thread->samples.count * sizeof(*thread->samples.items));
	}
	if (waits) {
		thread->waits.count -= waits;
		memmove(thread->waits.items, thread->waits.items + waits,
			thread->waits.count * sizeof(*thread->waits.items));
	}
	ran->kept -= samples + waits;
}

/* A time that divides the thread's samples, or waits if there are more of them, in half. */
static uint64_t middle_of(const struct ran_thread *thread)
{
	size_t samples = thread->samples.count, waits = thread->waits.count;

	return waits > samples ? thread->waits.items[waits / 2].end_ns : thread->samples.items[samples / 2].time_ns;
}

/* From then on, nothing before that time is known, not even in part. */
static void drop_half(struct ran_threads *ran, struct ran_thread *thread)
{
	if (!thread->samples.count && !thread->waits.count)
		return;
	thread->from_ns = middle_of(thread);
	drop_before(ran, thread, thread->from_ns);
}

static struct ran_thread *thread_with_room(struct ran_threads *ran, uint32_t number, uint64_t from_ns)
{
	struct ran_thread *thread = ran->all[number];

	if (!thread)
		thread = ran->all[number] = xcalloc(1, sizeof(*thread));
	if (thread->samples.count + thread->waits.count >= thread->forget_at) {
		drop_before(ran, thread, from_ns);
		thread->forget_at = 2 * (thread->samples.count + thread->waits.count) + KEPT_LEAST;
	}
	if (thread->samples.count >= RAN_KEPT || thread->waits.count >= RAN_KEPT)
		drop_half(ran, thread);
	for (uint32_t i = 0; ran->kept >= RAN_KEPT_ALL && i < ran->count; i++)
		if (ran->all[i])
			drop_half(ran, ran->all[i]);
	ran->kept++;
	return thread;
}

void ran_add_sample(struct ran_threads *ran, const struct model *model, const struct sample_event *event,
		    uint64_t from_ns)
{
	const struct model_sample *sample = event->sample;
	struct ran_thread *thread = thread_with_room(ran, sample->thread, from_ns);

	ran->samples = true;
	if (sample_ns(sample) > ran->period_ns)
		ran->period_ns = (uint32_t)sample_ns(sample);
	array_push(&thread->samples, ((struct ran_sample){.time_ns = sample->time_ns,
							  .place = caller_place(model, sample->stack, event->caller),
							  .native = sample->native,
							  .period_ns = (uint32_t)sample_ns(sample)}));
}

void ran_add_await(struct ran_threads *ran, const struct await_event *event, uint64_t from_ns)
{
	const struct model_await *await = event->await;
	struct ran_thread *thread;

	if (await->stack == NONE)
		return;
	thread = thread_with_room(ran, await->thread, from_ns);
	if (thread->awaits.count >= RAN_KEPT)
		drop_awaits(ran, thread, thread->awaits.count / 2);
	array_push(&thread->awaits, ((struct ran_await){.time_ns = await->time_ns,
							.end_ns = await->end_ns,
							.place = await->stack,
							.tasks = await->tasks}));
}

/* Index of the untraced waker's program; NONE: there is none. */
static uint32_t other_of(struct ran_threads *ran, const struct model_wait *wait)
{
	struct ran_other other = {.pid = wait->waker_pid};

	if (wait->woken_by != GPT_WAKER_OTHER || !wait->waker_pid)
		return NONE;
	memcpy(other.name, wait->waker_name, sizeof(other.name));
	for (size_t i = 0; i < ran->others.count; i++) {
		struct ran_other *known = &ran->others.items[i];

		if (strncmp(known->name, other.name, sizeof(other.name)) != 0)
			continue;
		known->several |= known->pid != other.pid;
		return (uint32_t)i;
	}
	if (ran->others.count == RAN_OTHERS)
		return NONE;
	array_push(&ran->others, other);
	return (uint32_t)(ran->others.count - 1);
}

static uint64_t woken_ns(const struct model_wait *wait, uint64_t start_ns)
{
	return wait->woken_ns ? later_time(earlier_time(wait->woken_ns, wait->end_ns), start_ns) : wait->end_ns;
}

void ran_add_wait(struct ran_threads *ran, const struct model *model, const struct wait_event *event, uint64_t from_ns)
{
	const struct model_wait *wait = event->wait;
	bool has_holder = wait->reason == GPT_WAIT_GIL && wait->holder != NONE && wait->holder != wait->thread;
	struct ran_thread *thread = ran->all[wait->thread];
	uint64_t start_ns = wait->start_ns;

	/* in a damaged log waits may overlap: time in two of them is the first one's */
	if (thread && thread->waits.count)
		start_ns = later_time(start_ns, thread->waits.items[thread->waits.count - 1].end_ns);
	if (wait->end_ns <= start_ns)
		return;
	thread = thread_with_room(ran, wait->thread, from_ns);
	ran->waits = true;
	array_push(&thread->waits, ((struct ran_wait){.start_ns = start_ns,
						      .woken_ns = woken_ns(wait, start_ns),
						      .end_ns = wait->end_ns,
						      .place = caller_place(model, wait->stack, event->caller),
						      .by = has_holder ? wait->holder : wait->waker,
						      .other = other_of(ran, wait),
						      .reason = wait->reason}));
}

/* ---- tasks of asyncio -------------------------------------------------------------------------------------------- */

static bool is_in_stack(const struct model *model, uint32_t place, uint32_t code)
{
	for (uint32_t i = 0; place < CALLER_NO_FRAME && i < model->stacks[place].depth; i++)
		if (model->frames[model->stack_frames[model->stacks[place].first + i]].code == code)
			return true;
	return false;
}

/* Whether the outermost coroutine of the task is in the stack. */
static bool leads_to(const struct model *model, const struct ran_await *await, uint32_t place)
{
	const struct model_stack *stack = &model->stacks[await->place];

	return stack->depth &&
	       is_in_stack(model, place, model->frames[model->stack_frames[stack->first + stack->depth - 1]].code);
}

/* The first one that was read in the wait; *count: how many of that look there are. */
static const struct ran_await *look_in(const struct ran_thread *thread, const struct ran_wait *wait, size_t *count)
{
	const struct ran_await *awaits = thread->awaits.items;
	size_t low = count_while(thread->awaits.count, i, awaits[i].time_ns < wait->start_ns);

	*count = 0;
	for (size_t at = low; at < thread->awaits.count && awaits[at].time_ns == awaits[low].time_ns &&
			      awaits[at].end_ns <= wait->end_ns;
	     at++)
		++*count;
	return *count ? &awaits[low] : NULL;
}

struct ran_awaited ran_find_awaited(const struct ran_threads *ran, const struct model *model, uint32_t number,
				    const struct ran_wait *wait, uint32_t next)
{
	struct ran_awaited found = {.place = NONE};
	const struct ran_await *first;
	size_t count, taken = 0;
	uint32_t tasks = 0;

	if (!ran->all[number] || !(first = look_in(ran->all[number], wait, &count)))
		return found;
	for (size_t i = 0; i < count; i++) {
		if (next != CALLER_UNSEEN && !leads_to(model, &first[i], next))
			continue;
		taken++;
		if (first[i].tasks <= tasks)
			continue;
		tasks = first[i].tasks;
		found.place = first[i].place;
	}
	found.alone = taken == 1;
	return found;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* A time at which the place of a thread is known. */
struct seen {
	uint64_t time_ns;
	uint32_t place; /* CALLER_UNSEEN: not found */
};

/*
 * The latest sight before that time: a sample, or an end of a wait; and the first from it on: a sample, or a start of a
 * wait.
 */
static struct seen last_seen_before(const struct ran_thread *thread, uint64_t time_ns)
{
	size_t sample = sample_from(thread, time_ns), wait = wait_beyond(thread, time_ns);
	struct seen seen = {.place = CALLER_UNSEEN};

	if (sample)
		seen = (struct seen){thread->samples.items[sample - 1].time_ns,
				     thread->samples.items[sample - 1].place};
	if (wait && thread->waits.items[wait - 1].end_ns >= seen.time_ns)
		seen = (struct seen){thread->waits.items[wait - 1].end_ns, thread->waits.items[wait - 1].place};
	return seen;
}

static struct seen first_seen_after(const struct ran_thread *thread, uint64_t time_ns)
{
	size_t sample = sample_from(thread, time_ns), wait = wait_beyond(thread, time_ns);
	struct seen seen = {.time_ns = UINT64_MAX, .place = CALLER_UNSEEN};

	if (sample < thread->samples.count)
		seen = (struct seen){thread->samples.items[sample].time_ns, thread->samples.items[sample].place};
	if (wait < thread->waits.count && thread->waits.items[wait].start_ns < seen.time_ns)
		seen = (struct seen){later_time(thread->waits.items[wait].start_ns, time_ns),
				     thread->waits.items[wait].place};
	return seen;
}

uint32_t ran_nearest_place(const struct ran_threads *ran, uint32_t number, const struct ran_span *span)
{
	const struct ran_thread *thread = ran->all[number];
	uint64_t far_ns = ran->period_ns ? ran->period_ns : 1, before_ns, after_ns;
	struct seen before, after;

	if (!thread)
		return CALLER_UNSEEN;
	after = first_seen_after(thread, span->from_ns);
	if (after.time_ns < span->to_ns)
		return after.place;
	before = last_seen_before(thread, span->from_ns);
	before_ns = before.place != CALLER_UNSEEN && before.time_ns >= span->least_ns ? span->from_ns - before.time_ns
										      : UINT64_MAX;
	after_ns = after.time_ns < span->most_ns ? after.time_ns - span->to_ns : UINT64_MAX;
	if (before_ns >= far_ns && after_ns >= far_ns)
		return CALLER_UNSEEN;
	return after_ns < before_ns ? after.place : before.place;
}

/* Between two waits for the GIL a thread only asks for it, which takes at most this. */
#define GIL_ASKS_NS 100000u

/* The wait in which the thread got the GIL, NULL: not known. */
static const struct ran_wait *last_gil_wait(const struct ran_thread *thread, const struct ran_wait *wait)
{
	const struct ran_wait *end = thread->waits.items + thread->waits.count;

	while (wait->by == NONE) {
		if (wait + 1 == end || wait[1].reason != GPT_WAIT_GIL || wait[1].start_ns - wait->end_ns > GIL_ASKS_NS)
			return NULL;
		wait++;
	}
	return wait;
}

/* Whether the thread got the GIL in that time. */
static bool got_gil(const struct ran_thread *thread, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = wait_beyond(thread, from_ns); i < thread->waits.count; i++) {
		const struct ran_wait *wait = &thread->waits.items[i];

		if (wait->end_ns >= to_ns)
			return false;
		if (wait->reason == GPT_WAIT_GIL && wait->by != NONE)
			return true;
	}
	return false;
}

uint32_t ran_gil_holder(const struct ran_threads *ran, const struct model *model, uint32_t number,
			const struct ran_wait *wait)
{
	const struct ran_wait *last = last_gil_wait(ran->all[number], wait);
	uint32_t process = model->threads[number].process;

	if (!last || last->by == number)
		return NONE;
	for (uint32_t i = 0; i < ran->count; i++)
		if (i != number && ran->all[i] && model->threads[i].process == process &&
		    got_gil(ran->all[i], wait->start_ns, last->end_ns))
			return NONE;
	return last->by;
}

bool ran_is_followed(const struct ran_wait *wait)
{
	switch (wait->reason) {
	case GPT_WAIT_FUTEX:
	case GPT_WAIT_GIL:
	case GPT_WAIT_PIPE:
	case GPT_WAIT_SOCKET:
	case GPT_WAIT_POLL:
	case GPT_WAIT_CHILD:
	case GPT_WAIT_EVENT:
		return wait->by != NONE;
	default:
		return false;
	}
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

struct dividing {
	const struct ran_threads *ran;
	const struct model *model;
	const struct ran_thread *thread;
	const struct ran_span *span;
	ran_take *take;
	void *context;
};

/* Hands over the part of a piece that lies in the span. */
static void hand_over(const struct dividing *dividing, struct ran_piece piece)
{
	piece.from_ns = later_time(piece.from_ns, dividing->span->from_ns);
	piece.to_ns = earlier_time(piece.to_ns, dividing->span->to_ns);
	if (piece.to_ns > piece.from_ns)
		dividing->take(dividing->context, &piece);
}

struct time_on_cpu {
	uint64_t from_ns, to_ns;
};

static void put_unknown(const struct dividing *dividing, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns > from_ns)
		hand_over(dividing, (struct ran_piece){.from_ns = from_ns, .to_ns = to_ns});
}

/* Earlier samples own no time of the span: they lie more than a period before it. */
static size_t first_sample(const struct dividing *dividing, const struct time_on_cpu *on_cpu)
{
	uint64_t period_ns = dividing->ran->period_ns, from_ns = dividing->span->from_ns;

	return sample_from(dividing->thread,
			   later_time(on_cpu->from_ns, from_ns > period_ns ? from_ns - period_ns : 0));
}

static void put_on_cpu(const struct dividing *dividing, const struct time_on_cpu *on_cpu)
{
	const struct ran_thread *thread = dividing->thread;
	uint64_t at = on_cpu->from_ns, end_ns = earlier_time(on_cpu->to_ns, dividing->span->to_ns);

	for (size_t i = first_sample(dividing, on_cpu); i < thread->samples.count && at < end_ns; i++) {
		const struct ran_sample *sample = &thread->samples.items[i];
		const struct ran_sample *next = i + 1 < thread->samples.count ? sample + 1 : NULL;
		uint64_t from = sample->time_ns > sample->period_ns ? sample->time_ns - sample->period_ns : 0;
		uint64_t to = earlier_time(sample->time_ns + sample->period_ns, on_cpu->to_ns);

		if (sample->time_ns >= on_cpu->to_ns)
			break;
		if (next && next->time_ns < on_cpu->to_ns)
			to = earlier_time(to, sample->time_ns + (next->time_ns - sample->time_ns) / 2);
		from = later_time(from, at);
		put_unknown(dividing, at, from);
		hand_over(dividing, (struct ran_piece){.from_ns = from, .to_ns = to, .sample = sample});
		at = later_time(to, at);
	}
	put_unknown(dividing, at, on_cpu->to_ns);
}

static void put_wait(const struct dividing *dividing, const struct ran_wait *wait)
{
	bool runnable = wait->reason == GPT_WAIT_PREEMPTED || wait->reason == GPT_WAIT_THROTTLED;
	uint64_t woken = runnable ? wait->start_ns : wait->woken_ns;

	hand_over(dividing, (struct ran_piece){.from_ns = wait->start_ns, .to_ns = woken, .wait = wait});
	hand_over(dividing, (struct ran_piece){.from_ns = woken, .to_ns = wait->end_ns, .wait = wait, .no_cpu = true});
}

/* When the thread got the CPU that it had at the start of the span; first: the first wait that ends in the span. */
static uint64_t on_cpu_from(const struct dividing *dividing, size_t first)
{
	const struct ran_wait *before = first ? &dividing->thread->waits.items[first - 1] : NULL;
	uint64_t least_ns = dividing->span->least_ns;

	return before ? later_time(before->end_ns, least_ns) : least_ns;
}

void ran_divide(const struct ran_threads *ran, const struct model *model, uint32_t number, const struct ran_span *whole,
		ran_take *take, void *context)
{
	static const struct ran_thread nothing;
	const struct ran_thread *thread = ran->all[number] ? ran->all[number] : &nothing;
	struct ran_span span = *whole;
	struct dividing dividing = {
		.ran = ran, .model = model, .thread = thread, .span = &span, .take = take, .context = context};
	struct time_on_cpu on_cpu;
	size_t next;

	if (thread->from_ns > span.from_ns) { /* earlier events were dropped */
		uint64_t known_ns = earlier_time(thread->from_ns, span.to_ns);

		put_unknown(&dividing, span.from_ns, known_ns);
		span.from_ns = span.least_ns = known_ns;
	}
	next = wait_beyond(thread, span.from_ns);
	on_cpu.from_ns = on_cpu_from(&dividing, next);
	for (; next < thread->waits.count && thread->waits.items[next].start_ns < span.to_ns; next++) {
		const struct ran_wait *wait = &thread->waits.items[next];

		on_cpu.to_ns = wait->start_ns;
		if (on_cpu.to_ns > on_cpu.from_ns)
			put_on_cpu(&dividing, &on_cpu);
		put_wait(&dividing, wait);
		on_cpu.from_ns = wait->end_ns;
	}
	on_cpu.to_ns = span.most_ns;
	if (next < thread->waits.count)
		on_cpu.to_ns = earlier_time(thread->waits.items[next].start_ns, span.most_ns);
	if (on_cpu.to_ns > on_cpu.from_ns)
		put_on_cpu(&dividing, &on_cpu);
}
