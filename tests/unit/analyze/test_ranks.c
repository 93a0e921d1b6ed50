/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logs of several ranks: whether they belong together, how their clocks run, and which rank was late. */
#include <gputrace/nccl.h>
#include <math.h>

#include "model_of.h"
#include "rank_log.h"

#include "analyze/analyze.h"
#include "analyze/ranks/ranks.h"
#include "report/ranks/ranks.h"

#define RANKS_MAX 4

static const char *const names[RANKS_MAX] = {"a.gpt", "b.gpt", "c.gpt", "d.gpt"};

/* Adds a log, read with this division; frees the builder. */
static void add_built(struct ranks *ranks, struct log_builder *log, const struct trace_division *division)
{
	struct steps steps;
	struct analyses all;
	struct trace *trace;
	const char *why;
	int fd;

	fd = log_fd(log);
	log_free(log);
	assert_int_equal(gpt_trace_open(fd, division, NULL, &trace, &why), 0);
	assert_int_equal(steps_find(&steps, trace, &(struct step_request){0}), 0);
	trace->steps = &steps;
	assert_int_equal(analyze(&all, trace,
				 ANALYSES(ANALYZE_ARRIVALS, ANALYZE_BREAKDOWN, ANALYZE_IDLE, ANALYZE_UNTIMED,
					  ANALYZE_WHY, ANALYZE_PER_STEP),
				 NULL),
			 0);
	ranks_add_log(ranks, names[ranks->logs.count], all.model, &all.arrivals);
	ranks_add_breakdown(ranks, &all.breakdown, window_timed_ns(&all.window));
	ranks_add_work(ranks, &all, &steps);
	analyses_free(&all);
	steps_free(&steps);
	gpt_trace_close(trace);
	close(fd);
}

/* Adds a log with these ranks. */
static void add_ranks(struct ranks *ranks, const struct rank *list, size_t count, const struct trace_division *division)
{
	struct log_builder log = {0};

	log_ranks(&log, list, count);
	add_built(ranks, &log, division);
}

static void add_rank(struct ranks *ranks, const struct rank *rank, const struct trace_division *division)
{
	add_ranks(ranks, rank, 1, division);
}

static void assert_refused(const struct rank *a, const struct rank *b, const char *expected)
{
	struct ranks ranks = {0};
	char *why;

	add_rank(&ranks, a, NULL);
	add_rank(&ranks, b, NULL);
	why = ranks_align(&ranks, false);
	if (!why)
		why = ranks_compare(&ranks);
	assert_non_null(why);
	if (!strstr(why, expected))
		fail_msg("'%s' is not in: %s", expected, why);
	free(why);
	ranks_free(&ranks);
}

static void align_ranks(struct ranks *ranks)
{
	char *why = ranks_align(ranks, false);

	if (why)
		fail_msg("%s", why);
	assert_null(ranks_compare(ranks));
}

/* Each time of the other rank's clock must convert to the time that the reference clock would have shown. */
static void assert_found(const struct ranks *ranks, const struct rank *rank, uint64_t error_ns)
{
	for (uint64_t at_ns = 1000 * MS; at_ns < 11000 * MS; at_ns += 777 * MS) {
		uint64_t found = clock_line_at(rank_log_clock(ranks, 1), rank_shows(rank, at_ns));

		assert_in_range(found, at_ns - error_ns, at_ns + error_ns);
	}
}

static void an_offset_of_days_and_a_drift_are_found_again(void **state)
{
	const struct rank first = RANK(0, "boot-a"),
			  second = RANK(1, "boot-b", .offset_ns = 300000000000123, .drift = 37e-6);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_int_equal(ranks.clocks.count, 2);
	assert_int_equal(ranks.clocks.items[1].kind, RANK_CLOCK_FITTED);
	assert_int_equal(ranks.clocks.items[1].fit.pairs, 100);
	assert_true(ranks.clocks.items[1].fit.has_drift);
	assert_true(fabs(ranks.clocks.items[1].fit.line.drift + 37e-6) < 1e-8);
	assert_true(ranks.clocks.items[1].fit.error_ns < 10);
	assert_found(&ranks, &second, 50);
	assert_int_equal(ranks.late.count, 0);
	ranks_free(&ranks);
}

static void what_the_gpus_of_a_rank_did_outlives_its_log(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-b", .late_every = 4, .late_ms = 3);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_int_equal(ranks.rows.count, 2);
	for (size_t i = 0; i < ranks.rows.count; i++) {
		const struct rank_row *row = &ranks.rows.items[i];
		uint64_t communication_ns = 0;
		uint32_t gpus;
		struct breakdown_sums sums = rank_breakdown(&ranks, row, &gpus);

		for (size_t k = 0; k < row->of->met.list.count; k++)
			communication_ns += row->of->met.list.items[k].ended_ns - row->of->met.list.items[k].arrived_ns;
		assert_int_equal(gpus, 1);
		assert_int_equal(sums.communication_ns, communication_ns);
		assert_int_equal(sums.exposed_communication_ns, communication_ns);
		assert_int_equal(sums.computation_ns, 0);
		assert_true(breakdown_idle_ns(&sums, ranks.logs.items[row->log].timed_ns) > 0);
	}
	ranks_free(&ranks);
}

/* The page, or that table of it, in at most this number of lines (0: all); the caller frees it. */
static char *page_in(const struct ranks *ranks, const char *table, unsigned most)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	struct collective_split split = {0};
	struct rank_steps steps;
	struct rank_lines lines;
	const struct report_job job = {.ranks = ranks, .split = &split, .steps = &steps, .lines = &lines};

	rank_steps_make(&steps, ranks);
	rank_lines_make(&lines, ranks);
	assert_int_equal(
		report_write_ranks(out, &job, &(struct report_options){.width = 200, .table = table, .lines = most}),
		0);
	rank_steps_free(&steps);
	rank_lines_free(&lines);
	fclose(out);
	return text;
}

static char *page_with(const struct ranks *ranks, const char *table)
{
	return page_in(ranks, table, 0);
}

static char *page_of(const struct ranks *ranks)
{
	return page_in(ranks, NULL, 0);
}

static void assert_page(const struct ranks *ranks, const char *expected)
{
	char *text = page_of(ranks);

	if (!strstr(text, expected))
		fail_msg("'%s' is not in:\n%s", expected, text);
	free(text);
}

static void a_page_begins_with_the_rank_that_is_late_most_and_what_is_known_of_it(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-b", .late_every = 4, .late_ms = 20);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_page(&ranks,
		    "Late most is rank 1: last to 25 of 100 collectives (25.0 %), by 500.0 ms in all, 20.0 ms at "
		    "most\n  most at train.py:13 train, all_reduce (default_pg): 500.0 ms\n  before the worst of "
		    "them its process made no CUDA call for ");
	ranks_free(&ranks);
}

static void a_late_rank_that_made_calls_has_what_its_gpu_computed(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-b", .late_every = 4, .late_ms = 20);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	for (size_t i = 0; i < ranks.logs.items[1].arrivals.ranks.list.items[0].met.list.count; i++)
		ranks.logs.items[1].arrivals.ranks.list.items[0].met.list.items[i].paused_ns = 0;
	ranks.logs.items[1].breakdown.items[0].sums.computation_ns = 70 * MS;
	align_ranks(&ranks);
	assert_page(&ranks, "\n  before the worst of them its process was without a CUDA call for 0 ns at most\n"
			    "  in the whole log its GPU computed for 70.0 ms, the median rank's for 0 ns\n");
	ranks_free(&ranks);
}

/* Late to one collective early, then to each from the 41st on; rank 1's clock runs differently. */
static void a_rank_that_became_late_says_from_when_on_and_by_how_much(void **state)
{
	const struct rank first = RANK(0, "boot-a"),
			  second = RANK(1, "boot-b", .late_every = 1, .late_from = 40, .late_also = 3, .late_ms = 20,
					.offset_ns = 300000000000123, .drift = 37e-6);
	struct ranks ranks = {0};
	const struct rank_onset *onset;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	onset = &ranks.rows.items[1].onset;
	assert_true(onset->is_known);
	assert_int_equal(onset->before, 40);
	assert_int_equal(onset->after, 60);
	assert_int_equal(onset->late_before, 1);
	assert_int_equal(onset->late_after, 60);
	assert_in_range(onset->from_ns, 5020 * MS, 5021 * MS);
	assert_true(fabs(onset->more_ns - 19.5 * (double)MS) < 1e3);
	assert_true(onset->error_ns > 0 && onset->error_ns < 2.0 * (double)MS);
	assert_false(ranks.rows.items[0].onset.is_known);
	assert_page(&ranks,
		    "\n  more since 4.0 s after the first collective: last to 60 of 60 from then on, to 1 of 40 "
		    "before; on average later by 19.5 ms (+- 1.1 ms)\n");
	ranks_free(&ranks);
}

/* Late to every third, or too few for a mean: it did not become late. */
static void a_rank_that_is_late_now_and_then_did_not_become_late(void **state)
{
	const struct rank first = RANK(0, "boot-a"), often = RANK(1, "boot-a", .late_every = 3, .late_ms = 20),
			  once = RANK(1, "boot-a", .late_every = 1, .late_from = 97, .late_ms = 20);
	const struct rank *const seconds[] = {&often, &once};

	for (size_t i = 0; i < 2; i++) {
		struct ranks ranks = {0};
		char *text;

		add_rank(&ranks, &first, NULL);
		add_rank(&ranks, seconds[i], NULL);
		align_ranks(&ranks);
		assert_int_equal(ranks.rows.items[1].late, i ? 3 : 34);
		assert_false(ranks.rows.items[1].onset.is_known);
		text = page_of(&ranks);
		assert_null(strstr(text, "more since"));
		free(text);
		ranks_free(&ranks);
	}
}

/* Lateness of any size in any order: where one change is drawn, it is found; where none is, none is claimed. */
static void a_change_in_noise_is_found_and_noise_alone_is_none(void **state)
{
	unsigned claimed = 0;

	srandom(1);
	for (unsigned round = 0; round < 400; round++) {
		struct lateness_list list = {0};
		struct rank_onset onset;
		bool changes = round % 2;

		for (uint64_t i = 0; i < 300; i++) {
			uint64_t ns = random() % 10 < 3 ? (uint64_t)random() % (10 * MS) : 0;

			if (changes && i >= 200)
				ns += 8 * MS;
			array_push(&list.list, ((struct lateness){i * 1000, ns}));
		}
		rank_onset_find(&onset, &list);
		if (changes) {
			assert_true(onset.is_known);
			assert_in_range(onset.before, 198, 202);
			assert_true(fabs(onset.more_ns - 8e6) < 2 * onset.error_ns);
		} else {
			claimed += onset.is_known;
		}
		array_free(&list.list);
	}
	assert_int_equal(claimed, 0);
}

static void a_page_without_a_late_rank_begins_with_the_logs(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-b");
	struct ranks ranks = {0};
	char *text;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	text = page_of(&ranks);
	assert_null(strstr(text, "Late most"));
	free(text);
	ranks_free(&ranks);
}

static void ends_that_spread_say_how_large_the_error_is(void **state)
{
	const struct rank first = RANK(0, "boot-a", .jitter_us = 40),
			  second = RANK(1, "boot-b", .offset_ns = -400 * (int64_t)MS, .jitter_us = 40, .drift = -20e-6);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_in_range(ranks.clocks.items[1].fit.error_ns, 2000, 30000);
	assert_in_range(ranks.clocks.items[1].fit.error_most_ns, 10000, 45000);
	assert_found(&ranks, &second, 20000);
	ranks_free(&ranks);
}

static void few_collectives_give_an_offset_and_no_drift(void **state)
{
	const struct rank first = RANK(0, "boot-a", .first = 50),
			  second = RANK(1, "boot-b", .first = 50, .collectives = 5, .offset_ns = 12345678);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_false(ranks.clocks.items[1].fit.has_drift);
	assert_int_equal(ranks.clocks.items[1].fit.used, 5);
	assert_int_equal(ranks.clocks.items[1].fit.line.offset_ns, -12345678);
	ranks_free(&ranks);
}

/* The second log has its collectives from the 30th on: only their numbers show which belong together. */
static void collectives_are_matched_by_their_number_not_by_their_place(void **state)
{
	const struct rank first = RANK(0, "boot-a"),
			  second = RANK(1, "boot-b", .first = 30, .offset_ns = 30 * 100 * (int64_t)MS);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_int_equal(ranks.clocks.items[1].fit.pairs, 70);
	assert_int_equal(ranks.clocks.items[1].fit.line.offset_ns, 0);
	ranks_free(&ranks);
}

static void logs_of_one_boot_have_one_clock(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-a", .late_every = 2, .late_ms = 30);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_int_equal(ranks.clocks.count, 1);
	assert_string_equal(rank_clock_word(&ranks, 1), "same boot");
	ranks_free(&ranks);
}

static void how_long_a_machine_had_slept_is_what_its_log_says(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} logs[] = {{"0", 0},
		    {"5000000000", 5000000000},
		    {NULL, 0},
		    {"", 0},
		    {"-5", 0},
		    {"12 days", 0},
		    {"99999999999999999999", 0},
		    {"9223372036854775807", 0},
		    {"1152921504606846977", 0}};

	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		const struct rank rank = RANK(0, "boot-a", .slept = logs[i].text);
		struct ranks ranks = {0};

		add_rank(&ranks, &rank, NULL);
		assert_int_equal(ranks.logs.items[0].slept_ns, logs[i].ns);
		ranks_free(&ranks);
	}
}

static void who_is_late_is_reported_with_its_line_and_how_much_in_all(void **state)
{
	const struct rank first = RANK(0, "boot-a", .world = 3),
			  second = RANK(1, "boot-b", .world = 3, .late_every = 4, .late_ms = 20, .offset_ns = 777),
			  third = RANK(2, "boot-c", .world = 3, .offset_ns = 5000 * (int64_t)MS);
	struct ranks ranks = {0};
	const struct late_row *late;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	add_rank(&ranks, &third, NULL);
	align_ranks(&ranks);
	assert_int_equal(ranks.world, 3);
	assert_int_equal(ranks.late.count, 1);
	late = &ranks.late.items[0];
	assert_int_equal(ranks.rows.items[late->rank].of->rank, 1);
	assert_int_equal(late->count, 25);
	assert_in_range(late->ns, 25 * 20 * MS - 25 * 1000, 25 * 20 * MS + 25 * 1000);
	assert_string_equal(rank_text(&ranks, 1, late->name), "all_reduce (default_pg)");
	assert_string_equal(rank_text(&ranks, 1, late->line), "train.py:13 train");
	assert_int_equal(ranks.rows.items[0].late, 0);
	assert_in_range(ranks.rows.items[0].waited_ns, 499 * MS, 501 * MS);
	assert_in_range(ranks.rows.items[2].waited_ns, 499 * MS, 501 * MS);
	assert_in_range(ranks.rows.items[1].waited_ns, 0, MS);
	/* 98 ms from the collective before to the launch of something else, and 22 ms from there to this one */
	assert_string_equal(rank_text(&ranks, 1, late->pause_from), "train.py:13 train");
	assert_string_equal(rank_text(&ranks, 1, late->pause_to), "train.py:11 train");
	ranks_free(&ranks);
}

static void logs_read_in_parts_say_the_same(void **state)
{
	static const struct trace_division parts = {.chunk_records = 1, .part_events = 1};
	const struct rank rank = RANK(1, "boot-b", .late_every = 3, .late_ms = 10);
	struct ranks ranks = {0};

	add_rank(&ranks, &rank, NULL);
	add_rank(&ranks, &rank, &parts);
	for (unsigned i = 0; i < 100; i++) {
		const struct collective_arrival *one =
			&ranks.logs.items[0].arrivals.ranks.list.items[0].met.list.items[i];
		const struct collective_arrival *many =
			&ranks.logs.items[1].arrivals.ranks.list.items[0].met.list.items[i];

		assert_memory_equal(one, many, offsetof(struct collective_arrival, name));
		assert_string_equal(rank_text(&ranks, 0, one->line), rank_text(&ranks, 1, many->line));
		assert_string_equal(rank_text(&ranks, 0, one->pause_to), rank_text(&ranks, 1, many->pause_to));
	}
	ranks_free(&ranks);
}

static void logs_that_do_not_belong_together_are_refused(void **state)
{
	const struct rank first = RANK(0, "boot-a");

	assert_refused(&first, &first, "a.gpt and b.gpt are the same recording");
	assert_refused(&first, &RANK(0, "boot-b", .offset_ns = 7), "rank 0 is there twice");
	assert_refused(&first, &RANK(1, "boot-b", .world = 4), "of different jobs: a.gpt has ranks of 2, b.gpt of 4");
	assert_refused(&first, &RANK(1, "boot-b", .first = 1000), "b.gpt has no collective in common with a.gpt");
	assert_refused(&first, &RANK(1, "boot-b", .silent = true), "b.gpt has no collectives with GPU times");
	assert_refused(&first, &RANK(1, "boot-b", .drift = 0.01), "one clock would run 1.0 % faster");
	assert_refused(&first, &RANK(1, "boot-b", .offset_ns = 7200 * 1000 * (int64_t)MS, .wall_as_first = true),
		       "2.0 hours apart");
	assert_refused(&first, &RANK(1, "boot-a", .offset_ns = 3600 * 1000 * (int64_t)MS),
		       "the same collective ended 60 minutes apart");
}

/* Two runs of one program after each other on one machine, of which some ranks' logs are in one folder. */
static void ranks_whose_collectives_never_ran_together_are_of_two_jobs(void **state)
{
	const struct rank first = RANK(0, "boot-a", .world = 4), second = RANK(1, "boot-a", .world = 4),
			  later = RANK(2, "boot-a", .world = 4, .offset_ns = 30 * 1000 * (int64_t)MS),
			  at_once = RANK(2, "boot-a", .world = 4, .offset_ns = 70 * (int64_t)MS);

	assert_refused(&first, &later,
		       "a.gpt and b.gpt are of different jobs: none of the collectives with the same number ran at the "
		       "same time, the nearest began 30.0 s apart; name the logs of one job");
	assert_refused(&second, &at_once, "the nearest began 0.1 s apart");
}

/* On another machine the wall clocks say it, as well as the kernels keep them. */
static void wall_clocks_that_are_kept_right_tell_jobs_apart(void **state)
{
	const struct rank first = RANK(0, "boot-a"),
			  later = RANK(1, "boot-b", .offset_ns = 300 * 1000 * (int64_t)MS, .wall_as_first = true);
	const struct {
		uint64_t error_ns;
		bool is_refused;
	} logs[] = {{1 * MS, true}, {20000 * MS, false}, {UINT64_MAX, false}};

	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		struct ranks ranks = {0};
		char *why;

		add_rank(&ranks, &first, NULL);
		add_rank(&ranks, &later, NULL);
		ranks.logs.items[0].wall_error_ns = ranks.logs.items[1].wall_error_ns = logs[i].error_ns;
		why = ranks_align(&ranks, false);
		assert_int_equal(why != NULL, logs[i].is_refused);
		if (why)
			assert_non_null(strstr(why, "by their wall clocks the same collectives were 5.0 minutes apart; "
						    "name the logs of one job, or, if a clock is set wrong, "
						    "--unaligned"));
		free(why);
		ranks_free(&ranks);
	}
}

static void a_wall_clock_that_is_days_off_is_accepted_on_request(void **state)
{
	const struct rank first = RANK(0, "boot-a"),
			  wrong = RANK(1, "boot-b", .offset_ns = 49 * 3600 * 1000 * (int64_t)MS, .wall_as_first = true,
				       .late_every = 4, .late_ms = 20);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &wrong, NULL);
	assert_null(ranks_align(&ranks, true));
	assert_null(ranks_compare(&ranks));
	assert_page(&ranks, "Late most is rank 1: last to 25 of 100 collectives (25.0 %), by 500.0 ms in all");
	assert_page(&ranks,
		    "\n  by the collectives the wall clock of b.gpt is 2940.0 minutes ahead of that of the first "
		    "log: one is set wrong, or they are of different jobs\n");
	ranks_free(&ranks);
}

/* The second rank's process ends in the middle, and its log with it. */
static void a_rank_that_died_is_said_with_what_others_did_after_it(void **state)
{
	const struct rank first = RANK(0, "boot-a"),
			  second = RANK(1, "boot-a", .collectives = 40, .exits_at = 1000 * MS + 40 * PERIOD);
	struct ranks ranks = {0};
	char *text;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	ranks.logs.items[1].arrivals.ranks.list.items[0].exit_signal = 9;
	align_ranks(&ranks);
	assert_page(&ranks, "\n  rank 1 ended before others: its process (pid 100) ended 4.5 s after the first "
			    "log began, by SIGKILL; another rank began 60 collectives after that\n");
	text = page_of(&ranks);
	assert_null(strstr(text, "rank 0 ended"));
	assert_null(strstr(text, "cut short"));
	free(text);
	ranks_free(&ranks);
}

/* The others then wait in their next collective, whose kernels never end. */
static void a_rank_that_died_is_said_where_the_others_hang(void **state)
{
	const uint64_t end_ns = 1000 * MS + 40 * PERIOD;
	const struct rank first = RANK(0, "boot-a", .world = 3, .collectives = 40, .waits_ms = 5000),
			  second = RANK(1, "boot-a", .world = 3, .collectives = 40, .exits_at = end_ns),
			  third = RANK(2, "boot-a", .world = 3, .collectives = 40, .waits_ms = 5000),
			  ends_too = RANK(2, "boot-a", .world = 3, .collectives = 40, .exits_at = end_ns + 100 * MS);

	for (size_t i = 0; i < 2; i++) {
		struct ranks ranks = {0};
		char *text;

		add_rank(&ranks, &first, NULL);
		add_rank(&ranks, &second, NULL);
		add_rank(&ranks, i ? &ends_too : &third, NULL);
		align_ranks(&ranks);
		text = page_of(&ranks);
		assert_int_equal(strstr(text,
					"\n  rank 1 ended before others: its process (pid 100) ended 4.5 s after the "
					"first log began; no collective that began after that ended\n") != NULL,
				 i == 0); /* a job that ends is none that hangs, also if one rank has more to do */
		free(text);
		ranks_free(&ranks);
	}
}

static void ranks_without_a_collective_in_common_are_said(void **state)
{
	const struct rank first = RANK(0, "boot-a", .world = 4), second = RANK(1, "boot-a", .world = 4),
			  other = RANK(2, "boot-a", .world = 4, .first = 1000);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	add_rank(&ranks, &other, NULL);
	align_ranks(&ranks);
	assert_page(&ranks,
		    "\n  1 rank has no collective in common with the first one (the first is rank 2 of c.gpt): of "
		    "another job, or only in groups of its own\n");
	ranks_free(&ranks);
}

static void a_log_that_is_cut_short_is_said_with_how_much_is_missing(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-a", .collectives = 40, .is_cut = true);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_page(&ranks,
		    "\n  b.gpt is cut short: it ends 6.1 s before the last log; its gputrace was killed or still "
		    "records, or the file is not whole\n");
	assert_int_equal(ranks.rows.items[0].compared, 40);
	ranks_free(&ranks);
}

static void a_wall_clock_that_was_set_is_said(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-a");
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	ranks.logs.items[1].clock_steps = 2;
	ranks.logs.items[1].clock_error_ns = 5000;
	align_ranks(&ranks);
	assert_page(&ranks, "\n  the wall clock was set while b.gpt was recorded (2 times): its GPU times are good to "
			    "5.0 us\n");
	ranks_free(&ranks);
}

static void by_wall_clock_they_stay_where_that_puts_them(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-b", .first = 1000);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	assert_null(ranks_align(&ranks, true));
	assert_null(ranks_compare(&ranks));
	assert_int_equal(ranks.clocks.items[1].kind, RANK_CLOCK_WALL);
	assert_int_equal(ranks.compared, 0);
	assert_int_equal(ranks.late.count, 0);
	ranks_free(&ranks);
}

/* ---- steps and lines --------------------------------------------------------------------------------------------- */

/* The second rank's log begins 30 steps later, on another clock, and counts its steps from 0. */
static void steps_are_the_same_by_the_collectives_in_them(void **state)
{
	const struct rank first = RANK(0, "boot-a", .has_steps = true, .slow_every = 10, .slow_ms = 12),
			  second = RANK(1, "boot-b", .has_steps = true, .first = 30, .collectives = 60,
					.offset_ns = 30 * 100 * (int64_t)MS, .late_every = 4, .late_ms = 20);
	struct ranks ranks = {0};
	struct rank_steps steps;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	rank_steps_make(&steps, &ranks);
	assert_int_equal(steps.rows[0].seen, 99); /* the first one began before it was seen */
	assert_int_equal(steps.rows[1].seen, 59);
	assert_int_equal(steps.rows[1].compared, 59);
	assert_int_equal(steps.list.count, 59);
	for (size_t i = 0; i < steps.list.count; i++) {
		const struct step_spread *step = &steps.list.items[i];
		int64_t in_second = (int64_t)i + 1, in_first = in_second + 30;
		/* a step that ends later makes the next one shorter */
		int64_t wall_ms = 100 + (in_first % 10 == 0 ? 12 : in_first % 10 == 1 ? -12 : 0);

		assert_int_equal(step->number, in_first);
		assert_int_equal(step->ranks, 2);
		if (wall_ms == 100) {
			assert_in_range(step->slowest_ns - step->fastest_ns, 0, 100);
		} else {
			assert_in_range(step->slowest_ns - step->fastest_ns, 12 * MS - 100, 12 * MS + 100);
			assert_int_equal(step->slowest, wall_ms > 100 ? 0 : 1);
		}
		assert_int_equal(step->late, in_second % 4 == 0 ? 1 : SIZE_MAX);
		assert_in_range(step->late_ns, in_second % 4 ? 0 : 20 * MS - 1000, in_second % 4 ? 0 : 20 * MS + 1000);
	}
	assert_int_equal(steps.rows[1].late, 14);
	assert_int_equal(steps.rows[0].late, 0);
	rank_steps_free(&steps);
	assert_page(&ranks, "\nSteps: 59, 100.0 ms in the median; from the fastest rank to the slowest ");
	assert_page(&ranks, " at most (step 31); latest was rank 1 in 14\n"
			    "  the ranks have other numbers of steps: rank 1 has 59, rank 0 has 99\n");
	ranks_free(&ranks);
}

static void steps_without_a_collective_that_others_have_are_not_compared(void **state)
{
	const struct rank first = RANK(0, "boot-a", .has_steps = true),
			  second = RANK(1, "boot-a", .has_steps = true, .first = 1000);
	struct ranks ranks = {0};
	struct rank_steps steps;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	rank_steps_make(&steps, &ranks);
	assert_int_equal(steps.list.count, 0);
	assert_int_equal(steps.rows[1].seen, 99);
	assert_false(steps.rows[1].is_compared);
	rank_steps_free(&steps);
	assert_page(&ranks, "  steps of 1 ranks are not compared: they launched no collective that others have\n");
	ranks_free(&ranks);
}

/* Rank 2 computes three times as long as the others before it comes, and comes late. */
static void what_a_late_rank_does_unlike_the_others_is_by_line(void **state)
{
	const struct rank first = RANK(0, "boot-a", .world = 3, .has_steps = true, .compute_us = 7000),
			  second = RANK(1, "boot-a", .world = 3, .has_steps = true, .compute_us = 7500),
			  third = RANK(2, "boot-a", .world = 3, .has_steps = true, .compute_us = 21000, .late_every = 1,
				       .late_ms = 14);
	struct ranks ranks = {0};
	struct rank_lines lines;
	const struct line_spread *line;
	const struct difference_row *row;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	add_rank(&ranks, &third, NULL);
	align_ranks(&ranks);
	rank_lines_make(&lines, &ranks);
	assert_int_equal(lines.ranks, 3);
	assert_true(lines.has_steps);
	line = &lines.lines.list.items[0];
	assert_string_equal(line->place, "train.py:11");
	assert_in_range((uint64_t)line->least_ns, 7000000 - 100, 7000000 + 100);
	assert_in_range((uint64_t)line->most.before, 7500000 - 100, 7500000 + 100);
	assert_in_range((uint64_t)line->most.after, 21000000 - 100, 21000000 + 100);
	assert_int_equal(line->least_rank, 0);
	assert_int_equal(line->most_rank, 2);
	assert_int_equal(lines.lines.list.count, 1); /* the collective is no computation */
	assert_int_equal(lines.late, 2);
	row = &lines.differences.computation.list.items[0];
	assert_in_range((uint64_t)row->cost.before, 7000000 - 100, 7000000 + 100); /* the lower median of the others */
	assert_in_range((uint64_t)row->cost.after, 21000000 - 100, 21000000 + 100);
	assert_true(difference_is_seen(&row->cost));
	rank_lines_free(&lines);
	assert_page(&ranks, "\nWhat rank 2 does unlike the other ranks   per step, beside the median of the others\n");
	assert_page(&ranks, "\nComputation by line, on the ranks with least and most   per step; ");
	ranks_free(&ranks);
}

static void a_late_rank_that_does_less_than_the_others_has_a_change_below_zero(void **state)
{
	const struct rank first = RANK(0, "boot-a", .has_steps = true, .compute_us = 9000),
			  second = RANK(1, "boot-a", .has_steps = true, .compute_us = 1000, .late_every = 1,
					.late_ms = 14);
	struct ranks ranks = {0};

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	assert_page(&ranks, "  9.0        1.0    -8.0    0.0  computation");
	ranks_free(&ranks);
}

/* Rank 3's modules were not recorded, so what it computed in them is not known. */
static void what_ranks_compute_unlike_is_by_layer_where_modules_were_recorded(void **state)
{
	const struct rank first = RANK(0, "boot-a", .world = 4, .has_steps = true, .compute_us = 7000,
				       .has_modules = true),
			  second = RANK(1, "boot-a", .world = 4, .has_steps = true, .compute_us = 21000,
					.has_modules = true),
			  third = RANK(2, "boot-a", .world = 4, .has_steps = true, .compute_us = 7500,
				       .has_modules = true),
			  fourth = RANK(3, "boot-a", .world = 4, .has_steps = true, .compute_us = 1000);
	const struct line_spread *layer;
	struct ranks ranks = {0};
	struct rank_lines lines;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	add_rank(&ranks, &third, NULL);
	add_rank(&ranks, &fourth, NULL);
	align_ranks(&ranks);
	rank_lines_make(&lines, &ranks);
	assert_int_equal(lines.ranks, 4);
	assert_int_equal(lines.layers.list.count, 1); /* the collective is no computation */
	layer = &lines.layers.list.items[0];
	assert_string_equal(layer->name, "Net.blocks.0");
	assert_in_range((uint64_t)layer->least_ns, 7000000 - 100, 7000000 + 100);
	assert_in_range((uint64_t)layer->most.before, 7500000 - 100, 7500000 + 100);
	assert_in_range((uint64_t)layer->most.after, 21000000 - 100, 21000000 + 100);
	assert_int_equal(layer->least_rank, 0);
	assert_int_equal(layer->most_rank, 1);
	rank_lines_free(&lines);
	assert_page(&ranks, "\nComputation by layer, on the ranks with least and most   per step; ");
	assert_page(&ranks, "Net.blocks.0\n");
	ranks_free(&ranks);
}

static void in_one_log_too_a_rank_without_modules_is_not_compared_by_layer(void **state)
{
	const struct rank all[] = {
		RANK(0, "boot-a", .world = 3, .has_steps = true, .compute_us = 7000, .has_modules = true),
		RANK(1, "boot-a", .world = 3, .has_steps = true, .compute_us = 8000, .has_modules = true,
		     .pid = RANK_PID + 1),
		RANK(2, "boot-a", .world = 3, .has_steps = true, .compute_us = 1000, .pid = RANK_PID + 2)};
	struct ranks ranks = {0};
	struct rank_lines lines;

	add_ranks(&ranks, all, 3, NULL);
	align_ranks(&ranks);
	rank_lines_make(&lines, &ranks);
	assert_int_equal(lines.ranks, 3);
	assert_int_equal(lines.layers.list.count, 1);
	assert_int_equal(lines.layers.list.items[0].least_rank, 0);
	assert_in_range((uint64_t)lines.layers.list.items[0].least_ns, 7000000 - 100, 7000000 + 100);
	rank_lines_free(&lines);
	ranks_free(&ranks);
}

static void ranks_that_compute_alike_have_no_table_of_lines_on_a_page(void **state)
{
	const struct rank first = RANK(0, "boot-a", .has_steps = true, .compute_us = 7000),
			  second = RANK(1, "boot-a", .has_steps = true, .compute_us = 7010);
	struct ranks ranks = {0};
	char *text;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	text = page_of(&ranks);
	assert_null(strstr(text, "Computation by line"));
	assert_null(strstr(text, "unlike the other ranks"));
	assert_null(strstr(text, "Steps on all ranks"));
	free(text);
	text = page_with(&ranks, "merge_lines");
	assert_non_null(strstr(text, "train.py:11"));
	free(text);
	text = page_with(&ranks, "merge_steps");
	assert_non_null(strstr(text, "Steps on all ranks"));
	free(text);
	ranks_free(&ranks);
}

/* Without steps the sums of a log of twice the length are no comparison. */
static void logs_without_steps_are_compared_on_a_page_only_if_they_are_equally_long(void **state)
{
	const struct rank first = RANK(0, "boot-a", .compute_us = 7000),
			  equal = RANK(1, "boot-a", .compute_us = 9000, .late_every = 1, .late_ms = 5),
			  shorter = RANK(1, "boot-a", .compute_us = 9000, .late_every = 1, .late_ms = 5,
					 .collectives = 50);
	const struct rank *const seconds[] = {&equal, &shorter};

	for (size_t i = 0; i < 2; i++) {
		struct ranks ranks = {0};
		char *text;

		add_rank(&ranks, &first, NULL);
		add_rank(&ranks, seconds[i], NULL);
		align_ranks(&ranks);
		text = page_of(&ranks);
		assert_int_equal(strstr(text, "What rank 1 does unlike the other ranks   in all, ") != NULL, i == 0);
		free(text);
		text = page_with(&ranks, "merge_difference");
		assert_non_null(strstr(text, "What rank 1 does unlike the other ranks"));
		free(text);
		ranks_free(&ranks);
	}
}

static void a_page_of_few_lines_says_how_to_see_the_tables_it_leaves_out(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-b", .late_every = 4, .late_ms = 20);
	struct ranks ranks = {0};
	unsigned lines = 0;
	char *text;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	align_ranks(&ranks);
	text = page_in(&ranks, NULL, 20);
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	assert_in_range(lines, 10, 20);
	assert_ptr_equal(strstr(text, "Late most is rank 1: "), text);
	assert_non_null(strstr(text, "\nLeft out: merge_"));
	assert_non_null(strstr(text, " `gputrace merge FILES --table NAME` shows one, --all all of them.\n"));
	free(text);
	ranks_free(&ranks);
}

/* ---- when they began -------------------------------------------------------------------------------------------- */

/* The second log began and ended 5 ms later, on the first one's clock. */
static struct ranks_span span_of(const struct rank *second, bool by_wall, uint64_t error_ns)
{
	const struct rank first = RANK(0, "boot-a");
	struct ranks ranks = {0};
	struct ranks_span span;

	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, second, NULL);
	for (size_t i = 0; i < 2; i++) {
		struct rank_log *log = &ranks.logs.items[i];

		log->start_ns = rank_shows(i ? second : &first, 1000 * MS + i * 5 * MS);
		log->end_ns = rank_shows(i ? second : &first, 9000 * MS + i * 5 * MS);
		log->wall_error_ns = error_ns;
	}
	assert_null(ranks_align(&ranks, by_wall));
	span = ranks_span(&ranks);
	assert_in_range(rank_log_begun(&ranks, 1), 1005 * MS - 100, 1005 * MS + 100);
	ranks_free(&ranks);
	return span;
}

static void how_far_apart_they_began_is_known_by_their_clocks(void **state)
{
	const struct rank same = RANK(1, "boot-a"), other = RANK(1, "boot-b", .offset_ns = 300000000000123),
			  silent = RANK(1, "boot-b", .first = 1000);
	struct ranks_span span = span_of(&same, false, 7);

	assert_int_equal(span.by, RANKS_SAME_BOOT);
	assert_int_equal(span.begun_ns, 5 * MS);
	assert_int_equal(span.ended_ns, 5 * MS);
	assert_int_equal(span.error_ns, 0);
	span = span_of(&other, false, 7);
	assert_int_equal(span.by, RANKS_BY_COLLECTIVES);
	assert_in_range(span.begun_ns, 5 * MS - 100, 5 * MS + 100);
	assert_true(span.error_ns < 1000);
	span = span_of(&silent, true, 7000);
	assert_int_equal(span.by, RANKS_BY_WALL);
	assert_int_equal(span.begun_ns, 5 * MS);
	assert_int_equal(span.error_ns, 14000);
	assert_int_equal(span_of(&silent, true, UINT64_MAX).error_ns, UINT64_MAX);
}

/* Two jobs at once of one program, of each of which a rank's log is in one folder: their collectives run together. */
static void ranks_that_were_started_for_two_jobs_are_not_mixed(void **state)
{
	static const struct {
		const char *master, *other, *run_id, *other_run_id, *boot, *why; /* NULL: they are one job */
	} cases[] = {
		{"127.0.0.1:29500", "127.0.0.1:29501", NULL, NULL, "boot-a",
		 "they are of different jobs, by MASTER_PORT: rank 0 of a.gpt (process 100) has 127.0.0.1:29500, rank "
		 "1 of "
		 "b.gpt (process 101) has 127.0.0.1:29501; name the logs of one, or, if one job was started so, "
		 "--unaligned"},
		{"127.0.0.1:29500", "node:29500", NULL, NULL, "boot-a", "by MASTER_ADDR: rank 0 of a.gpt"},
		{"10.0.0.1:29500", "node:29500", NULL, NULL, "boot-b",
		 NULL}, /* another machine may have another name for it */
		{"node:29500", "node:29500", "one", "two", "boot-b", "by TORCHELASTIC_RUN_ID: rank 0 of a.gpt"},
		{"node:29500", NULL, "one", NULL, "boot-a", NULL},
		{"node:29500", "node:29500", "one", "one", "boot-a", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rank first = RANK(0, "boot-a", .master = cases[i].master, .run_id = cases[i].run_id),
				  second = RANK(1, cases[i].boot, .pid = 101, .master = cases[i].other,
						.run_id = cases[i].other_run_id);
		struct ranks ranks = {0};

		if (cases[i].why) {
			assert_refused(&first, &second, cases[i].why);
			continue;
		}
		add_rank(&ranks, &first, NULL);
		add_rank(&ranks, &second, NULL);
		assert_null(ranks_align(&ranks, false));
		ranks_free(&ranks);
	}
}

static void whoever_knows_that_it_is_one_job_may_say_so(void **state)
{
	const struct rank first = RANK(0, "boot-a", .master = "node:1"), second = RANK(1, "boot-a", .master = "node:2");
	struct ranks ranks = {0};

	(void)state;
	add_rank(&ranks, &first, NULL);
	add_rank(&ranks, &second, NULL);
	assert_null(ranks_align(&ranks, true));
	ranks_free(&ranks);
}

static void two_recordings_of_the_same_moment_are_two(void **state)
{
	const struct rank rank = RANK(0, "boot-a");
	struct ranks ranks = {0};
	char *why;

	add_rank(&ranks, &rank, NULL);
	add_rank(&ranks, &rank, NULL);
	ranks.logs.items[0].set_up_at_ns = 5;
	ranks.logs.items[1].set_up_at_ns = 6;
	why = ranks_align(&ranks, false);
	assert_non_null(strstr(why, "rank 0 is there twice"));
	free(why);
	ranks_free(&ranks);
}

/* A process whose program was started with this RANK; starts_ns: when. */
static void put_ranked(struct log_builder *log, uint32_t pid, uint32_t parent, uint64_t start_ns, uint16_t python,
		       const char *rank)
{
	char text[64];
	size_t bytes = log_join(text, sizeof(text), 6, (const char *[]){"python3", "", "", "", rank, ""});
	struct gpt_process record = {.time_ns = 600 * MS,
				     .start_ns = start_ns,
				     .pid = pid,
				     .parent = parent,
				     .python = python,
				     .bytes = (uint32_t)bytes};

	log_put(log, GPT_PROCESS, &record, sizeof(record), text, bytes);
}

/* A shell with a RANK starts a program that only uses the CPU; its child comes first in the log. */
static void add_cpu_rank(struct ranks *ranks, const struct rank *of, bool has_op)
{
	const char *rank = of->number ? "1" : "0";
	struct log_builder log = {0};
	struct analyses all;
	struct trace *trace;
	const char *why;
	int fd;

	log_begin(&log, rank_shows(of, 500 * MS) + of->number, rank_wall_of(of));
	rank_put_session(&log, of);
	put_ranked(&log, RANK_PID + 2, RANK_PID + 1, 30, 0x30c, rank);
	put_ranked(&log, RANK_PID, 1, 10, 0, rank);
	put_ranked(&log, RANK_PID + 1, RANK_PID, 20, 0x30c, rank);
	if (has_op) {
		log_batch(&log, RANK_PID + 1, RANK_PID + 1, 900 * MS);
		log_agent_op_name(&log, 7, "gloo:all_reduce");
		log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 700 * MS,
							  .end_ns = 800 * MS,
							  .tid = RANK_PID + 1,
							  .name = 7,
							  .sequence = -1});
	}
	log_end(&log, 1100 * MS);
	fd = log_fd(&log);
	log_free(&log);
	assert_int_equal(gpt_trace_open(fd, NULL, NULL, &trace, &why), 0);
	assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_ARRIVALS, ANALYZE_BREAKDOWN), NULL), 0);
	ranks_add_log(ranks, names[ranks->logs.count], all.model, &all.arrivals);
	analyses_free(&all);
	gpt_trace_close(trace);
	close(fd);
}

static void ranks_that_only_use_the_cpu_are_known_by_their_environment(void **state)
{
	const struct rank first = RANK(0, "boot-a"), second = RANK(1, "boot-a");

	for (unsigned has_op = 0; has_op < 2; has_op++) {
		struct ranks ranks = {0};
		char *page;

		add_cpu_rank(&ranks, &first, has_op);
		add_cpu_rank(&ranks, &second, has_op);
		align_ranks(&ranks);
		assert_int_equal(ranks.rows.count, 2);
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(ranks.rows.items[i].of->rank, i);
			assert_int_equal(ranks.rows.items[i].of->pid, RANK_PID + 1);
		}
		page = page_of(&ranks);
		assert_null(strstr(page, "no rank is known"));
		assert_non_null(
			strstr(page, "known by RANK alone, and compared with none: 2 ranks, the first is rank 0"));
		assert_int_equal(!!strstr(page, "its collectives went over gloo or MPI, which have no GPU times"),
				 has_op);
		free(page);
		ranks_free(&ranks);
	}
}

#define GPU_STEPS 20u

/* A step of a process that drives two GPUs: GPU 1 computes for 2 ms, GPU 0 for 1 ms, then a collective of both. */
static void put_step_of_two_gpus(struct log_builder *log, uint32_t step)
{
	uint64_t at_ns = 1000 * MS + step * PERIOD, ended_ns = at_ns + 10 * MS;

	for (uint32_t gpu = 0; gpu < 2; gpu++) {
		log_launch(log, RANK_PID, RANK_PID, at_ns + gpu * 1000, STACK_BEFORE, 4 * step + gpu + 1);
		log_nccl(log, (struct gpt_nccl){.time_ns = at_ns + MS / 2 + gpu * 1000,
						.comm = 0x5000 + gpu,
						.comm_id = 0x1234,
						.count = 1000,
						.sequence = step,
						.pid = RANK_PID,
						.tid = RANK_PID,
						.calls = 1,
						.rank = (int32_t)gpu,
						.ranks = 2,
						.function = GPT_NCCL_ALL_REDUCE,
						.dtype = 7});
		log_launch(log, RANK_PID, RANK_PID, at_ns + MS / 2 + gpu * 1000, STACK_COLLECTIVE, 4 * step + gpu + 3);
	}
	log_batch(log, RANK_PID, RANK_PID, at_ns + 20 * MS);
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = ended_ns,
						 .end_ns = ended_ns + MS,
						 .tid = RANK_PID,
						 .name = 9,
						 .scope = GPT_AGENT_OP_USER_SCOPE,
						 .sequence = -1});
	for (uint32_t gpu = 0; gpu < 2; gpu++) {
		uint64_t computed_ns = at_ns + (2 + gpu) * MS;

		log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = at_ns + MS,
								.end_wall_ns = computed_ns,
								.corr = 4 * step + gpu + 1,
								.device = gpu,
								.name = 2});
		log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = computed_ns,
								.end_wall_ns = at_ns + 4 * MS,
								.corr = 4 * step + gpu + 3,
								.device = gpu,
								.name = 1});
	}
}

static void add_log_of_two_gpus(struct ranks *ranks)
{
	const struct rank rank = {.boot = "boot"};
	struct log_builder log = {0};

	log_begin(&log, 10, 0);
	rank_put_session(&log, &rank);
	rank_put_program(&log, &rank);
	for (uint32_t i = 0; i < GPU_STEPS; i++)
		put_step_of_two_gpus(&log, i);
	log_end(&log, 1000 * MS + GPU_STEPS * PERIOD);
	add_built(ranks, &log, NULL);
}

static void gpus_that_one_process_drives_are_ranks(void **state)
{
	struct ranks ranks = {0};
	struct rank_steps steps;
	struct rank_lines lines;
	uint32_t gpus;

	add_log_of_two_gpus(&ranks);
	align_ranks(&ranks);
	assert_int_equal(ranks.rows.count, 2);
	assert_int_equal(ranks.world, 2);
	for (uint32_t gpu = 0; gpu < 2; gpu++) {
		const struct rank_row *row = &ranks.rows.items[gpu];

		assert_int_equal(row->of->rank, gpu);
		assert_int_equal(row->of->device, gpu);
		assert_int_equal(row->of->repeated, 0);
		assert_int_equal(row->compared, GPU_STEPS);
		assert_int_equal(row->late, gpu ? GPU_STEPS : 0);
		assert_int_equal(row->waited_ns, gpu ? 0 : GPU_STEPS * MS);
		assert_int_equal(rank_breakdown(&ranks, row, &gpus).computation_ns, GPU_STEPS * (1 + gpu) * MS);
		assert_int_equal(gpus, 1);
	}
	rank_steps_make(&steps, &ranks);
	assert_true(steps.list.count >= GPU_STEPS - 2);
	array_each (step, &steps.list) {
		assert_int_equal(step->ranks, 2);
		assert_int_equal(step->late, 1);
		assert_int_equal(step->late_ns, MS);
	}
	rank_lines_make(&lines, &ranks);
	assert_int_equal(lines.lines.list.count, 1);
	assert_true(fabs(lines.lines.list.items[0].least_ns - (double)MS) < 1);
	assert_true(fabs(lines.lines.list.items[0].most.after - 2.0 * (double)MS) < 1);
	assert_int_equal(lines.lines.list.items[0].most_rank, 1);
	assert_int_equal(lines.late, 1);
	assert_int_equal(lines.differences.losses.list.count, 0);
	rank_lines_free(&lines);
	rank_steps_free(&steps);
	ranks_free(&ranks);
}

static void pairs_that_are_far_off_do_not_move_the_line(void **state)
{
	struct clock_pair pairs[200];
	struct clock_fit fit;

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t here = 5000 * MS + i * 50 * MS;

		pairs[i] = (struct clock_pair){here, here + 1000000 + (here - 5000 * MS) / 50000};
		if (i % 3 == 0)
			pairs[i].there_ns += i * 20 * MS;
	}
	clock_fit_make(&fit, pairs, 200);
	assert_true(fabs(fit.line.drift - 20e-6) < 1e-9);
	assert_in_range(clock_line_at(&fit.line, 5000 * MS), 5001 * MS - 100, 5001 * MS + 100);
	assert_in_range(fit.used, 130, 136);
}

/* A log may have any numbers. */
static void clocks_without_sense_make_some_line(void **state)
{
	struct clock_pair pairs[32];
	struct clock_fit fit;

	for (uint64_t i = 0; i < 32; i++)
		pairs[i] = (struct clock_pair){i % 2 ? UINT64_MAX - i : i, i % 3 ? UINT64_MAX / 2 : i};
	clock_fit_make(&fit, pairs, 32);
	clock_line_at(&fit.line, UINT64_MAX);
	clock_fit_make(&fit, pairs, 1);
	assert_int_equal(fit.used, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_of_days_and_a_drift_are_found_again),
		cmocka_unit_test(what_the_gpus_of_a_rank_did_outlives_its_log),
		cmocka_unit_test(a_page_begins_with_the_rank_that_is_late_most_and_what_is_known_of_it),
		cmocka_unit_test(a_late_rank_that_made_calls_has_what_its_gpu_computed),
		cmocka_unit_test(a_rank_that_became_late_says_from_when_on_and_by_how_much),
		cmocka_unit_test(a_rank_that_is_late_now_and_then_did_not_become_late),
		cmocka_unit_test(a_change_in_noise_is_found_and_noise_alone_is_none),
		cmocka_unit_test(a_page_without_a_late_rank_begins_with_the_logs),
		cmocka_unit_test(ends_that_spread_say_how_large_the_error_is),
		cmocka_unit_test(few_collectives_give_an_offset_and_no_drift),
		cmocka_unit_test(collectives_are_matched_by_their_number_not_by_their_place),
		cmocka_unit_test(logs_of_one_boot_have_one_clock),
		cmocka_unit_test(how_long_a_machine_had_slept_is_what_its_log_says),
		cmocka_unit_test(who_is_late_is_reported_with_its_line_and_how_much_in_all),
		cmocka_unit_test(logs_read_in_parts_say_the_same),
		cmocka_unit_test(logs_that_do_not_belong_together_are_refused),
		cmocka_unit_test(by_wall_clock_they_stay_where_that_puts_them),
		cmocka_unit_test(ranks_whose_collectives_never_ran_together_are_of_two_jobs),
		cmocka_unit_test(wall_clocks_that_are_kept_right_tell_jobs_apart),
		cmocka_unit_test(a_wall_clock_that_is_days_off_is_accepted_on_request),
		cmocka_unit_test(a_rank_that_died_is_said_with_what_others_did_after_it),
		cmocka_unit_test(a_rank_that_died_is_said_where_the_others_hang),
		cmocka_unit_test(ranks_without_a_collective_in_common_are_said),
		cmocka_unit_test(a_log_that_is_cut_short_is_said_with_how_much_is_missing),
		cmocka_unit_test(a_wall_clock_that_was_set_is_said),
		cmocka_unit_test(steps_are_the_same_by_the_collectives_in_them),
		cmocka_unit_test(steps_without_a_collective_that_others_have_are_not_compared),
		cmocka_unit_test(what_a_late_rank_does_unlike_the_others_is_by_line),
		cmocka_unit_test(a_late_rank_that_does_less_than_the_others_has_a_change_below_zero),
		cmocka_unit_test(what_ranks_compute_unlike_is_by_layer_where_modules_were_recorded),
		cmocka_unit_test(in_one_log_too_a_rank_without_modules_is_not_compared_by_layer),
		cmocka_unit_test(logs_without_steps_are_compared_on_a_page_only_if_they_are_equally_long),
		cmocka_unit_test(a_page_of_few_lines_says_how_to_see_the_tables_it_leaves_out),
		cmocka_unit_test(ranks_that_compute_alike_have_no_table_of_lines_on_a_page),
		cmocka_unit_test(how_far_apart_they_began_is_known_by_their_clocks),
		cmocka_unit_test(ranks_that_were_started_for_two_jobs_are_not_mixed),
		cmocka_unit_test(whoever_knows_that_it_is_one_job_may_say_so),
		cmocka_unit_test(two_recordings_of_the_same_moment_are_two),
		cmocka_unit_test(ranks_that_only_use_the_cpu_are_known_by_their_environment),
		cmocka_unit_test(gpus_that_one_process_drives_are_ranks),
		cmocka_unit_test(pairs_that_are_far_off_do_not_move_the_line),
		cmocka_unit_test(clocks_without_sense_make_some_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
