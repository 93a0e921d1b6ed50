/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Training steps in a timeline: their names and tracks. */
#include "steps_log.h"
#include "timeline_of.h"

static struct kept keep_trace(struct trace *trace)
{
	struct timeline *timeline = timeline_new(trace, -1);

	assert_non_null(timeline);
	return keep_all(timeline);
}

static void assert_step(const struct kept *kept, uint32_t n, const char *name, uint64_t start_us, uint64_t end_us)
{
	const struct kept_slice *step = nth(kept, TIMELINE_STEP, n);

	assert_string_equal(step->name, name);
	assert_int_equal(step->start_ns, start_us * 1000);
	assert_int_equal(step->end_ns, end_us * 1000);
}

static void steps_are_on_their_thread_with_their_numbers(void **state)
{
	struct ops_log ops = steps_log();
	struct found found;
	struct kept kept = keep_trace(find(&found, &ops));

	assert_int_equal(count_of_category(&kept, TIMELINE_STEP), STEPS - 1); /* the start of the first was not seen */
	assert_step(&kept, 0, "ProfilerStep#1", 150, 200);
	assert_step(&kept, SLOW - 1, "ProfilerStep#6", 400, 500);
	assert_int_equal(nth(&kept, TIMELINE_STEP, 0)->track, nth(&kept, TIMELINE_OP, 0)->track);
	kept_free(&kept);
	found_free(&found);
}

static void beside_an_op_that_does_not_nest_they_have_a_track_of_their_own(void **state)
{
	struct ops_log ops = steps_log();
	struct found found;
	struct kept kept;

	add_op(&ops, COPY, 190, 205); /* from step 1 into step 2, around the optimizer */
	kept = keep_trace(find(&found, &ops));
	assert_string_equal(label_of(&kept, nth(&kept, TIMELINE_STEP, 0)->track), "thread 41231 steps");
	kept_free(&kept);
	found_free(&found);
}

static void an_op_around_all_of_them_nests(void **state)
{
	struct ops_log ops = steps_log();
	struct found found;
	struct kept kept;

	add_op(&ops, COPY, 100, 800);
	kept = keep_trace(find(&found, &ops));
	assert_int_equal(nth(&kept, TIMELINE_STEP, 0)->track, nth(&kept, TIMELINE_OP, 0)->track);
	kept_free(&kept);
	found_free(&found);
}

/* Reads the log divided in this way; the texts of arguments are freed with it. */
static struct kept keep_divided(int fd, const struct trace_division *division)
{
	struct trace *trace;
	struct steps steps;
	struct kept kept;
	const char *why;

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(gpt_trace_open(fd, division, NULL, &trace, &why), 0);
	assert_int_equal(steps_find(&steps, trace, &(struct step_request){0}), 0);
	trace->steps = &steps;
	kept = keep_trace(trace);
	steps_free(&steps);
	gpt_trace_close(trace);
	return kept;
}

static void steps_are_the_same_however_the_trace_is_divided(void **state)
{
	static const struct trace_division whole = {.whole_bytes = UINT64_MAX},
					   parts = {.chunk_records = 1, .part_events = 1};
	struct ops_log ops = steps_log();
	struct kept one, many;
	int fd;

	add_op(&ops, COPY, 455, 505); /* ends after its step */
	log_end(&ops.log, 1000000);
	fd = log_fd(&ops.log);
	one = keep_divided(fd, &whole);
	many = keep_divided(fd, &parts);
	assert_int_equal(count_of_category(&many, TIMELINE_STEP), STEPS - 1);
	for (uint32_t i = 0; i < STEPS - 1; i++) {
		const struct kept_slice *slice = nth(&one, TIMELINE_STEP, i), *other = nth(&many, TIMELINE_STEP, i);

		assert_string_equal(slice->name, other->name);
		assert_int_equal(slice->track, other->track);
		assert_int_equal(slice->op, other->op);
	}
	kept_free(&one);
	kept_free(&many);
	close(fd);
	log_free(&ops.log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_on_their_thread_with_their_numbers),
		cmocka_unit_test(beside_an_op_that_does_not_nest_they_have_a_track_of_their_own),
		cmocka_unit_test(an_op_around_all_of_them_nests),
		cmocka_unit_test(steps_are_the_same_however_the_trace_is_divided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
