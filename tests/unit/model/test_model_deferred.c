/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A long trace in which some things are reported late: its parts are small and in order of time, and have each event
 * once, with what it refers to.
 */
#include "model_of.h"

#include "model/tables/recordings.h"
#include "model/lateness.h"

#define SECOND 1000000000ull
#define LAUNCHES 400u /* ten a second */

static struct log_builder builder;

static uint64_t time_of(uint32_t launch)
{
	return SECOND + launch * (SECOND / 10);
}

static void begin_log(void)
{
	log_begin(&builder, SECOND / 2, 0);
	log_batch(&builder, PID, TID, SECOND / 2 + 1);
	log_agent_ready(&builder, "kernels,cuda");
}

/* A launch, and its kernel if kernel_ns is not 0. */
static void add_step(uint32_t launch, uint64_t kernel_ns)
{
	uint64_t time_ns = time_of(launch);

	log_launch(&builder, PID, TID, time_ns, 0, launch + 1);
	log_batch(&builder, PID, TID, time_ns + 1000000);
	if (kernel_ns)
		log_agent_kernel(&builder, (struct gpt_agent_kernel){.start_wall_ns = time_ns + 1000,
								     .end_wall_ns = time_ns + 1000 + kernel_ns,
								     .corr = launch + 1});
}

static void feed_kernel(uint32_t launch, uint64_t end_ns)
{
	log_batch(&builder, PID, TID, end_ns);
	log_agent_kernel(&builder, (struct gpt_agent_kernel){.start_wall_ns = time_of(launch) + 1000,
							     .end_wall_ns = end_ns - 1,
							     .corr = launch + 1});
}

struct seen {
	uint64_t calls, operations, whole;
	unsigned parts;
	uint32_t most_calls; /* in one part, with the calls that it holds for its events */
};

/* Hands the log over in parts; checks that operations are in order of time. */
static struct seen hand_over(void)
{
	struct trace_division division = {.chunk_records = 4, .part_events = 1};
	struct seen seen = {0};
	uint64_t latest_ns = 0;
	struct trace *trace;
	const char *why;
	int fd = log_fd(&builder);

	assert_int_equal(gpt_trace_open(fd, &division, NULL, &trace, &why), 0);
	for (const struct model *part = trace_first(trace); part; part = trace_next(trace)) {
		for (uint32_t i = part->gpu_in_part.from; i < in_part_end(&part->gpu_in_part, part->gpu_count); i++) {
			assert_true(part->gpu[i].start_ns >= latest_ns);
			assert_int_not_equal(part->gpu[i].call, NONE);
			latest_ns = part->gpu[i].start_ns;
			seen.operations++;
		}
		seen.calls += in_part_end(&part->calls_in_part, part->call_count) - part->calls_in_part.from;
		seen.most_calls = part->call_count > seen.most_calls ? part->call_count : seen.most_calls;
		seen.whole = model_source(part)->receipt.launches_whole;
		seen.parts++;
	}
	assert_int_equal(trace->error, 0);
	gpt_trace_close(trace);
	close(fd);
	model_free(model_of(&builder));
	return seen;
}

static void a_kernel_that_runs_for_a_long_time_holds_nothing_up(void **state)
{
	struct seen seen;

	begin_log();
	for (uint32_t i = 0; i < LAUNCHES; i++)
		add_step(i, i == 3 ? 0 : 5000);
	feed_kernel(3, time_of(LAUNCHES));
	log_end(&builder, time_of(LAUNCHES + 1));
	seen = hand_over();
	assert_int_equal(seen.calls, LAUNCHES);
	assert_int_equal(seen.operations, LAUNCHES);
	assert_int_equal(seen.whole, LAUNCHES);
	assert_true(seen.parts > LAUNCHES / 10);
	assert_true(seen.most_calls < 50);
}

static void what_another_profiler_kept_for_itself_is_reported_at_its_end(void **state)
{
	struct seen seen;

	begin_log();
	for (uint32_t i = 0; i < LAUNCHES; i++)
		add_step(i, i >= 100 && i < 200 ? 0 : 5000);
	for (uint32_t i = 200; i-- > 100;)
		feed_kernel(i, time_of(LAUNCHES));
	log_end(&builder, time_of(LAUNCHES + 1));
	seen = hand_over();
	assert_int_equal(seen.operations, LAUNCHES);
	assert_int_equal(seen.whole, LAUNCHES);
	assert_true(seen.most_calls < 50);
}

static void a_kernel_that_began_before_the_trace_is_of_its_first_part(void **state)
{
	struct trace_division division = {.chunk_records = 4, .part_events = 1};
	const struct model *part;
	struct trace *trace;
	const char *why;
	int fd;

	begin_log();
	for (uint32_t i = 0; i < LAUNCHES; i++)
		add_step(i + 10, 5000);
	log_batch(&builder, PID, TID, time_of(LAUNCHES + 10));
	log_agent_kernel(&builder, (struct gpt_agent_kernel){
					   .start_wall_ns = SECOND / 4, .end_wall_ns = time_of(LAUNCHES), .corr = 5});
	log_end(&builder, time_of(LAUNCHES + 11));
	fd = log_fd(&builder);
	assert_int_equal(gpt_trace_open(fd, &division, NULL, &trace, &why), 0);
	part = trace_first(trace);
	assert_true(part->more);
	assert_true(in_part_end(&part->gpu_in_part, part->gpu_count) > 0);
	assert_int_equal(part->gpu[0].start_ns, SECOND / 4);
	assert_true(part->gpu[0].before);
	gpt_trace_close(trace);
	close(fd);
	model_free(model_of(&builder));
}

#define OTHERS 500u

/* In the second pass it is replayed when nothing else has been read of its process. */
static void late_work_may_be_the_first_that_is_read_of_its_process(void **state)
{
	struct model *model;

	begin_log();
	for (uint32_t i = 0; i < LAUNCHES; i++)
		add_step(i, 5000);
	for (uint32_t i = 1; i <= OTHERS; i++) {
		log_batch(&builder, PID + i, PID + i, time_of(LAUNCHES));
		log_agent_kernel(&builder, (struct gpt_agent_kernel){.start_wall_ns = time_of(3),
								     .end_wall_ns = time_of(LAUNCHES) - 1,
								     .corr = i});
	}
	log_end(&builder, time_of(LAUNCHES + 1));
	model = model_of(&builder);
	assert_int_equal(model->gpu_count, LAUNCHES + OTHERS);
	assert_int_equal(model->process_count, 1 + OTHERS);
	for (uint32_t i = 1; i <= OTHERS; i++)
		assert_int_equal(model->processes[i].gpu_ops, 1);
	model_free(model);
}

/* ---- the lateness index ------------------------------------------------------------------------------------------ */

static void ids_go_on_where_cupti_s_run_over(void **state)
{
	struct lateness_index lateness = {0};

	lateness_see_call(&lateness, 1, UINT32_MAX - 1);
	lateness_see_call(&lateness, 1, 3);
	assert_int_equal(lateness_unwrap(&lateness, 1, 3) - lateness_unwrap(&lateness, 1, UINT32_MAX - 1), 5);
	assert_int_equal(lateness_unwrap(&lateness, 2, 3), 0);
	lateness_free(&lateness);
}

static void a_reference_to_a_call_of_long_ago_is_late(void **state)
{
	struct lateness_index lateness = {0};

	lateness_see_call(&lateness, 1, 10);
	lateness_see_call(&lateness, 1, 10 + LATENESS_DEFER_CALLS);
	assert_false(lateness_defers_reference(&lateness, 1, 10));
	lateness_see_call(&lateness, 1, 11 + LATENESS_DEFER_CALLS);
	assert_true(lateness_defers_reference(&lateness, 1, 10));
	assert_false(lateness_defers_reference(&lateness, 1, 11));
	lateness_free(&lateness);
}

static uint64_t as_it_is(void *context, uint32_t process, uint64_t wall_ns)
{
	return wall_ns;
}

static void of_each_stretch_the_least_that_it_or_a_later_one_says_is_known(void **state)
{
	struct lateness_index lateness = {0};

	lateness_see_call(&lateness, 1, 10);
	lateness_note_begin(&lateness, NONE, 100);
	lateness_note_reference(&lateness, 1, 10);
	lateness.chunk = 1;
	lateness_see_call(&lateness, 1, 20);
	lateness_note_begin(&lateness, NONE, 300);
	lateness_note_begin(&lateness, 0, 250);
	lateness_note_reference(&lateness, 1, 20);
	lateness.chunk = 2;
	lateness_note_begin(&lateness, NONE, 200);
	lateness_note_reference(&lateness, 1, 15);
	lateness.chunk = 3;
	lateness_note_begin(&lateness, NONE, 400);
	lateness_finish(&lateness, as_it_is, NULL);
	assert_int_equal(lateness_begins(&lateness, 0), 100);
	assert_int_equal(lateness_begins(&lateness, 1), 200);
	assert_int_equal(lateness_begins(&lateness, 3), 400);
	assert_true(lateness_begins(&lateness, 4) == UINT64_MAX);
	assert_true(lateness_references(&lateness, 1, 1) == lateness_unwrap(&lateness, 1, 15));
	assert_true(lateness_references(&lateness, 1, 3) == UINT64_MAX);
	lateness_free(&lateness);
}

/* ---- recordings of events ---------------------------------------------------------------------------------------- */

static void of_very_many_recordings_the_latest_are_kept(void **state)
{
	struct recording recording = {.process = 0, .epoch = 1, .context = 1, .event = 7, .call = NONE};
	struct recordings recordings = {0};

	for (uint32_t i = 1; i <= 2 * RECORDINGS_MAX + 1; i++) {
		recording.number = i;
		recording.stream = i;
		recordings_add(&recordings, &recording);
	}
	recordings_trim(&recordings);
	assert_null(recordings_numbered(&recordings, 1, 1));
	assert_int_equal(recordings_numbered(&recordings, 1, 2 * RECORDINGS_MAX)->stream, 2 * RECORDINGS_MAX);
	recordings_free(&recordings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_that_runs_for_a_long_time_holds_nothing_up),
		cmocka_unit_test(what_another_profiler_kept_for_itself_is_reported_at_its_end),
		cmocka_unit_test(a_kernel_that_began_before_the_trace_is_of_its_first_part),
		cmocka_unit_test(late_work_may_be_the_first_that_is_read_of_its_process),
		cmocka_unit_test(ids_go_on_where_cupti_s_run_over),
		cmocka_unit_test(a_reference_to_a_call_of_long_ago_is_late),
		cmocka_unit_test(of_each_stretch_the_least_that_it_or_a_later_one_says_is_known),
		cmocka_unit_test(of_very_many_recordings_the_latest_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
