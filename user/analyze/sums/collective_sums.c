/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/collective_sums.h"

#include <stdlib.h>
#include <string.h>

#include "model/collectives.h"

void collective_sums_free(struct collective_sums *sums)
{
	tally_free(&sums->callers);
	free(sums->rows);
}

void collective_sums_add_gpu(struct collective_sums *sums, const struct gpu_event *event)
{
	const struct model_collective *collective = NULL;
	struct tally_entry *sum;

	if (event->op->kind == MODEL_KERNEL && event->launch)
		collective = model_collective_of_call(sums->model, event->launch);
	if (!collective)
		return;
	sum = tally_at(&sums->callers, (struct tally_key){{collective->params, event->caller}});
	sum->ns += gpu_ns(event->op);
	sum->count++;
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

static int by_text(const void *left, const void *right)
{
	const struct kind *a = left, *b = right;
	int order = strcmp(a->text, b->text);

	return order ? order : (a->params > b->params) - (a->params < b->params);
}

/* The sums under the first params of each kind. */
static struct tally merge_ranks(const struct collective_sums *sums)
{
	struct kind *kinds = xcalloc(sums->callers.count, sizeof(*kinds));
	struct tally merged = {0}, first_of = {0}; /* key: params; more: the first params of its kind */
	size_t count = 0;

	for (size_t i = 0; i < sums->callers.count; i++) {
		uint32_t params = sums->callers.entries[i].key.part[0];
		struct tally_entry *known = tally_at(&first_of, (struct tally_key){{params}});

		if (!known->count++)
			kinds[count++] = (struct kind){params, text_of(sums->model->strings[params])};
	}
	if (count)
		qsort(kinds, count, sizeof(*kinds), by_text);
	for (size_t i = 0, first = 0; i < count; i++) {
		if (strcmp(kinds[i].text, kinds[first].text))
			first = i;
		tally_at(&first_of, (struct tally_key){{kinds[i].params}})->more = kinds[first].params;
	}
	for (size_t i = 0; i < sums->callers.count; i++) {
		const struct tally_entry *from = &sums->callers.entries[i];
		uint64_t first = tally_at(&first_of, (struct tally_key){{from->key.part[0]}})->more;
		struct tally_entry *to = tally_at(&merged, (struct tally_key){{(uint32_t)first, from->key.part[1]}});

		to->ns += from->ns;
		to->count += from->count;
	}
	for (size_t i = 0; i < count; i++)
		free(kinds[i].text);
	free(kinds);
	tally_free(&first_of);
	return merged;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------
 */

static int by_time(const void *left, const void *right)
{
	const struct collective_row *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return (a->params > b->params) - (a->params < b->params);
}

void collective_sums_finish(struct collective_sums *sums, struct lines *lines)
{
	struct tally merged = merge_ranks(sums), by_line = tally_by_line(lines, &merged, 1);
	struct tally rows = {0}; /* key: params; ns: of the line with most, more: index of the row + 1 */

	sums->rows = xcalloc(by_line.count, sizeof(*sums->rows));
	for (size_t i = 0; i < by_line.count; i++) {
		const struct tally_entry *line = &by_line.entries[i];
		struct tally_entry *entry = tally_at(&rows, (struct tally_key){{line->key.part[0]}});
		struct collective_row *row;

		if (!entry->more)
			entry->more = ++sums->count;
		row = &sums->rows[entry->more - 1];
		if (!row->count || line->ns > entry->ns) {
			entry->ns = line->ns;
			row->line = line->key.part[1];
		}
		row->params = line->key.part[0];
		row->ns += line->ns;
		row->count += line->count;
	}
	if (sums->count)
		qsort(sums->rows, sums->count, sizeof(*sums->rows), by_time);
	tally_free(&rows);
	tally_free(&by_line);
	tally_free(&merged);
}
