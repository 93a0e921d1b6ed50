/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of GPUs: values by time, low clocks and what they cost, errors, memory by process. */
#include "counters_log.h"
#include "report/report.h"
#include "report/why/why.h"

#define TENTH (100 * MS)

static const struct gpu_counter_row *row_of(const struct counters_log *counters, enum gpu_counter counter)
{
	for (size_t i = 0; i < counters->all.gpu_counters.rows.count; i++)
		if (counters->all.gpu_counters.rows.items[i].counter == counter)
			return &counters->all.gpu_counters.rows.items[i];
	return NULL;
}

/* Full for 400 ms, at 1,200 MHz for 600 ms by the power cap. */
static void clocks_fall(struct counters_log *counters)
{
	for (uint64_t i = 1; i <= 11; i++)
		clock_is(counters, i * TENTH, i < 5 ? GPU_MHZ : 1200, i < 5 ? 0 : GPT_CLOCK_POWER_CAP);
}

/* NVML answers, but says nothing. */
static struct gpt_gpu_sample silent_sample(uint64_t time_ns)
{
	struct gpt_gpu_sample sample;

	memset(&sample, 0xff, sizeof(sample));
	sample.hdr = (struct gpt_record){0};
	sample.time_ns = time_ns;
	sample.took_us = 1;
	memcpy(sample.uuid, COUNTERS_UUID, sizeof(sample.uuid));
	return sample;
}

static char *text_of(const struct counters_log *counters,
		     int (*write)(FILE *, struct trace *, const struct report_options *))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write(out, WHOLE_TRACE(counters->model), &(struct report_options){.width = 300}), 0);
	fclose(out);
	return text;
}

static void says(const struct counters_log *counters,
		 int (*write)(FILE *, struct trace *, const struct report_options *), const char *wanted, bool does)
{
	char *text = text_of(counters, write);

	if (!strstr(text, wanted) == does)
		fail_msg("%s \"%s\" in: %s", does ? "no" : "unexpected", wanted, text);
	free(text);
}

static void a_sample_stands_for_the_time_until_the_next(void **state)
{
	struct counters_log counters;
	const struct gpu_counter_row *clock, *power;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	clock = row_of(&counters, GPU_COUNTER_SM_CLOCK);
	assert_int_equal(clock->least, 1200);
	assert_int_equal(clock->median, 1200);
	assert_int_equal(clock->most, GPU_MHZ);
	assert_int_equal(clock->limit, GPU_MHZ);
	assert_int_equal(clock->ns, 1000 * MS);
	power = row_of(&counters, GPU_COUNTER_POWER);
	assert_int_equal(power->most, 698);
	assert_int_equal(power->limit, 700);
	assert_int_equal(row_of(&counters, GPU_COUNTER_PCIE_TX)->median, 1000);
	assert_null(row_of(&counters, GPU_COUNTER_PCIE_RX));
	assert_null(row_of(&counters, GPU_COUNTER_TEMPERATURE));
	assert_int_equal(counters.all.gpu_counters.devices.items[0].low_ns, 600 * MS);
	assert_int_equal(counters.all.gpu_counters.throttles.count, 1);
	assert_int_equal(counters.all.gpu_counters.throttles.items[0].reason, 2);
	assert_int_equal(counters.all.gpu_counters.throttles.items[0].ns, 600 * MS);
	free_counters(&counters);
}

static void beyond_the_longest_interval_nothing_is_known(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	clock_is(&counters, 100 * MS, 1200, GPT_CLOCK_POWER_CAP);
	clock_is(&counters, 200 * MS, 1200, GPT_CLOCK_POWER_CAP);
	clock_is(&counters, 5000 * MS, 1200, GPT_CLOCK_POWER_CAP);
	end_counters(&counters, 5100 * MS);
	assert_int_equal(row_of(&counters, GPU_COUNTER_SM_CLOCK)->ns, 100 * MS);
	assert_int_equal(counters.all.gpu_counters.devices.items[0].low_ns, 100 * MS);
	free_counters(&counters);
}

static void slow_kernels_cost_what_they_take_longer_than_the_median_at_full_clock(void **state)
{
	struct counters_log counters;
	const struct clock_device *clocks;

	begin_counters(&counters);
	for (uint64_t i = 0; i < 5; i++)
		kernel_of(&counters, 1, 210 * MS + i * MS, i == 4 ? 900 * US : 100 * US); /* median: 100 us */
	kernel_of(&counters, 2, 220 * MS, 10 * US);					  /* of another shape */
	kernel_of(&counters, 1, 490 * MS, 130 * US);					  /* the clock falls then */
	for (uint64_t i = 0; i < 4; i++)
		kernel_of(&counters, 1, 610 * MS + i * MS, 165 * US);
	kernel_of(&counters, 3, 630 * MS, 500 * US); /* only at the low clock */
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	clocks = gpu_clocks_of(&counters.all.gpu_counters.clocks, 0);
	assert_non_null(clocks);
	assert_int_equal(clocks->slow_kernels, 4);
	assert_int_equal(clocks->slow_ns, 4 * 165 * US);
	assert_int_equal((uint64_t)clocks->cost_ns, 4 * 65 * US);
	says(&counters, report_write,
	     "GPU 0 ran at 1,200 of 1,980 MHz for 60.0 % of the 1.0 s with samples (600.0 ms): power cap", true);
	says(&counters, report_write_why,
	     "for 60.0 % of the 1.0 s with samples (600.0 ms): power cap; that cost 260.0 us: 4 kernels at the low "
	     "clock, against ",
	     true);
	free_counters(&counters);
}

/* One in ten takes ten times as long, at both clocks. */
static void durations_that_are_the_same_at_both_clocks_cost_nothing(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	for (uint64_t i = 0; i < 20; i++)
		kernel_of(&counters, 1, 210 * MS + i * MS, i % 10 ? 10 * US : 100 * US);
	for (uint64_t i = 0; i < 40; i++)
		kernel_of(&counters, 1, 610 * MS + i * MS, i % 10 ? 10 * US : 100 * US);
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	assert_int_equal(gpu_clocks_of(&counters.all.gpu_counters.clocks, 0)->slow_kernels, 40);
	assert_true(gpu_clocks_of(&counters.all.gpu_counters.clocks, 0)->cost_ns < 1);
	says(&counters, report_write_why, "kernels took no longer than at the highest clock", true);
	free_counters(&counters);
}

/* Ten kernels of 30 ms, of which those at the low clock take 20 ms longer. */
static void the_verdict_names_a_gpu_that_was_slow_for_a_twentieth_of_the_time(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	for (uint64_t i = 0; i < 4; i++)
		kernel_of(&counters, 1, 110 * MS + i * 60 * MS, 30 * MS);
	for (uint64_t i = 0; i < 6; i++)
		kernel_of(&counters, 1, 610 * MS + i * 60 * MS, 50 * MS);
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	says(&counters, report_write,
	     "\nGPU 0 ran at 1,200 of 1,980 MHz for 60.0 % of the 1.0 s with samples (power cap), which cost 120.0 "
	     "ms\n",
	     true);
	free_counters(&counters);
}

static void the_verdict_does_not_name_a_gpu_whose_kernels_hardly_took_longer(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	for (uint64_t i = 0; i < 4; i++)
		kernel_of(&counters, 1, 110 * MS + i * 60 * MS, 30 * MS);
	for (uint64_t i = 0; i < 6; i++)
		kernel_of(&counters, 1, 610 * MS + i * 60 * MS, 31 * MS);
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	says(&counters, report_write, "(power cap), which cost", false);
	free_counters(&counters);
}

static void without_a_comparison_the_verdict_names_a_clock_that_was_low_for_long(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 210 * MS, 100 * US);
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	says(&counters, report_write,
	     "\nGPU 0 ran at 1,200 of 1,980 MHz for 60.0 % of the 1.0 s with samples (power cap)\n", true);
	free_counters(&counters);
}

static void samples_of_a_part_of_the_recording_say_nothing_of_the_rest(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 210 * MS, 100 * US);
	for (uint64_t i = 1; i <= 50; i++)
		clock_is(&counters, i * TENTH, i < 20 ? GPU_MHZ : 1200, i < 20 ? 0 : GPT_CLOCK_POWER_CAP);
	end_counters(&counters, 5050 * MS); /* for all but 150 ms */
	says(&counters, report_write, "\nGPU 0 ran at 1,200 of 1,980 MHz for 61.2 % of the time (power cap)\n", true);
	free_counters(&counters);
	begin_counters(&counters);
	kernel_of(&counters, 1, 210 * MS, 100 * US);
	clocks_fall(&counters);
	end_counters(&counters, 20000 * MS);
	says(&counters, report_write,
	     "\n  GPU 0 ran at 1,200 of 1,980 MHz for 60.0 % of the 1.0 s with samples (600.0 ms)", true);
	says(&counters, report_write, "\nGPU 0 ran at", false); /* in the verdict */
	free_counters(&counters);
}

static void a_limit_that_the_last_sample_lacks_is_the_one_before(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 210 * MS, 100 * US);
	clocks_fall(&counters);
	log_gpu_sample(&counters.log, silent_sample(1200 * MS));
	end_counters(&counters, 1220 * MS);
	assert_int_equal(row_of(&counters, GPU_COUNTER_SM_CLOCK)->limit, GPU_MHZ);
	assert_int_equal(row_of(&counters, GPU_COUNTER_POWER)->limit, 700);
	says(&counters, report_write, "GPU 0 ran at 1,200 of 1,980 MHz", true);
	free_counters(&counters);
}

static void without_a_kernel_at_both_clocks_no_cost_is_named(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 210 * MS, 100 * US);
	kernel_of(&counters, 2, 610 * MS, 165 * US);
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	assert_null(gpu_clocks_of(&counters.all.gpu_counters.clocks, 0));
	says(&counters, report_write_why, "what that cost is not known: no kernel", true);
	says(&counters, report_write_why, "that cost 0", false);
	free_counters(&counters);
}

static void a_kernel_that_runs_through_a_change_of_the_clock_counts_for_neither(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 210 * MS, 100 * US);
	kernel_of(&counters, 1, 450 * MS, 200 * MS); /* begins and ends between samples that differ */
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	assert_null(gpu_clocks_of(&counters.all.gpu_counters.clocks, 0));
	free_counters(&counters);
}

static void a_kernel_longer_than_the_interval_counts_if_all_samples_agree(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 110 * MS, 250 * MS);
	kernel_of(&counters, 1, 610 * MS, 350 * MS);
	clocks_fall(&counters);
	end_counters(&counters, 1200 * MS);
	assert_non_null(gpu_clocks_of(&counters.all.gpu_counters.clocks, 0));
	assert_int_equal((uint64_t)gpu_clocks_of(&counters.all.gpu_counters.clocks, 0)->cost_ns, 100 * MS);
	free_counters(&counters);
}

static void clocks_of_a_gpu_at_rest_are_no_throttling(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	for (uint64_t i = 1; i <= 11; i++)
		clock_is(&counters, i * TENTH, 345, GPT_CLOCK_IDLE);
	end_counters(&counters, 1200 * MS);
	assert_int_equal(counters.all.gpu_counters.devices.items[0].low_ns, 0);
	assert_int_equal(counters.all.gpu_counters.throttles.count, 0);
	says(&counters, report_write, "ran at", false);
	free_counters(&counters);
}

static void a_low_clock_without_a_reason_says_so(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	for (uint64_t i = 1; i <= 11; i++)
		clock_is(&counters, i * TENTH, 1200, i % 2 ? 0 : UINT64_MAX);
	end_counters(&counters, 1200 * MS);
	says(&counters, report_write, "for 100.0 % of the 1.0 s with samples (1.0 s): NVML gives no reason", true);
	free_counters(&counters);
}

static void of_a_gpu_that_no_process_of_the_trace_has_there_is_nothing(void **state)
{
	struct counters_log counters;
	struct gpt_gpu_sample other = {.time_ns = 200 * MS, .uuid = "another-gpu-0000"};

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	log_gpu_sample(&counters.log, other);
	end_counters(&counters, 1200 * MS);
	assert_int_equal(counters.model->gpu_sample_count, 0);
	assert_int_equal(counters.all.gpu_counters.rows.count, 0);
	free_counters(&counters);
}

static void samples_from_before_the_recording_and_after_it_are_not_part_of_it(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	clock_is(&counters, 500, 1200, 0); /* it began at 1000 */
	clock_is(&counters, 200 * MS, 1200, 0);
	clock_is(&counters, 1200 * MS, 1200, 0);
	end_counters(&counters, 1200 * MS);
	assert_int_equal(counters.model->gpu_sample_count, 1);
	free_counters(&counters);
}

static void has_memory(struct counters_log *counters, uint64_t time_ns, uint32_t pid, const char *name, uint64_t bytes)
{
	struct gpt_gpu_process process = {.time_ns = time_ns, .pid = pid, .bytes = bytes};

	memcpy(process.uuid, COUNTERS_UUID, 16);
	snprintf(process.comm, sizeof(process.comm), "%s", name);
	log_gpu_process(&counters->log, process);
}

static void memory_of_traced_and_of_other_processes_is_listed(void **state)
{
	struct counters_log counters;
	const struct gpu_process_row *rows;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	has_memory(&counters, 200 * MS, PID, "python3", 1 << 20);
	has_memory(&counters, 200 * MS, 77, "other", 3 << 20);
	has_memory(&counters, 300 * MS, 77, "other", 2 << 20);
	has_memory(&counters, 300 * MS, 78, "", UINT64_MAX);
	end_counters(&counters, 1200 * MS);
	rows = counters.all.gpu_counters.processes.items;
	assert_int_equal(counters.all.gpu_counters.processes.count, 3);
	assert_int_equal(rows[0].pid, 77);
	assert_int_equal(rows[0].process, NONE);
	assert_int_equal(rows[0].most, 3 << 20);
	assert_int_equal(rows[0].last, 2 << 20);
	assert_int_equal(rows[1].pid, PID);
	assert_int_not_equal(rows[1].process, NONE);
	assert_int_equal(rows[2].pid, 78);
	says(&counters, report_write, "other 77, not traced", true);
	says(&counters, report_write, "process 78, not traced", true);
	free_counters(&counters);
}

static void errors_are_counted_by_number_and_have_the_time_of_the_first(void **state)
{
	struct counters_log counters;
	struct gpt_gpu_error xid = {.time_ns = 400 * MS, .kind = GPT_GPU_XID, .data = 79};

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	memcpy(xid.uuid, COUNTERS_UUID, 16);
	log_gpu_error(&counters.log, xid);
	xid.time_ns = 500 * MS;
	log_gpu_error(&counters.log, xid);
	xid.data = 48;
	log_gpu_error(&counters.log, xid);
	end_counters(&counters, 1200 * MS);
	assert_int_equal(counters.all.gpu_counters.errors.count, 2);
	assert_int_equal(counters.all.gpu_counters.errors.items[0].data, 79);
	assert_int_equal(counters.all.gpu_counters.errors.items[0].count, 2);
	assert_int_equal(counters.all.gpu_counters.errors.items[0].first_ns, 400 * MS);
	says(&counters, report_write, "XID        79", true);
	free_counters(&counters);
}

static void why_counters_are_missing_is_said_once_where_a_gpu_worked(void **state)
{
	struct counters_log counters;
	char *text, *first;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	log_nvml(&counters.log, GPT_NVML_ABSENT, "libnvidia-ml.so.1 not found %s%n");
	end_counters(&counters, 1200 * MS);
	text = text_of(&counters, report_write);
	first = strstr(text, "clocks and power of GPUs are not known: libnvidia-ml.so.1 not found %s%n");
	assert_non_null(first);
	assert_null(strstr(first + 1, "clocks and power"));
	free(text);
	says(&counters, report_write_why, "Clocks are not known\nlibnvidia-ml.so.1 not found %s%n", true);
	free_counters(&counters);
}

static void a_machine_without_a_driver_lacks_nothing(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	log_nvml(&counters.log, GPT_NVML_NO_DRIVER, "NVIDIA's driver is not loaded");
	end_counters(&counters, 1200 * MS);
	says(&counters, report_write, "clocks and power", false);
	says(&counters, report_write, "driver", false);
	says(&counters, report_write_why, "Clocks", false);
	free_counters(&counters);
}

static void nothing_is_said_where_counters_were_not_asked_for(void **state)
{
	struct counters_log counters;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	end_counters(&counters, 1200 * MS);
	says(&counters, report_write, "clocks and power", false);
	says(&counters, report_write, "Clocks", false);
	free_counters(&counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_stands_for_the_time_until_the_next),
		cmocka_unit_test(beyond_the_longest_interval_nothing_is_known),
		cmocka_unit_test(slow_kernels_cost_what_they_take_longer_than_the_median_at_full_clock),
		cmocka_unit_test(durations_that_are_the_same_at_both_clocks_cost_nothing),
		cmocka_unit_test(the_verdict_names_a_gpu_that_was_slow_for_a_twentieth_of_the_time),
		cmocka_unit_test(the_verdict_does_not_name_a_gpu_whose_kernels_hardly_took_longer),
		cmocka_unit_test(without_a_comparison_the_verdict_names_a_clock_that_was_low_for_long),
		cmocka_unit_test(samples_of_a_part_of_the_recording_say_nothing_of_the_rest),
		cmocka_unit_test(a_limit_that_the_last_sample_lacks_is_the_one_before),
		cmocka_unit_test(without_a_kernel_at_both_clocks_no_cost_is_named),
		cmocka_unit_test(a_kernel_that_runs_through_a_change_of_the_clock_counts_for_neither),
		cmocka_unit_test(a_kernel_longer_than_the_interval_counts_if_all_samples_agree),
		cmocka_unit_test(clocks_of_a_gpu_at_rest_are_no_throttling),
		cmocka_unit_test(a_low_clock_without_a_reason_says_so),
		cmocka_unit_test(of_a_gpu_that_no_process_of_the_trace_has_there_is_nothing),
		cmocka_unit_test(samples_from_before_the_recording_and_after_it_are_not_part_of_it),
		cmocka_unit_test(memory_of_traced_and_of_other_processes_is_listed),
		cmocka_unit_test(errors_are_counted_by_number_and_have_the_time_of_the_first),
		cmocka_unit_test(why_counters_are_missing_is_said_once_where_a_gpu_worked),
		cmocka_unit_test(a_machine_without_a_driver_lacks_nothing),
		cmocka_unit_test(nothing_is_said_where_counters_were_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
