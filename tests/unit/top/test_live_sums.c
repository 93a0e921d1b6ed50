/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of spans of a log: those of spans that follow each other add up, also where a gap lies over the cut. */
#include "gap_log.h"
#include "top/live_sums.h"

#define KERNEL_FROM (2 * MS)
#define KERNEL_TO FROM
#define NEXT_TO (130 * MS)

/* Two kernels with the gap between them, and a line that ran in it. */
static int make_log(void)
{
	struct log_builder log;
	int fd;

	begin(&log);
	kernel(&log, 1, MS, KERNEL_FROM, KERNEL_TO);
	runs(&log, PID, TID, LOAD, FROM, TO);
	kernel(&log, 2, LAUNCHED, TO, NEXT_TO);
	log_end(&log, 200 * MS);
	fd = log_fd(&log);
	log_free(&log);
	return fd;
}

static struct live_sums sums_of(int fd, uint64_t from_ns, uint64_t to_ns)
{
	struct live_log live;
	struct live_sums sums;

	live_log_open(&live, fd);
	live_log_update(&live);
	assert_int_equal(live_log_sums(&live, from_ns, to_ns, &sums), 0);
	assert_true(live_sums_make_sense(&sums));
	return sums;
}

static uint64_t with_cause(const struct live_sums *sums)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < WHY_CAUSES; i++)
		ns += sums->gpus[0].idle_ns[i];
	return ns;
}

static void busy_time_launches_and_causes_are_those_of_the_span(void **state)
{
	int fd = make_log();
	struct live_sums sums = sums_of(fd, MS, 150 * MS);

	assert_int_equal(sums.span_ns, 149 * MS);
	assert_int_equal(sums.gpu_count, 1);
	assert_int_equal(sums.gpus[0].gpu, 0);
	assert_int_equal(sums.gpus[0].busy_ns, KERNEL_TO - KERNEL_FROM + NEXT_TO - TO);
	assert_int_equal(sums.gpus[0].launches, 2);
	assert_int_equal(with_cause(&sums), TO - FROM);
	assert_int_equal(sums.gpus[0].idle_ns[WHY_RAN], LAUNCHED - FROM);
	assert_int_equal(sums.gpus[0].idle_ns[WHY_GPU], TO - LAUNCHED);
	assert_int_equal(sums.gpus_left_out, 0);
	close(fd);
}

static void spans_that_follow_each_other_add_up_wherever_they_are_cut(void **state)
{
	int fd = make_log();

	for (uint64_t cut = 3 * MS; cut < 150 * MS; cut += 7 * MS + 13) {
		struct live_sums first = sums_of(fd, MS, cut), second = sums_of(fd, cut, 150 * MS);

		assert_int_equal(first.span_ns + second.span_ns, 149 * MS);
		assert_int_equal(first.gpus[0].busy_ns + second.gpus[0].busy_ns, 38 * MS);
		assert_int_equal(first.gpus[0].launches + second.gpus[0].launches, 2);
		assert_int_equal(with_cause(&first) + with_cause(&second), 90 * MS);
	}
	close(fd);
}

/* Their launches may be further back than the log of a span reaches. */
static void kernels_and_graphs_whose_launch_is_not_there_count_once(void **state)
{
	struct log_builder log;
	struct live_sums sums;
	int fd;

	begin(&log);
	log_batch(&log, PID, TID, 60 * MS);
	for (uint32_t i = 0; i < 3; i++)
		log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = (10 + i) * MS,
								 .end_wall_ns = (11 + i) * MS,
								 .corr = 5 + i,
								 .name = 1});
	for (uint32_t i = 0; i < 6; i++)
		log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = (20 + i) * MS,
								 .end_wall_ns = (21 + i) * MS,
								 .corr = 20 + i / 3,
								 .graph = 1,
								 .graph_node = 1 + i % 3,
								 .name = 1});
	log_end(&log, 200 * MS);
	fd = log_fd(&log);
	sums = sums_of(fd, MS, 150 * MS);
	assert_int_equal(sums.gpu_count, 1);
	assert_int_equal(sums.gpus[0].launches, 3 + 2);
	log_free(&log);
	close(fd);
}

static void without_gpu_work_there_is_no_gpu(void **state)
{
	struct log_builder log;
	struct live_sums sums;
	int fd;

	begin(&log);
	log_launch(&log, PID, TID, 5 * MS, TRAIN, 1);
	log_end(&log, 200 * MS);
	fd = log_fd(&log);
	sums = sums_of(fd, MS, 150 * MS);
	assert_int_equal(sums.gpu_count, 0);
	assert_int_equal(sums.span_ns, 149 * MS);
	log_free(&log);
	close(fd);
}

static void numbers_that_cannot_be_are_noticed(void **state)
{
	int fd = make_log();
	const struct live_sums good = sums_of(fd, MS, 150 * MS);
	struct live_sums sums = good;

	sums.gpu_count = LIVE_GPUS_MOST + 1;
	assert_false(live_sums_make_sense(&sums));
	sums = good;
	sums.gpus[sums.gpu_count++] = sums.gpus[0]; /* one twice */
	assert_false(live_sums_make_sense(&sums));
	sums = good;
	sums.gpus[0].busy_ns = sums.span_ns + 1;
	assert_false(live_sums_make_sense(&sums));
	sums = good;
	sums.gpus[0].idle_ns[WHY_SHORT] = UINT64_MAX;
	assert_false(live_sums_make_sense(&sums));
	sums = good;
	sums.gpus[0].idle_ns[WHY_SHORT] = sums.span_ns - sums.gpus[0].busy_ns - 1;
	assert_false(live_sums_make_sense(&sums));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_time_launches_and_causes_are_those_of_the_span),
		cmocka_unit_test(spans_that_follow_each_other_add_up_wherever_they_are_cut),
		cmocka_unit_test(kernels_and_graphs_whose_launch_is_not_there_count_once),
		cmocka_unit_test(without_gpu_work_there_is_no_gpu),
		cmocka_unit_test(numbers_that_cannot_be_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
