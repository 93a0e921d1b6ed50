/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A receipt that is counted part by part equals that of the whole; what belongs to another part is not counted. */
#include "model_of.h"
#include "trace_cut.h"
#include "model/join/receipt.h"

#define MS 1000000ull
#define END_MS 2000
#define PIDS 3
#define TRACES 60

static uint64_t some_time(void)
{
	return ((uint64_t)rand() % (END_MS / 20) + 1) * 20 * MS;
}

static void add_gpu_work(struct log_builder *log, uint32_t pid, uint32_t corr, uint64_t launched_ns)
{
	uint64_t start_ns = launched_ns + 10 * MS - (uint64_t)(rand() % 12) * MS;

	if (rand() % 3)
		log_batch_foreign(log, pid, END_MS * MS, 0, 0);
	else
		log_batch(log, pid, pid, END_MS * MS);
	log_agent_kernel(log, (struct gpt_agent_kernel){.corr = corr,
							.start_wall_ns = rand() % 8 ? start_ns : 0,
							.end_wall_ns = rand() % 8 ? start_ns + 3 * MS : 0});
}

static void add_launches(struct log_builder *log, uint32_t pid)
{
	for (uint32_t corr = 1; corr < 40; corr++) {
		uint64_t time_ns = some_time();

		log_launch(log, pid, pid + (uint32_t)rand() % 2, time_ns, 0, rand() % 6 ? corr : 0);
		if (rand() % 3 == 0)
			continue;
		add_gpu_work(log, pid, corr, time_ns);
		if (rand() % 5)
			log_agent_api(log, (struct gpt_agent_api){.start_ns = time_ns,
								  .end_ns = time_ns + 5 * MS,
								  .corr = corr,
								  .api = CUDA_LAUNCH,
								  .result = rand() % 9 == 0,
								  .tid = pid});
	}
}

/* Agents that start, defer their start, or never come; other clients' sessions; launches with and without GPU work. */
static struct model *some_model(unsigned seed)
{
	struct log_builder log;

	srand(seed);
	log_begin(&log, 0, 0);
	for (uint32_t pid = PID; pid < PID + PIDS; pid++) {
		log_batch(&log, pid, pid, some_time() / 3);
		if (rand() % 4)
			log_agent_ready(&log, rand() % 2 ? "kernels" : "");
	}
	for (uint32_t pid = PID; pid < PID + PIDS; pid++) {
		uint64_t time_ns = some_time() / 2;

		for (int i = rand() % 6; i; i--, time_ns += some_time() / 3)
			log_cupti_use(&log, (struct gpt_cupti_use){.time_ns = time_ns,
								   .pid = pid,
								   .tid = pid,
								   .what = GPT_CUPTI_REGISTER,
								   .own = rand() % 2});
		add_launches(&log, pid);
	}
	log_end(&log, END_MS * MS);
	return model_of(&log);
}

static void assert_receipt(const struct model_receipt *receipt, const struct model_receipt *expected)
{
	assert_memory_equal(receipt, expected, sizeof(*receipt));
}

/* The receipt as the recording has it: without anything that events give. */
static struct model_receipt losses_of(const struct model *model)
{
	const struct model_receipt *whole = &model_source(model)->receipt;
	struct model_receipt receipt = {.bad_records = whole->bad_records,
					.clock_error_ns = whole->clock_error_ns,
					.clock_steps = whole->clock_steps,
					.end_reason = whole->end_reason,
					.truncated = whole->truncated};

	memcpy(receipt.bad_reasons, whole->bad_reasons, sizeof(receipt.bad_reasons));
	memcpy(receipt.counters, whole->counters, sizeof(receipt.counters));
	return receipt;
}

static void assert_same_in_parts(const struct model *whole, struct trace *trace)
{
	struct model_receipt receipt = losses_of(whole);
	struct receipt_count count = {0};
	const struct model *last = NULL;

	for (const struct model *part = trace_first(trace); part; part = trace_next(trace)) {
		receipt_add_part(&count, part);
		last = part;
	}
	receipt_finish(&count, last, &receipt);
	receipt_count_free(&count);
	trace_cut_free(trace);
	assert_receipt(&receipt, &model_source(whole)->receipt);
}

static void parts_add_up_to_the_whole(void **state)
{
	uint64_t gaps = 0, gap_launches = 0, early = 0;

	for (unsigned seed = 0; seed < TRACES; seed++) {
		struct model *whole = some_model(seed);

		for (uint32_t events = 1; events < 300; events = events * 3 + 1)
			assert_same_in_parts(whole, trace_cut_each(whole, events));
		gaps += model_source(whole)->receipt.gaps;
		gap_launches += model_source(whole)->receipt.gap_launches;
		early += model_source(whole)->receipt.early;
		model_free(whole);
	}
	assert_true(gaps > TRACES && gap_launches > TRACES && early > TRACES);
}

/* GPU work of a call, from the other client's buffer. */
static struct model *model_with_a_gap(void)
{
	struct log_builder log;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 1);
	log_agent_hello(&log, GPT_AGENT_READY, GPT_AGENT_OK, 130001, "", "");
	for (int own = 0; own < 2; own++)
		log_cupti_use(&log, (struct gpt_cupti_use){.time_ns = (500 + 300 * (uint64_t)own) * MS,
							   .pid = PID,
							   .tid = TID,
							   .what = GPT_CUPTI_REGISTER,
							   .own = own});
	log_launch(&log, PID, TID, 600 * MS, 0, 1);
	log_launch(&log, PID, TID, 700 * MS, 0, 2);
	log_end(&log, 1000 * MS);
	return model_of(&log);
}

static struct model_receipt count_receipt(const struct model *model, struct gap_limits limits)
{
	struct receipt_count count = {.limits = limits};
	struct model_receipt receipt = losses_of(model);

	receipt_add_part(&count, model);
	receipt_finish(&count, model, &receipt);
	receipt_count_free(&count);
	return receipt;
}

static void of_a_slice_a_gap_is_as_long_as_it_lies_within(void **state)
{
	struct model *model = model_with_a_gap();
	struct model_receipt receipt =
		count_receipt(model, (struct gap_limits){.from_ns = 600 * MS, .to_ns = 650 * MS});

	assert_int_equal(receipt.gaps, 1);
	assert_int_equal(receipt.gap_ns, 50 * MS);
	receipt = count_receipt(model, (struct gap_limits){.from_ns = 900 * MS, .to_ns = 950 * MS});
	assert_int_equal(receipt.gaps, 0);
	model_free(model);
}

static void of_a_slice_gaps_of_other_processes_do_not_count(void **state)
{
	const bool processes[2] = {false};
	struct model *model = model_with_a_gap();

	assert_true(model->process_count <= 2);
	assert_int_equal(count_receipt(model, (struct gap_limits){.processes = processes}).gaps, 0);
	model_free(model);
}

static void what_is_not_due_is_not_counted(void **state)
{
	struct model *model = model_with_a_gap();
	struct model_receipt receipt;

	model->calls_in_part.from = 1;
	receipt = count_receipt(model, (struct gap_limits){0});
	assert_int_equal(receipt.calls, 1);
	assert_int_equal(receipt.gap_launches, 1);
	model_free(model);
}

#define MANY 20000

/* Every third launch has a kernel; every seventh failed. */
static int log_of_many_launches(void)
{
	struct log_builder log;
	int fd;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 1);
	log_agent_ready(&log, "kernels");
	for (uint32_t corr = 1; corr <= MANY; corr++) {
		uint64_t time_ns = corr * MS;

		log_launch(&log, PID, TID, time_ns, 0, corr);
		log_batch(&log, PID, TID, time_ns + MS / 2);
		log_agent_api(&log, (struct gpt_agent_api){.start_ns = time_ns,
							   .end_ns = time_ns + 5000,
							   .corr = corr,
							   .api = CUDA_LAUNCH,
							   .result = corr % 7 == 0,
							   .tid = TID});
		if (corr % 3 == 0)
			log_agent_kernel(&log, (struct gpt_agent_kernel){.corr = corr,
									 .start_wall_ns = time_ns + 6000,
									 .end_wall_ns = time_ns + 9000});
	}
	log_end(&log, (MANY + 1) * MS);
	fd = log_fd(&log);
	log_free(&log);
	return fd;
}

static void parts_that_are_counted_by_a_thread_add_up_to_the_whole(void **state)
{
	static const struct trace_division whole = {.whole_bytes = UINT64_MAX},
					   parts = {.chunk_records = 256, .part_events = 3 * MANY / 10};
	int fd = log_of_many_launches();
	char *one = handed_over(fd, &whole, NULL), *many = handed_over(fd, &parts, NULL);

	assert_string_equal(many, one);
	free(one);
	free(many);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_add_up_to_the_whole),
		cmocka_unit_test(of_a_slice_a_gap_is_as_long_as_it_lies_within),
		cmocka_unit_test(of_a_slice_gaps_of_other_processes_do_not_count),
		cmocka_unit_test(what_is_not_due_is_not_counted),
		cmocka_unit_test(parts_that_are_counted_by_a_thread_add_up_to_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
