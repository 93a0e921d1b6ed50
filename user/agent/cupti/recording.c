/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Switches kinds of activity on and off; see recording.h. */
#include "agent/cupti/recording.h"

#include "agent/cupti/buffers.h"

bool recording_enable(struct session *session)
{
	uint32_t result;
	unsigned i;

	session->recorded_sets |= session->wanted & 1u << GPT_AGENT_SET_NVTX; /* which does not need CUPTI */
	session->recorded = true;
	for (i = 0; i < RECORDS_KINDS; i++) {
		if (!session->records.sizes[records_kinds[i].kind] || !session_wants(session, records_kinds[i].set) ||
		    (records_kinds[i].of_calls && !session->shares_subscriber) || (session->enabled_kinds & (1u << i)))
			continue;
		result = session->cupti.enable(records_kinds[i].kind);
		if (result == CUPTI_OK) {
			session->enabled_kinds |= 1u << i;
			session->recorded_sets |= 1u << records_kinds[i].set;
		} else if (records_kinds[i].kind == CUPTI_KIND_CONCURRENT_KERNEL || records_kinds[i].of_calls)
			return session_fail(session, GPT_AGENT_CUPTI_ERROR, result, "cuptiActivityEnable");
	}
	return true;
}

void recording_end(struct session *session)
{
	unsigned i;

	for (i = 0; i < RECORDS_KINDS; i++)
		if (session->enabled_kinds & (1u << i))
			session->cupti.disable(records_kinds[i].kind);
	session->enabled_kinds = 0;
}

static bool register_buffers(struct session *session)
{
	uint32_t result = session->cupti.register_buffers(buffers_request, buffers_done);

	return result == CUPTI_OK ||
	       session_fail(session, GPT_AGENT_CUPTI_ERROR, result, "cuptiActivityRegisterCallbacks");
}

bool recording_begin(struct session *session)
{
	if (session->cupti.set_thread_id_type)
		session->cupti.set_thread_id_type(CUPTI_THREAD_ID_SYSTEM);
	session->enabled_kinds = 0; /* another client may have disabled them */
	return register_buffers(session) && recording_enable(session);
}
