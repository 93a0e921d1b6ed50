/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The order of calls that CUPTI requires, and its quirks by version; see session.h. */
#include "agent/session.h"

#include <stdio.h>
#include <string.h>

#include <gputrace/cuda_api.h>

#include "agent/cupti/buffers.h"
#include "agent/cupti/callbacks.h"
#include "agent/process/fork_gate.h"
#include "agent/kernels/kernel_places.h"
#include "agent/send/points.h"
#include "agent/nvtx/nvtx.h"
#include "agent/nvtx/range_queue.h"
#include "agent/cupti/recording.h"
#include "agent/cupti/returns.h"
#include "agent/process/thread_id.h"
#include "agent/torch/observer.h"
#include "agent/torch/schedule.h"
#include "agent/cupti/subscriber.h"
#include "agent/cupti/yield.h"
#include "cupti/apis.h"

#define SAMPLE_NS 250000000u /* clock and counters: agent.h requires twice a second */
#define POLL_NS 2000000u     /* while waiting for the end of GPU work */
#define CALLBACKS_END_NS 500000000u
#define OLDEST_NS                                                                                                      \
	(365ull * 24 * 3600 * 1000000000) /* times of another clock, such as a tick counter, are decades away */

/* ---- starting ---------------------------------------------------------------------------------- */

/*
 * Attributes stay unchanged: they apply to every client of CUPTI in the process. One that promises zeroed buffers would
 * be broken by the next tool; changing those of GPU memory (0, 2, 6, 8) under live contexts has crashed.
 */
static void configure_cupti(struct session *session)
{
	const struct cupti *cupti = &session->cupti;

	if (cupti->version >= CUPTI_API_12_2 && !session->shares_subscriber)
		cupti->enable_domain(1, session->subscriber, CUPTI_DOMAIN_STATE);
	/*
	 * cuptiActivityRegisterTimestampCallback is not called unless another client did: kernel times are zero with it
	 * from 12.6 Update 2 to 13.0 Update 1. CUPTI's own clock is CLOCK_REALTIME, which clock.c converts.
	 */
}

static bool open_memory(struct session *session)
{
	if (buffers_open() && returns_open() && names_open(&session->names)) {
		returns_reset();
		return true;
	}
	session->failure = GPT_AGENT_NO_RESOURCES;
	snprintf(session->detail, sizeof(session->detail), "no memory");
	return false;
}

/* Called once subscribed: from 13.3 on records can only be walked with a working driver. */
static bool measure_records(struct session *session)
{
	uint64_t scratch[RECORDS_PROBE_BYTES / sizeof(uint64_t)] = {0};

	records_probe(&session->records, (uint8_t *)scratch);
	if (session->records.sizes[CUPTI_KIND_CONCURRENT_KERNEL])
		return true;
	session->failure = GPT_AGENT_CUPTI_UNUSABLE;
	snprintf(session->detail, sizeof(session->detail), "kernel records of an unknown form (version %u)",
		 session->cupti.version);
	return false;
}

/* The program calls cudaProfilerStart or cudaProfilerStop; runs on its thread. */
static void follow_profiler_calls(bool starts)
{
	if (schedule_capture(starts, thread_id()))
		observer_follow_schedule();
}

/* Enables records before calls: a reported call must not lack its record. */
static bool switch_on(struct session *session)
{
	configure_cupti(session);
	buffers_start(session->cupti.version >= CUPTI_API_12_9, session->wake);
	callbacks_start(session->cupti.graph_node_id, follow_profiler_calls);
	if (points_must_yield()) {
		yield_begin(session);
	} else {
		yield_own_clock(&session->cupti);
		if (!recording_begin(session))
			return false;
	}
	return subscriber_report_calls(session);
}

static void clear_session(struct session *session)
{
	session->failure = session->result = 0;
	session->detail[0] = '\0';
	session->enabled_kinds = 0;
	session->wanted = points_activity_sets();
	session->recorded_sets = 0;
	session->cupti_dropped = session->dropped_unknown = 0;
	session->flushes_since_call = 0;
	session->rests = session->dumped = session->away = session->refused = session->shares_subscriber = false;
	session->recorded = session->unsettled = false;
	session->order_seen_ns = 0;
	session->undecided_ns = session->expected_ns = session->stale_until_ns = 0;
	session->calls_left = 0;
	session->work_corr = 0;
	session->flush = (struct flush_timer){0};
	session->next_sample_ns = 0;
	session->records =
		(struct records){.cupti = &session->cupti, .batch = &session->batch, .names = &session->names};
	session->records.kernel_place = kernel_places_find;
	kernel_places_reset();
	session->records.oldest_wall_ns = clock_wall_ns() - OLDEST_NS;
}

bool session_start(struct session *session)
{
	clear_session(session);
	if (!open_memory(session))
		return false;
	yield_intercept(session);
	/* The subscriber comes first: the activity API alone would let the agent take another tool's records away. */
	if (!subscriber_take(session)) {
		yield_watch(NULL);
		return false;
	}
	if (measure_records(session) && switch_on(session)) {
		yield_watch(session);
		schedule_watch_cupti(session->wake);
		return true;
	}
	callbacks_stop();
	if (!session->away) {
		recording_end(session);
		session->cupti.flush_all(CUPTI_FLUSH_FORCED);
	}
	subscriber_leave(session);
	buffers_stop();
	yield_watch(NULL);
	return false;
}

/* ---- what is sent ------------------------------------------------------------------------------ */

static void send_node(struct session *session, const struct call_return *node)
{
	struct gpt_agent_graph_node *record = batch_add(&session->batch, GPT_AGENT_GRAPH_NODE, sizeof(*record));

	record->node = node->node;
	record->source = node->source;
	record->corr = node->corr;
}

/* Adds the requests of a later listener; the first one's stay. */
static void want_more(struct session *session)
{
	unsigned wanted = session->wanted | points_activity_sets();

	if (wanted == session->wanted)
		return;
	session->wanted = wanted;
	if (!session->away && !session->expected_ns)
		recording_enable(session);
	subscriber_report_calls(session);
}

static void send_stats(struct session *session);

/* The counts come before the HELLO: what was lost so far was lost before the new listener came. */
void session_repeat(struct session *session)
{
	names_clear(&session->names);
	session->records.devices_seen = 0;
	session->dumped = false;
	want_more(session);
	send_stats(session);
	session_hello(session, session_state(session));
	batch_flush(&session->batch);
}

/* Keeps the latest launch that a kernel's record will come for. */
static void note_work(struct session *session, const struct call_return *call)
{
	if (call->result || call->flags & GPT_AGENT_API_CAPTURED || apis_class(call->api) != GPT_CLASS_LAUNCH)
		return;
	if (!session->work_corr || (int32_t)(call->corr - session->work_corr) > 0)
		session->work_corr = call->corr;
}

/* Whether the GPU has not come to the latest launch yet: of work under way CUPTI may hold no buffer. */
static bool is_behind(const struct session *session)
{
	return session->work_corr && (int32_t)(session->work_corr - session->records.kernel_corr) > 0;
}

/* Whether it makes work for the GPU, or waits for it. */
static bool is_about_work(uint16_t api)
{
	unsigned of = apis_class(api);

	return of == GPT_CLASS_LAUNCH || of == GPT_CLASS_GRAPH || of == GPT_CLASS_MEMCPY || of == GPT_CLASS_MEMSET ||
	       of == GPT_CLASS_SYNC;
}

static void send_returns(struct session *session)
{
	struct gpt_agent_api *record;
	struct call_return call;
	unsigned left = RETURNS_MAX; /* a bound: other work must get its turn, however fast they come */

	while (left-- && returns_pop(&call)) {
		if (!call.api) {
			send_node(session, &call);
			continue;
		}
		note_work(session, &call);
		if (is_about_work(call.api))
			flush_timer_note(&session->flush, call.end_ns);
		record = batch_add(&session->batch, GPT_AGENT_API, sizeof(*record));
		record->start_ns = call.start_ns;
		record->end_ns = call.end_ns;
		record->corr = call.corr;
		record->api = call.api;
		record->flags = call.flags;
		record->result = call.result;
		record->tid = call.tid;
	}
}

static void send_stats(struct session *session)
{
	struct gpt_agent_stats *stats = batch_add(&session->batch, GPT_AGENT_STATS, sizeof(*stats));
	struct gpt_record header = stats->hdr;

	*stats = session->records.stats;
	stats->hdr = header;
	stats->calls = callbacks_count();
	stats->cupti_dropped = session->cupti_dropped;
	stats->dropped_unknown = session->dropped_unknown;
	stats->buffers_refused = buffers_refused();
	stats->api_dropped = returns_dropped();
	stats->places_lost = kernel_places_lost();
	stats->functions_before = kernel_places_before();
	callbacks_cost(stats);
}

/* Reports asynchronous CUPTI errors, such as a refused buffer; repeats of the same error only once. */
static void send_state_error(struct session *session)
{
	char text[sizeof(session->detail)];
	uint32_t result;

	if (!callbacks_state_error(&result, text, sizeof(text)) || result == session->result)
		return;
	session->failure = GPT_AGENT_CUPTI_ERROR;
	session->result = result;
	memcpy(session->detail, text, sizeof(text));
	session_hello(session, session_state(session));
}

/* ---- running ----------------------------------------------------------------------------------- */

static void parse_buffer(void *user, uint8_t *buffer, size_t valid)
{
	records_buffer(user, buffer, valid);
}

static void take_buffers(struct session *session)
{
	buffers_take(parse_buffer, &session->records);
	send_returns(session);
	ranges_send(&session->batch, nvtx_domain_name);
}

/*
 * Reads and clears CUPTI's own count. It may fail, for example if another client uses the API forms that name a
 * subscriber (14).
 */
static void count_dropped(struct session *session)
{
	size_t dropped = 0;

	if (session->away)
		return;
	if (session->cupti.dropped(NULL, 0, &dropped) == CUPTI_OK)
		session->cupti_dropped += dropped;
	else
		session->dropped_unknown++;
}

/*
 * Devices, contexts and streams older than the session are only reported on demand. Not in session_start: that may run
 * inside cuInit, where the driver cannot be queried.
 */
static void dump_now(struct session *session)
{
	unsigned i;

	session->dumped = true;
	for (i = 0; i < RECORDS_KINDS; i++)
		if ((records_kinds[i].kind == CUPTI_KIND_DEVICE || records_kinds[i].kind == CUPTI_KIND_CONTEXT ||
		     records_kinds[i].kind == CUPTI_KIND_STREAM) &&
		    (session->enabled_kinds & (1u << i)) && !session->records.devices_seen &&
		    session->cupti.enable_and_dump)
			session->cupti.enable_and_dump(records_kinds[i].kind);
}

/*
 * A process that has made a call, and whose device is still unknown one flush later, was using CUDA before the session.
 */
static void dump_what_exists(struct session *session)
{
	if (session->dumped || session->away || session->rests || (!callbacks_count() && !session->shares_subscriber) ||
	    session->flushes_since_call++ == 0)
		return;
	dump_now(session);
}

/* ---- steps that are not recorded --------------------------------------------------------------- */

/* Disables the kinds of a resting session; also those enabled again after another client of CUPTI had finished. */
static void disable_kinds(struct session *session)
{
	if (session->away || !session->enabled_kinds)
		return;
	if (!session->dumped && callbacks_count())
		dump_now(session);
	recording_end(session);
	session->cupti.flush_all(0);
}

/* Enables records before calls, as at the start. */
static void go_on(struct session *session)
{
	session->records.limited = false;
	session->dumped = false; /* devices and contexts may have come during the rest */
	if (!session->away && !session->expected_ns)
		recording_enable(session);
	if (!session->shares_subscriber)
		callbacks_go_on();
	subscriber_report_calls(session);
}

static void follow_schedule(struct session *session)
{
	uint32_t turn;
	bool rests = schedule_cupti_rests(&turn);

	if (rests && !session->rests)
		subscriber_end_calls(session);
	if (rests)
		disable_kinds(session);
	if (!rests && session->rests)
		go_on(session);
	session->rests = rests;
	schedule_cupti_follows(rests, turn);
}

/* ---- a look ------------------------------------------------------------------------------------ */

void session_tick(struct session *session)
{
	uint64_t now = clock_now_ns();
	bool flushes;

	yield_lock();
	yield_watch(session);
	yield_follow(session);
	follow_schedule(session);
	take_buffers(session);
	if (session->next_sample_ns)
		clock_look(&session->clock, &session->batch);
	flushes = flush_timer_take(&session->flush, now) || buffers_scarce();
	if (flushes) {
		if (!session->away)
			session->cupti.flush_all(0);
		take_buffers(session);
		send_state_error(session);
		dump_what_exists(session);
	}
	if (now >= session->next_sample_ns) {
		session->next_sample_ns = now + SAMPLE_NS;
		count_dropped(session);
		clock_send(&session->clock, &session->batch);
		send_stats(session);
		buffers_trim();
	}
	if (flushes)
		batch_flush(&session->batch);
	yield_unlock();
}

/* ---- leaving ----------------------------------------------------------------------------------- */

/* Takes the agent's records out of CUPTI and leaves nothing enabled. */
static void stop_recording(struct session *session, uint64_t wait_ns)
{
	const struct cupti *cupti = &session->cupti;
	uint64_t end;

	recording_end(session);
	cupti->flush_all(0);
	take_buffers(session);
	for (end = clock_now_ns() + wait_ns; (buffers_held() || is_behind(session)) && clock_now_ns() < end;) {
		fork_gate_pause(POLL_NS);
		cupti->flush_all(0);
		take_buffers(session);
	}
	cupti->flush_all(CUPTI_FLUSH_FORCED);
	for (end = clock_now_ns() + CALLBACKS_END_NS; buffers_in_callback() && clock_now_ns() < end;)
		fork_gate_pause(POLL_NS);
	count_dropped(session);
	if (cupti->set_thread_id_type)
		cupti->set_thread_id_type(CUPTI_THREAD_ID_DEFAULT);
}

void session_stop(struct session *session, uint64_t wait_ns)
{
	schedule_watch_cupti(NULL);
	yield_lock();
	yield_follow(session);
	if (!session->rests)
		subscriber_end_calls(session);
	yield_follow(session);
	/*
	 * During another client's session nothing more is disabled: the kinds enabled now are that client's, too, and
	 * end with it.
	 */
	yield_decide(session);
	if (session->away)
		yield_reclaim(session);
	else
		stop_recording(session, wait_ns);
	subscriber_leave(session); /* while another client that is about to subscribe still waits */
	yield_watch(NULL);
	buffers_stop();
	take_buffers(session);
	clock_send(&session->clock, &session->batch);
	send_stats(session);
	session_hello(session, GPT_AGENT_STOPPED);
	batch_flush(&session->batch);
	names_clear(&session->names);
	buffers_release();
	returns_release();
	yield_unlock();
}
