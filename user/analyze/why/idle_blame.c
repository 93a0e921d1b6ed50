/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Divides a part of a gap by what its thread ran and waited for, and by the threads that it waited for (idle_ran.h). */
#include "analyze/why/idle_internal.h"

/* A position in a chain of threads, each of which waits for the next. */
struct blame {
	struct idle_charging *charging;
	const struct tally_key *own; /* what the launching thread did in any case: DataLoader's next; NULL: not known */
	uint32_t thread;	     /* model.threads */
	unsigned steps;		     /* threads before it in the chain */
	enum why_cause first;	     /* how the launching thread waits; WHY_CAUSES for the launching thread itself */
	uint32_t via;		     /* where it waits; NONE */
	enum why_awaited awaited;    /* what it waits for there */
	uint64_t unknown_ns;	     /* of the launching thread */
	struct why_rests *unknown;   /* the same, as times */
	uint64_t at_ns;		     /* to which own time is charged to earlier waits */
};

static bool runs_python(const struct model *model, uint32_t place)
{
	return place < CALLER_NO_FRAME && stack_has_frames(model, place);
}

static enum why_cause cause_of_lock(enum why_awaited awaited)
{
	switch (awaited) {
	case WHY_AWAITED_ITEM:
		return WHY_ITEM;
	case WHY_AWAITED_RESULT:
		return WHY_RESULT;
	case WHY_AWAITED_NOTICE:
		return WHY_NOTICE;
	default:
		return WHY_LOCK;
	}
}

static enum why_cause cause_of_reason(enum gpt_wait_reason reason, enum why_awaited awaited)
{
	switch (reason) {
	case GPT_WAIT_FUTEX:
		return cause_of_lock(awaited);
	case GPT_WAIT_GIL:
		return WHY_GIL;
	case GPT_WAIT_PIPE:
	case GPT_WAIT_SOCKET:
	case GPT_WAIT_POLL:
	case GPT_WAIT_EVENT:
		return WHY_PIPE;
	case GPT_WAIT_FILE:
		return WHY_DISK;
	case GPT_WAIT_PAGE_FAULT:
		return WHY_FAULT;
	case GPT_WAIT_SLEEP:
		return WHY_SLEEP;
	case GPT_WAIT_CHILD:
		return WHY_CHILD;
	case GPT_WAIT_PREEMPTED:
	case GPT_WAIT_THROTTLED:
	case GPT_WAIT_YIELDED:
		return WHY_NO_CPU;
	default:
		return WHY_WAIT;
	}
}

static enum why_cause cause_of_wait(struct idle *idle, const struct ran_wait *wait)
{
	return cause_of_reason(wait->reason, why_awaited(&idle->threads, idle->model, wait->place));
}

/*
 * Whether requests from outside of the trace are waited for, in a wait that no traced thread ended.  A thread without
 * Python may wait for them for the one that serves them, as in grpc and ZeroMQ.
 */
static bool waits_for_requests(const struct blame *blame, const struct ran_wait *wait)
{
	struct idle *idle = blame->charging->idle;
	bool for_other = blame->steps && !runs_python(idle->model, wait->place);
	enum why_awaited awaited = for_other ? blame->awaited : why_awaited(&idle->threads, idle->model, wait->place);

	return cause_of_wait(idle, wait) == WHY_PIPE && (awaited == WHY_AWAITED_REQUEST || awaited == WHY_AWAITED_LOOP);
}

struct place_of_wait {
	uint32_t place;
	uint32_t await; /* WHY_AWAIT_ALONE, WHY_AWAIT_MOST; 0: the place is no await */
	bool sleeps;	/* in asyncio.sleep */
};

/*
 * Where the thread waits.  In asyncio's loop all tasks wait at one line of the library: each has its own in its
 * coroutines, if these were read in that wait.  The task that is waited for is the one that launches next; where
 * another thread launches, which of the tasks it waits for is not known.
 */
static struct place_of_wait find_place(const struct blame *blame, const struct ran_wait *wait)
{
	struct idle_charging *charging = blame->charging;
	struct idle *idle = charging->idle;
	struct place_of_wait found = {.place = wait->place};
	struct ran_awaited awaited;

	if (why_awaited(&idle->threads, idle->model, wait->place) != WHY_AWAITED_LOOP)
		return found;
	if (!blame->steps && charging->launch_place < CALLER_NO_FRAME)
		found.place = charging->launch_place;
	awaited = ran_find_awaited(&idle->ran, idle->model, blame->thread, wait,
				   blame->steps ? CALLER_UNSEEN : charging->launch_place);
	if (awaited.place == NONE || why_user_frame(&idle->threads, idle->model, awaited.place, NONE) == NONE)
		return found; /* only the library is known */
	found.place = awaited.place;
	found.await = awaited.alone ? WHY_AWAIT_ALONE : WHY_AWAIT_MOST;
	found.sleeps = awaited.alone && why_awaited(&idle->threads, idle->model, awaited.place) == WHY_AWAITED_SLEEP;
	return found;
}

/* Whether a cause is named wherever it happens; other time has the cause of the thread that waits for it. */
static bool is_everyones(enum why_cause inner)
{
	return inner == WHY_GC || inner == WHY_IMPORT || inner == WHY_COMPILE || inner == WHY_DISK ||
	       inner == WHY_FAULT || inner == WHY_NO_CPU || inner == WHY_REQUEST;
}

/*
 * Whether the thread runs no Python there and works for a line of Python in its process that waits for it: a thread of
 * Rayon, OpenMP or a BLAS.  It is that line's work, and what keeps it from working keeps that line.
 */
static bool is_of_native_pool(const struct blame *blame, const struct tally_key *key)
{
	const struct model *model = blame->charging->idle->model;

	return blame->steps && !runs_python(model, key->part[0]) && runs_python(model, blame->via) &&
	       model->threads[blame->thread].process == blame->charging->process;
}

static enum compiler find_compiler(const struct blame *blame, uint32_t place)
{
	struct idle *idle = blame->charging->idle;

	return compiler_at(&idle->threads.compilers, idle->model, place);
}

/*
 * Charges time of a thread in a compiler's frames, or for which the launching thread waited in such frames: the line is
 * the one that called the compiler, also where a worker process does its work.  Collections, page faults, the lack of a
 * CPU and so on are causes of their own there, too.  Returns false if it is no such time.
 */
static bool put_compiling(struct blame *blame, const struct tally_key *key, struct idle_spans *spans, uint64_t ns)
{
	struct idle_charging *charging = blame->charging;
	enum why_cause inner = key->part[1];
	bool is_waited_for =
		blame->steps && blame->first != WHY_GIL && find_compiler(blame, blame->via) != COMPILER_NONE;
	uint32_t place = is_waited_for ? blame->via : key->part[0];
	enum compiler compiler = is_waited_for || inner != WHY_UNSAMPLED ? find_compiler(blame, place) : COMPILER_NONE;

	if (compiler == COMPILER_NONE || blame->own || is_everyones(inner))
		return false;
	charging->culprit = is_waited_for ? NONE : blame->thread;
	charging->via = is_waited_for ? NONE : blame->via;
	charging->once = true;
	charging->is_sampled = inner == WHY_RAN;
	idle_charge_spans(charging, why_key(place, WHY_COMPILE, WHY_COMPILE_FRAMES, compiler), spans, ns);
	charging->culprit = NONE;
	charging->via = NONE;
	charging->once = false;
	charging->is_sampled = false;
	return true;
}

/* key: what the thread at this position did. */
static void put_spans(struct blame *blame, struct tally_key key, struct idle_spans *spans, uint64_t ns)
{
	struct idle_charging *charging = blame->charging;
	struct idle *idle = charging->idle;
	const struct model *model = idle->model;
	enum why_cause inner = key.part[1];
	uint32_t at = blame->steps ? blame->via : key.part[0];
	bool in_pool = is_of_native_pool(blame, &key);
	struct why_loader loader = {.code = NONE};

	if (put_compiling(blame, &key, spans, ns))
		return;
	if (at < CALLER_NO_FRAME)
		loader = why_loader(&idle->threads, idle->model, at);
	charging->inner = inner;
	charging->culprit = blame->thread;
	charging->via = blame->via;
	charging->once = true;
	if (blame->own || loader.code != NONE) {
		key.part[1] = blame->own ? blame->own->part[1] : WHY_DATA;
		key.part[2] = blame->own ? blame->own->part[2] : loader.code;
		key.part[3] = blame->own ? blame->own->part[3] : why_data_extra(WHY_SEEN_BY_STACKS, loader.loads);
	} else if (blame->steps && !is_everyones(inner) && !(in_pool && inner == WHY_NATIVE)) {
		key.part[1] = blame->first;
	}
	if (in_pool)
		key.part[0] = blame->via;
	else if (blame->own && !runs_python(model, key.part[0]) && runs_python(model, blame->own->part[0]))
		key.part[0] = blame->own->part[0]; /* as of gloo's threads, which wait for another process */
	idle_charge_spans(charging, key, spans, ns);
	charging->inner = WHY_CAUSES;
	charging->culprit = NONE;
	charging->via = NONE;
	charging->once = false;
}

/*
 * Whether it is the launching thread's own time, all of which it would have spent while the GPU worked, had it not
 * waited for the GPU before.  Another thread would have ended its part no earlier.
 */
static bool is_own_time(const struct blame *blame, enum why_cause inner)
{
	return !blame->steps && !blame->own && blame->charging->hidden &&
	       (inner == WHY_RAN || inner == WHY_NATIVE || inner == WHY_SLEEP);
}

static void take_lead(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns)
{
	struct blame *blame = context;

	idle_charge(blame->charging, key, blame->at_ns, blame->at_ns + (to_ns - from_ns));
	blame->at_ns += to_ns - from_ns;
}

/* Charges own time at that place to earlier waits for the GPU, as far as they go; returns where that ends. */
static uint64_t charge_leads(struct blame *blame, uint32_t place, uint64_t from_ns, uint64_t to_ns)
{
	struct idle_charging *charging = blame->charging;

	blame->at_ns = from_ns;
	charging->after = true;
	charging->via = runs_python(charging->idle->model, place) ? place : NONE;
	why_thread_leads(why_thread(&charging->idle->threads, blame->thread), charging->hidden, to_ns - from_ns,
			 take_lead, blame);
	charging->after = false;
	charging->via = NONE;
	return blame->at_ns;
}

static void put_cause(struct blame *blame, struct tally_key key, uint64_t from_ns, uint64_t to_ns)
{
	struct idle *idle = blame->charging->idle;
	struct why_rest all = {from_ns, to_ns};

	if (is_own_time(blame, key.part[1]) && find_compiler(blame, key.part[0]) == COMPILER_NONE &&
	    (key.part[0] >= CALLER_NO_FRAME || why_loader(&idle->threads, idle->model, key.part[0]).code == NONE))
		all.from_ns = from_ns = charge_leads(blame, key.part[0], from_ns, to_ns);
	put_spans(blame, key, &(struct idle_spans){.next = &all, .count = 1}, to_ns - from_ns);
}

static void put_unknown(struct blame *blame, uint64_t from_ns, uint64_t to_ns)
{
	if (blame->steps) {
		put_cause(blame, why_key(blame->via, WHY_UNSAMPLED, 0, NONE), from_ns, to_ns);
		return;
	}
	blame->unknown_ns += to_ns - from_ns;
	array_push(blame->unknown, ((struct why_rest){from_ns, to_ns}));
}

static void divide_other(struct blame *blame, uint64_t from_ns, uint64_t to_ns);

static void put_wait(struct blame *blame, const struct ran_piece *piece)
{
	struct idle *idle = blame->charging->idle;
	const struct ran_wait *wait = piece->wait;
	struct place_of_wait at = find_place(blame, wait);
	uint32_t by = ran_is_followed(wait) ? wait->by : NONE;
	struct blame next = *blame;

	if (by == NONE && wait->reason == GPT_WAIT_GIL)
		by = ran_gil_holder(&idle->ran, idle->model, blame->thread, wait);
	if (by == NONE || blame->steps == RAN_STEPS) {
		bool requests = by == NONE && waits_for_requests(blame, wait);
		enum why_cause cause = requests && at.sleeps ? WHY_SLEEP
				       : requests	     ? WHY_REQUEST
							     : cause_of_wait(idle, wait);

		put_cause(blame,
			  why_key(requests && blame->steps && !at.await ? blame->via : at.place, cause,
				  wait->reason | at.await, wait->other),
			  piece->from_ns, piece->to_ns);
		return;
	}
	if (!blame->steps) {
		next.first = cause_of_wait(idle, wait);
		next.via = at.place;
		next.awaited = why_awaited(&idle->threads, idle->model, wait->place);
	}
	next.thread = by;
	next.steps++;
	divide_other(&next, piece->from_ns, piece->to_ns);
}

static uint32_t function_of(const struct model *model, uint32_t native)
{
	if (native == NONE || !model->natives[native].depth)
		return NONE;
	return model->native_frames[model->natives[native].first];
}

static enum why_cause cause_of_sample(const struct model *model, const struct ran_sample *sample)
{
	return runs_python(model, sample->place) ? WHY_RAN : WHY_NATIVE;
}

static void take_piece(void *context, const struct ran_piece *piece)
{
	struct blame *blame = context;
	const struct model *model = blame->charging->idle->model;
	uint64_t from_ns = piece->from_ns, to_ns = piece->to_ns;

	blame->charging->period_ns = piece->sample ? piece->sample->period_ns : 0;
	if (piece->sample)
		put_cause(blame,
			  why_key(piece->sample->place, cause_of_sample(model, piece->sample),
				  function_of(model, piece->sample->native), NONE),
			  from_ns, to_ns);
	else if (piece->no_cpu)
		put_cause(blame, why_key(find_place(blame, piece->wait).place, WHY_NO_CPU, piece->wait->reason, NONE),
			  from_ns, to_ns);
	else if (piece->wait)
		put_wait(blame, piece);
	else
		put_unknown(blame, from_ns, to_ns);
}

/* Collects the time of an activity for which the thread had a CPU. */
struct owned {
	struct blame *blame;
	struct why_rests rests;
	uint64_t ns;
};

static void take_owned(void *context, const struct ran_piece *piece)
{
	struct owned *owned = context;

	if (piece->no_cpu) {
		take_piece(owned->blame, piece);
		return;
	}
	owned->ns += piece->to_ns - piece->from_ns;
	array_push(&owned->rests, ((struct why_rest){piece->from_ns, piece->to_ns}));
}

/* Charges a collection, an import, a compilation or a call. */
static void put_own(struct blame *blame, struct tally_key key, const struct ran_span *span)
{
	struct owned owned = {.blame = blame};
	const struct idle *idle = blame->charging->idle;
	struct idle_spans spans;

	ran_divide(&idle->ran, idle->model, blame->thread, span, take_owned, &owned);
	spans = idle_spans_of(&owned.rests);
	put_spans(blame, key, &spans, owned.ns);
	array_free(&owned.rests);
}

static void take_activity(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns)
{
	struct blame *blame = context;
	const struct idle_charging *charging = blame->charging;
	const struct ran_span span = {
		.from_ns = from_ns, .to_ns = to_ns, .least_ns = charging->from_ns, .most_ns = charging->to_ns};

	if (key.part[1] == WHY_GC || key.part[1] == WHY_IMPORT)
		key.part[3] = 0;
	if (key.part[0] == WHY_PLACE_NEXT)
		key.part[0] = ran_nearest_place(&charging->idle->ran, blame->thread, &span);
	if (key.part[0] == CALLER_UNSEEN)
		key.part[0] = blame->via;
	put_own(blame, key, &span);
}

/*
 * Divides what another thread did.  It may have been woken for many short waits of one thread, so samples outside this
 * one count, too.
 */
static void divide_other(struct blame *blame, uint64_t from_ns, uint64_t to_ns)
{
	struct idle *idle = blame->charging->idle;
	struct why_rests rests = {0};

	why_thread_pieces(&idle->threads, why_thread(&idle->threads, blame->thread), NULL, from_ns, to_ns,
			  WHY_RANK_CALL, take_activity, blame, &rests);
	for (size_t i = 0; i < rests.count; i++) {
		const struct why_rest *rest = &rests.items[i];
		bool first = rest->from_ns == from_ns, last = rest->to_ns == to_ns;

		ran_divide(&idle->ran, idle->model, blame->thread,
			   &(struct ran_span){.from_ns = rest->from_ns,
					      .to_ns = rest->to_ns,
					      .least_ns = first ? blame->charging->from_ns : rest->from_ns,
					      .most_ns = last ? blame->charging->to_ns : rest->to_ns},
			   take_piece, blame);
	}
	array_free(&rests);
}

static void add_own(void *context, const struct ran_piece *piece)
{
	uint64_t *own_ns = context;

	if (!piece->wait || (!piece->no_cpu && piece->wait->reason == GPT_WAIT_SLEEP))
		*own_ns += piece->to_ns - piece->from_ns;
}

uint64_t idle_own_ns(const struct idle *idle, uint32_t thread, const struct why_rests *rests)
{
	uint64_t own_ns = 0;

	for (size_t i = 0; i < rests->count; i++) {
		uint64_t from_ns = rests->items[i].from_ns, to_ns = rests->items[i].to_ns;

		ran_divide(
			&idle->ran, idle->model, thread,
			&(struct ran_span){.from_ns = from_ns, .to_ns = to_ns, .least_ns = from_ns, .most_ns = to_ns},
			add_own, &own_ns);
	}
	return own_ns;
}

bool idle_charge_is_starved_data(const struct idle_charge *charge)
{
	return charge->what.part[1] == WHY_DATA && charge->inner == WHY_NO_CPU;
}

void idle_blame_own(struct idle_charging *charging, uint32_t thread, struct tally_key key, const struct ran_span *span)
{
	struct blame blame = {.charging = charging, .thread = thread, .first = WHY_CAUSES, .via = NONE};
	struct owned owned = {.blame = &blame};
	struct idle_spans spans;

	ran_divide(&charging->idle->ran, charging->idle->model, thread, span, take_owned, &owned);
	spans = idle_spans_of(&owned.rests);
	idle_charge_spans(charging, key, &spans, owned.ns);
	array_free(&owned.rests);
}

uint64_t idle_blame(struct idle_charging *charging, uint32_t thread, const struct tally_key *own,
		    const struct ran_span *span, struct why_rests *unknown)
{
	struct blame blame = {.charging = charging,
			      .own = own,
			      .thread = thread,
			      .first = WHY_CAUSES,
			      .via = NONE,
			      .unknown = unknown};

	ran_divide(&charging->idle->ran, charging->idle->model, thread, span, take_piece, &blame);
	return blame.unknown_ns;
}
