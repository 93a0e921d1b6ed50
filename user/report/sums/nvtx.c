/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by NVTX range. */

#include "model/range_name.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

static char *range_name(const struct model *model, const struct nvtx_row *row)
{
	const char *name = model->strings[row->name], *domain = "";
	int length = (int)range_name_length(name);

	if (row->domain != NONE)
		domain = model->strings[row->domain];
	return xasprintf("%.*s%s%s%s", length ? length : 9, length ? name : "(no name)", *domain ? " [" : "", domain,
			 *domain ? "]" : "");
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct nvtx_row *row = item;
	uint64_t gpu_ns = model_source(report->model)->receipt.gpu_ns;
	AUTO_FREE char *name = range_name(report->model, row);

	table_add_ns(table, gpu_ns ? "%s" : NULL, "gpu_ns", row->ns);
	table_add_percent(table, gpu_ns ? "share %" : NULL, "percent", (double)row->ns, (double)gpu_ns);
	table_unset_unless(table, gpu_ns, "");
	table_add_count(table, gpu_ns ? "ops" : NULL, "operations", row->count);
	table_add_count(table, "ranges", "ranges", row->ranges);
	table_add_time(table, "open", "open_ns", row->open_ns);
	table_add_name(table, "range", "range", TEXT_TRUNCATE_END, name);
}

static const struct row_table ranges = {
	.id = "ranges", .add_row = add_row, .amount = offsetof(struct nvtx_row, ns), .unit_of_first = true};

void report_ranges(struct report *report)
{
	const struct nvtx *nvtx = &report->all->nvtx;
	uint64_t gpu_ns = model_source(report->model)->receipt.gpu_ns;
	size_t shown = report_shown(report, nvtx->rows.count);

	if (!nvtx->rows.count)
		return;
	report_rows(
		report, &ranges,
		&(struct row_list){ROWS_OF(&nvtx->rows), .title = gpu_ns ? "GPU time by NVTX range" : "NVTX ranges",
				   .remark = gpu_ns ? "launched while it was open on that thread, ranges inside it too"
						    : "how long they were open"});
	if (nvtx->rows.count > shown)
		report_line(report, "  ... and %s more range%s", number_count(nvtx->rows.count - shown).text,
			    nvtx->rows.count - shown == 1 ? "" : "s");
	if (gpu_ns)
		report_line(report, "  %s %% of GPU time was launched outside of all ranges",
			    number_percent((double)(gpu_ns - nvtx->covered_ns), (double)gpu_ns).text);
	if (nvtx->left_out)
		report_line(report, "  %s ranges are not in this table: %u others were open on their thread",
			    number_count(nvtx->left_out).text, NVTX_OPEN_MAX);
}
