/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Feeds inputs' events about CUDA calls, agents and CUPTI's records (builder.h) to their tables. */
#include <stdlib.h>
#include <string.h>

#include "base/generated_path.h"
#include "base/path.h"
#include "model/join/tables.h"

/*
 * An agent's clock sample further than this from the batch that brought it is not CLOCK_MONOTONIC of this
 * machine (a time namespace shifts it): the collector's samples are used instead.
 */
#define SAMPLE_AGE_MAX_NS (600ull * 1000000000)

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void note_earlier(struct builder *builder, const struct new_call *call)
{
	uint32_t process = process_table_find(&builder->processes, call->pid);
	uint32_t *latest = &builder->processes.states.items[process].earlier_corr;

	if (call->corr && (!*latest || (int32_t)(call->corr - *latest) > 0))
		*latest = call->corr;
}

void builder_add_call(struct builder *builder, const struct new_call *call)
{
	/* before the start other probes were still being attached */
	if (call->time_ns < builder->model->start_ns) {
		note_earlier(builder, call);
		return;
	}
	builder_see_time(builder, call->time_ns);
	if (builder->pass == PASS_FIRST) {
		collect_call(builder, call);
		return;
	}
	calls_add(&builder->calls, call);
	if (builder->first)
		lateness_see_call(&builder->lateness, builder_process_image(builder, call->pid).epoch, call->corr);
}

void builder_add_nccl_launch(struct builder *builder, const struct new_nccl_launch *launch)
{
	struct process_image program = process_table_image(&builder->processes, launch->pid);
	uint32_t thread = process_table_find_thread(&builder->processes, program.process, launch->tid);

	/* Pass 1 only has to know the thread */
	if (builder->pass == PASS_FIRST || launch->time_ns < builder->model->start_ns)
		return;
	nccl_calls_add(&builder->nccl_calls,
		       &(struct model_collective){
			       .launch_ns = launch->time_ns,
			       .thread = thread,
			       .sequence = launch->sequence,
			       .params = string_intern(&builder->strings, launch->fields.bytes, launch->fields.size),
		       });
}

bool builder_add_return(struct builder *builder, struct process_image program, const struct new_return *back)
{
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

bool builder_add_api_activity(struct builder *builder, struct process_image program,
			      const struct new_api_activity *activity)
{
	enum disposition what;

	if (!api_activity_makes_sense(activity))
		return false;
	collect_activity(builder, program, activity);
	what = disposition_of(builder, program, 0, activity->clock, activity->span.start_ns);
	if (what == DEFER)
		defer(builder, &(struct deferred_event){
				       .kind = DEFERRED_API_ACTIVITY, .program = program, .activity = *activity});
	else if (what == JOIN)
		api_activities_add(&builder->api_activities, program, activity);
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

bool builder_add_agent_clock_sample(struct builder *builder, struct process_image program, uint64_t reported_ns,
				    struct clock_sample sample)
{
	struct process_state *state = &builder->processes.states.items[program.process];
	uint64_t age = reported_ns > sample.mono_ns ? reported_ns - sample.mono_ns : sample.mono_ns - reported_ns;

	if (age > SAMPLE_AGE_MAX_NS)
		return false;
	if (builder->first)
		return true;
	if (state->clock == NONE)
		state->clock = wall_clock_add_agent(&builder->clock);
	wall_clock_add_sample(&builder->clock.agents.items[state->clock], sample);
	return true;
}

void builder_add_registration(struct builder *builder, uint32_t pid, uint64_t time_ns, bool own)
{
	if (builder->first)
		process_table_find(&builder->processes, pid);
	else
		gaps_add_registration(&builder->gaps, pid, time_ns, own);
}

/* "add_kernel (kernels.py:12)" */
static char *kernel_label(const char *name, const char *place)
{
	const char *base = path_base(place), *colon = strrchr(base, ':');
	char *file = xasprintf("%.*s", (int)(colon ? colon - place : 0), place), *shortened = NULL, *label;

	if (colon && file_is_generated(file))
		shortened = generated_name_shorten(path_base(file), (uint32_t)strtoul(colon + 1, NULL, 10));
	label = xasprintf("%s (%s)", name, shortened ? shortened : base);
	free(shortened);
	free(file);
	return label;
}

void builder_add_name(struct builder *builder, struct process_image program, uint32_t key, struct text name,
		      struct text place)
{
	uint32_t string = string_intern_mangled(&builder->strings, name.bytes, name.size), second;
	char *label;

	*lookup_put(&builder->kernel_names, program.epoch, key, string) = string;
	builder->kernel_name = (struct lookup_latest){0};
	if (!place.size)
		return;
	second = string_intern(&builder->strings, place.bytes, place.size);
	*lookup_put(&builder->kernel_places, program.epoch, key, second) = second;
	label = kernel_label(string_at(&builder->strings, string), string_at(&builder->strings, second));
	second = string_intern(&builder->strings, label, strlen(label));
	*lookup_put(&builder->kernel_labels, program.epoch, key, second) = second;
	free(label);
}

void builder_add_graph_node(struct builder *builder, struct process_image program, uint64_t node, uint32_t corr)
{
	if (!builder->first)
		graphs_add_node(&builder->graphs, program.epoch, node, corr);
}

void builder_add_graph_clone(struct builder *builder, struct process_image program, uint64_t node, uint64_t source)
{
	if (!builder->first)
		graphs_add_clone(&builder->graphs, program.epoch, node, source);
}

bool builder_add_device(struct builder *builder, struct process_image program, const struct new_device *device)
{
	return device_table_add(&builder->devices, program.process, device);
}

void builder_add_context(struct builder *builder, struct process_image program, uint32_t context, uint32_t device,
			 bool mps)
{
	if (!builder->first)
		device_table_add_context(&builder->devices, program.process, context, device);
	if (mps)
		builder->processes.list.items[program.process].mps = true;
}

void builder_add_stream(struct builder *builder, struct process_image program, const struct new_stream *stream)
{
	if (!builder->first)
		device_table_add_stream(&builder->devices, program.epoch, stream);
}
