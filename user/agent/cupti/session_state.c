/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Reports the state of a session; see session_state.h. */
#include "agent/cupti/session_state.h"

#include <stdio.h>
#include <string.h>

_Static_assert(CUPTI_KIND_COUNT == GPT_AGENT_KINDS, "every kind has a state");

bool session_fail(struct session *session, uint32_t failure, uint32_t result, const char *what)
{
	const char *text = NULL;

	session->failure = failure;
	session->result = result;
	if (session->cupti.result_string && session->cupti.result_string(result, &text) != CUPTI_OK)
		text = NULL;
	snprintf(session->detail, sizeof(session->detail), "%s: %u%s%s", what, result, text ? " " : "",
		 text ? text : "");
	return false;
}

bool session_wants(const struct session *session, unsigned set)
{
	return set == GPT_AGENT_SET_COUNT || (session->wanted >> set & 1);
}

uint32_t session_state(const struct session *session)
{
	return session->shares_subscriber ? GPT_AGENT_BORROWING : GPT_AGENT_READY;
}

/* "kernels,cuda,sync"; returns its length. */
static size_t name_recorded(const struct session *session, char text[64])
{
	static const char *const names[] = {
#define NAME(enumerator, name) [GPT_AGENT_SET_##enumerator] = "," #name,
		GPT_AGENT_ACTIVITY_SETS(NAME)
#undef NAME
	};
	unsigned i;

	text[0] = '\0';
	if (!session->recorded)
		return 0;
	strcpy(text, "kernels");
	for (i = 0; i < GPT_AGENT_SET_COUNT; i++)
		if (session->recorded_sets >> i & 1)
			strcat(text, names[i]);
	return strlen(text);
}

static void send_sizes(struct session *session)
{
	struct gpt_agent_sizes *sizes = batch_add(&session->batch, GPT_AGENT_SIZES, sizeof(*sizes));

	memcpy(sizes->bytes, session->records.sizes, sizeof(sizes->bytes));
}

void session_hello(struct session *session, uint32_t state)
{
	char sets[64];
	size_t path = strlen(session->cupti.path) + 1, detail = strlen(session->detail) + 1;
	size_t recorded = name_recorded(session, sets) + 1;
	struct gpt_agent_hello *hello =
		batch_add(&session->batch, GPT_AGENT_HELLO, sizeof(*hello) + path + detail + recorded);

	hello->abi = GPT_AGENT_ABI;
	hello->state = state;
	hello->failure = session->failure;
	hello->result = session->result;
	hello->cupti_version = session->cupti.version;
	hello->driver_version = session->cuda.driver_version;
	hello->runtime_version = session->cuda.runtime_version;
	hello->bytes = (uint32_t)(path + detail + recorded);
	memcpy(hello->text, session->cupti.path, path);
	memcpy(hello->text + path, session->detail, detail);
	memcpy(hello->text + path + detail, sets, recorded);
	if (gpt_agent_is_live(state))
		send_sizes(session);
}
