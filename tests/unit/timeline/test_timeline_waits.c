/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits off the CPU as slices. */
#include "timeline_of.h"

#include "sample_model.h"

static struct model_wait wait_of(const struct model *model, uint64_t start_ns, uint64_t end_ns)
{
	return (struct model_wait){.start_ns = model->start_ns + start_ns,
				   .end_ns = model->start_ns + end_ns,
				   .thread = model->calls[0].thread,
				   .stack = model->calls[0].stack,
				   .native = NONE,
				   .waker = NONE,
				   .waker_stack = NONE,
				   .holder = NONE,
				   .reason = GPT_WAIT_PIPE};
}

static struct kept keep_waits(struct model *model, struct model_wait *waits, uint32_t count)
{
	struct kept kept;

	model->waits = waits;
	model->wait_count = count;
	kept = keep(model, -1);
	assert_int_equal(count_of_category(&kept, TIMELINE_OFF_CPU), count);
	return kept;
}

static void free_all(struct kept *kept, struct model *model)
{
	kept_free(kept);
	model->waits = NULL;
	model->wait_count = 0;
	model_free(model);
}

static void a_wait_stands_beside_its_thread_with_reason_stack_and_waker(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_wait wait = wait_of(model, 100, 900);
	const struct timeline_track *track;
	const struct kept_slice *slice;
	struct kept kept;

	wait.woken_ns = model->start_ns + 850;
	wait.woken_by = GPT_WAKER_THREAD;
	wait.waker = wait.thread;
	wait.waker_stack = model->calls[0].stack;
	wait.waker_pid = PID;
	wait.waker_tid = 41299;
	strcpy(wait.waker_name, "feeder");
	kept = keep_waits(model, &wait, 1);
	slice = nth(&kept, TIMELINE_OFF_CPU, 0);
	track = &kept.timeline->tracks.items[slice->track];
	assert_string_equal(slice->name, "pipe");
	assert_int_equal(slice->start_ns, wait.start_ns);
	assert_int_equal(slice->end_ns, wait.end_ns);
	assert_int_equal(track->kind, TIMELINE_TRACK_OFF_CPU);
	assert_int_equal(track->thread, kept.timeline->thread_tracks[wait.thread]);
	assert_string_equal(label_of(&kept, slice->track), "thread 41230 waits");
	assert_true(*slice->stack);
	assert_int_equal(arg_of(slice, TIMELINE_ARG_THREAD)->number, PID);
	assert_int_equal(arg_of(slice, TIMELINE_ARG_RUNNABLE)->number, 50);
	assert_string_equal(arg_of(slice, TIMELINE_ARG_WAKER)->text, "feeder");
	assert_int_equal(arg_of(slice, TIMELINE_ARG_WAKER_PROCESS)->number, PID);
	assert_int_equal(arg_of(slice, TIMELINE_ARG_WAKER_THREAD)->number, 41299);
	assert_non_null(arg_of(slice, TIMELINE_ARG_WAKER_LINE));
	assert_null(arg_of(slice, TIMELINE_ARG_END));
	assert_null(arg_of(slice, TIMELINE_ARG_BEGIN));
	free_all(&kept, model);
}

static void what_is_not_known_of_a_wait_is_not_there(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_wait wait = wait_of(model, 100, 900);
	const struct kept_slice *slice;
	struct kept kept;

	wait.stack = NONE;
	wait.stack_state = GPT_STACK_NO_THREAD;
	wait.woken_by = GPT_WAKER_INTERRUPT;
	wait.open = true;
	kept = keep_waits(model, &wait, 1);
	slice = nth(&kept, TIMELINE_OFF_CPU, 0);
	assert_string_equal(arg_of(slice, TIMELINE_ARG_NO_STACK)->text, "not a Python thread");
	assert_string_equal(arg_of(slice, TIMELINE_ARG_WAKER)->text, "(an interrupt)");
	assert_string_equal(arg_of(slice, TIMELINE_ARG_END)->text, "not seen");
	assert_null(arg_of(slice, TIMELINE_ARG_WAKER_THREAD));
	assert_null(arg_of(slice, TIMELINE_ARG_WAKER_LINE));
	assert_null(arg_of(slice, TIMELINE_ARG_RUNNABLE));
	assert_null(arg_of(slice, TIMELINE_ARG_HOLDER));
	free_all(&kept, model);
}

static void a_wait_from_before_the_recording_is_drawn_from_its_start_on(void **state)
{
	struct model *model = sample_model(1, 1);
	struct timeline *without = timeline_of(model, -1);
	uint64_t start_ns = without->start_ns;
	struct model_wait wait = wait_of(model, 0, 900);
	struct kept kept;

	timeline_free(without);
	wait.start_ns = model->start_ns - 1000;
	kept = keep_waits(model, &wait, 1);
	assert_int_equal(nth(&kept, TIMELINE_OFF_CPU, 0)->start_ns, model->start_ns);
	assert_string_equal(arg_of(nth(&kept, TIMELINE_OFF_CPU, 0), TIMELINE_ARG_BEGIN)->text, "before the trace");
	assert_int_equal(kept.timeline->start_ns, start_ns);
	free_all(&kept, model);
}

/* No kernel reports such waits, but a log may hold them. */
static void waits_of_a_thread_that_overlap_are_on_rows(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_wait waits[] = {wait_of(model, 300, 500), wait_of(model, 100, 900), wait_of(model, 900, 950)};
	struct kept kept = keep_waits(model, waits, 3);

	assert_string_equal(label_of(&kept, nth(&kept, TIMELINE_OFF_CPU, 0)->track), "thread 41230 waits");
	assert_string_equal(label_of(&kept, nth(&kept, TIMELINE_OFF_CPU, 1)->track), "thread 41230 waits (overlap 1)");
	assert_string_equal(label_of(&kept, nth(&kept, TIMELINE_OFF_CPU, 2)->track), "thread 41230 waits");
	free_all(&kept, model);
}

static void waits_of_other_processes_are_left_out(void **state)
{
	struct model *model = sample_model(2, 1);
	struct model_wait wait = wait_of(model, 100, 900);
	struct kept kept;

	model->waits = &wait;
	model->wait_count = 1;
	kept = keep(model, 1);
	assert_int_equal(count_of_category(&kept, TIMELINE_OFF_CPU), 0);
	free_all(&kept, model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_stands_beside_its_thread_with_reason_stack_and_waker),
		cmocka_unit_test(what_is_not_known_of_a_wait_is_not_there),
		cmocka_unit_test(a_wait_from_before_the_recording_is_drawn_from_its_start_on),
		cmocka_unit_test(waits_of_a_thread_that_overlap_are_on_rows),
		cmocka_unit_test(waits_of_other_processes_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
