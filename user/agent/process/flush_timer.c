/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/process/flush_timer.h"

void flush_timer_note(struct flush_timer *timer, uint64_t returned_ns)
{
	if (returned_ns > timer->returned_ns)
		timer->returned_ns = returned_ns;
}

bool flush_timer_take(struct flush_timer *timer, uint64_t now_ns)
{
	bool pauses = timer->returned_ns && now_ns >= timer->returned_ns + FLUSH_PAUSE_NS;

	if (!pauses && now_ns < timer->next_ns)
		return false;
	timer->next_ns = now_ns + FLUSH_NS;
	timer->returned_ns = 0;
	return true;
}
