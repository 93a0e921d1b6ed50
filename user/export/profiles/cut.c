/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A parent precedes its children, and has at least their sum: what is kept is a tree. */
#include "export/profiles/cut.h"

#include <string.h>

#define GONE UINT32_MAX

/* For each node with all below it: the largest share that it has of any value. */
static double *shares_of(const struct profile *profile)
{
	size_t count = profile->nodes.count;
	double *sums = xcalloc(count, sizeof(*sums)), *shares = xcalloc(count, sizeof(*shares));

	for (enum profile_value value = 0; value < PROFILE_VALUES; value++) {
		double whole = 0;

		for (size_t i = 0; i < count; i++)
			sums[i] = (double)profile->nodes.items[i].values[value];
		for (size_t i = count; i-- > 0;) {
			uint32_t parent = profile->nodes.items[i].parent;

			if (parent == PROFILE_ROOT)
				whole += sums[i];
			else
				sums[parent] += sums[i];
		}
		for (size_t i = 0; i < count && whole > 0; i++)
			if (sums[i] / whole > shares[i])
				shares[i] = sums[i] / whole;
	}
	free(sums);
	return shares;
}

static size_t count_above(const double *shares, size_t count, double least)
{
	size_t above = 0;

	for (size_t i = 0; i < count; i++)
		above += shares[i] >= least;
	return above;
}

/* The least share that leaves at most `most` nodes: a power of two; above 1 it leaves none. */
static double least_share(const double *shares, size_t count, size_t most)
{
	double least = 0x1p-64;

	while (least < 4 && count_above(shares, count, least) > most)
		least *= 2;
	return least;
}

static void add_values(struct profile_node *to, const struct profile_node *from)
{
	for (enum profile_value value = 0; value < PROFILE_VALUES; value++)
		to->values[value] += from->values[value];
}

/* Compacts the nodes; values of dropped nodes without a parent go to *rest.  Returns whether there are any. */
static bool drop_nodes(struct profile *profile, const double *shares, double least, struct profile_node *rest)
{
	uint32_t *moved = xcalloc(profile->nodes.count, sizeof(*moved)), kept = 0;
	struct profile_node *nodes = profile->nodes.items;
	bool any = false;

	for (size_t i = 0; i < profile->nodes.count; i++) {
		struct profile_node node = nodes[i];
		uint32_t parent = node.parent == PROFILE_ROOT ? GONE : moved[node.parent];

		if (shares[i] >= least) {
			moved[i] = kept;
			node.parent = node.parent == PROFILE_ROOT ? PROFILE_ROOT : parent;
			nodes[kept++] = node;
		} else {
			moved[i] = parent; /* its children go to its parent, too */
			any = any || parent == GONE;
			add_values(parent == GONE ? rest : &nodes[parent], &node);
		}
	}
	profile->nodes.count = kept;
	free(moved);
	return any;
}

static uint32_t text_again(struct texts *texts, const struct profile *profile, uint32_t text)
{
	return texts_id(texts, "", profile_text(profile, text));
}

/* Keeps only the frames and texts that are still used. */
static void drop_unused(struct profile *profile)
{
	uint32_t *moved = xmalloc((profile->frames.count + 1) * sizeof(*moved)), kept = 0;
	AUTO_FREE struct profile_frame *frames = xcalloc(profile->frames.count + 1, sizeof(*frames));
	struct texts texts;

	texts_begin(&texts);
	memset(moved, 0xff, (profile->frames.count + 1) * sizeof(*moved));
	for (size_t i = 0; i < profile->nodes.count; i++) {
		uint32_t *to = &moved[profile->nodes.items[i].frame];

		if (*to == GONE) {
			struct profile_frame frame = profile->frames.items[profile->nodes.items[i].frame];

			frame.name = text_again(&texts, profile, frame.name);
			frame.file = text_again(&texts, profile, frame.file);
			frames[kept] = frame;
			*to = kept++;
		}
		profile->nodes.items[i].frame = *to;
	}
	if (kept)
		memcpy(profile->frames.items, frames, kept * sizeof(*frames));
	profile->frames.count = kept;
	texts_free(&profile->texts);
	profile->texts = texts;
	free(moved);
}

static void add_rest(struct profile *profile, struct profile_node *rest)
{
	rest->parent = PROFILE_ROOT;
	rest->frame = (uint32_t)profile->frames.count;
	array_push(&profile->frames, ((struct profile_frame){
					     .kind = STACK_FRAME_NOTE,
					     .name = texts_id(&profile->texts, "", "[smaller stacks]"),
					     .file = texts_id(&profile->texts, "", ""),
				     }));
	array_push(&profile->nodes, *rest);
}

size_t profile_cut(struct profile *profile, size_t most)
{
	size_t before = profile->nodes.count;
	struct profile_node rest = {0};
	AUTO_FREE double *shares = NULL;
	bool any;

	if (before <= most)
		return 0;
	shares = shares_of(profile);
	any = drop_nodes(profile, shares, least_share(shares, before, most), &rest);
	before -= profile->nodes.count;
	drop_unused(profile);
	if (any)
		add_rest(profile, &rest);
	return before;
}
