/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/costs.h"

#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gputrace/costs.h>

#include "attach/attach_state.h"
#include "attach/probes/probes.h"
#include "base/array.h"
#include "base/monotonic.h"

void costs_start(struct attach *attach)
{
	bool agents = attach->options.agent != ATTACH_AGENT_OFF;

	calibrate_start(&attach->calibration, &attach->programs, agents && agent_nop5_is_undone());
}

static void emit_cost(struct attach *attach, struct gpt_cost cost)
{
	cost.hdr.size = sizeof(cost);
	cost.hdr.type = GPT_COST;
	attach->emit(attach->emit_context, &cost.hdr);
}

/* A part of which only the number is known, and what each took elsewhere. */
static void emit_entries(struct attach *attach, enum gpt_cost_part part, enum gpt_cost_state state, uint64_t count,
			 double each_ns)
{
	struct gpt_cost cost = {.part = part, .count = count, .state = each_ns > 0 ? state : GPT_COST_NOT_MEASURED};

	cost.ns = (uint64_t)((double)count * each_ns);
	if (count)
		emit_cost(attach, cost);
}

static struct gpt_cost_sum add_cpus(const struct gpt_cost_sum *sums, int cpus)
{
	struct gpt_cost_sum all = {};

	for (int cpu = 0; cpu < cpus; cpu++) {
		all.runs += sums[cpu].runs;
		all.ns += sums[cpu].ns;
		all.long_runs += sums[cpu].long_runs;
		all.long_ns += sums[cpu].long_ns;
	}
	return all;
}

static const enum gpt_cost_entry entry_of[GPT_PART_COUNT] = {
#define ENTRY(part, number, name, entry, words) [number] = GPT_ENTRY_##entry,
	GPT_COST_PARTS(ENTRY)
#undef ENTRY
};

/* What a program's clock does not see, of those that the kernel calls; as docs/costs.md has it. */
static uint64_t interrupt_entry_ns(enum gpt_cost_part part)
{
	return part == GPT_PART_SAMPLES	   ? GPT_COST_SAMPLE_NS
	       : part == GPT_PART_SWITCHES ? GPT_COST_SWITCH_NS
					   : GPT_COST_WAKING_NS;
}

/* Of BPF programs, over all CPUs. */
struct program_costs {
	struct gpt_cost_sum parts[GPT_PART_COUNT];
	uint64_t entries[GPT_ENTRY_INTERRUPT + 1]; /* by enum gpt_cost_entry: how often */
	uint64_t interrupts_ns;
};

static struct program_costs read_programs(const struct attach *attach, int cpus)
{
	int map = bpf_map__fd(attach->programs.bpf->maps.costs);
	struct gpt_cost_sum *sums = xcalloc((size_t)cpus, sizeof(*sums));
	struct program_costs costs = {};

	for (uint32_t part = 0; part < GPT_PART_COUNT; part++) {
		if (!entry_of[part] || bpf_map_lookup_elem(map, &part, sums))
			continue;
		costs.parts[part] = add_cpus(sums, cpus);
		costs.entries[entry_of[part]] += costs.parts[part].runs;
		if (entry_of[part] == GPT_ENTRY_INTERRUPT)
			costs.interrupts_ns += costs.parts[part].runs * interrupt_entry_ns(part);
	}
	free(sums);
	return costs;
}

static void report_programs(struct attach *attach, int cpus, struct entry_costs entries)
{
	const struct program_costs costs = read_programs(attach, cpus);

	for (uint32_t part = 0; part < GPT_PART_COUNT; part++) {
		const struct gpt_cost_sum *sum = &costs.parts[part];

		if (sum->runs)
			emit_cost(attach, (struct gpt_cost){.part = part,
							    .state = GPT_COST_MEASURED,
							    .count = sum->runs,
							    .ns = sum->ns,
							    .long_count = sum->long_runs,
							    .long_ns = sum->long_ns});
	}
	emit_entries(attach, GPT_PART_PROBE_ENTRIES, GPT_COST_CALIBRATED, costs.entries[GPT_ENTRY_PROBE],
		     entries.probe);
	emit_entries(attach, GPT_PART_AGENT_ENTRIES, GPT_COST_CALIBRATED, costs.entries[GPT_ENTRY_AGENT],
		     entries.agent);
	if (costs.entries[GPT_ENTRY_INTERRUPT])
		emit_cost(attach, (struct gpt_cost){.part = GPT_PART_INTERRUPT_ENTRIES,
						    .state = GPT_COST_ESTIMATED,
						    .count = costs.entries[GPT_ENTRY_INTERRUPT],
						    .ns = costs.interrupts_ns});
}

/* Of threads that are followed: no other one runs into a probe with something to record. */
struct cost_entries costs_sum_entries(struct attach *attach)
{
	int cpus = libbpf_num_possible_cpus();
	struct program_costs costs = {};
	struct entry_costs each = {};
	uint64_t probes;

	if (cpus > 0)
		costs = read_programs(attach, cpus);
	if (calibrate_is_over(&attach->calibration))
		each = calibrate_finish(&attach->calibration);
	probes = costs.entries[GPT_ENTRY_PROBE] - costs.parts[GPT_PART_IDLE].runs;
	return (struct cost_entries){
		.runs = probes + costs.entries[GPT_ENTRY_AGENT] + costs.entries[GPT_ENTRY_INTERRUPT],
		.ns = (double)probes * each.probe + (double)costs.entries[GPT_ENTRY_AGENT] * each.agent +
		      (double)costs.interrupts_ns};
}

bool attach_cost(struct attach *attach, uint64_t *ns)
{
	int cpus = libbpf_num_possible_cpus();
	struct program_costs costs;
	struct entry_costs entries;

	if (attach->shares || cpus <= 0 || !calibrate_is_over(&attach->calibration))
		return false;
	entries = calibrate_finish(&attach->calibration);
	costs = read_programs(attach, cpus);
	*ns = costs.interrupts_ns + (uint64_t)((double)costs.entries[GPT_ENTRY_PROBE] * entries.probe +
					       (double)costs.entries[GPT_ENTRY_AGENT] * entries.agent);
	for (uint32_t part = 0; part < GPT_PART_COUNT; part++)
		*ns += costs.parts[part].ns;
	return true;
}

/* ---- the thread that paid most ----------------------------------------------------------------------------------- */

static void keep_most(struct gpt_paid_most *most, const struct gpt_paid_most *other)
{
	if (other->ns > most->ns)
		*most = *other;
}

static void keep_ended(const struct attach *attach, int cpus, struct gpt_paid_most *most)
{
	struct gpt_paid_most *ended = xcalloc((size_t)cpus, sizeof(*ended));
	uint32_t only = 0;

	if (!bpf_map_lookup_elem(bpf_map__fd(attach->programs.bpf->maps.paid_most), &only, ended))
		for (int cpu = 0; cpu < cpus; cpu++)
			keep_most(most, &ended[cpu]);
	free(ended);
}

static void keep_live(const struct attach *attach, struct gpt_paid_most *most)
{
	int map = bpf_map__fd(attach->programs.bpf->maps.threads);
	uint32_t tid, *before = NULL;
	struct gpt_thread_state thread;

	for (; !bpf_map_get_next_key(map, before, &tid); before = &tid) {
		struct gpt_paid_most live = {.tid = tid, .until_ns = monotonic_ns()};

		if (bpf_map_lookup_elem(map, &tid, &thread))
			continue;
		live.pid = thread.pid;
		live.from_ns = thread.paid_from_ns;
		live.runs = thread.paid_runs;
		live.ns = thread.paid_ns;
		live.long_ns = thread.paid_long_ns;
		keep_most(most, &live);
	}
}

static void report_thread(struct attach *attach, int cpus)
{
	struct gpt_paid_most most = {};

	keep_ended(attach, cpus, &most);
	keep_live(attach, &most);
	if (most.runs)
		emit_cost(attach, (struct gpt_cost){
					  .hdr.flags = GPT_COST_THREAD,
					  .state = GPT_COST_MEASURED,
					  .pid = most.pid,
					  .tid = most.tid,
					  .count = most.runs,
					  .ns = most.ns,
					  .long_ns = most.long_ns,
					  .span_ns = most.until_ns > most.from_ns ? most.until_ns - most.from_ns : 0});
}

void costs_report(struct attach *attach)
{
	struct entry_costs entries = calibrate_finish(&attach->calibration);
	int cpus = libbpf_num_possible_cpus();

	if (attach->shares || cpus <= 0)
		return;
	report_programs(attach, cpus, entries);
	report_thread(attach, cpus);
}
