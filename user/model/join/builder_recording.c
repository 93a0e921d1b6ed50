/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stores inputs' facts about the recording (builder.h). */
#include <string.h>

#include "model/join/tables.h"

static const char *keep_text(struct builder *builder, struct text text)
{
	return string_keep(&builder->strings, text.bytes, text.size);
}

void builder_see_time(struct builder *builder, uint64_t time_ns)
{
	builder->reported_ns = time_ns;
	if (time_ns > builder->last_ns)
		builder->last_ns = time_ns;
}

void builder_set_start(struct builder *builder, uint64_t start_ns, int64_t wall_offset_ns)
{
	builder->model->start_ns = builder->last_ns = start_ns;
	model_source(builder->model)->wall_offset_ns = wall_offset_ns;
}

void builder_set_part(struct builder *builder)
{
	model_source(builder->model)->is_part = true;
}

void builder_set_continued(struct builder *builder)
{
	builder->continued = true;
}

void builder_set_shared(struct builder *builder, bool shared)
{
	builder->shared = shared;
}

bool builder_add_start(struct builder *builder, const struct sender *none, const struct gpt_start *start)
{
	struct model_began *began = &model_source(builder->model)->began;
	bool asked = start->flags & GPT_START_AT;

	(void)none; /* it is gputrace's own */
	if (start->set_up_ns > start->ready_ns || start->ready_ns > start->time_ns || start->unready > start->processes)
		return false;
	began->set_up_at_ns = start->set_up_ns;
	began->set_up_ns = start->ready_ns - start->set_up_ns;
	began->start_ns = start->time_ns;
	began->asked_wall_ns = asked ? start->asked_wall_ns : 0;
	began->late_ns = asked ? start->late_ns : 0;
	began->wall_error_ns = start->wall_error_ns;
	began->is_unsynced = start->flags & GPT_START_UNSYNCED;
	began->with_command = start->flags & GPT_START_COMMAND;
	began->processes = start->processes;
	began->unready = start->unready;
	began->calls_before += start->left_out;
	return true;
}

bool builder_add_cost(struct builder *builder, const struct sender *none, const struct gpt_cost *cost)
{
	struct model_source *source = model_source(builder->model);

	(void)none; /* it is gputrace's own */
	if (cost->state < GPT_COST_MEASURED || cost->state > GPT_COST_SAMPLED || cost->part >= GPT_PART_COUNT ||
	    cost->long_ns > cost->ns || cost->long_count > cost->count)
		return false;
	if (cost->hdr.flags & GPT_COST_THREAD)
		source->cost_thread = (struct model_cost_thread){.pid = cost->pid,
								 .tid = cost->tid,
								 .count = cost->count,
								 .ns = cost->ns,
								 .long_ns = cost->long_ns,
								 .span_ns = cost->span_ns};
	else
		source->costs[cost->part] = (struct model_cost){.state = (enum gpt_cost_state)cost->state,
								.count = cost->count,
								.ns = cost->ns,
								.long_count = cost->long_count,
								.long_ns = cost->long_ns};
	return true;
}

/* gputrace changes the level some times a minute at most. */
#define DETAILS_MOST 65536u

bool builder_add_detail(struct builder *builder, const struct sender *none, const struct gpt_detail *detail)
{
	const struct model_detail *before =
		builder->details.count ? &builder->details.items[builder->details.count - 1] : NULL;

	(void)none; /* it is gputrace's own */
	if (!detail->why || detail->why >= GPT_DETAIL_WHYS || detail->off >> GPT_DETAIL_COUNT ||
	    (before && detail->time_ns < before->time_ns) || builder->details.count == DETAILS_MOST)
		return false;
	array_push(&builder->details, ((struct model_detail){.time_ns = detail->time_ns,
							     .measured = detail->measured,
							     .limit = detail->limit,
							     .off = detail->off,
							     .why = (enum gpt_detail_why)detail->why,
							     .pid = detail->pid,
							     .tid = detail->tid,
							     .is_last = detail->hdr.flags & GPT_DETAIL_LAST}));
	return true;
}

void builder_set_source(struct builder *builder, struct text version, struct text host, struct text kernel,
			struct text target, uint32_t cpus)
{
	struct model_source *source = model_source(builder->model);

	source->version = keep_text(builder, version);
	source->host = keep_text(builder, host);
	source->kernel = keep_text(builder, kernel);
	source->target = keep_text(builder, target);
	source->cpus = cpus;
}

void builder_set_tool(struct builder *builder, struct text tool)
{
	model_source(builder->model)->tool = keep_text(builder, tool);
	builder->ops.outer_first = true; /* its rows are sorted */
}

void builder_set_nvml(struct builder *builder, uint32_t state, struct text text)
{
	struct model_source *source = model_source(builder->model);

	if (builder->first || state < GPT_NVML_READ ||
	    state > GPT_NVML_NO_DRIVER) /* pass 1 has it; newer than this reader */
		return;
	source->nvml = (uint8_t)state;
	source->nvml_text = keep_text(builder, text);
}

void builder_set_rank(struct builder *builder, uint32_t rank, uint32_t world)
{
	struct model_source *source = model_source(builder->model);

	source->rank = rank;
	source->world = world;
	source->is_rank = true;
}

void builder_set_boot(struct builder *builder, struct text boot, int64_t slept_ns)
{
	model_source(builder->model)->boot = keep_text(builder, boot);
	model_source(builder->model)->slept_ns = slept_ns;
}

void builder_add_label(struct builder *builder, struct text label)
{
	struct model_source *source = model_source(builder->model);

	if (source->label_count < MODEL_LABELS_MAX)
		source->labels[source->label_count++] = keep_text(builder, label);
}

void builder_set_step(struct builder *builder, struct text step)
{
	model_source(builder->model)->step = keep_text(builder, step);
}

void builder_set_unasked(struct builder *builder)
{
	builder->model->samples_unasked = true;
}

void builder_set_no_sudo(struct builder *builder)
{
	builder->model->no_sudo = true;
}

void builder_set_options(struct builder *builder, uint32_t min_complete, bool metric_launches,
			 enum model_gpu_times gpu_times)
{
	builder->model->min_complete = min_complete < MODEL_COMPLETE ? min_complete : MODEL_COMPLETE;
	builder->model->metric_launches = metric_launches;
	if (gpu_times != MODEL_GPU_TIMES_UNKNOWN)
		builder->model->gpu_times = gpu_times;
}

void builder_set_end(struct builder *builder, const struct new_end *end)
{
	struct model_receipt *receipt = &model_source(builder->model)->receipt;

	builder_see_time(builder, end->time_ns);
	builder->ended = true;
	builder->model->end_ns = end->time_ns;
	memcpy(receipt->counters, end->counters, sizeof(receipt->counters));
	receipt->cpu_ns = end->cpu_ns;
	receipt->ring_bytes = end->ring_bytes;
	receipt->ring_bytes_max = end->ring_bytes_max;
	receipt->end_reason = end->reason;
}

void builder_set_torn(struct builder *builder)
{
	builder->torn = true;
}

void builder_add_note(struct builder *builder, struct text text)
{
	array_push(&builder->notes, keep_text(builder, text));
}

void builder_add_probes(struct builder *builder, struct text text)
{
	array_push(&builder->probes, keep_text(builder, text));
}

bool builder_add_clock(struct builder *builder, const struct sender *none, const struct gpt_clock *clock)
{
	builder_see_time(builder, clock->mono_ns);
	if (!builder->first)
		wall_clock_add_sample(&builder->clock.collector, clock);
	return true;
}

void builder_note_clock_error(struct builder *builder, uint64_t error_ns)
{
	if (!builder->first && error_ns > builder->clock.error_ns)
		builder->clock.error_ns = error_ns;
}

void builder_count_bad(struct builder *builder, enum bad_reason reason, uint64_t count)
{
	struct model_receipt *receipt = &model_source(builder->model)->receipt;

	receipt->bad_records += count;
	receipt->bad_reasons[reason] += count;
}
