/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts rows of analyses to a tree of frames. */
#include "export/profiles/profile.h"

#include <stdlib.h>

#include "analyze/analyze.h"
#include "report/why/why_words.h"

/* ---- frames, nodes: each once --------------------------------------------------------------------------------
 */

static uint32_t frame_id(struct profile *profile, const struct profile_frame *frame)
{
	/* lines are below 2^28: CPython's are, as each line takes bytes */
	struct tally_key key = {
		{frame->line << 4 | (uint32_t)frame->kind, frame->name, frame->file, frame->first_line}};
	uint32_t id = tally_number(&profile->frame_ids, key);

	if (id == profile->frames.count)
		array_push(&profile->frames, *frame);
	return id;
}

static uint32_t node_below(struct profile *profile, uint32_t parent, uint32_t frame, uint32_t layer)
{
	struct tally_key key = {{parent, frame, layer}};
	uint32_t id = tally_number(&profile->node_ids, key);

	if (id == profile->nodes.count)
		array_push(&profile->nodes, ((struct profile_node){.parent = parent, .frame = frame, .layer = layer}));
	return id;
}

struct descent {
	struct profile *profile;
	uint32_t node;
};

static void enter_frame(void *context, const struct stack_frame *frame)
{
	struct descent *descent = context;
	struct profile *profile = descent->profile;
	struct profile_frame found = {
		.kind = frame->kind,
		.name = texts_id(&profile->texts, frame->before, *frame->name ? frame->name : "?"),
		.file = texts_id(&profile->texts, "", frame->file),
		.line = frame->line,
		.first_line = frame->first_line};

	descent->node = node_below(profile, descent->node, frame_id(profile, &found), PROFILE_NO_LAYER);
}

static void add_value(struct descent *descent, enum profile_value value, uint64_t amount)
{
	struct profile *profile = descent->profile;

	profile->nodes.items[descent->node].values[value] += amount;
	profile->has[value] |= amount != 0;
}

/* From a node to that of its layer, which has the values.  place: caller_place. */
static void enter_layer(struct descent *descent, const struct model *model, uint32_t place)
{
	struct profile *profile = descent->profile;
	const struct model_module *module =
		profile->has_layers && place < CALLER_NO_FRAME ? model_innermost_module(model, place) : NULL;
	const struct profile_node *node;

	if (!module || descent->node == PROFILE_ROOT)
		return;
	node = &profile->nodes.items[descent->node];
	descent->node = node_below(profile, node->parent, node->frame,
				   texts_id(&profile->texts, "", model_module_label(module)));
}

/* ---- what is summed up ----------------------------------------------------------------------------------------------
 */

static bool is_wanted(const struct export_options *options, uint32_t process)
{
	return options->process < 0 || process == (uint32_t)options->process;
}

static void add_stacks(struct profile *profile, const struct model *model, const struct stack_sums *sums,
		       const struct export_options *options, bool of_gpu)
{
	for (size_t i = 0; i < stack_sums_count(sums); i++) {
		struct stack_row row = stack_sums_row(sums, i);
		struct descent descent = {.profile = profile, .node = PROFILE_ROOT};

		if (!is_wanted(options, row.process))
			continue;
		stack_row_frames(model, &row, enter_frame, &descent);
		enter_layer(&descent, model, row.stack);
		add_value(&descent, of_gpu ? PROFILE_GPU_NS : PROFILE_LAUNCHES, row.value);
		if (of_gpu)
			add_value(&descent, PROFILE_OPERATIONS, row.count);
	}
}

/* "waited in cudaStreamSynchronize", "[launched late]" */
static char *idle_note(const struct idle *idle, const struct idle_charge *charge)
{
	enum why_cause cause = charge->what.part[1];
	bool call = cause == WHY_SYNC || cause == WHY_ALLOC || cause == WHY_CALL;
	char *words = idle_charge_words(idle, charge), *note = call ? NULL : xasprintf("[%s]", words);

	if (call)
		return words;
	free(words);
	return note;
}

static void add_samples(struct profile *profile, const struct analyses *all, const struct export_options *options)
{
	for (size_t i = 0; i < stack_sums_count(&all->cpu_stacks); i++) {
		struct stack_row row = stack_sums_row(&all->cpu_stacks, i);
		struct descent descent = {.profile = profile, .node = PROFILE_ROOT};

		if (!is_wanted(options, row.process))
			continue;
		stack_row_frames(all->model, &row, enter_frame, &descent);
		enter_layer(&descent, all->model, row.stack);
		add_value(&descent, PROFILE_SAMPLED_NS, row.value);
		add_value(&descent, PROFILE_SAMPLES, row.count);
	}
}

static void descend_to(struct descent *descent, enum stack_frame_kind kind, const char *name)
{
	enter_frame(descent, &(struct stack_frame){.kind = kind, .before = "", .name = name, .file = ""});
}

/* The stack to blame, from its process on; without Python, the reason. */
static void descend_to_culprit(struct descent *descent, struct analyses *all, const struct idle_charge *charge)
{
	uint32_t place = charge->what.part[0];

	descend_to(descent, STACK_FRAME_PROCESS, all->model->processes[idle_charge_process(&all->idle, charge)].name);
	if (place < CALLER_NO_FRAME)
		stack_python_frames(all->model, place, enter_frame, descent);
	else
		descend_to(descent, STACK_FRAME_NOTE, all->lines.all.items[line_of(&all->lines, place)].reason);
}

static void add_idle(struct profile *profile, struct analyses *all)
{
	for (size_t i = 0; i < idle_charge_count(&all->idle); i++) {
		struct idle_charge charge = idle_charge_at(&all->idle, i);
		struct descent descent = {.profile = profile, .node = PROFILE_ROOT};
		AUTO_FREE char *note = NULL;

		if (charge.what.part[1] != WHY_SHORT) {
			descend_to_culprit(&descent, all, &charge);
			note = idle_note(&all->idle, &charge);
		}
		descend_to(&descent, STACK_FRAME_NOTE, note ? note : "[gaps under 5 us]");
		enter_layer(&descent, all->model, charge.what.part[0]);
		add_value(&descent, PROFILE_IDLE_NS, charge.ns);
	}
}

static void add_ops(struct profile *profile, const struct analyses *all, const struct export_options *options)
{
	const struct tally *sums = &all->op_stacks.sums;

	for (size_t i = 0; i < sums->count; i++) {
		const struct tally_entry *sum = &sums->entries[i];
		struct descent descent = {.profile = profile, .node = PROFILE_ROOT};
		struct stack_frame process = {.kind = STACK_FRAME_PROCESS, .before = "", .file = ""};

		if (!is_wanted(options, sum->key.part[1]))
			continue;
		process.name = all->model->processes[sum->key.part[1]].name;
		enter_frame(&descent, &process);
		stack_python_frames(all->model, sum->key.part[0], enter_frame, &descent);
		enter_layer(&descent, all->model, sum->key.part[0]);
		add_value(&descent, PROFILE_CPU_NS, sum->ns * 1000);
	}
}

static int make_profile(struct profile *profile, struct trace *trace, const struct export_options *options,
			bool has_layers)
{
	struct analyses all;
	int error = analyze(
		&all, trace,
		ANALYSES(ANALYZE_GPU_STACKS, ANALYZE_CALL_STACKS, ANALYZE_IDLE, ANALYZE_OP_STACKS, ANALYZE_CPU_STACKS),
		&options->attribution);

	*profile = (struct profile){.target = "", .has_layers = has_layers};
	texts_begin(&profile->texts);
	if (!error) {
		const struct model_source *source = model_source(all.model);

		profile->start_ns = all.model->start_ns;
		profile->end_ns = all.model->end_ns > all.model->start_ns ? all.model->end_ns : all.model->start_ns;
		profile->wall_offset_ns = source->wall_offset_ns;
		profile->target = source->target;
		profile->title = trace_title(all.model);
		add_stacks(profile, all.model, &all.gpu_stacks, options, true);
		add_stacks(profile, all.model, &all.call_stacks, options, false);
		if (options->process < 0) /* GPUs idle, not processes */
			add_idle(profile, &all);
		add_ops(profile, &all, options);
		add_samples(profile, &all, options);
	}
	analyses_free(&all);
	return error;
}

int profile_make(struct profile *profile, struct trace *trace, const struct export_options *options)
{
	return make_profile(profile, trace, options, false);
}

int profile_make_with_layers(struct profile *profile, struct trace *trace, const struct export_options *options)
{
	return make_profile(profile, trace, options, true);
}

void profile_free(struct profile *profile)
{
	array_free(&profile->frames);
	array_free(&profile->nodes);
	texts_free(&profile->texts);
	tally_free(&profile->frame_ids);
	tally_free(&profile->node_ids);
	free(profile->title);
}
