/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Feeds inputs' events about CUDA calls, agents and CUPTI's records (builder.h) to their tables. */
#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "base/generated_path.h"
#include "base/path.h"
#include "model/join/tables.h"

/*
 * An agent's clock sample further than this from the batch that brought it is not CLOCK_MONOTONIC of this
 * machine (a time namespace shifts it): the collector's samples are used instead.
 */
#define SAMPLE_AGE_MAX_NS (600ull * 1000000000)

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void note_earlier(struct builder *builder, const struct gpt_call *call)
{
	uint32_t process = process_table_find(&builder->processes, call->pid);
	uint32_t *latest = &builder->processes.states.items[process].earlier_corr;

	if (call->corr && (!*latest || (int32_t)(call->corr - *latest) > 0))
		*latest = call->corr;
}

void builder_add_enclosed_call(struct builder *builder, const struct gpt_call *call, struct new_enclosing *enclosing)
{
	/* before the start other probes were still being attached */
	if (call->time_ns < builder->model->start_ns) {
		model_source(builder->model)->began.calls_before++;
		note_earlier(builder, call);
		return;
	}
	builder_see_time(builder, call->time_ns);
	if (builder->pass == PASS_FIRST) {
		collect_call(builder, call);
		return;
	}
	calls_add(&builder->calls, call, enclosing);
	if (builder->first)
		lateness_see_call(&builder->lateness, builder_process_image(builder, call->pid).epoch, call->corr);
}

bool builder_add_call(struct builder *builder, const struct sender *none, const struct gpt_call *call)
{
	builder_add_enclosed_call(builder, call, NULL);
	return true;
}

bool builder_add_call_args(struct builder *builder, const struct sender *none, const struct gpt_call_args *call)
{
	return builder_add_call(builder, none, &call->call);
}

void builder_add_nccl_launch(struct builder *builder, uint32_t pid, uint32_t tid, struct model_collective launch,
			     struct text fields)
{
	struct process_image program = process_table_image(&builder->processes, pid);

	launch.thread = process_table_find_thread(&builder->processes, program.process, tid);
	/* Pass 1 only has to know the thread */
	if (builder->pass == PASS_FIRST || launch.launch_ns < builder->model->start_ns)
		return;
	launch.params = string_intern(&builder->strings, fields.bytes, fields.size);
	nccl_calls_add(&builder->nccl_calls, &launch);
}

bool builder_add_agent_api(struct builder *builder, const struct sender *sender, const struct gpt_agent_api *back)
{
	struct process_image program = sender->program;
	enum disposition what = disposition_of(builder, program, back->corr, SOURCE_CLOCK_MONOTONIC, 0);
	uint32_t call, thread;

	if (what == DEFER)
		defer(builder, &(struct deferred_event){.kind = DEFERRED_RETURN, .program = program, .back = *back});
	if (builder->pass == PASS_FIRST)
		collect_return(builder, program, back);
	if (what != JOIN)
		return back->corr != 0;
	call = builder->first ? NONE : calls_find(&builder->calls, program.epoch, back->corr);
	if (call != NONE) {
		thread = builder->calls.list.items[call].thread;
		if (builder->processes.threads.items[thread].tid != back->tid)
			ranges_collect_tid(&builder->ranges, program.epoch, back->tid, thread);
	}
	return calls_add_return(&builder->calls, program.epoch, back);
}

bool builder_add_agent_api_activity(struct builder *builder, const struct sender *sender,
				    const struct gpt_agent_api_activity *record)
{
	struct pending_api_activity activity = {.program = sender->program, .clock = sender->clock, .record = *record};
	enum disposition what;

	if (!api_activity_makes_sense(record))
		return false;
	collect_activity(builder, &activity);
	what = disposition_of(builder, sender->program, 0, sender->clock, record->start_wall_ns);
	if (what == DEFER)
		defer(builder, &(struct deferred_event){.kind = DEFERRED_API_ACTIVITY,
							.program = sender->program,
							.activity = activity});
	else if (what == JOIN)
		array_push(&builder->api_activities.pending, activity);
	return true;
}

/* ---- the agent and CUPTI ----------------------------------------------------------------------------------------- */

void builder_add_agent_state(struct builder *builder, struct process_image program, const struct new_agent_state *state)
{
	agents_add_state(&builder->agents, program.process, state);
}

void builder_set_agent_losses(struct builder *builder, struct process_image program,
			      const struct model_agent_losses *losses)
{
	agents_set_losses(&builder->agents, program.process, losses);
}

void builder_add_foreign_losses(struct builder *builder, const struct model_agent_losses *losses)
{
	agents_add_past(&builder->agents, losses);
}

bool builder_add_agent_clock(struct builder *builder, const struct sender *sender, const struct gpt_agent_clock *clock)
{
	struct process_state *state = &builder->processes.states.items[sender->program.process];
	struct gpt_clock sample = {
		.mono_ns = clock->mono_ns, .wall_offset_ns = clock->wall_offset_ns, .error_ns = clock->error_ns};

	if (time_distance(sender->time_ns, sample.mono_ns) > SAMPLE_AGE_MAX_NS)
		return false;
	if (builder->first)
		return true;
	if (state->clock == NONE)
		state->clock = wall_clock_add_agent(&builder->clock);
	wall_clock_add_sample(&builder->clock.agents.items[state->clock], &sample);
	return true;
}

bool builder_add_cupti_use(struct builder *builder, const struct sender *none, const struct gpt_cupti_use *use)
{
	builder_see_time(builder, use->time_ns);
	if (use->what != GPT_CUPTI_REGISTER)
		return true;
	if (builder->first)
		process_table_find(&builder->processes, use->pid);
	else
		gaps_add_registration(&builder->gaps, use->pid, use->time_ns, use->own != 0);
	return true;
}

/* "add_kernel (kernels.py:12)" */
static char *label_with_place(const char *name, const char *place)
{
	const char *base = path_base(place), *colon = strrchr(base, ':');
	AUTO_FREE char *file = xasprintf("%.*s", (int)(colon ? colon - place : 0), place);
	char *shortened = NULL, *label;

	if (colon && file_is_generated(file))
		shortened = generated_name_shorten(path_base(file), (uint32_t)strtoul(colon + 1, NULL, 10));
	label = xasprintf("%s (%s)", name, shortened ? shortened : base);
	free(shortened);
	return label;
}

void builder_add_name(struct builder *builder, struct process_image program, uint32_t key, struct text name,
		      struct text place)
{
	uint32_t string = string_intern_mangled(&builder->strings, name.bytes, name.size), second;
	AUTO_FREE char *label = NULL;

	*lookup_put(&builder->kernel_names, program.epoch, key, string) = string;
	builder->kernel_name = (struct lookup_latest){0};
	if (!place.size)
		return;
	second = string_intern(&builder->strings, place.bytes, place.size);
	*lookup_put(&builder->kernel_places, program.epoch, key, second) = second;
	label = label_with_place(string_at(&builder->strings, string), string_at(&builder->strings, second));
	second = string_intern(&builder->strings, label, strlen(label));
	*lookup_put(&builder->kernel_labels, program.epoch, key, second) = second;
}

bool builder_add_agent_graph_node(struct builder *builder, const struct sender *sender,
				  const struct gpt_agent_graph_node *node)
{
	if (!node->node || (!node->source && !node->corr))
		return false;
	if (builder->first)
		return true;
	if (node->source)
		graphs_add_clone(&builder->graphs, sender->program.epoch, node->node, node->source);
	else
		graphs_add_node(&builder->graphs, sender->program.epoch, node->node, node->corr);
	return true;
}

bool builder_add_device(struct builder *builder, struct process_image program, const struct model_device *device,
			struct text name)
{
	return device_table_add(&builder->devices, program.process, device, name);
}

bool builder_add_agent_context(struct builder *builder, const struct sender *sender,
			       const struct gpt_agent_context *context)
{
	uint32_t process = sender->program.process;

	if (!builder->first)
		device_table_add_context(&builder->devices, process, context->context, context->device);
	if (context->compute_api == GPT_AGENT_COMPUTE_API_MPS)
		builder->processes.list.items[process].mps = true;
	return true;
}

bool builder_add_agent_stream(struct builder *builder, const struct sender *sender,
			      const struct gpt_agent_stream *stream)
{
	if (!builder->first)
		device_table_add_stream(&builder->devices, sender->program.epoch, stream);
	return true;
}
