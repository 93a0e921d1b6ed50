/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time by op of PyTorch: on the GPU, or on the CPU if nothing ran on a GPU. */
#include <stdio.h>

#include "report/parts.h"

static uint64_t self_of(const struct op_row *row, bool on_gpu)
{
	return on_gpu ? row->gpu_self_ns : row->cpu_self_ns;
}

static uint64_t total_of(const struct op_row *row, bool on_gpu)
{
	return on_gpu ? row->gpu_once_ns : row->cpu_ns;
}

static void put_table(struct report *report, bool on_gpu, uint64_t sum_ns)
{
	const struct ops_by_name *ops = &report->all->ops;
	struct time_unit unit = time_unit_for(sum_ns);
	size_t shown = report_shown(report, ops->rows.count);
	char self[16], total[16];
	const struct column columns[] = {
		COLUMN_NUMBER(self, NULL, UNIT_NS),	     COLUMN_NUMBER(total, NULL, UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT), COLUMN_NUMBER("calls", "calls", UNIT_COUNT),
		COLUMN_NAME("op", "op", TEXT_TRUNCATE_END),  COLUMN_DATA("gpu_self_ns", UNIT_NS),
		COLUMN_DATA("gpu_total_ns", UNIT_NS),	     COLUMN_DATA("cpu_self_ns", UNIT_NS),
		COLUMN_DATA("cpu_total_ns", UNIT_NS),	     COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	snprintf(self, sizeof(self), "self %s", unit.name);
	snprintf(total, sizeof(total), "total %s", unit.name);
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct op_row *row = &ops->rows.items[i];

		table_add_ns(&table, self_of(row, on_gpu), unit);
		table_add_ns(&table, total_of(row, on_gpu), unit);
		table_add_percent(&table, (double)self_of(row, on_gpu), (double)sum_ns);
		table_add_count(&table, row->calls);
		table_add(&table, row->name == NONE ? "(name not known)" : report->model->strings[row->name]);
		table_add_ns(&table, row->gpu_self_ns, unit);
		table_add_ns(&table, row->gpu_once_ns, unit);
		table_add_ns(&table, row->cpu_self_ns, unit);
		table_add_ns(&table, row->cpu_ns, unit);
	}
	report_table(report, &table);
	for (size_t i = shown; i < ops->rows.count; i++)
		rest += self_of(&ops->rows.items[i], on_gpu);
	report_more(report, ops->rows.count - shown, "ops", number_in(rest, unit), unit.name);
}

static void put_left_out(struct report *report)
{
	const struct ops_by_name *ops = &report->all->ops;

	if (ops->left_out)
		report_line(report, "  %s ops are not in the totals: %u others were open on their thread",
			    number_count(ops->left_out).text, OPS_OPEN_MAX);
}

static uint32_t count_in_state(const struct model *model, enum gpt_agent_ops_state state)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->process_count; i++)
		count += model->processes[i].ops_state == state;
	return count;
}

/* Says why there are none, or which are missing. */
static void put_refused(struct report *report)
{
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];

		if (process->ops_state == GPT_AGENT_OPS_REFUSED)
			report_line(report, "  no ops of %s %u: %s", process->name, process->pid, process->ops_detail);
		else if (process->ops_detail[0])
			report_line(report, "  ops of %s %u: %s", process->name, process->pid, process->ops_detail);
	}
	if (!report->all->ops.rows.count && count_in_state(model, GPT_AGENT_OPS_WAITING))
		report_line(report, "  no process had PyTorch loaded that could have reported ops");
}

void report_ops(struct report *report)
{
	uint64_t gpu_ns = model_source(report->model)->receipt.gpu_ns;
	const struct ops_by_name *ops = &report->all->ops;
	bool on_gpu = ops->gpu_inside_ns > 0;

	if (!ops->rows.count && !count_in_state(report->model, GPT_AGENT_OPS_REFUSED) &&
	    !count_in_state(report->model, GPT_AGENT_OPS_WAITING))
		return;
	report_title(report, "ops", on_gpu || !ops->rows.count ? "GPU time by op" : "CPU time by op",
		     on_gpu ? "of PyTorch; self: launched in it, but in no op inside of it"
		     : model_has_all_calls(report->model) ? "of PyTorch; self: in no op and no CUDA call inside of it"
							  : "of PyTorch; self: in no op and no CUDA call that gputrace "
							    "follows inside of it");
	if (ops->rows.count)
		put_table(report, on_gpu, on_gpu ? gpu_ns : ops->cpu_self_ns);
	if (on_gpu)
		report_line(report, "  %s %% of GPU time was launched outside of all ops",
			    number_percent((double)(gpu_ns - ops->gpu_inside_ns), (double)gpu_ns).text);
	put_left_out(report);
	put_refused(report);
}
