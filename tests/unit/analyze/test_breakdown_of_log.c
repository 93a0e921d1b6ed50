/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What GPUs did with their time, of a log that is too long for memory: as of the same log in one part. */
#include "analyzed.h"

#include "rank_log.h"

#define LAUNCHES 200000u /* more than the 32 MB of records that are held in memory */
#define STREAMS 4u
#define GPUS 2u
#define EVERY 1000u /* ns between two launches */
#define GEMM 2u
#define LONG_EVERY 50021u /* a kernel runs for seconds: its record comes after those of all others */
#define LONG_NS (4000 * MS)

/* The work of launch i, which overlaps that of other streams. */
static void put_work(struct log_builder *log, uint32_t i, uint64_t start_ns, uint64_t end_ns)
{
	const uint32_t device = i % GPUS, stream = 7 + i / GPUS % STREAMS;

	if (i % 5 == 0)
		log_agent_memcpy(log, (struct gpt_agent_memcpy){.start_wall_ns = start_ns,
								.end_wall_ns = end_ns,
								.corr = i + 1,
								.device = device,
								.stream = stream,
								.bytes = 64,
								.kind = 1});
	else
		log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = start_ns,
								.end_wall_ns = end_ns,
								.corr = i + 1,
								.device = device,
								.stream = stream,
								.name = i % 3 ? GEMM : 1});
}

static uint64_t launched_ns(uint32_t i)
{
	return 1000 * MS + (uint64_t)i * EVERY;
}

/* Calls of two lines, with their work: of long kernels when they end, of the others at once. */
static int log_of_launches(uint32_t launches)
{
	const struct rank rank = RANK(0, "boot");
	const uint64_t last_ns = launched_ns(launches) + 2 * LONG_NS;
	struct log_builder log;
	uint64_t random = 1;
	int fd;

	log_begin(&log, 500 * MS, 0);
	rank_put_program(&log, &rank);
	log_agent_name(&log, GEMM, "gemm");
	for (uint32_t i = 0; i < launches; i++) {
		const uint64_t at_ns = launched_ns(i);

		random = random * 6364136223846793005u + 1442695040888963407u;
		log_launch(&log, RANK_PID, RANK_PID, at_ns, i % 7 ? STACK_COLLECTIVE : STACK_BEFORE, i + 1);
		log_batch(&log, RANK_PID, RANK_PID, at_ns + 10);
		if (i % LONG_EVERY)
			put_work(&log, i, at_ns + 100, at_ns + 101 + (random >> 33) % (4 * EVERY));
	}
	log_batch(&log, RANK_PID, RANK_PID, last_ns);
	for (uint32_t i = 0; i < launches; i += LONG_EVERY)
		put_work(&log, i, launched_ns(i) + 100, launched_ns(i) + LONG_NS);
	log_end(&log, last_ns + MS);
	fd = log_fd(&log);
	log_free(&log);
	return fd;
}

/* All rows as text. */
static char *breakdown_text(int fd, const struct trace_division *division, bool is_long)
{
	struct analyses all;
	struct trace *trace;
	const char *why;
	char *text, *label;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(gpt_trace_open(fd, division, NULL, &trace, &why), 0);
	assert_int_equal(two_pass_trace_is_long(trace), is_long);
	assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_BREAKDOWN), NULL), 0);
	assert_int_equal(trace->error, 0);
	assert_int_equal(all.breakdown.gpus.count, GPUS);
	for (size_t i = 0; i < all.breakdown.gpus.count + all.breakdown.processes.count; i++) {
		const struct breakdown_row *row =
			i < GPUS ? &all.breakdown.gpus.items[i] : &all.breakdown.processes.items[i - GPUS];
		const struct breakdown_sums *sums = &row->sums;

		assert_true(sums->computation_ns && sums->exposed_communication_ns && sums->exposed_copies_ns);
		fprintf(out, "GPU %u: %ju %ju %ju %ju %ju from %ju to %ju\n", row->device,
			(uintmax_t)sums->computation_ns, (uintmax_t)sums->exposed_communication_ns,
			(uintmax_t)sums->exposed_copies_ns, (uintmax_t)sums->communication_ns,
			(uintmax_t)sums->copies_ns, (uintmax_t)sums->first_ns, (uintmax_t)sums->last_ns);
	}
	assert_int_equal(all.breakdown.lines.count, 2);
	for (size_t i = 0; i < all.breakdown.lines.count; i++) {
		const struct breakdown_line *row = &all.breakdown.lines.items[i];

		label = line_label(&all.lines, row->line);
		fprintf(out, "%s: %ju %ju %ju %ju\n", label, (uintmax_t)row->computation_ns,
			(uintmax_t)row->exposed_communication_ns, (uintmax_t)row->exposed_copies_ns,
			(uintmax_t)row->communication_ns);
		free(label);
	}
	analyses_free(&all);
	gpt_trace_close(trace);
	fclose(out);
	return text;
}

static void assert_same_as_in_one(int fd, const struct trace_division *division)
{
	static const struct trace_division in_one_part = {.whole_bytes = UINT64_MAX};
	char *one = breakdown_text(fd, &in_one_part, false), *many = breakdown_text(fd, division, true);

	assert_string_equal(many, one);
	free(one);
	free(many);
}

/* The long kernels are deferred: they come more than 3 s late. */
static void a_log_larger_than_memory_has_the_rows_of_one_part(void **state)
{
	int fd = log_of_launches(LAUNCHES);

	assert_same_as_in_one(fd, NULL);
	close(fd);
}

static void a_log_in_the_smallest_parts_has_the_rows_of_one_part(void **state)
{
	int fd = log_of_launches(2000);

	for (uint32_t records = 1; records <= 64; records *= 8)
		assert_same_as_in_one(fd, &(struct trace_division){.chunk_records = records, .part_events = 1});
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_larger_than_memory_has_the_rows_of_one_part),
		cmocka_unit_test(a_log_in_the_smallest_parts_has_the_rows_of_one_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
