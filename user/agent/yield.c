/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Leaving the activity API and taking it up again; see yield.h. */
#include "agent/yield.h"

#include "agent/buffers.h"
#include "agent/holder.h"
#include "agent/points.h"

/* GPU work whose record was not handed over when we left cannot be older. */
#define OLDEST_NS (3600ull * 1000000000)
/* How long after its registration the other is known to have asked for what it wants: it takes 1 ms, and the collector
 * tells within 20 ms where the machine is not overloaded. */
#define ASKED_NS 250000000ull
/* CUPTI's clock and CLOCK_REALTIME read one after the other; a clock of another kind is years away. */
#define SAME_CLOCK_NS 1000000000ull

static uint64_t wall_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Kineto registers a clock of its own (the time stamp counter), and a clock cannot be taken away, only replaced. */
void yield_own_clock(const struct cupti *cupti)
{
	uint64_t cuptis, ours;

	if (!cupti->timestamp || !cupti->register_timestamp || cupti->timestamp(&cuptis) != CUPTI_OK)
		return;
	ours = wall_now_ns();
	if ((cuptis > ours ? cuptis - ours : ours - cuptis) > SAME_CLOCK_NS)
		cupti->register_timestamp(wall_now_ns);
}

/* Kineto complains of records of these kinds.  Those of waits and events it asks for when told to. */
static bool unknown_to_kineto(uint8_t kind)
{
	switch (kind) {
	case CUPTI_KIND_DEVICE:
	case CUPTI_KIND_CONTEXT:
	case CUPTI_KIND_STREAM:
	case CUPTI_KIND_MEMORY2:
	case CUPTI_KIND_JIT:
		return true;
	default:
		return false;
	}
}

static bool is_shared(uint8_t kind)
{
	return GPT_AGENT_SHARED_KINDS >> kind & 1;
}

static void disable_where(struct session *session, bool (*is)(uint8_t kind))
{
	unsigned i;

	for (i = 0; i < RECORDS_KINDS; i++)
		if ((session->enabled_kinds & (1u << i)) && is(records_kinds[i].kind)) {
			session->cupti.disable(records_kinds[i].kind);
			session->enabled_kinds &= ~(1u << i);
		}
}

/* Of another client nothing is known: what it gets too much of is better than what it misses. */
static void disable_unknown_to_kineto(struct session *session)
{
	if (holder_has_kineto())
		disable_where(session, unknown_to_kineto);
}

/*
 * What it has not asked for by now it does not want: it enables its kinds in one go, and one that it still enables
 * later is on then.  Nobody but us would disable these when it ends.  The order of the two questions: when the
 * collector dies the counters fall together, YIELD, which was raised first, not after the other.
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
	struct timespec pause = {.tv_nsec = 5000000};

	/* not at the end of the process, where it does not matter, nor where the collector has died */
	while (session->away && session->undecided_ns && points_must_yield() && !points_listening()) {
		disable_unshared(session);
		nanosleep(&pause, NULL);
	}
}

void yield_begin(struct session *session)
{
	session->away = true;
	session->away_wall_ns = wall_now_ns();
	session->undecided_ns = clock_now_ns();
}

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

/* The other has flushed: CUPTI holds nothing of ours any more. */
static void take_up(struct session *session)
{
	size_t dropped;

	yield_reclaim(session);
	yield_own_clock(&session->cupti);
	session->cupti.dropped(NULL, 0, &dropped); /* the other's, from here on ours */
	session->away = !session_record(session);
	session->refused = session->away;
	/* why it was refused, or what is recorded from now on */
	session_hello(session, session_state(session));
}

void yield_follow(struct session *session)
{
	if (!session->away && points_must_yield() && !points_may_resume()) {
		yield_begin(session);
		disable_unknown_to_kineto(session);
	} else if (session->away && points_may_resume() && !session->refused) {
		take_up(session);
	} else if (!points_may_resume()) {
		session->refused = false;
	}
	if (session->away)
		disable_unshared(session);
}
