/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers for calls without a Python frame. */
#include "analyze/events/callers.h"

void callers_init(struct callers *callers, const struct model *model)
{
	*callers = (struct callers){.model = model, .latest_caller = CALLER_UNSEEN};
}

void callers_free(struct callers *callers)
{
	tally_free(&callers->no_frame);
}

uint32_t caller_without_frame(struct callers *callers, uint32_t thread, uint8_t stack_state, uint32_t enclosing)
{
	struct tally_key key = {{thread, stack_state, enclosing}};

	if (callers->latest_caller != CALLER_UNSEEN && callers->latest.part[0] == key.part[0] &&
	    callers->latest.part[1] == key.part[1] && callers->latest.part[2] == key.part[2])
		return callers->latest_caller;
	callers->latest = key;
	callers->latest_caller = CALLER_NO_FRAME | tally_number(&callers->no_frame, key);
	return callers->latest_caller;
}
