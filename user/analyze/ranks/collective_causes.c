/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/collective_causes.h"

#include <stdlib.h>

#include "base/order.h"

#define PARTS_MAX (1u << 20)

void collective_causes_take(void *context, uint32_t device, const struct idle_part *parts, size_t count)
{
	struct collective_causes *causes = context;

	if (causes->parts.count + count > PARTS_MAX || causes->left_out_from_ns) {
		if (count && (!causes->left_out_from_ns || parts->from_ns < causes->left_out_from_ns))
			causes->left_out_from_ns = parts->from_ns;
		return;
	}
	for (size_t i = 0; i < count; i++)
		array_push(&causes->parts,
			   ((struct gap_part){parts[i].from_ns, parts[i].to_ns, device, parts[i].charge}));
}

DEFINE_ORDER(by_end, struct gap_part, least_first(a->device, b->device) ?: least_first(a->to_ns, b->to_ns))

static struct collective_cause cause_of(struct rank_texts *texts, struct idle *idle, const struct gap_part *part)
{
	struct collective_cause cause = {
		.from_ns = part->from_ns, .to_ns = part->to_ns, .cause = WHY_UNSEEN, .line = NONE};
	struct idle_charge charge;
	size_t first;

	if (!idle_charges_of(idle, part->charge, &first))
		return cause;
	charge = idle_charge_at(idle, first);
	cause.cause = charge.what.part[1];
	if (cause.cause < WHY_LOSSES)
		cause.line = rank_texts_keep_of_line(
			texts, line_of(texts->lines, idle_caller_of_place(idle, charge.what.part[0])));
	return cause;
}

/* last: the part that ends as the kernel begins. */
static void set_kernel_cause(struct rank_texts *texts, struct idle *idle, const struct gap_part *parts,
			     const struct gap_part *last, struct collective_kernels *kernels,
			     struct collective_kernel *kernel)
{
	kernel->first_cause = (uint32_t)kernels->causes.list.count;
	for (const struct gap_part *part = last; kernel->causes < CAUSES_MAX; part--) {
		array_push(&kernels->causes.list, cause_of(texts, idle, part));
		kernel->causes++;
		if (part == parts || part[-1].device != part->device || part[-1].to_ns != part->from_ns)
			break;
	}
}

void collective_causes_apply(struct collective_causes *causes, struct idle *idle, struct lines *lines,
			     struct collective_kernels *kernels)
{
	struct rank_texts texts = {.kept = &kernels->texts, .model = idle->model, .lines = lines};
	struct gap_part *parts = causes->parts.items;

	kernels->causes_until_ns = causes->left_out_from_ns ? causes->left_out_from_ns : UINT64_MAX;
	if (!causes->parts.count)
		return;
	qsort(parts, causes->parts.count, sizeof(*parts), by_end);
	array_each (of, &kernels->processes.list) {
		array_each (kernel, &of->kernels.list) {
			struct gap_part wanted = {.device = kernel->device, .to_ns = kernel->start_ns};
			struct gap_part *last = bsearch(&wanted, parts, causes->parts.count, sizeof(wanted), by_end);

			if (last)
				set_kernel_cause(&texts, idle, parts, last, kernels, kernel);
		}
	}
	rank_texts_free(&texts);
}

void collective_causes_free(struct collective_causes *causes)
{
	array_free(&causes->parts);
}
