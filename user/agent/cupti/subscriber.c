/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* CUPTI's subscriber and its callbacks, or the substitute for them; see subscriber.h. */
#include "agent/cupti/subscriber.h"

#include <stdio.h>
#include <string.h>

#include <gputrace/cuda_api.h>

#include "cupti/apis.h"
#include "agent/cupti/callbacks.h"
#include "agent/cupti/recording.h"
#include "agent/process/fork_gate.h"
#include "agent/process/intercept.h"
#include "agent/kernels/kernel_places.h"
#include "agent/cupti/subscriber_owner.h"
#include "agent/send/points.h"

#define OPEN_CALLS_NS 5000000u /* a launch takes microseconds; it does not wait for a synchronisation */
/* The collector puts its probes on calls within some tens of milliseconds where the machine is not overloaded. */
#define PROBES_NS 500000000u
#define PROBES_PAUSE_NS 1000000u

/* Prefix of a given name, and the text if none was given (CUPTI 13.0 to 13.5, from their code). */
#define OWNER_NAME_BEFORE "CUPTI for "
#define OWNER_NAME_NONE "<not provided>"

/*
 * Only to name the tool that holds the subscriber (13.0 and later), "" if it gave no name; subscribing is expected to
 * fail, so nothing changes.
 */
static void ask_owner(const struct session *session, char *name, size_t size)
{
	struct cupti_subscriber_params params = {
		.size = sizeof(params), .name = "gputrace", .old_name = name, .old_name_size = size};
	void *subscriber = NULL;

	name[0] = '\0';
	if (!session->cupti.subscribe_v2)
		return;
	if (session->cupti.subscribe_v2(&subscriber, callbacks_api, NULL, &params) == CUPTI_OK)
		session->cupti.unsubscribe(subscriber); /* just freed, but too late */
	name[size - 1] = '\0';
	if (!strncmp(name, OWNER_NAME_BEFORE, strlen(OWNER_NAME_BEFORE)))
		memmove(name, name + strlen(OWNER_NAME_BEFORE), strlen(name + strlen(OWNER_NAME_BEFORE)) + 1);
	if (!strcmp(name, OWNER_NAME_NONE))
		name[0] = '\0';
}

/*
 * Kineto of PyTorch 2.11 to 2.14 keeps the subscriber after its first use, and registers its buffers and enables its
 * kinds again for each session. Between two sessions, when the collector lets the agent in, the activity API is free.
 */
static void share_subscriber(struct session *session)
{
	session->failure = GPT_AGENT_OK;
	session->result = CUPTI_OK;
	session->detail[0] = '\0';
	session->subscriber = NULL;
	session->shares_subscriber = true;
}

/* Kineto gives no name. If another tool may be the owner, nothing is touched. */
static bool share_with_owner(struct session *session)
{
	char owner[CUPTI_OLD_NAME_SIZE + 1];

	ask_owner(session, owner, sizeof(owner));
	if (!owner[0])
		owner_name_other(owner, sizeof(owner));
	if (owner[0])
		snprintf(session->detail, sizeof(session->detail), "%s", owner);
	if (owner[0] || !owner_kineto_subscribes())
		return false;
	share_subscriber(session);
	return true;
}

bool subscriber_take(struct session *session)
{
	uint32_t result = session->cupti.subscribe(&session->subscriber, callbacks_api, NULL);

	switch (result) {
	case CUPTI_OK:
		if (!owner_kineto_subscribes() || intercept_has_kineto_subscribe())
			return true;
		session->cupti.unsubscribe(session->subscriber); /* it is free, and is left to Kineto */
		share_subscriber(session);
		return true;
	case CUPTI_MULTIPLE_SUBSCRIBERS:
		session_fail(session, GPT_AGENT_OCCUPIED, result, "cuptiSubscribe");
		return share_with_owner(session);
	case CUPTI_NOT_INITIALIZED:
	case CUPTI_UNKNOWN:
		return session_fail(session, GPT_AGENT_NO_CUDA, result, "cuptiSubscribe");
	default:
		return session_fail(session, GPT_AGENT_CUPTI_ERROR, result, "cuptiSubscribe");
	}
}

/*
 * Calls that give kernels' places in the source, or that start and stop recording; also followed between recorded
 * steps.
 */
static void follow_always(const struct session *session)
{
	static const struct {
		uint32_t domain, cbid;
	} captures[] = {
		{CUPTI_DOMAIN_RUNTIME, CUPTI_RUNTIME_PROFILER_START},
		{CUPTI_DOMAIN_RUNTIME, CUPTI_RUNTIME_PROFILER_STOP},
		{CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_PROFILER_START},
		{CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_PROFILER_STOP},
	};

	for (unsigned i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		session->cupti.enable_callback(1, session->subscriber, captures[i].domain, captures[i].cbid);
	for (unsigned i = 0; i < kernel_places_cbid_count; i++)
		session->cupti.enable_callback(1, session->subscriber, CUPTI_DOMAIN_DRIVER, kernel_places_cbids[i]);
	session->cupti.enable_callback(1, session->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_MODULE_LOADED);
}

/* Enables every wanted call of cuda_api.h, and its twin; skips those that this CUPTI does not have yet. */
static bool enable_callbacks(struct session *session)
{
	uint32_t result, last_error = CUPTI_OK, classes = apis_classes(session->wanted);
	unsigned launches = 0, i;

	for (i = 0; i < apis_count; i++) {
		const struct api_row *row = &apis_rows[i];

		if (!row->cbid || !(classes >> row->class & 1))
			continue;
		result = session->cupti.enable_callback(1, session->subscriber, row->domain, row->cbid);
		if (result == CUPTI_OK)
			launches += row->class == GPT_CLASS_LAUNCH;
		else
			last_error = result;
	}
	callbacks_report_loads(classes >> GPT_CLASS_MODULE & 1);
	follow_always(session);
	/* without it, launches under capture look like launches whose kernels were lost */
	session->cupti.enable_callback(1, session->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_GRAPHNODE_CREATED);
	session->cupti.enable_callback(1, session->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_GRAPHNODE_CLONED);
	return launches || session_fail(session, GPT_AGENT_CUPTI_ERROR, last_error, "cuptiEnableCallback");
}

bool subscriber_report_calls(struct session *session)
{
	if (!session->shares_subscriber)
		return enable_callbacks(session);
	session->records.call_classes |= apis_classes(session->wanted);
	return true;
}

/* Waits until calls that were just reported return: they are still on their way to the GPU. */
static void await_returns(void)
{
	uint64_t end = clock_now_ns() + OPEN_CALLS_NS;

	callbacks_stop();
	while (callbacks_open() && clock_now_ns() < end)
		fork_gate_pause(OPEN_CALLS_NS / 50);
}

void subscriber_end_calls(struct session *session)
{
	const struct cupti *cupti = &session->cupti;

	if (session->shares_subscriber) {
		callbacks_stop();
		fork_gate_pause(OPEN_CALLS_NS); /* which calls are open is unknown */
		return;
	}
	await_returns();
	session->records.limited = true;
	session->records.last_corr = callbacks_last_corr();
	cupti->enable_domain(0, session->subscriber, CUPTI_DOMAIN_RUNTIME);
	cupti->enable_domain(0, session->subscriber, CUPTI_DOMAIN_DRIVER);
	cupti->enable_domain(0, session->subscriber, CUPTI_DOMAIN_RESOURCE);
	follow_always(session);
}

/* The agent reports calls until the collector's probes do; without them it ends after PROBES_NS. */
static void await_probes(struct session *session)
{
	uint64_t end = clock_now_ns() + PROBES_NS;

	if (!points_calls_unseen())
		return;
	points_state(GPT_AGENT_GIVING_UP);
	session_hello(session, GPT_AGENT_READY); /* a record makes the collector look */
	batch_flush(&session->batch);
	while (points_calls_unseen() && clock_now_ns() < end)
		fork_gate_pause(PROBES_PAUSE_NS);
}

/* The substitutes for callbacks (probes, CUPTI's records of calls) begin before the callbacks end. */
void subscriber_give_up(struct session *session)
{
	bool records = !session->rests && !session->away && !session->expected_ns;
	void *subscriber = session->subscriber;

	if (session->shares_subscriber || !subscriber)
		return;
	await_probes(session);
	await_returns();
	share_subscriber(session);
	if (!session->rests)
		subscriber_report_calls(session);
	if (records)
		recording_enable(session);
	session_hello(session, GPT_AGENT_BORROWING);
	batch_flush(&session->batch);
	if (points_listening())
		points_state(GPT_AGENT_BORROWING);
	/* It is undocumented whether enabled kinds and registered buffers outlast the subscriber. */
	if (records)
		session->cupti.flush_all(0);
	session->cupti.unsubscribe(subscriber);
	if (records)
		recording_begin(session);
}

void subscriber_leave(struct session *session)
{
	if (!session->shares_subscriber)
		session->cupti.unsubscribe(session->subscriber);
}
