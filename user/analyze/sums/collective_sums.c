/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/collective_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "model/collectives.h"

void collective_sums_add_gpu(struct collective_sums *sums, const struct gpu_event *event)
{
	const struct model_collective *collective = NULL;

	if (event->op->kind == MODEL_KERNEL && event->launch)
		collective = model_collective_of_call(sums->model, event->launch);
	if (collective)
		group_add(&sums->group, (const uint32_t[2]){collective->params}, event->caller, NONE, gpu_ns(event->op),
			  0);
}

/* ---- ranks ---------------------------------------------------------------------------------------------------------
 */

/* Collectives of one kind share a row; their ranks and splits of the elements may differ. */
struct kind {
	uint32_t params;
	char *text;
};

static char *text_of(const char *params)
{
	struct collective collective;

	if (!collective_read(&collective, params))
		return xstrdup(params);
	return xasprintf("%s\n%s\n%s\n%s\n%s\n%s", collective.fields[GPT_COLLECTIVE_NAME],
			 collective.fields[GPT_COLLECTIVE_GROUP], collective.fields[GPT_COLLECTIVE_GROUP_SIZE],
			 collective.fields[GPT_COLLECTIVE_DTYPE], collective.fields[GPT_COLLECTIVE_IN_ELEMENTS],
			 collective.fields[GPT_COLLECTIVE_OUT_ELEMENTS]);
}

DEFINE_ORDER(by_text, struct kind, strcmp(a->text, b->text) ?: lower_first(a->params, b->params))

/* The sums under the first params of each kind. */
static struct tally merge_ranks(const struct model *model, const struct tally *sums)
{
	AUTO_FREE struct kind *kinds = xcalloc(sums->count, sizeof(*kinds));
	struct tally merged = {0}, first_of = {0}; /* key: params; more: the first params of its kind */
	size_t count = 0;

	for (size_t i = 0; i < sums->count; i++) {
		uint32_t params = sums->entries[i].key.part[0];
		struct tally_entry *known = tally_at(&first_of, (struct tally_key){{params}});

		if (!known->count++)
			kinds[count++] = (struct kind){params, text_of(model->strings[params])};
	}
	sort_items(kinds, count, sizeof(*kinds), by_text);
	for (size_t i = 0, first = 0; i < count; i++) {
		if (strcmp(kinds[i].text, kinds[first].text))
			first = i;
		tally_at(&first_of, (struct tally_key){{kinds[i].params}})->more = kinds[first].params;
	}
	for (size_t i = 0; i < sums->count; i++) {
		const struct tally_entry *from = &sums->entries[i];
		uint64_t first = tally_at(&first_of, (struct tally_key){{from->key.part[0]}})->more;
		struct tally_entry *to =
			tally_at(&merged, (struct tally_key){{(uint32_t)first, 0, from->key.part[2], NONE}});

		to->ns += from->ns;
		to->count += from->count;
	}
	for (size_t i = 0; i < count; i++)
		free(kinds[i].text);
	tally_free(&first_of);
	return merged;
}

void collective_sums_finish(struct collective_sums *sums, struct lines *lines)
{
	struct tally merged = merge_ranks(sums->model, &sums->group.sums.timed);

	tally_free(&sums->group.sums.timed);
	sums->group.sums.timed = merged;
	group_finish(&sums->group, lines, GROUP_BY_PARTS);
}
