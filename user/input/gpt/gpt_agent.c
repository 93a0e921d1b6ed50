/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of an agent with text: about itself, ranges that the program names (NVTX), names, devices. */
#include <gputrace/losses.h>

#include "input/gpt/gpt_records.h"

bool gpt_add_agent_hello(struct builder *builder, const struct sender *sender, const struct gpt_record *record)
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

/* No process can lose more: a count beyond it would hide what the others lose. */
#define LOST_MOST UINT32_MAX

bool gpt_add_agent_stats(struct builder *builder, const struct sender *sender, const struct gpt_record *record)
{
	struct gpt_agent_stats stats = {};
	struct model_agent_losses losses;

	/* An older agent's record is shorter. */
	memcpy(&stats, record, record->size < sizeof(stats) ? record->size : sizeof(stats));
#define TAKE(member, ...) losses.member = stats.member;
#define TAKE_COUNT(member, ...)                                                                                        \
	if (stats.member > LOST_MOST)                                                                                  \
		return false;                                                                                          \
	TAKE(member)
	GPT_AGENT_LOSSES(TAKE_COUNT)
	GPT_AGENT_NOTES(TAKE_COUNT)
	GPT_AGENT_COSTS(TAKE)
#undef TAKE_COUNT
#undef TAKE
	/* The collector's counts are per buffer, so they are added up. */
	if (sender->foreign)
		builder_add_foreign_losses(builder, &losses);
	else
		builder_set_agent_losses(builder, sender->program, &losses);
	return true;
}

bool gpt_add_agent_range(struct builder *builder, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_range *event = (const struct gpt_agent_range *)record;
	struct process_image program = sender->program;
	struct new_range range = {.time_ns = event->time_ns,
				  .id = event->id,
				  .tid = event->tid,
				  .what = event->what,
				  .domain = event->domain};

	/* later than its own batch: not this machine's clock (a time namespace shifts it) */
	if ((size_t)event->bytes + event->domain_bytes > record->size - sizeof(*event) ||
	    event->time_ns > sender->time_ns)
		return false;
	range.name = (struct text){event->text, event->bytes};
	range.domain_name = (struct text){event->text + event->bytes, event->domain_bytes};
	if (event->what == GPT_AGENT_RANGE_LOST)
		builder_lose_ranges(builder, program, event->id, event->time_ns, sender->time_ns);
	if (event->what < GPT_AGENT_RANGE_MARK || event->what > GPT_AGENT_RANGE_ENDED) /* or newer than this reader */
		return true;
	return builder_add_range(builder, program, &range);
}

/* Adds a kernel's name and, after a NUL, the place of its function. */
static void add_kernel_name(struct builder *builder, const struct sender *sender, const struct gpt_agent_name *name)
{
	size_t size = strnlen(name->text, name->bytes), used = size + (size < name->bytes);

	builder_add_name(builder, sender->program, name->id, (struct text){name->text, size},
			 (struct text){name->text + used, name->bytes - used});
}

bool gpt_add_agent_name(struct builder *builder, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_name *name = (const struct gpt_agent_name *)record;

	if (name->bytes > record->size - sizeof(*name) || !name->id)
		return false;
	if (name->id & GPT_AGENT_NAME_OF_OP)
		builder_add_op_text(builder, sender->program, name->id, (struct text){name->text, name->bytes});
	else if (name->id & GPT_AGENT_NAME_OF_INPUTS)
		return builder_add_op_inputs(builder, sender->program, name->id,
					     (struct text){name->text, name->bytes});
	else
		add_kernel_name(builder, sender, name);
	return true;
}

bool gpt_add_agent_device(struct builder *builder, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_device *event = (const struct gpt_agent_device *)record;
	struct model_device device = {
		.memory_bytes = event->memory_bytes,
		.id = event->id,
		.multiprocessors = event->multiprocessors,
		.compute_major = event->compute_major,
		.compute_minor = event->compute_minor,
		.warp_size = event->warp_size,
		.max_threads_per_multiprocessor = event->max_threads_per_multiprocessor,
		.max_threads_per_block = event->max_threads_per_block,
		.max_blocks_per_multiprocessor = event->max_blocks_per_multiprocessor,
		.max_registers_per_multiprocessor = event->max_registers_per_multiprocessor,
		.max_registers_per_block = event->max_registers_per_block,
		.max_shared_per_multiprocessor = event->max_shared_per_multiprocessor,
		.max_shared_per_block = event->max_shared_per_block,
	};

	if (event->bytes > record->size - sizeof(*event))
		return false;
	memcpy(device.uuid, event->uuid, sizeof(device.uuid));
	return builder_add_device(builder, sender->program, &device, gpt_text(event->name, event->bytes));
}

bool gpt_add_agent_ops(struct builder *builder, const struct sender *sender, const struct gpt_record *record)
{
	const struct gpt_agent_ops *event = (const struct gpt_agent_ops *)record;
	struct text place /* of PyTorch */, detail;

	if (!GPT_READ_FIELDS(event, &place, &detail) || event->state < GPT_AGENT_OPS_WAITING)
		return false;
	if (event->state <= GPT_AGENT_OPS_REFUSED) /* else it is newer than this reader */
		builder_add_op_state(builder, sender->program, event, detail);
	return true;
}

bool gpt_add_agent_torch_memory_state(struct builder *builder, const struct sender *sender,
				      const struct gpt_record *record)
{
	const struct gpt_agent_torch_memory_state *event = (const struct gpt_agent_torch_memory_state *)record;
	struct text detail;

	if (!GPT_READ_FIELDS(event, &detail))
		return false;
	builder_add_torch_memory_state(builder, sender->program, event, detail);
	return true;
}
