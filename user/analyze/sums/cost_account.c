/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/cost_account.h"

static const struct {
	const char *name, *words;
	enum gpt_cost_entry entry;
} parts[GPT_PART_COUNT] = {
#define PART(part, number, name, entry, words) [number] = {#name, words, GPT_ENTRY_##entry},
	GPT_COST_PARTS(PART)
#undef PART
};

/* An agent always has some of these. */
static const enum gpt_cost_part of_agents[] = {GPT_PART_CALLBACKS, GPT_PART_AGENT_THREADS, GPT_PART_CUPTI_OWN,
					       GPT_PART_STOPS};

/* What the target's agent says may be any number. */
#define NS_MOST 1e18

static uint64_t round_ns(double ns)
{
	return ns < NS_MOST ? (uint64_t)(ns + 0.5) : (uint64_t)NS_MOST;
}

/* ns for one of `count`, of `of` that took that long together. */
static uint64_t share_ns(uint64_t ns, uint64_t count, uint64_t of)
{
	return of ? round_ns((double)ns * (double)count / (double)of) : 0;
}

/*
 * The agent's callbacks, of which one call in some is timed. Their time includes the BPF program that reports the call,
 * and the way into it: these are parts of their own.
 */
static struct model_cost callbacks_cost(const struct model_source *source)
{
	const struct model_receipt *receipt = &source->receipt;
	const struct model_cost *program = &source->costs[GPT_PART_AGENT_CALLS],
				*entries = &source->costs[GPT_PART_AGENT_ENTRIES];
	uint64_t calls = program->count ? program->count : receipt->calls, ns, others_ns;

	if (!receipt->callbacks_timed)
		return (struct model_cost){};
	ns = share_ns(receipt->callbacks_timed_ns, calls, receipt->callbacks_timed);
	others_ns = program->ns - program->long_ns + share_ns(entries->ns, program->count, entries->count);
	ns = ns > others_ns ? ns - others_ns : 0;
	return (struct model_cost){.state = GPT_COST_SAMPLED,
				   .count = calls,
				   .ns = ns + receipt->callbacks_long_ns,
				   .long_count = receipt->callbacks_long,
				   .long_ns = receipt->callbacks_long_ns};
}

static void add_unknown(struct model_cost *cost)
{
	if (!cost->state)
		cost->state = GPT_COST_NOT_MEASURED;
}

/* What the recording had and nothing measures. */
static void add_not_measured(struct model_cost costs[GPT_PART_COUNT], const struct model *model, bool with_bpf)
{
	bool had_agent = false, had_ops = false;

	for (uint32_t i = 0; i < model->process_count; i++) {
		had_agent |= model->processes[i].agent_ready_ns != 0;
		had_ops |= model->processes[i].ops_state == GPT_AGENT_OPS_OBSERVING ||
			   model->processes[i].torch_memory_reported;
	}
	for (size_t i = 0; i < sizeof(of_agents) / sizeof(of_agents[0]) && had_agent; i++)
		add_unknown(&costs[of_agents[i]]);
	if (had_ops)
		add_unknown(&costs[GPT_PART_OPS]);
	if (with_bpf)
		add_unknown(&costs[GPT_PART_CHANGES]);
}

static void add_row(struct cost_account *account, enum gpt_cost_part part, const struct model_cost *cost)
{
	bool is_known = cost->state != GPT_COST_NOT_MEASURED;

	account->rows[account->count++] = (struct cost_row){
		.part = part,
		.name = parts[part].name ? parts[part].name : "unknown",
		.words = parts[part].words ? parts[part].words : "a part that this gputrace does not know",
		.state = cost->state,
		.count = cost->count,
		.ns = is_known ? cost->ns : 0,
		.long_count = is_known ? cost->long_count : 0,
		.long_ns = is_known ? cost->long_ns : 0,
	};
	account->ns += is_known ? cost->ns : 0;
	account->long_ns += is_known ? cost->long_ns : 0;
}

/* What the way into one program takes, on average of those that recorded something. */
static double mean_entry_ns(const struct model_source *source)
{
	static const enum gpt_cost_part entries[] = {[GPT_ENTRY_PROBE] = GPT_PART_PROBE_ENTRIES,
						     [GPT_ENTRY_AGENT] = GPT_PART_AGENT_ENTRIES,
						     [GPT_ENTRY_INTERRUPT] = GPT_PART_INTERRUPT_ENTRIES};
	double ns = 0, runs = 0;

	for (uint32_t part = GPT_PART_IDLE + 1; part < GPT_PART_COUNT; part++) {
		const struct model_cost *cost = &source->costs[part],
					*entry = &source->costs[entries[parts[part].entry]];

		if (!parts[part].entry || !cost->count)
			continue;
		runs += (double)cost->count;
		ns += entry->count ? (double)entry->ns * (double)cost->count / (double)entry->count : 0;
	}
	return runs > 0 ? ns / runs : 0;
}

void cost_account_make(struct cost_account *account, const struct model *model)
{
	const struct model_source *source = model_source(model);
	struct model_cost costs[GPT_PART_COUNT];
	bool with_bpf = false;

	*account = (struct cost_account){
		.is_of_longer = model->slice || (source->is_part && source->began.start_ns < model->start_ns),
		.thread = source->cost_thread,
		.collector_ns = source->receipt.cpu_ns,
		.span_ns = model->slice || model->end_ns < model->start_ns ? 0 : model->end_ns - model->start_ns};
	for (uint32_t part = 0; part < GPT_PART_COUNT; part++) {
		costs[part] = source->costs[part];
		with_bpf |= costs[part].state != 0;
	}
	account->is_known = with_bpf || source->receipt.callbacks_timed;
	if (!account->is_known)
		return;
	if (!costs[GPT_PART_CALLBACKS].state)
		costs[GPT_PART_CALLBACKS] = callbacks_cost(source);
	add_not_measured(costs, model, with_bpf);
	for (uint32_t part = 0; part < GPT_PART_COUNT; part++)
		if (costs[part].state)
			add_row(account, (enum gpt_cost_part)part, &costs[part]);
	account->thread_entries_ns = round_ns(mean_entry_ns(source) * (double)account->thread.count);
}
