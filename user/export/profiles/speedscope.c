/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All profiles are `sampled`: sums by stack have no order in time. */

#include "export/profiles/profile.h"

#include <inttypes.h>

static const struct {
	const char *name, *unit;
} values[PROFILE_OPERATIONS] = {
	[PROFILE_GPU_NS] = {"GPU time", "nanoseconds"},
	[PROFILE_LAUNCHES] = {"launches", "none"},
	[PROFILE_IDLE_NS] = {"GPU idle, by the line to blame", "nanoseconds"},
	[PROFILE_CPU_NS] = {"CPU time of PyTorch's ops", "nanoseconds"},
	[PROFILE_SAMPLED_NS] = {"CPU time (samples)", "nanoseconds"},
};

static void put_frames(struct sink *out, const struct profile *profile)
{
	for (size_t i = 0; i < profile->frames.count; i++) {
		const struct profile_frame *frame = &profile->frames.items[i];

		sink_text(out, i ? ",\n" : "\n");
		sink_print(out, "{\"name\":%s", profile_text(profile, frame->name));
		if (frame->kind == STACK_FRAME_PYTHON)
			sink_print(out, ",\"file\":%s", profile_text(profile, frame->file));
		if (frame->line)
			sink_print(out, ",\"line\":%u", frame->line);
		sink_char(out, '}');
	}
}

static void put_stack(struct sink *out, const struct profile *profile, uint32_t node)
{
	ARRAY(uint32_t) frames = {0};

	for (; node != PROFILE_ROOT; node = profile->nodes.items[node].parent)
		array_push(&frames, profile->nodes.items[node].frame);
	sink_char(out, '[');
	for (size_t i = frames.count; i-- > 0;) {
		sink_u64(out, frames.items[i]);
		if (i)
			sink_char(out, ',');
	}
	sink_char(out, ']');
	array_free(&frames);
}

static void put_profile(struct sink *out, const struct profile *profile, enum profile_value value)
{
	const char *separator = "\n";
	uint64_t sum = 0;

	sink_print(out, "{\"type\":\"sampled\",\"name\":%s,\"unit\":%s,\"startValue\":0,\"samples\":[",
		   values[value].name, values[value].unit);
	for (uint32_t i = 0; i < profile->nodes.count; i++)
		if (profile->nodes.items[i].values[value]) {
			sink_text(out, separator);
			put_stack(out, profile, i);
			separator = ",\n";
		}
	sink_literal(out, "],\"weights\":[");
	separator = "";
	for (uint32_t i = 0; i < profile->nodes.count; i++)
		if (profile->nodes.items[i].values[value]) {
			sink_text(out, separator);
			sink_u64(out, profile->nodes.items[i].values[value]);
			sum += profile->nodes.items[i].values[value];
			separator = ",";
		}
	sink_print(out, "],\"endValue\":%" PRIu64 "}", sum);
}

int speedscope_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	int error = profile_make(&profile, trace, options);
	bool any = false;

	if (!error) {
		sink_literal(sink, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
				   "\"exporter\":\"gputrace@" GPUTRACE_VERSION "\",\"name\":");
		sink_json(sink, *profile.title ? profile.title : "gputrace");
		sink_literal(sink, ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
		put_frames(sink, &profile);
		sink_literal(sink, "]},\"profiles\":[");
		for (enum profile_value i = 0; i < PROFILE_OPERATIONS; i++) {
			/* the format needs at least one profile, and users want GPU time first */
			if (!profile.has[i] && i != PROFILE_LAUNCHES)
				continue;
			if (any)
				sink_literal(sink, ",\n");
			put_profile(sink, &profile, i);
			any = true;
		}
		sink_literal(sink, "]}\n");
	}
	profile_free(&profile);
	return error;
}
