/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time by op of PyTorch: on the GPU, or on the CPU if nothing ran on a GPU. */

#include "report/page/parts.h"
#include "report/page/row_table.h"

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct op_row *row = item;
	bool on_gpu = report->all->ops.gpu_inside_ns > 0;

	table_add_ns(table, "self %s", NULL, on_gpu ? row->gpu_self_ns : row->cpu_self_ns);
	table_add_ns(table, "total %s", NULL, on_gpu ? row->gpu_once_ns : row->cpu_ns);
	table_add_share(table, on_gpu ? row->gpu_self_ns : row->cpu_self_ns);
	table_add_count(table, "calls", "calls", row->calls);
	table_add_name(table, "op", "op", TEXT_TRUNCATE_END,
		       row->name == NONE ? "(name not known)" : report->model->strings[row->name]);
	table_add_data(table, "gpu_self_ns", UNIT_NS, row->gpu_self_ns);
	table_add_data(table, "gpu_total_ns", UNIT_NS, row->gpu_once_ns);
	table_add_data(table, "cpu_self_ns", UNIT_NS, row->cpu_self_ns);
	table_add_data(table, "cpu_total_ns", UNIT_NS, row->cpu_ns);
}

/* The title is printed also where there are no rows. */
static const struct row_table on_gpu_table = {.add_row = add_row,
					      .amount = offsetof(struct op_row, gpu_self_ns),
					      .more = "op"},
			      on_cpu_table = {
				      .add_row = add_row, .amount = offsetof(struct op_row, cpu_self_ns), .more = "op"};

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
	report_rows(report, on_gpu ? &on_gpu_table : &on_cpu_table,
		    &(struct row_list){ROWS_OF(&ops->rows), .sum = on_gpu ? gpu_ns : ops->cpu_self_ns});
	if (on_gpu)
		report_line(report, "  %s %% of GPU time was launched outside of all ops",
			    number_percent((double)(gpu_ns - ops->gpu_inside_ns), (double)gpu_ns).text);
	put_left_out(report);
	put_refused(report);
	if (!ops->rows.count && !count_in_state(report->model, GPT_AGENT_OPS_REFUSED))
		report_carries(report, 0, UINT64_MAX); /* `why` asks for ops of programs without PyTorch, too */
}
