/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records that an agent writes about itself, returned calls, and ranges that the program names (NVTX). */
#include <gputrace/losses.h>

#include "input/gpt/gpt_records.h"

bool gpt_add_agent_hello(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_hello *hello = (const struct gpt_agent_hello *)record;
	struct new_agent_state state = {.time_ns = sender->time_ns,
					.state = (enum gpt_agent_state)hello->state,
					.failure = GPT_AGENT_CUPTI_ERROR,
					.cupti_version = hello->cupti_version,
					.driver_version = hello->driver_version,
					.runtime_version = hello->runtime_version};
	size_t at = 0;

	if (hello->bytes > record->size - sizeof(*hello) || hello->state < GPT_AGENT_LOADED ||
	    hello->state > GPT_AGENT_BORROWING)
		return false;
	if (hello->failure <= GPT_AGENT_NO_RESOURCES)
		state.failure = (enum gpt_agent_failure)hello->failure;
	state.cupti_path = gpt_field(hello->text, hello->bytes, &at);
	state.detail = gpt_field(hello->text, hello->bytes, &at);
	state.has_activity_sets = at < hello->bytes;
	state.activity_sets = gpt_field(hello->text, hello->bytes, &at);
	builder_add_agent_state(builder, sender->program, &state);
	return true;
}

bool gpt_add_agent_api(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_api *api = (const struct gpt_agent_api *)record;
	struct new_return back = {.end_ns = api->end_ns,
				  .corr = api->corr,
				  .result = api->result,
				  .tid = api->tid,
				  .api = api->api,
				  .captured = api->flags & GPT_AGENT_API_CAPTURED};

	return builder_add_return(builder, sender->program, &back);
}

bool gpt_add_agent_api_activity(struct builder *builder, const struct gpt_sender *sender,
				const struct gpt_record *record)
{
	const struct gpt_agent_api_activity *event = (const struct gpt_agent_api_activity *)record;
	struct new_api_activity activity = {.span = {event->start_wall_ns, event->end_wall_ns},
					    .clock = sender->clock,
					    .corr = event->corr,
					    .thread = event->thread,
					    .result = event->result,
					    .api = event->api};

	return builder_add_api_activity(builder, sender->program, &activity);
}

bool gpt_add_agent_clock(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_clock *event = (const struct gpt_agent_clock *)record;
	struct clock_sample sample = {
		.mono_ns = event->mono_ns, .offset_ns = event->wall_offset_ns, .error_ns = event->error_ns};

	return builder_add_agent_clock_sample(builder, sender->program, sender->time_ns, sample);
}

bool gpt_add_agent_stats(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	struct gpt_agent_stats stats = {};
	struct model_agent_losses losses;

	/* An older agent's record is shorter. */
	memcpy(&stats, record, record->size < sizeof(stats) ? record->size : sizeof(stats));
#define TAKE(member, ...) losses.member = stats.member;
	GPT_AGENT_LOSSES(TAKE)
	GPT_AGENT_NOTES(TAKE)
#undef TAKE
	/* The collector's counts are per buffer, so they are added up. */
	if (sender->foreign)
		builder_add_foreign_losses(builder, &losses);
	else
		builder_set_agent_losses(builder, sender->program, &losses);
	return true;
}

bool gpt_add_agent_range(struct builder *builder, const struct gpt_sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_range *event = (const struct gpt_agent_range *)record;
	struct process_image program = sender->program;
	struct new_range range = {
		.time_ns = event->time_ns, .id = event->id, .tid = event->tid, .domain = event->domain};

	/* later than its own batch: not this machine's clock (a time namespace shifts it) */
	if ((size_t)event->bytes + event->domain_bytes > record->size - sizeof(*event) ||
	    event->time_ns > sender->time_ns)
		return false;
	range.name = (struct text){event->text, event->bytes};
	range.domain_name = (struct text){event->text + event->bytes, event->domain_bytes};
	switch (event->what) {
	case GPT_AGENT_RANGE_MARK:
		return builder_mark_range(builder, program, &range);
	case GPT_AGENT_RANGE_PUSHED:
		return builder_push_range(builder, program, &range);
	case GPT_AGENT_RANGE_POPPED:
		return builder_pop_range(builder, program, &range);
	case GPT_AGENT_RANGE_STARTED:
		return builder_start_range(builder, program, &range);
	case GPT_AGENT_RANGE_ENDED:
		return builder_end_range(builder, program, &range);
	case GPT_AGENT_RANGE_LOST:
		builder_lose_ranges(builder, program, event->id, event->time_ns, sender->time_ns);
		return true;
	default: /* newer than this reader */
		return true;
	}
}
