/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the GPU did of a log in several files is in one of them, whenever and by whom it was launched. */
#include "model_of.h"
#include "rotation_files.h"

#define KERNEL_SECONDS 32
#define IDS (KERNEL_SECONDS * 10 + 2)
#define LONGEST 6 /* s from a launch to its kernel: longer than a file */

static uint64_t launched_ns[IDS];

/* Seconds from a launch to its kernel, and to its kernel's record. */
static uint32_t kernel_comes_after(uint32_t corr)
{
	return corr % 5 == 4 ? LONGEST : corr % 3 ? 1 : 2;
}

/* Others are made by calls that are not followed, or were lost. */
static bool is_followed(uint32_t corr)
{
	return corr % 7;
}

/* Around a second's end a thread is delayed between getting its id and the call. */
static uint32_t launched_as(uint32_t corr)
{
	return corr % 10 == 0 ? corr + 1 : corr % 10 == 1 && corr > 1 ? corr - 1 : corr;
}

/* What is reported of a launch: its kernel, a wait for it, and what the driver did from the launch to that. */
static void report_launch(struct log_builder *records, uint32_t corr)
{
	uint64_t from_ns = launched_ns[corr], now_ns = monotonic_ns();

	log_agent_kernel(records,
			 (struct gpt_agent_kernel){.start_wall_ns = now_ns, .end_wall_ns = now_ns, .corr = corr});
	log_agent_sync(records, (struct gpt_agent_sync){.start_wall_ns = from_ns,
							.end_wall_ns = now_ns,
							.corr = corr,
							.kind = GPT_AGENT_SYNC_STREAM});
	log_agent_jit(records, (struct gpt_agent_jit){.start_wall_ns = from_ns,
						      .end_wall_ns = now_ns,
						      .corr = corr,
						      .operation = GPT_AGENT_JIT_COMPILE});
	log_agent_overhead(records, (struct gpt_agent_overhead){
					    .start_wall_ns = from_ns, .end_wall_ns = now_ns, .tid = corr, .kind = 1});
}

/* Launches 10 kernels, and runs those whose time has come. */
static void launch_and_run(struct log_writer *writer, uint32_t second)
{
	struct log_builder records = {0};
	size_t batch;

	for (uint32_t i = second * 10 + 1; i <= second * 10 + 10; i++) {
		launched_ns[launched_as(i)] = monotonic_ns();
		if (is_followed(launched_as(i)))
			log_launch(&records, PID, TID, launched_ns[launched_as(i)], 0, launched_as(i));
	}
	batch = records.size;
	log_batch(&records, PID, TID, monotonic_ns());
	((struct gpt_record *)(records.data + batch))->flags = GPT_BATCH_MONOTONIC;
	for (uint32_t i = 1; i <= second * 10; i++)
		if ((i - 1) / 10 + kernel_comes_after(launched_as(i)) == second)
			report_launch(&records, launched_as(i));
	log_batch_end(&records);
	append_all(writer, &records);
	assert_int_equal(log_writer_settle(writer), 0);
	seconds_ahead++;
}

/* In how many files each launch has its own, by its id. */
struct work_count {
	unsigned kernels[IDS], joined[IDS], syncs[IDS], jits[IDS], overheads[IDS];
};

static void count_work(struct work_count *seen)
{
	for (unsigned i = 0; i < opened; i++) {
		struct model *model;
		const char *why;

		check_parts(files[i].fd, NULL);
		lseek(files[i].fd, 0, SEEK_SET);
		assert_int_equal(model_build(files[i].fd, &model, &why), 0);
		for (size_t k = 0; k < model->gpu_count; k++) {
			assert_in_range(model->gpu[k].corr, 1, IDS - 1);
			seen->kernels[model->gpu[k].corr]++;
			seen->joined[model->gpu[k].corr] += model->gpu[k].call != UINT32_MAX;
		}
		for (size_t k = 0; k < model->sync_count; k++)
			seen->syncs[model->syncs[k].corr]++;
		for (size_t k = 0; k < model->jit_count; k++)
			seen->jits[model->jits[k].corr]++;
		for (size_t k = 0; k < model->overhead_count; k++)
			seen->overheads[model->overheads[k].tid]++;
		model_free(model);
	}
}

/* Work runs before or after the end of its launch's file, with a record that comes in time for the file, or later. */
static void gpu_work_is_in_one_file_which_is_that_of_its_launch_if_it_comes_within_a_second(void **state)
{
	struct log_writer *writer = begin(0, 5 * SECOND_NS);
	struct work_count seen = {0};

	describe(writer);
	for (uint32_t second = 0; second < KERNEL_SECONDS; second++)
		launch_and_run(writer, second);
	assert_int_equal(finish(writer), 0);
	assert_true(opened >= 4);
	count_work(&seen);
	for (uint32_t corr = 1; corr < (KERNEL_SECONDS - LONGEST) * 10; corr++) {
		assert_int_equal(seen.kernels[corr], 1);
		assert_int_equal(seen.syncs[corr], 1);
		assert_int_equal(seen.jits[corr], 1);
		assert_int_equal(seen.overheads[corr], 1);
		if (is_followed(corr) && kernel_comes_after(corr) == 1)
			assert_int_equal(seen.joined[corr], 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpu_work_is_in_one_file_which_is_that_of_its_launch_if_it_comes_within_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
