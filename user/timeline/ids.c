/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether CUPTI's correlation ids can stay as they are: they are all different, and leave room for those of our own. */
#include "timeline/ids.h"

#include <stdlib.h>

#include "base/array.h"
#include "timeline/members.h"

/* Correlation ids of one process are close together; a wider range is not worth a bitmap (32 MiB). */
#define CORRELATION_RANGE_MAX (1u << 28)

/* The bitmap of those that were met comes in pages: nobody knows before which range they span. */
#define PAGE_BITS 19u
#define PAGES (1u << (32 - PAGE_BITS))

struct correlations {
	uint32_t lowest, highest; /* lowest > highest: there is none */
	bool repeated;		  /* two calls have one, or the range is too wide to tell */
	uint64_t *pages[PAGES];
};

static void free_pages(struct correlations *met)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		free(met->pages[i]);
		met->pages[i] = NULL;
	}
}

static void note(struct correlations *met, uint32_t corr)
{
	uint32_t at = corr & ((1u << PAGE_BITS) - 1);
	uint64_t **page = &met->pages[corr >> PAGE_BITS];

	if (corr < met->lowest)
		met->lowest = corr;
	if (corr > met->highest)
		met->highest = corr;
	if (met->repeated)
		return;
	if (met->highest - met->lowest >= CORRELATION_RANGE_MAX) {
		met->repeated = true;
		free_pages(met);
		return;
	}
	if (!*page)
		*page = xcalloc((1u << PAGE_BITS) / 64, sizeof(**page));
	met->repeated = (*page)[at / 64] >> (at % 64) & 1;
	(*page)[at / 64] |= 1ull << (at % 64);
}

void timeline_ids_add(struct timeline_ids *ids, const struct timeline *timeline)
{
	const struct model *model = timeline->model;
	uint32_t end = due_end(&model->calls_due, model->call_count);

	if (!ids->met) {
		ids->met = xcalloc(1, sizeof(*ids->met));
		ids->met->lowest = UINT32_MAX;
	}
	for (uint32_t i = model->calls_due.from; i < end; i++)
		if (model->calls[i].corr && timeline_has_call(timeline, &model->calls[i]))
			note(ids->met, model->calls[i].corr);
	if (end > model->calls_due.from)
		ids->calls = model->calls[end - 1].number + 1;
	ids->operations += due_end(&model->gpu_due, model->gpu_count) - model->gpu_due.from;
	ids->syncs += due_end(&model->syncs_due, model->sync_count) - model->syncs_due.from;
}

void timeline_ids_finish(struct timeline_ids *ids, bool several)
{
	uint64_t highest = ids->met->highest;

	ids->renumbered =
		several || ids->met->repeated || highest + ids->calls + ids->operations + ids->syncs > INT32_MAX;
	ids->first_free = ids->renumbered ? 1 : highest + 1;
	timeline_ids_free(ids);
}

void timeline_ids_free(struct timeline_ids *ids)
{
	if (ids->met)
		free_pages(ids->met);
	free(ids->met);
	ids->met = NULL;
}
