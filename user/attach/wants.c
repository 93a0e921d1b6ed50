/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which records notice.c gets.  The thread that drains the ring asks, so only the record itself is looked at. */
#include "attach/attach.h"

#include <gputrace/agent.h>
#include <gputrace/walk.h>

#include "attach/emit/generated_files.h"

/*
 * Of the agents' batches, only those with records about the agent itself or steps are wanted: there may be thousands a
 * second.
 */
static bool batch_is_wanted(const struct gpt_agent_batch *batch)
{
	const struct gpt_record *record;
	size_t at = 0;

	while ((record = batch_next(batch, &at)))
		if (record->type == GPT_AGENT_HELLO || record->type == GPT_AGENT_SIZES ||
		    record->type == GPT_AGENT_OPS || record->type == GPT_AGENT_STEP)
			return true;
	return false;
}

bool attach_wants(const struct gpt_record *record)
{
	static const bool wanted[] = {
		[GPT_NATIVE_STACK] = true, [GPT_THREAD] = true, [GPT_FORK] = true,	[GPT_EXEC] = true,
		[GPT_EXIT] = true,	   [GPT_MAPPED] = true, [GPT_CUPTI_USE] = true, [GPT_CUPTI_DONE] = true,
	};

	if (record->type == GPT_AGENT_BATCH)
		return batch_is_wanted((const struct gpt_agent_batch *)record);
	if (record->type == GPT_CODE)
		return generated_files_want((const struct gpt_code *)record);
	if (record->type == GPT_PYSTACK)
		return record->flags & GPT_PYSTACK_MODULES;
	return record->type < sizeof(wanted) && wanted[record->type];
}
