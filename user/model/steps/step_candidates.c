/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/steps/step_candidates.h"

void step_candidates_begin(struct step_candidates *all, const struct model *model)
{
	*all = (struct step_candidates){0};
	for (uint32_t i = 0; i < model->process_count; i++)
		array_push(&all->first_ns, UINT64_MAX);
}

void step_candidates_free(struct step_candidates *all)
{
	for (size_t i = 0; i < all->list.count; i++)
		array_free(&all->list.items[i].list);
	array_free(&all->list);
	array_free(&all->first_ns);
	tally_free(&all->keys);
}

struct step_candidate *step_candidate_at(struct step_candidates *all, enum step_source source,
					 const struct model *model, uint32_t thread)
{
	struct tally_entry *entry = tally_at(&all->keys, (struct tally_key){{source, thread}});

	if (!entry->more) {
		array_push(&all->list, ((struct step_candidate){.source = source,
								.process = model->threads[thread].process,
								.thread = thread,
								.around_until_ns = UINT64_MAX,
								.name = NONE}));
		entry->more = all->list.count;
	}
	return &all->list.items[entry->more - 1];
}

static void keep_step(struct step_candidates *all, struct step_candidate *candidate, struct step step)
{
	candidate->seen++;
	if (all->kept == STEPS_MAX)
		return;
	array_push(&candidate->list, step);
	all->kept++;
}

/* The latest step, NULL: none, or it was not kept. */
static struct step *latest_step(struct step_candidate *candidate)
{
	return candidate->list.count && candidate->list.count == candidate->seen
		       ? &candidate->list.items[candidate->list.count - 1]
		       : NULL;
}

void step_is(struct step_candidates *all, struct step_candidate *candidate, struct step step)
{
	candidate->last_end_ns = step.end_ns;
	keep_step(all, candidate, step);
}

void step_ends(struct step_candidates *all, struct step_candidate *candidate, uint64_t time_ns)
{
	keep_step(all, candidate,
		  (struct step){.start_ns = candidate->last_end_ns, .end_ns = time_ns, .number = candidate->seen});
	candidate->last_end_ns = time_ns;
}

void step_begins(struct step_candidates *all, struct step_candidate *candidate, uint64_t start_ns, uint64_t end_ns)
{
	struct step *before = latest_step(candidate);

	if (before)
		before->end_ns = start_ns;
	keep_step(all, candidate, (struct step){.start_ns = start_ns, .end_ns = end_ns, .number = candidate->seen});
	candidate->last_end_ns = end_ns;
}

void step_lasts(struct step_candidate *candidate, uint64_t end_ns)
{
	struct step *step = latest_step(candidate);

	if (step)
		step->end_ns = end_ns;
	candidate->last_end_ns = end_ns;
}

/* If boundaries are ends, a single one does not show how long a step takes. */
static uint64_t least_steps(enum step_source source)
{
	return source == STEP_OPTIMIZER || source == STEP_BACKWARD ? 2 : 1;
}

void step_candidates_choose(const struct step_candidates *all, enum step_source source, struct step_candidate **best)
{
	for (size_t i = 0; i < all->list.count; i++) {
		struct step_candidate *candidate = &all->list.items[i], **chosen = &best[candidate->process];

		if (candidate->source != source || candidate->seen < least_steps(source))
			continue;
		if (!*chosen || ((*chosen)->source == source && candidate->seen > (*chosen)->seen))
			*chosen = candidate;
	}
}
