/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Leaving the activity API and taking it up again; see yield.h. */
#include "agent/cupti/yield.h"

#include <stdatomic.h>

#include "agent/cupti/buffers.h"
#include "agent/process/fork_gate.h"
#include "agent/cupti/subscriber_owner.h"
#include "agent/process/intercept.h"
#include "agent/send/points.h"
#include "agent/cupti/recording.h"
#include "agent/cupti/subscriber.h"

/* GPU work whose record was not returned before the agent yielded cannot be older than this. */
#define OLDEST_NS (3600ull * 1000000000)
/*
 * How long after its registration the other client surely has enabled its kinds: that takes 1 ms, and the collector
 * reports it within 20 ms unless the machine is overloaded.
 */
#define ASKED_NS 250000000ull
/* How long another client waits for the agent's thread; its ticks take microseconds, its end longer. */
#define LOCK_NS 1000000000ull
/* A buffer is returned when its records are complete: the limit of the wait for work that is on the GPU. */
#define CALL_IN_NS 10000000ull
#define CALL_IN_PAUSE_NS 500000u
#define DECIDE_PAUSE_NS 5000000u
/* A client that gives CUPTI a clock registers within this time; else it only set the clock. */
#define EXPECTED_NS 250000000ull
/* For buffers that were not returned before the registration: the interval and the number of further flushes. */
#define CALL_AGAIN_NS 100000000ull
#define CALL_AGAIN_TIMES 10u
/*
 * The collector lowers RESUME of the previous session when it sees the agent's registration, within 40 ms if it is not
 * starved.
 */
#define STALE_NS 2000000000ull
/*
 * When the collector is killed its counters fall one after the other: YIELD without RESUME, where both were raised, is
 * no order if all of them fall within this time.
 */
#define FALL_NS 200000000ull
/* CUPTI's clock and CLOCK_REALTIME read one after the other; a clock of another kind is years away. */
#define SAME_CLOCK_NS 1000000000ull

/* Kineto registers a clock of its own (the time stamp counter), and a clock cannot be taken away, only replaced. */
void yield_own_clock(const struct cupti *cupti)
{
	uint64_t cupti_ns, own_ns;

	if (!cupti->timestamp || !cupti->register_timestamp || cupti->timestamp(&cupti_ns) != CUPTI_OK)
		return;
	own_ns = clock_wall_ns();
	if ((cupti_ns > own_ns ? cupti_ns - own_ns : own_ns - cupti_ns) > SAME_CLOCK_NS)
		cupti->register_timestamp(clock_wall_ns);
}

static bool unknown_to_kineto(const struct records_kind *kind)
{
	return kind->unknown_to_kineto;
}

static bool is_any(const struct records_kind *kind)
{
	return true;
}

static bool is_shared(const struct records_kind *kind)
{
	return GPT_AGENT_SHARED_KINDS >> kind->kind & 1;
}

static void disable_where(struct session *session, bool (*is)(const struct records_kind *kind))
{
	unsigned i;

	for (i = 0; i < RECORDS_KINDS; i++)
		if ((session->enabled_kinds & (1u << i)) && is(&records_kinds[i])) {
			session->cupti.disable(records_kinds[i].kind);
			session->enabled_kinds &= ~(1u << i);
		}
}

/*
 * For clients other than Kineto nothing is disabled, as their kinds are unknown: surplus records do less harm than
 * missing ones.
 */
static void disable_unknown_to_kineto(struct session *session)
{
	if (owner_has_kineto())
		disable_where(session, unknown_to_kineto);
}

/*
 * Kinds that the other client has not requested by now it does not want: it enables its kinds at once, and a kind
 * enabled later is on then. Only the agent would disable these kinds at the end. SHARE is read before YIELD: when the
 * collector dies the counters fall together, YIELD, which was raised first, not after SHARE.
 */
static void disable_unshared(struct session *session)
{
	bool shares = points_must_share();

	if (!session->undecided_ns || !points_must_yield())
		return;
	if (!shares && clock_now_ns() - session->undecided_ns < ASKED_NS)
		return;
	session->undecided_ns = 0;
	if (!shares)
		disable_where(session, is_shared);
}

void yield_decide(struct session *session)
{
	/* not at the end of the process, where it does not matter, nor where the collector has died */
	while (session->away && session->undecided_ns && points_must_yield() && !points_listening()) {
		disable_unshared(session);
		fork_gate_pause(DECIDE_PAUSE_NS);
	}
}

void yield_begin(struct session *session)
{
	session->away = true;
	session->away_wall_ns = session->records.strays_since_ns = clock_wall_ns();
	session->undecided_ns = session->enabled_kinds ? clock_now_ns() : 0;
	session->expected_ns = 0;
	session->next_call_ns = clock_now_ns();
	session->calls_left = CALL_AGAIN_TIMES;
	session->stale_until_ns = 0;
}

/* ---- before another registers -------------------------------------------------------------------- */

static struct {
	atomic_flag busy;
	struct session *_Atomic session; /* NULL: no session, or other clients are not detected early */
} watch = {.busy = ATOMIC_FLAG_INIT};

static bool lock_until(uint64_t end)
{
	while (atomic_flag_test_and_set(&watch.busy)) {
		if (clock_now_ns() >= end)
			return false;
		fork_gate_pause(CALL_IN_PAUSE_NS);
	}
	return true;
}

void yield_lock(void)
{
	lock_until(UINT64_MAX);
}

void yield_unlock(void)
{
	atomic_flag_clear(&watch.busy);
}

/* With nothing enabled CUPTI has no reason to keep an empty buffer, and returns all that it can. */
static void call_in(struct session *session)
{
	disable_where(session, is_any);
	session->cupti.flush_all(0);
}

/* A client is about to set a clock. Flushes now, as complete records have their times by the present clock. */
static void expect_clock(struct session *session)
{
	if (session->away)
		return;
	call_in(session);
	session->expected_ns = clock_now_ns();
}

static void yield_to_others(struct session *session)
{
	uint64_t end;

	points_yield();
	if (session->away)
		return;
	call_in(session);
	for (end = clock_now_ns() + CALL_IN_NS; buffers_held() && clock_now_ns() < end;) {
		fork_gate_pause(CALL_IN_PAUSE_NS);
		session->cupti.flush_all(0);
	}
	yield_begin(session);
	if (points_may_resume())
		session->stale_until_ns = clock_now_ns() + STALE_NS;
}

/* Runs on a thread of the program, hence inside the gate. Waits for a session that is just beginning. */
static void run_before(void (*what)(struct session *session))
{
	struct session *session;

	fork_gate_enter();
	if (lock_until(clock_now_ns() + LOCK_NS)) {
		session = atomic_load(&watch.session);
		if (session)
			what(session);
		yield_unlock();
	}
	fork_gate_leave();
}

static void before_clock(void)
{
	run_before(expect_clock);
}

static void before_buffers(void)
{
	run_before(yield_to_others);
}

static void before_subscriber(void)
{
	run_before(subscriber_give_up);
}

void yield_intercept(const struct session *session)
{
	static const struct intercept_before callers = {before_buffers, before_clock, before_subscriber};

	intercept_follow(&session->cupti, &callers);
}

void yield_watch(struct session *session)
{
	if (session)
		yield_intercept(session);
	else
		intercept_end();
	atomic_store(&watch.session, session);
}

void yield_forked(void)
{
	atomic_store(&watch.session, NULL);
	atomic_flag_clear(&watch.busy);
}

/* ---- afterwards ---------------------------------------------------------------------------------- */

static void reclaim_buffer(void *user, uint8_t *buffer, size_t bytes)
{
	struct session *session = user;
	uint64_t between[2] = {session->away_wall_ns - OLDEST_NS, session->away_wall_ns};

	records_abandoned(&session->records, buffer, bytes, between);
}

void yield_reclaim(struct session *session)
{
	buffers_reclaim(reclaim_buffer, session);
}

/* The other client has flushed: CUPTI holds no records of gputrace any more. */
static void take_up(struct session *session)
{
	size_t dropped;

	yield_reclaim(session);
	session->records.strays_since_ns = 0;
	yield_own_clock(&session->cupti);
	session->cupti.dropped(NULL, 0, &dropped); /* so far the other client's, now the agent's */
	session->unsettled = true;
	session->away = !recording_begin(session);
	session->refused = session->away;
	if (session->away)
		points_yield(); /* do not retry at each tick */
	else
		points_take_up();
	/* why it was refused, or what is recorded from now on */
	session_hello(session, session_state(session));
}

/*
 * Records that CUPTI still writes into the agent's buffers are the other client's: a flush makes CUPTI request that
 * client's own buffers.
 */
static void call_again(struct session *session)
{
	if (!session->calls_left || !buffers_held() || clock_now_ns() < session->next_call_ns)
		return;
	session->calls_left--;
	session->next_call_ns = clock_now_ns() + CALL_AGAIN_NS;
	session->cupti.flush_all(0);
}

/* RESUME of the other client's present session, not of its previous one. */
static bool may_resume(struct session *session)
{
	if (!points_may_resume())
		session->stale_until_ns = 0;
	return points_may_resume() && clock_now_ns() >= session->stale_until_ns;
}

/* YIELD without RESUME; if both were raised before, only if this lasts. */
static bool is_ordered(struct session *session)
{
	if (!points_must_yield())
		session->unsettled = false;
	if (!points_must_yield() || points_may_resume()) {
		session->order_seen_ns = 0;
		return false;
	}
	if (!session->order_seen_ns)
		session->order_seen_ns = clock_now_ns();
	return !session->unsettled || (points_listening() && clock_now_ns() - session->order_seen_ns >= FALL_NS);
}

void yield_follow(struct session *session)
{
	bool resume = may_resume(session), ordered = is_ordered(session);

	if (!session->away && ordered) {
		yield_begin(session);
		disable_unknown_to_kineto(session);
	} else if (session->away && resume && !session->refused) {
		take_up(session);
	} else if (!points_may_resume()) {
		session->refused = false;
	}
	if (session->away) {
		call_again(session);
		disable_unshared(session);
	} else if (session->expected_ns && clock_now_ns() - session->expected_ns > EXPECTED_NS) {
		session->expected_ns = 0;
		recording_enable(session);
	}
}
