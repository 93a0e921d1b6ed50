/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds each sum to the lines and functions of its stack. */
#include "analyze/costs/line_cost_rows.h"

#include <stdlib.h>
#include <string.h>
#include "base/order.h"

/* A line with its function; the sort key of lines. */
struct place {
	const struct model_code *code;
	uint32_t line, number, code_index;
};

struct maker {
	struct line_costs *costs;
	struct lines *lines;
	uint32_t *code_of;			     /* by line: model.codes, NONE */
	uint32_t *row_of;			     /* by line: its row, NONE: it has no cost, or no code */
	uint32_t *function_of;			     /* by row */
	uint32_t *lines_stamped, *functions_stamped; /* by row, by function: stamp of the sum added last */
	uint32_t stamp;
	bool has_launches;
};

/* ---- lines of functions ------------------------------------------------------------------------------------------ */

static int by_function(const struct place *a, const struct place *b)
{
	return strcmp(a->code->file, b->code->file) ?:
	       strcmp(a->code->name, b->code->name) ?:
	       least_first(a->code->first_line, b->code->first_line);
}

DEFINE_ORDER(by_place, struct place,
	     by_function(a, b) ?: least_first(a->number, b->number) ?: least_first(a->line, b->line))

static void find_codes(struct maker *maker)
{
	const struct model *model = maker->costs->model;
	size_t count = maker->lines->all.count;

	maker->code_of = xmalloc(count * sizeof(*maker->code_of));
	for (size_t i = 0; i < count; i++)
		maker->code_of[i] = NONE;
	for (uint32_t i = 0; i < model->frame_count; i++) {
		uint32_t *code = &maker->code_of[maker->lines->of_frame[i]];

		if (*code == NONE)
			*code = model->frames[i].code;
	}
}

/* Makes a row for each line; keep_costs removes those without costs. */
static void make_rows(struct maker *maker)
{
	struct line_costs *costs = maker->costs;
	const struct model *model = costs->model;
	size_t count = maker->lines->all.count, found = 0;
	AUTO_FREE struct place *places = xmalloc(count * sizeof(*places));

	for (uint32_t i = 0; i < count; i++)
		if (maker->code_of[i] != NONE)
			places[found++] = (struct place){&model->codes[maker->code_of[i]], i,
							 maker->lines->all.items[i].number, maker->code_of[i]};
	qsort(places, found, sizeof(*places), by_place);
	costs->rows = xcalloc(found, sizeof(*costs->rows));
	costs->functions = xcalloc(found, sizeof(*costs->functions));
	maker->row_of = xmalloc(count * sizeof(*maker->row_of));
	maker->function_of = xcalloc(found, sizeof(*maker->function_of));
	for (size_t i = 0; i < count; i++)
		maker->row_of[i] = NONE;
	for (uint32_t i = 0; i < found; i++) {
		if (!i || by_function(&places[i - 1], &places[i]))
			costs->functions[costs->function_count++] =
				(struct function_cost){.code = places[i].code_index, .process = NONE, .first_row = i};
		costs->functions[costs->function_count - 1].rows++;
		costs->rows[i].line = places[i].line;
		maker->row_of[places[i].line] = i;
		maker->function_of[i] = (uint32_t)costs->function_count - 1;
	}
	costs->count = found;
}

/* ---- from sums to lines ------------------------------------------------------------------------------------------ */

static void add_memory(struct line_memory *to, const struct line_memory *memory)
{
	to->at_peak += memory->at_peak;
	to->held += memory->held;
	to->growth += memory->growth;
}

static void add_cost(struct line_cost *to, const struct line_cost *cost)
{
	to->gpu_ns += cost->gpu_ns;
	to->launches += cost->launches;
	to->copies += cost->copies;
	to->copy_ns += cost->copy_ns;
	to->wait_ns += cost->wait_ns;
	to->idle_ns += cost->idle_ns;
	to->cpu_ns += cost->cpu_ns;
	to->sampled_ns += cost->sampled_ns;
	add_memory(&to->gpu_memory, &cost->gpu_memory);
	add_memory(&to->cpu_memory, &cost->cpu_memory);
}

static void add_own(struct maker *maker, uint32_t row, const struct line_cost *cost)
{
	add_cost(&maker->costs->rows[row].own, cost);
	add_cost(&maker->costs->functions[maker->function_of[row]].own, cost);
}

static void add_under(struct maker *maker, uint32_t row, const struct line_cost *cost, uint32_t process)
{
	struct function_cost *function = &maker->costs->functions[maker->function_of[row]];

	if (maker->lines_stamped[row] != maker->stamp) {
		maker->lines_stamped[row] = maker->stamp;
		add_cost(&maker->costs->rows[row].under, cost);
	}
	if (maker->functions_stamped[maker->function_of[row]] == maker->stamp)
		return;
	maker->functions_stamped[maker->function_of[row]] = maker->stamp;
	add_cost(&function->under, cost);
	if (function->process == NONE)
		function->process = process;
}

static uint32_t row_of_frame(const struct maker *maker, const struct model_stack *stack, uint32_t depth)
{
	return maker->row_of[line_of(maker->lines, maker->costs->model->stack_frames[stack->first + depth])];
}

/* See function_cost.owned. */
static uint64_t owned_of(const struct maker *maker, const struct line_cost *cost)
{
	if (maker->costs->has_gpu)
		return cost->gpu_ns + cost->idle_ns;
	if (maker->has_launches)
		return cost->launches;
	return maker->costs->has_samples ? cost->sampled_ns : cost->gpu_memory.at_peak + cost->cpu_memory.at_peak;
}

static void add_owned(struct maker *maker, const struct model_stack *stack, uint64_t amount)
{
	uint32_t owner = row_of_frame(maker, stack, 0);

	for (uint32_t i = 0; i < stack->depth; i++) {
		uint32_t row = row_of_frame(maker, stack, i);

		if (line_is_library(maker->lines, maker->costs->rows[row].line))
			continue;
		owner = row;
		break;
	}
	maker->costs->functions[maker->function_of[owner]].owned += amount;
}

static void add_stack(struct maker *maker, uint32_t place, const struct line_cost *cost, uint32_t process)
{
	const struct model_stack *stack = &maker->costs->model->stacks[place];

	for (uint32_t i = 0; i < stack->depth; i++)
		add_under(maker, row_of_frame(maker, stack, i), cost, process);
}

/* place: a stack, or a caller without one; replay: another stack whose total includes it, too, NONE. */
static void add_stack_cost(struct maker *maker, uint32_t place, uint32_t replay, uint32_t process,
			   struct line_cost cost)
{
	const struct model_stack *stack;

	if (place >= CALLER_NO_FRAME)
		return;
	stack = &maker->costs->model->stacks[place];
	maker->stamp++;
	add_own(maker, row_of_frame(maker, stack, 0), &cost);
	add_owned(maker, stack, owned_of(maker, &cost));
	add_stack(maker, place, &cost, process);
	if (replay != NONE)
		add_stack(maker, replay, &cost, process);
}

static void add_waits(struct maker *maker, const struct tally *waits)
{
	for (size_t i = 0; i < waits->count; i++)
		if (waits->entries[i].count)
			add_stack_cost(maker, waits->entries[i].key.part[0], NONE, NONE,
				       (struct line_cost){.wait_ns = waits->entries[i].ns});
}

static void add_samples(struct maker *maker)
{
	struct line_costs *costs = maker->costs;
	struct tally outside = {0}; /* line */
	AUTO_FREE struct tally_entry *sorted = NULL;

	for (size_t i = 0; i < costs->samples.count; i++) {
		const struct tally_entry *sum = &costs->samples.entries[i];
		uint32_t place = sum->key.part[0];

		if (place < CALLER_NO_FRAME)
			add_stack_cost(maker, place, NONE, sum->key.part[1], (struct line_cost){.sampled_ns = sum->ns});
		else
			tally_at(&outside, (struct tally_key){{line_of(maker->lines, place)}})->ns += sum->ns;
	}
	sorted = tally_sorted(&outside, false);
	for (size_t i = 0; i < outside.count; i++)
		array_push(&costs->outside, ((struct line_cost_outside){sorted[i].key.part[0], sorted[i].ns}));
	tally_free(&outside);
}

static void add_holders(struct maker *maker, const struct torch_memory_sums *memory)
{
	for (size_t i = 0; i < memory->holders.count; i++) {
		const uint32_t *part = memory->by_holder.entries[i].key.part;
		const struct torch_space *space = &memory->spaces.items[part[2]];
		const struct torch_holder *holder = &memory->holders.items[i];
		struct line_memory held = {holder->at_peak, holder->now, holder->growth};
		struct line_cost cost = {0};

		*(space->device_type == GPT_TORCH_CPU ? &cost.cpu_memory : &cost.gpu_memory) = held;
		add_stack_cost(maker, part[0], NONE, space->process, cost);
	}
}

static void add_all(struct maker *maker)
{
	struct line_costs *costs = maker->costs;
	const struct tally *gpu = gpu_tally_all(&costs->gpu);

	for (size_t i = 0; i < gpu->count; i++) {
		const struct tally_entry *sum = &gpu->entries[i];

		add_stack_cost(maker, sum->key.part[0], sum->key.part[2], sum->key.part[1],
			       (struct line_cost){.gpu_ns = sum->ns, .launches = sum->count, .copy_ns = sum->more});
	}
	for (size_t i = 0; i < costs->copies.count; i++) {
		const struct tally_entry *sum = &costs->copies.entries[i];

		add_stack_cost(maker, sum->key.part[0], sum->key.part[2], sum->key.part[1],
			       (struct line_cost){.copies = sum->count});
	}
	for (size_t i = 0; i < costs->calls.count; i++) {
		const struct tally_entry *sum = &costs->calls.entries[i];

		add_stack_cost(maker, sum->key.part[0], NONE, sum->key.part[1],
			       (struct line_cost){.cpu_ns = sum->ns, .launches = costs->has_gpu ? 0 : sum->more});
	}
	for (size_t i = 0; i < idle_charge_count(costs->idle); i++) {
		struct idle_charge charge = idle_charge_at(costs->idle, i);

		add_stack_cost(maker, charge.what.part[0], NONE, NONE, (struct line_cost){.idle_ns = charge.ns});
	}
	add_waits(maker, &costs->waits.reported);
	add_waits(maker, &costs->waits.calls);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static bool has_cost(const struct line_cost *cost)
{
	return cost->gpu_ns || cost->launches || cost->wait_ns || cost->idle_ns || cost->cpu_ns || cost->sampled_ns ||
	       cost->gpu_memory.at_peak || cost->gpu_memory.held || cost->cpu_memory.at_peak || cost->cpu_memory.held;
}

DEFINE_ORDER(by_owned, struct function_cost,
	     most_first(a->owned, b->owned) ?: most_first(a->own.gpu_ns, b->own.gpu_ns) ?:
	     most_first(a->own.cpu_ns, b->own.cpu_ns) ?: most_first(a->own.sampled_ns, b->own.sampled_ns) ?:
	     most_first(a->under.gpu_ns, b->under.gpu_ns) ?:
	     most_first(a->under.gpu_memory.at_peak, b->under.gpu_memory.at_peak) ?:
	     least_first(a->first_row, b->first_row))

/* Removes lines and functions without costs. */
static void keep_costs(struct line_costs *costs)
{
	size_t functions = 0;

	for (size_t i = 0; i < costs->function_count; i++) {
		struct function_cost function = costs->functions[i];
		uint32_t kept = 0;

		if (!has_cost(&function.under))
			continue;
		for (uint32_t k = 0; k < function.rows; k++)
			if (has_cost(&costs->rows[function.first_row + k].under))
				costs->rows[function.first_row + kept++] = costs->rows[function.first_row + k];
		function.rows = kept;
		costs->functions[functions++] = function;
	}
	costs->function_count = functions;
	qsort(costs->functions, functions, sizeof(*costs->functions), by_owned);
}

void line_cost_rows_make(struct line_costs *costs, struct lines *lines, const struct torch_memory_sums *memory)
{
	struct maker maker = {.costs = costs, .lines = lines};

	for (size_t i = 0; i < costs->calls.count; i++)
		maker.has_launches |= costs->calls.entries[i].more != 0;
	find_codes(&maker);
	make_rows(&maker);
	maker.lines_stamped = xcalloc(costs->count, sizeof(*maker.lines_stamped));
	maker.functions_stamped = xcalloc(costs->function_count, sizeof(*maker.functions_stamped));
	add_all(&maker);
	add_samples(&maker);
	add_holders(&maker, memory);
	keep_costs(costs);
	free(maker.code_of);
	free(maker.row_of);
	free(maker.function_of);
	free(maker.lines_stamped);
	free(maker.functions_stamped);
}
