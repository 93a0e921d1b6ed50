/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by stack while events come; line_cost_rows.c makes rows of them. */
#include "analyze/costs/line_costs.h"

#include <stdlib.h>

#include "analyze/costs/line_cost_rows.h"

void line_costs_free(struct line_costs *costs)
{
	gpu_tally_free(&costs->gpu);
	tally_free(&costs->copies);
	tally_free(&costs->calls);
	tally_free(&costs->samples);
	waits_free(&costs->waits);
	free(costs->rows);
	free(costs->functions);
	array_free(&costs->outside);
}

void line_costs_begin_part(struct line_costs *costs, const struct model *part)
{
	costs->model = part;
	waits_begin_part(&costs->waits, part);
}

void line_costs_add_call(struct line_costs *costs, const struct call_event *event)
{
	const struct model_call *call = event->call;
	uint32_t place = caller_place(costs->model, call->stack, event->caller);
	struct tally_entry *sum = tally_at(&costs->calls, (struct tally_key){{place, event->process}});

	sum->ns += call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
	sum->more += call_is_work(call);
	waits_add_call(&costs->waits, event);
}

void line_costs_add_gpu(struct line_costs *costs, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	uint64_t ns = gpu_ns(op);
	uint32_t place = caller_place(costs->model, event->stack, event->caller);
	uint32_t replay = place < CALLER_NO_FRAME ? event->replay : NONE;
	bool counts = event->attributed != event->launch || event->first;
	struct tally_entry *sum = gpu_tally_at(&costs->gpu, op, (struct tally_key){{place, op->process, replay}});

	sum->ns += ns;
	sum->count += counts;
	if (op->kind != MODEL_KERNEL) {
		sum->more += ns;
		tally_at(&costs->copies, (struct tally_key){{place, op->process, replay}})->count++;
	}
	costs->gpu_ns += ns;
	costs->has_gpu = true;
}

void line_costs_add_sync(struct line_costs *costs, const struct sync_event *event)
{
	struct sync_event placed = *event;

	placed.recorded_caller = CALLER_UNSEEN;
	waits_add_sync(&costs->waits, &placed);
}

void line_costs_add_sample(struct line_costs *costs, const struct sample_event *event)
{
	const struct model_sample *sample = event->sample;
	uint32_t place = caller_place(costs->model, sample->stack, event->caller);

	tally_at(&costs->samples, (struct tally_key){{place, event->process}})->ns += sample_ns(sample);
	costs->sampled_ns += sample_ns(sample);
	costs->has_samples = true;
}

void line_costs_finish(struct line_costs *costs, struct lines *lines, const struct idle *idle,
		       const struct torch_memory_sums *memory)
{
	costs->idle = idle;
	costs->has_memory = memory->spaces.count != 0;
	costs->has_growth = memory->has_steps;
	line_cost_rows_make(costs, lines, memory);
}
