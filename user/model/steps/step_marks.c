/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/steps/step_marks.h"

#include <string.h>

#include "base/lookup.h"
#include "model/steps/step_functions.h"

#define NOT_LOOKED_AT UINT64_MAX

void step_marks_begin(struct step_marks *all, struct step_candidates *candidates, struct step_backwards *backwards,
		      const struct step_request *request, const struct model *model)
{
	*all = (struct step_marks){.candidates = candidates, .backwards = backwards, .request = request};
	for (uint32_t i = 0; i < model->thread_count; i++) {
		array_push(&all->under, 0);
		array_push(&all->open, (struct open_ops){});
	}
	for (uint32_t i = 0; i < model->process_count; i++)
		array_push(&all->bursts, ((struct step_burst){.thread = NONE}));
}

void step_marks_free(struct step_marks *all)
{
	for (size_t i = 0; i < all->open.count; i++)
		array_free(&all->open.items[i].list);
	array_free(&all->open);
	array_free(&all->under);
	array_free(&all->around);
	array_free(&all->bursts);
}

static bool is_requested(const struct step_marks *all, enum step_source source)
{
	return all->request->source == source || (all->request->source == STEP_FITTING && source <= STEP_BACKWARD);
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

bool step_profiler_number(const char *name, uint64_t *number)
{
	static const char step[] = "ProfilerStep#";
	size_t digits;

	if (!begins_with(name, step))
		return false;
	name += sizeof(step) - 1;
	digits = strspn(name, "0123456789");
	*number = strtoull(name, NULL, 10);
	return digits && digits < 19 && !name[digits];
}

/* If ops nest deeper than this, it is not known whether steps nest with them. */
#define OPEN_MAX 1024u

static void enter_op(struct step_marks *all, const struct model_op *op)
{
	struct open_ops *open = &all->open.items[op->thread];

	while (open->list.count && open->list.items[open->list.count - 1].end_ns <= op->start_ns)
		open->list.count--;
	if (open->list.count < OPEN_MAX)
		array_push(&open->list, ((struct open_op){.start_ns = op->start_ns, .end_ns = op->end_ns}));
}

/* Updates candidate->nests for a boundary of the op entered last. */
static void look_at_nesting(const struct step_marks *all, struct step_candidate *candidate, uint64_t boundary_ns)
{
	const struct open_ops *open = &all->open.items[candidate->thread];

	if (!candidate->first_ns) {
		candidate->first_ns = boundary_ns;
		candidate->nests = true;
	}
	if (open->list.count == OPEN_MAX)
		candidate->nests = false;
	for (size_t i = 0; i + 1 < open->list.count && open->list.items[i].end_ns > boundary_ns; i++) {
		if (open->list.items[i].start_ns > candidate->first_ns)
			candidate->nests = false;
		else if (open->list.items[i].end_ns < candidate->around_until_ns)
			candidate->around_until_ns = open->list.items[i].end_ns;
	}
}

static void add_optimizer(struct step_marks *all, const struct model *part, const struct model_op *op)
{
	struct step_candidate *candidate = step_candidate_at(all->candidates, STEP_OPTIMIZER, part, op->thread);

	if (candidate->name == NONE)
		candidate->name = op->name;
	/* skips an optimizer called by another one, and a second one in a step */
	if (op->truncated || op->start_ns < candidate->last_end_ns || op->name != candidate->name)
		return;
	look_at_nesting(all, candidate, op->end_ns);
	step_ends(all->candidates, candidate, op->end_ns);
}

static bool has_name(const struct step_request *request, const char *name)
{
	size_t length = strlen(request->name);

	if (length && request->name[length - 1] == '*')
		return !strncmp(name, request->name, length - 1);
	return !strcmp(name, request->name);
}

/* The candidate, if a step can begin with this op; NULL: the op is inside the latest one. */
static struct step_candidate *begin_at(struct step_marks *all, enum step_source source, const struct model *part,
				       const struct model_op *op)
{
	struct step_candidate *candidate = step_candidate_at(all->candidates, source, part, op->thread);

	if (op->start_ns < candidate->last_end_ns)
		return NULL;
	look_at_nesting(all, candidate, op->start_ns);
	return candidate;
}

static void add_named_op(struct step_marks *all, const struct model *part, const struct model_op *op)
{
	const char *name = part->strings[op->name];
	struct step_candidate *candidate;
	uint64_t number;

	if (is_requested(all, STEP_PROFILER) && step_profiler_number(name, &number)) {
		candidate = begin_at(all, STEP_PROFILER, part, op);
		if (candidate)
			step_is(all->candidates, candidate,
				(struct step){.start_ns = op->start_ns, .end_ns = op->end_ns, .number = number});
	}
	if (is_requested(all, STEP_OPTIMIZER) && begins_with(name, "Optimizer.step#"))
		add_optimizer(all, part, op);
	if (is_requested(all, STEP_RANGE) && has_name(all->request, name)) {
		candidate = begin_at(all, STEP_RANGE, part, op);
		if (candidate)
			step_begins(all->candidates, candidate, op->start_ns, op->end_ns);
	}
}

static void add_ops(struct step_marks *all, const struct model *part)
{
	bool backward = is_requested(all, STEP_BACKWARD);

	for (uint32_t i = 0; i < part->op_count; i++) {
		const struct model_op *op = &part->ops[i];

		if (op->continued || op->overlaps)
			continue;
		step_candidates_saw(all->candidates, part->threads[op->thread].process, op->start_ns);
		enter_op(all, op);
		if (op->scope == GPT_AGENT_OP_USER_SCOPE && op->name != NONE)
			add_named_op(all, part, op);
		else if (backward)
			step_backwards_add_op(all->backwards, part, op);
	}
}

/* ---- spans that may continue in the next part -------------------------------------------------------------------- */

/* The end of an open span is not known yet. */
static void add_span(struct step_marks *all, const struct model *part, enum step_source source,
		     const struct model_span *span)
{
	struct step_candidate *candidate = step_candidate_at(all->candidates, source, part, span->thread);
	uint64_t end_ns = span->kind == MODEL_SPAN_MARK ? span->start_ns : span->end_ns;

	if (span->continued) {
		if (candidate->open == 1 + span->number)
			step_lasts(candidate, end_ns);
		return;
	}
	if (span->before || span->start_ns < candidate->last_end_ns) /* its start was not seen */
		return;
	step_begins(all->candidates, candidate, span->start_ns, end_ns);
	candidate->open = 1 + span->number;
}

static void add_ranges(struct step_marks *all, const struct model *part)
{
	if (!is_requested(all, STEP_RANGE))
		return;
	for (uint32_t i = 0; i < part->range_count; i++) {
		const struct model_span *range = &part->ranges[i];

		step_candidates_saw(all->candidates, part->threads[range->thread].process, range->start_ns);
		if (range->name != NONE && has_name(all->request, part->strings[range->name]))
			add_span(all, part, STEP_RANGE, range);
	}
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void add_traced_functions(struct step_marks *all, const struct model *part)
{
	for (uint32_t i = 0; i < part->pycall_count; i++)
		if (step_is_function(all->request, &part->codes[part->pycalls[i].code]))
			add_span(all, part, STEP_FUNCTION, &part->pycalls[i]);
}

/*
 * A hash of the frames around the function's outermost frame, which distinguishes its runs; 0: it is not on the stack.
 */
static uint64_t look_around(const struct step_request *request, const struct model *part,
			    const struct model_stack *stack)
{
	uint64_t around = 0;

	for (uint32_t i = stack->depth; i-- > 0;) {
		uint32_t frame = part->stack_frames[stack->first + i];

		if (step_is_function(request, &part->codes[part->frames[frame].code]))
			return around >> 1 | 1;
		around = hash_bytes(around, &frame, sizeof(frame));
	}
	return 0;
}

static uint64_t around_function(struct step_marks *all, const struct model *part, uint32_t stack)
{
	while (all->around.count <= stack)
		array_push(&all->around, NOT_LOOKED_AT);
	if (all->around.items[stack] == NOT_LOOKED_AT)
		all->around.items[stack] = look_around(all->request, part, &part->stacks[stack]);
	return all->around.items[stack];
}

/* A Python stack of a thread at some time: from a CUDA call, a sample or a wait. */
struct seen_stack {
	uint64_t start_ns, end_ns;
	uint32_t thread, stack;
	uint8_t stack_state;
};

static void add_seen(struct step_marks *all, const struct model *part, const struct seen_stack *seen_stack)
{
	const struct model_thread *thread = &part->threads[seen_stack->thread];
	uint64_t *under = &all->under.items[seen_stack->thread];
	uint64_t around, start_ns, end_ns;
	struct step_candidate *candidate;

	/* frames of an inherited stack run on another thread */
	if (thread->pycalls || thread->pycalls_elsewhere || seen_stack->stack == NONE ||
	    seen_stack->stack_state == GPT_STACK_BACKWARD)
		return;
	around = around_function(all, part, seen_stack->stack);
	if (around) {
		candidate = step_candidate_at(all->candidates, STEP_FUNCTION, part, seen_stack->thread);
		candidate->from_stacks = true;
		/* a wait or a sample in a call ends before it */
		start_ns =
			seen_stack->start_ns > candidate->last_end_ns ? seen_stack->start_ns : candidate->last_end_ns;
		end_ns = seen_stack->end_ns > candidate->last_end_ns ? seen_stack->end_ns : candidate->last_end_ns;
		if (around == *under)
			step_lasts(candidate, end_ns);
		else
			step_begins(all->candidates, candidate, start_ns, end_ns);
	}
	*under = around;
}

static struct seen_stack seen_in_call(const struct model_call *call)
{
	return (struct seen_stack){.start_ns = call->start_ns,
				   .end_ns = call->end_ns > call->start_ns ? call->end_ns : call->start_ns,
				   .thread = call->thread,
				   .stack = call->stack,
				   .stack_state = call->stack_state};
}

/* The next sample and wait of a part. */
struct seen_activity {
	uint32_t sample, wait;
};

/*
 * Adds samples and waits up to until_ns.  A wait can be ordered by its end, as its thread does nothing else meanwhile.
 */
static void add_activity(struct step_marks *all, const struct model *part, struct seen_activity *seen,
			 uint64_t until_ns)
{
	uint32_t samples = in_part_end(&part->samples_in_part, part->sample_count);
	uint32_t waits = in_part_end(&part->waits_in_part, part->wait_count);

	for (;;) {
		const struct model_sample *sample = seen->sample < samples ? &part->samples[seen->sample] : NULL;
		const struct model_wait *wait = seen->wait < waits ? &part->waits[seen->wait] : NULL;

		if (sample && sample->time_ns < until_ns && (!wait || sample->time_ns <= wait->end_ns)) {
			seen->sample++;
			add_seen(all, part,
				 &(struct seen_stack){.start_ns = sample->time_ns,
						      .end_ns = sample->time_ns,
						      .thread = sample->thread,
						      .stack = sample->stack,
						      .stack_state = sample->stack_state});
		} else if (wait && wait->end_ns <= until_ns) {
			seen->wait++;
			add_seen(all, part,
				 &(struct seen_stack){.start_ns = wait->start_ns,
						      .end_ns = wait->end_ns,
						      .thread = wait->thread,
						      .stack = wait->stack,
						      .stack_state = wait->stack_state});
		} else {
			return;
		}
	}
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void add_calls(struct step_marks *all, const struct model *part)
{
	bool functions = is_requested(all, STEP_FUNCTION), backward = is_requested(all, STEP_BACKWARD);
	struct seen_activity seen = {.sample = part->samples_in_part.from, .wait = part->waits_in_part.from};

	for (uint32_t i = part->calls_in_part.from; i < in_part_end(&part->calls_in_part, part->call_count); i++) {
		const struct model_call *call = &part->calls[i];
		struct seen_stack seen_stack = seen_in_call(call);

		step_candidates_saw(all->candidates, part->threads[call->thread].process, call->start_ns);
		if (functions) {
			add_activity(all, part, &seen, call->start_ns);
			add_seen(all, part, &seen_stack);
		}
		if (backward)
			step_backwards_add_call(all->backwards, part, call);
	}
	if (functions)
		add_activity(all, part, &seen, UINT64_MAX);
}

/* ---- bursts of GPU work ------------------------------------------------------------------------------------------ */

static void add_gpu(struct step_marks *all, const struct model *part, const struct model_gpu *op)
{
	struct step_burst *burst = &all->bursts.items[op->process];
	struct step_candidate *candidate;
	bool first = burst->thread == NONE;

	if (first && op->call != NONE)
		burst->thread = part->calls[op->call].thread;
	if (burst->thread == NONE)
		return;
	candidate = step_candidate_at(all->candidates, STEP_BURST, part, burst->thread);
	if (first || (op->start_ns > burst->end_ns && op->start_ns - burst->end_ns > all->request->gap_ns))
		step_begins(all->candidates, candidate, op->start_ns, op->end_ns);
	else if (op->end_ns > burst->end_ns)
		step_lasts(candidate, op->end_ns);
	if (op->end_ns > burst->end_ns)
		burst->end_ns = op->end_ns;
}

static void add_bursts(struct step_marks *all, const struct model *part)
{
	for (uint32_t i = part->gpu_in_part.from; i < in_part_end(&part->gpu_in_part, part->gpu_count); i++)
		if (part->gpu[i].start_ns && part->gpu[i].end_ns > part->gpu[i].start_ns) /* it has times */
			add_gpu(all, part, &part->gpu[i]);
}

/* ------------------------------------------------------------------------------------------------------------------ */

void step_marks_add_part(struct step_marks *all, const struct model *part)
{
	add_ops(all, part);
	add_ranges(all, part);
	if (is_requested(all, STEP_FUNCTION))
		add_traced_functions(all, part);
	add_calls(all, part);
	if (is_requested(all, STEP_BURST))
		add_bursts(all, part);
	step_backwards_end_part(all->backwards, part);
}
