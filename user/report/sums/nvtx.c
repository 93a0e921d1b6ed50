/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by NVTX range. */

#include "model/range_name.h"
#include "report/page/parts.h"

static char *range_name(const struct model *model, const struct nvtx_row *row)
{
	const char *name = model->strings[row->name], *domain = "";
	int length = (int)range_name_length(name);

	if (row->domain != NONE)
		domain = model->strings[row->domain];
	return xasprintf("%.*s%s%s%s", length ? length : 9, length ? name : "(no name)", *domain ? " [" : "", domain,
			 *domain ? "]" : "");
}

static void put_table(struct report *report, const struct nvtx *nvtx)
{
	uint64_t gpu_ns = model_source(report->model)->receipt.gpu_ns;
	struct time_unit unit = time_unit_for(nvtx->rows.items[0].ns);
	const struct column columns[] = {
		COLUMN_NUMBER(gpu_ns ? unit.name : COLUMN_NOT_SHOWN, "gpu_ns", UNIT_NS),
		COLUMN_NUMBER(gpu_ns ? "share %" : COLUMN_NOT_SHOWN, "percent", UNIT_PERCENT),
		COLUMN_NUMBER(gpu_ns ? "ops" : COLUMN_NOT_SHOWN, "operations", UNIT_COUNT),
		COLUMN_NUMBER("ranges", "ranges", UNIT_COUNT),
		COLUMN_NUMBER("open", "open_ns", UNIT_NS),
		COLUMN_NAME("range", "range", TEXT_TRUNCATE_END),
		COLUMN_END,
	};
	size_t shown = report_shown(report, nvtx->rows.count);
	struct table table;

	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct nvtx_row *row = &nvtx->rows.items[i];
		AUTO_FREE char *name = range_name(report->model, row);

		table_add_ns(&table, row->ns, unit);
		table_add_percent(&table, (double)row->ns, (double)gpu_ns);
		table_unset_unless(&table, gpu_ns, "");
		table_add_count(&table, row->count);
		table_add_count(&table, row->ranges);
		table_add_time(&table, row->open_ns);
		table_add(&table, name);
	}
	report_table(report, &table);
	if (nvtx->rows.count > shown)
		report_line(report, "  ... and %s more range%s", number_count(nvtx->rows.count - shown).text,
			    nvtx->rows.count - shown == 1 ? "" : "s");
}

void report_ranges(struct report *report)
{
	const struct nvtx *nvtx = &report->all->nvtx;
	uint64_t gpu_ns = model_source(report->model)->receipt.gpu_ns;

	if (!nvtx->rows.count)
		return;
	report_title(report, "ranges", gpu_ns ? "GPU time by NVTX range" : "NVTX ranges",
		     gpu_ns ? "launched while it was open on that thread, ranges inside it too"
			    : "how long they were open");
	put_table(report, nvtx);
	if (gpu_ns)
		report_line(report, "  %s %% of GPU time was launched outside of all ranges",
			    number_percent((double)(gpu_ns - nvtx->covered_ns), (double)gpu_ns).text);
	if (nvtx->left_out)
		report_line(report, "  %s ranges are not in this table: %u others were open on their thread",
			    number_count(nvtx->left_out).text, NVTX_OPEN_MAX);
}
