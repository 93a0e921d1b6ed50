/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What holds of every account of idle time (analyze/why/idle.h), whatever the trace:
 *  - On one GPU a call is charged at most what it took, in it and after it together.
 *  - A gap is the launch's only until the launching call returned.
 *  - Charges add up to the idle time, and so do rows, whatever callers they are divided by.  Rows of what compiled have
 *    all that is charged to compiling.
 *  - The parts of gaps come in the order of time, do not overlap, and add up to the charges that they are of.
 *  - The accounts of two slices by time add up to that of the whole, row by row, and so does the time of busy GPUs.
 *  - In a slice, by time or by each process's own interval, busy and idle time of the GPUs are its length, and the
 *    account, the utilization and the breakdown have the same of both.
 */
#pragma once

#include "analyze/analyze.h"
#include "model/slice/sliced_trace.h"
#include "whole_trace.h"

#define IDLE_CHECK_FN __attribute__((unused)) static

/* The function whose calls a charge is of; 0: of no call. */
IDLE_CHECK_FN uint16_t idle_check_api(const struct idle_charge *charge)
{
	switch (charge->inner) {
	case WHY_SYNC:
	case WHY_ALLOC:
	case WHY_CALL:
		return (uint16_t)charge->what.part[2];
	case WHY_COMPILE:
		return charge->what.part[2] == WHY_COMPILE_MODULE ? (uint16_t)charge->what.part[3] : 0;
	default:
		return 0;
	}
}

IDLE_CHECK_FN const char *idle_check_calls(const struct analyses *all, const struct model *model)
{
	const struct idle *idle = &all->idle;
	struct tally took = {0}, charged = {0};
	uint64_t copies_ns = 0, copying_ns = 0;
	const char *wrong = NULL;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];
		uint64_t ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;

		tally_at(&took, (struct tally_key){{call->api}})->ns += ns;
		copies_ns += call->class == GPT_CLASS_MEMCPY ? ns : 0;
	}
	for (size_t i = 0; i < idle_charge_count(idle); i++) {
		struct idle_charge charge = idle_charge_at(idle, i);

		if (idle_check_api(&charge))
			tally_at(&charged, (struct tally_key){{idle_check_api(&charge)}})->ns += charge.ns;
		copying_ns += charge.inner == WHY_COPY ? charge.ns : 0;
	}
	for (size_t i = 0; i < charged.count && !wrong; i++)
		if (charged.entries[i].ns > idle->devices.count * tally_at(&took, charged.entries[i].key)->ns)
			wrong = "a call is charged more than it took";
	if (copying_ns > idle->devices.count * copies_ns)
		wrong = "copies are charged more than their calls took";
	tally_free(&took);
	tally_free(&charged);
	return wrong;
}

/* How much of a gap from that time on passed until the operation's launch had returned. */
IDLE_CHECK_FN uint64_t idle_check_until_launched(const struct model *model, const struct model_gpu *op,
						 uint64_t from_ns)
{
	const struct model_call *call = op->call == NONE ? NULL : &model->calls[op->call];
	uint64_t until_ns = !call ? 0 : call->end_ns > call->start_ns ? call->end_ns : call->start_ns;

	if (until_ns > op->start_ns)
		until_ns = op->start_ns;
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

/* Operations of a model are in order of their starts. */
IDLE_CHECK_FN const char *idle_check_late(const struct analyses *all, const struct model *model)
{
	const struct idle *idle = &all->idle;
	uint64_t most_ns = 0, late_ns = 0;

	for (size_t i = 0; i < idle->devices.count; i++) {
		uint64_t busy_until_ns = 0;

		for (uint32_t k = 0; k < model->gpu_count; k++) {
			const struct model_gpu *op = &model->gpu[k];

			if (op->device != idle->devices.items[i].device || !gpu_ns(op))
				continue;
			if (busy_until_ns)
				most_ns += idle_check_until_launched(model, op, busy_until_ns);
			if (op->end_ns > busy_until_ns)
				busy_until_ns = op->end_ns;
		}
	}
	for (size_t i = 0; i < idle_charge_count(idle); i++) {
		struct idle_charge charge = idle_charge_at(idle, i);

		if (charge.what.part[1] == WHY_PYTHON || charge.what.part[1] == WHY_PROGRAM)
			late_ns += charge.ns;
	}
	return late_ns > most_ns ? "a launch is charged time after it returned" : NULL;
}

IDLE_CHECK_FN const char *idle_check_sum(const struct analyses *all)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < idle_charge_count(&all->idle); i++)
		ns += idle_charge_at(&all->idle, i).ns;
	if (ns != all->idle.sum)
		return "charges do not add up to the idle time";
	for (size_t i = 0; i < all->idle.count; i++)
		ns -= idle_is_edge(all->idle.rows[i].cause) ? 0 : all->idle.rows[i].ns;
	if (ns)
		return "rows do not add up to the idle time";
	for (size_t i = 0; i < idle_charge_count(&all->idle); i++)
		ns += idle_charge_at(&all->idle, i).what.part[1] == WHY_COMPILE ? idle_charge_at(&all->idle, i).ns : 0;
	for (size_t i = 0; i < all->idle.compiles.rows.count; i++)
		ns -= all->idle.compiles.rows.items[i].idle_ns;
	return ns ? "rows of what compiled do not add up to the idle time for it" : NULL;
}

/* Returns NULL, or what does not hold.  The model must be that of the whole trace. */
IDLE_CHECK_FN const char *idle_check(const struct analyses *all, const struct model *model)
{
	const char *wrong = idle_check_sum(all);

	if (!wrong)
		wrong = idle_check_calls(all, model);
	return wrong ? wrong : idle_check_late(all, model);
}

/* The parts of gaps that were handed over. */
struct idle_check_parts {
	struct tally until; /* by device: the end of its latest part */
	struct tally sums;  /* by charge */
	const char *wrong;
};

IDLE_CHECK_FN void idle_check_take(void *context, uint32_t device, const struct idle_part *parts, size_t count)
{
	struct idle_check_parts *taken = context;
	struct tally_entry *until = tally_at(&taken->until, (struct tally_key){{device}});

	for (size_t i = 0; i < count; i++) {
		if (parts[i].from_ns < until->more || parts[i].to_ns <= parts[i].from_ns)
			taken->wrong = "parts of gaps overlap, or are not in order";
		if (i && parts[i].from_ns != parts[i - 1].to_ns)
			taken->wrong = "parts of a gap leave something out";
		until->more = parts[i].to_ns;
		tally_at(&taken->sums, (struct tally_key){{parts[i].charge}})->ns += parts[i].to_ns - parts[i].from_ns;
	}
}

IDLE_CHECK_FN const char *idle_check_parts(const struct analyses *all, const struct idle_check_parts *taken)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < taken->sums.count; i++) {
		const struct tally_entry *entry = &taken->sums.entries[i];
		size_t first, count = idle_charges_of(&all->idle, entry->key.part[0], &first);
		uint64_t ns = 0;

		for (size_t k = first; k < first + count; k++)
			ns += idle_charge_at(&all->idle, k).ns;
		if (ns != entry->ns)
			return "parts of gaps do not add up to their charge";
		sum += ns;
	}
	return sum != all->idle.sum ? "parts of gaps do not add up to the idle time" : taken->wrong;
}

/* Sums of charges and of busy time: those of the whole less those of its slices, which is nothing in the end. */
struct idle_check_rest {
	struct tally whats, rows; /* the sum of a row: ns of the whole, more of the slices */
	size_t charges;		  /* each rounds what it shares out */
	const char *wrong;
};

IDLE_CHECK_FN void idle_check_row(struct idle_check_rest *rest, struct tally_key key, uint64_t ns, bool is_slice)
{
	struct tally_entry *entry = tally_at(&rest->rows, key);

	entry->ns += is_slice ? 0 : ns;
	entry->more += is_slice ? ns : 0;
}

IDLE_CHECK_FN void idle_check_add(struct idle_check_rest *rest, struct trace *trace, bool is_slice)
{
	struct analyses all;

	if (analyze(&all, trace, ANALYSES(ANALYZE_IDLE, ANALYZE_UTILIZATION), NULL))
		rest->wrong = "the account of a slice cannot be made";
	for (size_t i = 0; i < idle_charge_count(&all.idle); i++) {
		struct idle_charge charge = idle_charge_at(&all.idle, i);
		uint32_t what = tally_number(&rest->whats, charge.what);
		uint32_t who = (uint32_t)charge.inner << 1 | charge.after;

		idle_check_row(rest, (struct tally_key){{what, charge.launch_place, charge.process, who}}, charge.ns,
			       is_slice);
	}
	for (size_t i = 0; i < all.idle.count; i++)
		if (idle_is_edge(all.idle.rows[i].cause))
			idle_check_row(rest, (struct tally_key){{NONE, all.idle.rows[i].cause}}, all.idle.rows[i].ns,
				       is_slice);
	for (size_t i = 0; i < all.utilization.rows.count; i++)
		idle_check_row(rest, (struct tally_key){{NONE, NONE, all.utilization.rows.items[i].device}},
			       all.utilization.rows.items[i].busy_ns, is_slice);
	rest->charges += idle_charge_count(&all.idle);
	analyses_free(&all);
}

/* A model without an end lasts until its latest event, which only one of its slices has. */
IDLE_CHECK_FN const char *idle_check_halves(const struct model *model, uint64_t cut_ns)
{
	struct slice halves[2] = {{.to_ns = cut_ns, .device = NONE},
				  {.from_ns = cut_ns, .to_ns = UINT64_MAX, .device = NONE}};
	struct idle_check_rest rest = {0};

	if (model->end_ns <= model->start_ns)
		return NULL;
	idle_check_add(&rest, WHOLE_TRACE(model), false);
	for (size_t i = 0; i < 2 && !rest.wrong; i++) {
		struct sliced_trace sliced;

		if (sliced_trace_open(&sliced, WHOLE_TRACE(model), &halves[i], ""))
			rest.wrong = "a slice cannot be made";
		else
			idle_check_add(&rest, &sliced.trace, true);
		sliced_trace_close(&sliced);
	}
	for (size_t i = 0; i < rest.rows.count && !rest.wrong; i++) {
		const struct tally_entry *row = &rest.rows.entries[i];
		uint64_t differ_ns = row->ns > row->more ? row->ns - row->more : row->more - row->ns;

		if (differ_ns > rest.charges)
			rest.wrong = "two slices do not add up to the whole";
	}
	tally_free(&rest.whats);
	tally_free(&rest.rows);
	return rest.wrong;
}

IDLE_CHECK_FN const char *idle_check_tables(struct trace *trace)
{
	const char *wrong = NULL;
	uint64_t idle_ns, busy_ns = 0;
	struct analyses all;

	if (analyze(&all, trace, ANALYSES(ANALYZE_IDLE, ANALYZE_UTILIZATION, ANALYZE_BREAKDOWN), NULL)) {
		analyses_free(&all);
		return "the tables of a slice cannot be made";
	}
	idle_ns = all.idle.sum;
	for (size_t i = 0; i < all.idle.count; i++)
		idle_ns += idle_is_edge(all.idle.rows[i].cause) ? all.idle.rows[i].ns : 0;
	for (size_t i = 0; i < all.utilization.rows.count; i++)
		busy_ns += all.utilization.rows.items[i].busy_ns;
	if (busy_ns != breakdown_busy_ns(&all.breakdown.all))
		wrong = "utilization and breakdown have different busy times";
	else if (idle_ns + busy_ns != (all.window.end_ns - all.window.start_ns) * all.idle.devices.count)
		wrong = "busy and idle time are not the length of a slice";
	analyses_free(&all);
	return wrong;
}

IDLE_CHECK_FN const char *idle_check_slice(const struct model *model, const struct slice *slice)
{
	struct sliced_trace sliced;
	const char *wrong = "a slice cannot be made";

	if (!sliced_trace_open(&sliced, WHOLE_TRACE(model), slice, ""))
		wrong = idle_check_tables(&sliced.trace);
	sliced_trace_close(&sliced);
	return wrong;
}

/* By time, and as the steps of processes are: in each process from another time on. */
IDLE_CHECK_FN const char *idle_check_slices(const struct model *model)
{
	uint64_t eighth_ns = model->end_ns > model->start_ns ? (model->end_ns - model->start_ns) / 8 : 0;
	struct slice_span *spans = xcalloc(model->process_count, sizeof(*spans));
	const char *wrong = NULL;

	for (uint64_t from = 0; eighth_ns && from < 8 && !wrong; from++) {
		struct slice slice = {.from_ns = model->start_ns + from * eighth_ns,
				      .to_ns = model->start_ns + (from + 1) * eighth_ns,
				      .device = NONE};

		wrong = idle_check_slice(model, &slice);
		slice.spans = spans;
		for (uint32_t i = 0; i < model->process_count; i++)
			spans[i] = (struct slice_span){slice.from_ns + i % 3 * (eighth_ns / 4), slice.to_ns};
		if (!wrong)
			wrong = idle_check_slice(model, &slice);
	}
	free(spans);
	return wrong;
}

/* The same of the account that is made of the model; returns "" or what does not hold. */
IDLE_CHECK_FN const char *idle_check_model(const struct model *model)
{
	struct idle_check_parts taken = {0};
	struct analyses all;
	const char *wrong;
	int error = analyze_with(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_IDLE),
				 &(struct analyze_options){.take_gap = idle_check_take, .gap_context = &taken});

	wrong = error ? "the account cannot be made" : idle_check(&all, model);
	if (!wrong)
		wrong = idle_check_parts(&all, &taken);
	for (uint64_t cut = 1; cut < 4 && !wrong; cut++)
		wrong = idle_check_halves(model, model->start_ns + (model->end_ns - model->start_ns) / 4 * cut);
	if (!wrong)
		wrong = idle_check_slices(model);
	tally_free(&taken.until);
	tally_free(&taken.sums);
	analyses_free(&all);
	return wrong ? wrong : "";
}
