/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What NVML said of GPUs: values, low clocks and why, errors, memory by process. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

static const struct {
	const char *name, *unit;
} counters[GPU_COUNTERS] = {
	[GPU_COUNTER_SM_CLOCK] = {"SM clock", "MHz"},
	[GPU_COUNTER_MEMORY_CLOCK] = {"memory clock", "MHz"},
	[GPU_COUNTER_POWER] = {"power", "W"},
	[GPU_COUNTER_TEMPERATURE] = {"temperature", "C"},
	[GPU_COUNTER_PCIE_TX] = {"PCIe out", "MB/s"},
	[GPU_COUNTER_PCIE_RX] = {"PCIe in", "MB/s"},
	[GPU_COUNTER_NVLINK_TX] = {"NVLink out", "MB/s"},
	[GPU_COUNTER_NVLINK_RX] = {"NVLink in", "MB/s"},
};

static void add_value(struct table *table, const char *title, const char *key, uint64_t value)
{
	table_add_value(table, title, key, UNIT_NUMBER, number_count(value), (double)value);
	table_unset_unless(table, value != MODEL_NOT_SAID, "-");
}

static void add_counter(struct report *report, struct table *table, const void *item)
{
	const struct gpu_counter_row *row = item;

	table_add_id(table, "GPU", "gpu", row->device);
	add_value(table, "min", "min", row->least);
	add_value(table, "median", "median", row->median);
	add_value(table, "max", "max", row->most);
	add_value(table, "limit", "limit", row->limit);
	table_add_name(table, "unit", "unit", TEXT_TRUNCATE_END, counters[row->counter].unit);
	table_add_name(table, "counter", "counter", TEXT_TRUNCATE_END, counters[row->counter].name);
	table_add_data(table, "known_ns", UNIT_NS, row->ns);
}

static const struct row_table counter_table = {
	.id = "gpu_counters",
	.title = "Clocks and power of GPUs",
	.remark = "by time; NVML is asked up to ten times a second",
	.add_row = add_counter,
};

/* ---- low clocks -------------------------------------------------------------------------------------------------- */

/* For how long samples stand. */
static uint64_t sampled_ns(const struct gpu_counter_sums *sums, uint32_t device)
{
	return value_of_first(sums->devices.count, i, sums->devices.items[i].device == device,
			      sums->devices.items[i].ns, 0);
}

static const char *reason_text(unsigned reason)
{
	const char *name = gpu_clock_reason_name(reason);

	return name ? name : "NVML gives no reason";
}

static void add_throttle(struct report *report, struct table *table, const void *item)
{
	const struct gpu_throttle_row *row = item;

	table_add_ns(table, "%s", "ns", row->ns);
	table_add_percent(table, "%", "percent", (double)row->ns,
			  (double)sampled_ns(&report->all->gpu_counters, row->device));
	table_add_ns(table, "low clock", "low_clock_ns", row->low_ns);
	table_add_id(table, "GPU", "gpu", row->device);
	table_add_name(table, "reason", "reason", TEXT_TRUNCATE_END, reason_text(row->reason));
}

static const struct row_table throttle_table = {
	.id = "gpu_throttled",
	.title = "GPUs held back",
	.remark = "% of the time with samples; low clock: under 97 % of its maximum",
	.add_row = add_throttle,
	.amount = offsetof(struct gpu_throttle_row, ns),
	.unit_of_first = true,
};

/* The reason for most of the time with a low clock. */
static const char *main_reason(const struct gpu_counter_sums *sums, uint32_t device)
{
	const struct gpu_throttle_row *found = NULL;

	array_each (row, &sums->throttles) {
		if (row->device == device && row->low_ns && (!found || row->low_ns > found->low_ns))
			found = row;
	}
	return reason_text(found ? found->reason : GPU_REASON_NOT_SAID);
}

/* From one part in this many on, low clocks are worth a line. */
#define LOW_SHARE 100u

static bool was_low(const struct gpu_sampled *device)
{
	return device->low_ns && device->low_ns >= device->ns / LOW_SHARE;
}

static uint64_t low_mhz(const struct gpu_sampled *device)
{
	return (uint64_t)(device->low_mhz_ns / (double)device->low_ns + 0.5);
}

static double recorded_ns(const struct analyses *all)
{
	return (double)(all->window.end_ns - all->window.start_ns);
}

/* Samples that stand for less than this part of the recording say nothing of all of it. */
#define KNOWN_SHARE 0.95

/* "GPU 0 ran at 1,200 of 1,980 MHz for 40.0 % of the time" */
static char *low_clock_text(const struct analyses *all, const struct gpu_sampled *device)
{
	char *text = xasprintf("GPU %" PRIu32 " ran at %s of %s MHz for %s %%", device->device,
			       number_count(low_mhz(device)).text, number_count(device->sm_max_mhz).text,
			       number_percent((double)device->low_ns, (double)device->ns).text);

	if ((double)device->ns >= recorded_ns(all) * KNOWN_SHARE)
		return xjoin(text, " ", xstrdup("of the time"));
	return xjoin(text, " ", xasprintf("of the %s with samples", number_time(device->ns).text));
}

static bool is_low(const struct report *report, const void *item)
{
	return was_low(item);
}

static void add_low_clock(struct report *report, struct table *table, const void *item)
{
	const struct gpu_sampled *device = item;
	const struct gpu_counter_sums *sums = &report->all->gpu_counters;
	const struct clock_device *clocks = gpu_clocks_of(&sums->clocks, device->device);
	uint64_t cost_ns = clocks && clocks->cost_ns > 0 ? (uint64_t)clocks->cost_ns : 0;

	table_add_id(table, "GPU", "gpu", device->device);
	table_add_time(table, "low clock", "low_clock_ns", device->low_ns);
	table_add_percent(table, "%", "percent", (double)device->low_ns, (double)device->ns);
	add_value(table, "MHz", "mhz", low_mhz(device));
	add_value(table, "of MHz", "max_mhz", device->sm_max_mhz);
	table_add_time(table, "cost", "cost_ns", cost_ns);
	table_unset_unless(table, clocks, "-");
	table_add_count(table, "slow kernels", "slow_kernels", clocks ? clocks->slow_kernels : 0);
	table_add_name(table, "reason", "reason", TEXT_TRUNCATE_END, main_reason(sums, device->device));
}

/* For programs; on a page there are lines. */
static const struct row_table low_table = {
	.id = "gpu_low_clocks",
	.title = "GPUs at low clocks",
	.remark = "cost: how much longer kernels took than those of their name and shape at the highest clock",
	.add_row = add_low_clock,
	.is_shown = is_low,
};

char *report_low_clock(const struct analyses *all, size_t index)
{
	const struct gpu_counter_sums *sums = &all->gpu_counters;
	const struct gpu_sampled *device = &sums->devices.items[index];
	const struct clock_device *clocks = gpu_clocks_of(&sums->clocks, device->device);
	char *text;

	if (!was_low(device))
		return NULL;
	text = xjoin(low_clock_text(all, device), "",
		     xasprintf(" (%s): %s", number_time(device->low_ns).text, main_reason(sums, device->device)));
	if (clocks && clocks->cost_ns >= 1)
		return xjoin(text, "; ",
			     xasprintf("that cost %s: %s kernel%s at the low clock, against those of the same name and "
				       "shape at the highest clock",
				       number_time((uint64_t)clocks->cost_ns).text,
				       number_count(clocks->slow_kernels).text, clocks->slow_kernels == 1 ? "" : "s"));
	if (clocks)
		return xjoin(text, "; ", xstrdup("kernels took no longer than at the highest clock"));
	return xjoin(text, "; ",
		     xstrdup("what that cost is not known: no kernel of one name and shape ran at both clocks"));
}

/*
 * The share of the recording that low clocks are known to cost, by kernels that ran at both clocks, else as far as the
 * clock was lower: a kernel that waits for memory loses less.
 */
static double share_lost(const struct analyses *all, const struct gpu_sampled *device)
{
	const struct clock_device *clocks = gpu_clocks_of(&all->gpu_counters.clocks, device->device);

	if (!was_low(device))
		return 0;
	if (clocks)
		return clocks->cost_ns / recorded_ns(all);
	return (double)device->low_ns / recorded_ns(all) * (1 - (double)low_mhz(device) / (double)device->sm_max_mhz);
}

/* From one part in this many of the time on, low clocks are one of the largest losses. */
#define SLOW_SHARE 20u
#define SLOW_SHARE_NOT_KNOWN 10u

char *report_slow_gpu(const struct analyses *all)
{
	const struct gpu_counter_sums *sums = &all->gpu_counters;
	const struct gpu_sampled *slowest = NULL;
	const struct clock_device *clocks;
	size_t slow = 0;
	char *text;

	array_each (device, &sums->devices) {
		bool is_known = gpu_clocks_of(&sums->clocks, device->device);

		if (share_lost(all, device) < 1.0 / (is_known ? SLOW_SHARE : SLOW_SHARE_NOT_KNOWN))
			continue;
		slow++;
		if (!slowest || share_lost(all, device) > share_lost(all, slowest))
			slowest = device;
	}
	if (!slowest)
		return NULL;
	clocks = gpu_clocks_of(&sums->clocks, slowest->device);
	text = xjoin(low_clock_text(all, slowest), "", xasprintf(" (%s)", main_reason(sums, slowest->device)));
	if (clocks)
		text = xjoin(text, ", which cost ", xstrdup(number_time((uint64_t)clocks->cost_ns).text));
	return slow > 1 ? xjoin(text, "; ", xasprintf("so did %zu more GPU%s", slow - 1, slow > 2 ? "s" : "")) : text;
}

/* ---- errors and memory ------------------------------------------------------------------------------------------- */

static void add_error(struct report *report, struct table *table, const void *item)
{
	const struct gpu_error_row *row = item;

	table_add_id(table, "GPU", "gpu", row->device);
	table_add_count(table, "count", "count", row->count);
	table_add_time(table, "after the start", "after_start_ns", report_after_start(report, row->first_ns));
	table_add_name(table, "error", "error", TEXT_TRUNCATE_END, gpu_error_name((enum gpt_gpu_error_kind)row->kind));
	table_add_id(table, "number", "number", row->data);
	table_unset_unless(table, row->kind == GPT_GPU_XID, "-");
}

static const struct row_table error_table = {
	.id = "gpu_errors",
	.title = "Errors of GPUs",
	.remark = "the first of each; NVIDIA's documents explain the numbers of XIDs",
	.add_row = add_error,
};

static void add_memory(struct table *table, const char *title, const char *key, uint64_t bytes)
{
	table_add_memory(table, title, key, bytes);
	table_unset_unless(table, bytes != MODEL_NOT_SAID_64, "-");
}

static char *process_text(const struct report *report, const struct gpu_process_row *row)
{
	if (row->process != NONE)
		return process_label(&report->model->processes[row->process]);
	return *row->name ? xasprintf("%s %" PRIu32 ", not traced", row->name, row->pid)
			  : xasprintf("process %" PRIu32 ", not traced", row->pid);
}

static void add_process(struct report *report, struct table *table, const void *item)
{
	const struct gpu_process_row *row = item;
	AUTO_FREE char *text = process_text(report, row);

	add_memory(table, "at most", "most_bytes", row->most);
	add_memory(table, "at the end", "last_bytes", row->last);
	table_add_id(table, "GPU", "gpu", row->device);
	table_add_name(table, "process", "process", TEXT_TRUNCATE_MIDDLE, text);
	table_add_id(table, NULL, "pid", row->pid);
	table_add_word(table, "traced", row->process != NONE ? "yes" : "no");
}

static const struct row_table process_table = {
	.id = "gpu_processes",
	.title = "Memory of GPUs by process",
	.remark = "also of processes that are not traced",
	.add_row = add_process,
};

void report_gpu_counters(struct report *report)
{
	const struct gpu_counter_sums *sums = &report->all->gpu_counters;

	report_rows(report, &counter_table, &(struct row_list){ROWS_OF(&sums->rows), .has_all = true});
	if (report->writer && array_find(&sums->devices, item, was_low(item)))
		report_rows(report, &low_table, &(struct row_list){ROWS_OF(&sums->devices), .has_all = true});
	report_rows(report, &throttle_table, &(struct row_list){ROWS_OF(&sums->throttles), .has_all = true});
	report_rows(report, &error_table, &(struct row_list){ROWS_OF(&sums->errors), .has_all = true});
	report_rows(report, &process_table, &(struct row_list){ROWS_OF(&sums->processes)});
}

const char *report_no_counters(const struct model *model)
{
	const struct model_source *source = model_source(model);
	bool is_missed =
		source->nvml == GPT_NVML_ABSENT || source->nvml == GPT_NVML_SILENT || source->nvml == GPT_NVML_ENDED;

	return is_missed ? source->nvml_text : NULL;
}
