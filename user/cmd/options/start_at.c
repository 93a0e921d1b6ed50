/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/options/start_at.h"

#include <errno.h>

#include "cmd/options/values.h"

#define SECOND_NS 1000000000ull
#define PERIOD_LEAST_NS SECOND_NS /* set-up takes longer than what is shorter */

int start_at_parse(const char *text, struct start_at *out)
{
	int err;

	*out = (struct start_at){.text = text, .kind = START_AT_TIME};
	if (*text == '+' || *text == '/') {
		out->kind = *text == '+' ? START_AFTER : START_AT_MULTIPLE;
		err = value_duration(text + 1, &out->ns);
		return err || (out->kind == START_AT_MULTIPLE && out->ns < PERIOD_LEAST_NS) ? -EINVAL : 0;
	}
	err = moment_parse(text, &out->moment);
	return err || out->moment.kind == MOMENT_SINCE_START ? -EINVAL : 0;
}

uint64_t start_at_resolve(const struct start_at *start_at, uint64_t mono_ns, int64_t wall_offset_ns,
			  struct start_request *request)
{
	struct moment_clock now = {.start_ns = mono_ns, .end_ns = mono_ns, .wall_offset_ns = wall_offset_ns};
	uint64_t at_ns;

	if (!start_at->text)
		return 0;
	request->kind = start_at->kind;
	if (start_at->kind == START_AFTER) {
		request->mono_ns = mono_ns + start_at->ns;
		return 0;
	}
	if (start_at->kind == START_AT_MULTIPLE) {
		request->period_ns = start_at->ns;
		request->wall_ns = start_next_multiple((int64_t)mono_ns + wall_offset_ns, start_at->ns);
		return 0;
	}
	at_ns = moment_resolve(&start_at->moment, &now);
	request->wall_ns = (int64_t)at_ns + wall_offset_ns;
	return at_ns <= mono_ns ? mono_ns - at_ns + 1 : 0;
}
