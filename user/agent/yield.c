/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Leaving the activity API and taking it up again; see yield.h. */
#include "agent/yield.h"

#include "agent/buffers.h"
#include "agent/holder.h"
#include "agent/points.h"

/* GPU work whose record was not handed over when we left cannot be older. */
#define OLDEST_NS (3600ull * 1000000000)
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
		return true;
	default:
		return false;
	}
}

/* Of another client nothing is known: what it gets too much of is better than what it misses. */
static void disable_unknown_to_kineto(struct session *session)
{
	unsigned i;

	if (!holder_has_kineto())
		return;
	for (i = 0; i < RECORDS_KINDS; i++)
		if ((session->enabled_kinds & (1u << i)) && unknown_to_kineto(records_kinds[i].kind)) {
			session->cupti.disable(records_kinds[i].kind);
			session->enabled_kinds &= ~(1u << i);
		}
}

void yield_begin(struct session *session)
{
	session->away = true;
	session->away_wall_ns = wall_now_ns();
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
}
