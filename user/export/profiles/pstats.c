/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums by function and by pair of caller and function, as bytes of Python's marshal (Python/marshal.c, any version):
 * {(file, first line, name): (cc, nc, tt, ct, {caller: (nc, cc, tt, ct)})}
 */
#include "export/profiles/profile.h"

#include <errno.h>
#include <stdlib.h>

/* Sums of a function, or of a function under one caller. */
struct sums {
	uint32_t caller, function;   /* functions; PROFILE_ROOT: no caller */
	uint64_t count, outer_count; /* outer: recursive calls are not counted again */
	uint64_t own_ns, outer_ns;
};

/* Of a node and all below it: launches and GPU time, or samples and CPU time. */
struct weight {
	uint64_t count, ns;
	uint64_t own_ns; /* of the node itself */
};

struct pstats {
	struct sink *out;
	const struct profile *profile;
	enum profile_value count, ns; /* what is summed up */
	struct tally functions;	      /* key: name, file, first line, kind; more: a frame of it */
	uint32_t *function_of;	      /* by frame */
	struct weight *weights;	      /* by node */
	struct tally edges;	      /* key: function, caller */
	ARRAY(struct sums) edge_sums; /* by edge */
	struct sums *sums;	      /* by function */
};

static void find_functions(struct pstats *pstats)
{
	const struct profile *profile = pstats->profile;

	pstats->function_of = xcalloc(profile->frames.count + 1, sizeof(*pstats->function_of));
	pstats->sums = xcalloc(profile->frames.count + 1, sizeof(*pstats->sums));
	for (uint32_t i = 0; i < profile->frames.count; i++) {
		const struct profile_frame *frame = &profile->frames.items[i];
		struct tally_key key = {{frame->name, frame->file, frame->first_line, frame->kind}};
		struct tally_entry *entry = tally_at(&pstats->functions, key);

		if (!entry->count++)
			entry->more = i;
		pstats->function_of[i] = (uint32_t)(entry - pstats->functions.entries);
	}
}

/* Native code that a Python function runs is its own CPU time: the interpreter itself, and functions written in C. */
static bool is_part_of_caller(const struct pstats *pstats, const struct profile_node *node)
{
	const struct profile *profile = pstats->profile;

	return pstats->ns == PROFILE_SAMPLED_NS && node->parent != PROFILE_ROOT &&
	       profile->frames.items[node->frame].kind == STACK_FRAME_NATIVE &&
	       profile->frames.items[profile->nodes.items[node->parent].frame].kind != STACK_FRAME_PROCESS;
}

/* Children follow their parents. */
static void find_weights(struct pstats *pstats)
{
	const struct profile *profile = pstats->profile;

	pstats->weights = xcalloc(profile->nodes.count + 1, sizeof(*pstats->weights));
	for (uint32_t i = (uint32_t)profile->nodes.count; i-- > 0;) {
		const struct profile_node *node = &profile->nodes.items[i];
		struct weight *weight = &pstats->weights[i];

		weight->count += node->values[pstats->count];
		weight->ns += node->values[pstats->ns];
		weight->own_ns += node->values[pstats->ns];
		if (node->parent != PROFILE_ROOT) {
			pstats->weights[node->parent].count += weight->count;
			pstats->weights[node->parent].ns += weight->ns;
			pstats->weights[node->parent].own_ns += is_part_of_caller(pstats, node) ? weight->own_ns : 0;
		}
	}
}

static struct sums *edge_at(struct pstats *pstats, uint32_t function, uint32_t caller)
{
	struct tally_key key = {{function, caller}};
	size_t edge = tally_number(&pstats->edges, key);

	if (edge == pstats->edge_sums.count)
		array_push(&pstats->edge_sums, ((struct sums){.caller = caller, .function = function}));
	return &pstats->edge_sums.items[edge];
}

static void add_weight(struct sums *sums, const struct weight *weight, uint64_t own_ns, bool is_inner)
{
	sums->count += weight->count;
	sums->own_ns += own_ns;
	if (!is_inner) {
		sums->outer_count += weight->count;
		sums->outer_ns += weight->ns;
	}
}

static void add_node(struct pstats *pstats, uint32_t index)
{
	const struct profile *profile = pstats->profile;
	const struct profile_node *node = &profile->nodes.items[index];
	uint32_t function = pstats->function_of[node->frame], caller = PROFILE_ROOT, above = node->parent;
	struct weight weight = pstats->weights[index];
	bool is_inner = false, is_inner_edge = false;

	if ((!weight.count && !weight.ns) || is_part_of_caller(pstats, node))
		return;
	/* a graph has many operations for one launch */
	if (profile->frames.items[node->frame].kind == STACK_FRAME_OPERATION)
		weight.count = node->values[PROFILE_OPERATIONS] > weight.count ? node->values[PROFILE_OPERATIONS]
									       : weight.count;
	if (above != PROFILE_ROOT)
		caller = pstats->function_of[profile->nodes.items[above].frame];
	for (uint32_t below = function; above != PROFILE_ROOT; above = profile->nodes.items[above].parent) {
		uint32_t at = pstats->function_of[profile->nodes.items[above].frame];

		is_inner |= at == function;
		/* the same pair further out; this pair is the first one checked */
		is_inner_edge |= above != node->parent && at == caller && below == function;
		below = at;
	}
	add_weight(&pstats->sums[function], &weight, weight.own_ns, is_inner);
	if (caller != PROFILE_ROOT)
		add_weight(edge_at(pstats, function, caller), &weight, weight.own_ns, is_inner_edge);
}

/* ---- marshal --------------------------------------------------------------------------------------------------------
 */

static void put_le(struct sink *out, uint64_t value, int bytes)
{
	char *at = sink_room(out, 8);

	for (int i = 0; i < bytes; i++)
		at[i] = (char)(value >> 8 * i);
	out->used += (size_t)bytes;
}

static void put_tuple(struct sink *out, uint32_t items)
{
	sink_char(out, '(');
	put_le(out, items, 4);
}

/* Up to 2^31 - 1 as `i`, above in digits of 15 bits. */
static void put_integer(struct sink *out, uint64_t value)
{
	uint32_t digits = 0;

	if (value <= INT32_MAX) {
		sink_char(out, 'i');
		put_le(out, value, 4);
		return;
	}
	for (uint64_t left = value; left; left >>= 15)
		digits++;
	sink_char(out, 'l');
	put_le(out, digits, 4);
	for (; value; value >>= 15)
		put_le(out, value & 0x7fff, 2);
}

static void put_seconds(struct sink *out, uint64_t ns)
{
	double seconds = (double)ns / 1e9;
	uint64_t bits;

	memcpy(&bits, &seconds, sizeof(bits));
	sink_char(out, 'g');
	put_le(out, bits, 8);
}

static void put_string(struct sink *out, const char *before, const char *text, const char *after)
{
	sink_char(out, 'u');
	put_le(out, strlen(before) + strlen(text) + strlen(after), 4);
	sink_text(out, before);
	sink_text(out, text);
	sink_text(out, after);
}

/* Non-Python functions are named as cProfile names functions without source: ("~", 0, "<...>"). */
static void put_function(struct pstats *pstats, uint32_t function)
{
	static const char *const befores[] = {
		[STACK_FRAME_PROCESS] = "<process ", [STACK_FRAME_NOTE] = "<",
		[STACK_FRAME_NATIVE] = "<native ",   [STACK_FRAME_CALL] = "<built-in method ",
		[STACK_FRAME_OPERATION] = "<gpu ",
	};
	const struct profile *profile = pstats->profile;
	const struct profile_frame *frame = &profile->frames.items[pstats->functions.entries[function].more];
	bool is_python = frame->kind == STACK_FRAME_PYTHON;

	put_tuple(pstats->out, 3);
	put_string(pstats->out, "", is_python ? profile_text(profile, frame->file) : "~", "");
	put_integer(pstats->out, is_python ? frame->first_line : 0);
	put_string(pstats->out, is_python ? "" : befores[frame->kind], profile_text(profile, frame->name),
		   is_python ? "" : ">");
}

static void put_callers(struct pstats *pstats, size_t *edge, const uint32_t *order, uint32_t function)
{
	struct sink *out = pstats->out;

	sink_char(out, '{');
	for (; *edge < pstats->edge_sums.count; ++*edge) {
		const struct sums *sums = &pstats->edge_sums.items[order[*edge]];

		if (sums->function != function)
			break;
		put_function(pstats, sums->caller);
		put_tuple(out, 4);
		put_integer(out, sums->count);
		put_integer(out, sums->outer_count);
		put_seconds(out, sums->own_ns);
		put_seconds(out, sums->outer_ns);
	}
	sink_char(out, '0');
}

/* Sorts edges by function, then by first occurrence: a counting sort. */
static uint32_t *edges_by_function(const struct pstats *pstats)
{
	uint32_t *order = xcalloc(pstats->edge_sums.count + 1, sizeof(*order));
	AUTO_FREE size_t *ends = xcalloc(pstats->functions.count + 1, sizeof(*ends));

	for (size_t i = 0; i < pstats->edge_sums.count; i++)
		ends[pstats->edge_sums.items[i].function + 1]++;
	for (size_t i = 1; i <= pstats->functions.count; i++)
		ends[i] += ends[i - 1];
	for (uint32_t i = 0; i < pstats->edge_sums.count; i++)
		order[ends[pstats->edge_sums.items[i].function]++] = i;
	return order;
}

static void put_all(struct pstats *pstats)
{
	AUTO_FREE uint32_t *order = edges_by_function(pstats);
	struct sink *out = pstats->out;
	bool any = false;
	size_t edge = 0;

	sink_char(out, '{');
	for (uint32_t i = 0; i < pstats->functions.count; i++) {
		const struct sums *sums = &pstats->sums[i];

		if (!sums->count && !sums->outer_ns)
			continue; /* has other values than these two */
		put_function(pstats, i);
		put_tuple(out, 5);
		put_integer(out, sums->outer_count);
		put_integer(out, sums->count);
		put_seconds(out, sums->own_ns);
		put_seconds(out, sums->outer_ns);
		put_callers(pstats, &edge, order, i);
		any = true;
	}
	if (!any) { /* pstats rejects an empty dictionary */
		put_tuple(out, 3);
		put_string(out, "~", "", "");
		put_integer(out, 0);
		put_string(out, "<no GPU work>", "", "");
		put_tuple(out, 5);
		put_integer(out, 0);
		put_integer(out, 0);
		put_seconds(out, 0);
		put_seconds(out, 0);
		sink_literal(out, "{0");
	}
	sink_char(out, '0');
}

int pstats_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	struct pstats pstats = {.out = sink, .profile = &profile};
	int error = profile_make(&profile, trace, options);
	bool of_cpu = options->by_cpu || (!options->has_metric && profile.has[PROFILE_SAMPLED_NS]);

	if (!error && of_cpu && !profile.has[PROFILE_SAMPLED_NS])
		error = -ENODATA;
	if (!error) {
		pstats.count = of_cpu ? PROFILE_SAMPLES : PROFILE_LAUNCHES;
		pstats.ns = of_cpu ? PROFILE_SAMPLED_NS : PROFILE_GPU_NS;
		find_functions(&pstats);
		find_weights(&pstats);
		for (uint32_t i = 0; i < profile.nodes.count; i++)
			add_node(&pstats, i);
		put_all(&pstats);
	}
	tally_free(&pstats.functions);
	tally_free(&pstats.edges);
	array_free(&pstats.edge_sums);
	free(pstats.sums);
	free(pstats.function_of);
	free(pstats.weights);
	profile_free(&profile);
	return error;
}
