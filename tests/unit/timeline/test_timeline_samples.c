/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples of the CPU as slices. */
#include "timeline_of.h"

#include "sample_model.h"

static struct model_sample sample_of(const struct model *model, uint64_t at_ns, uint32_t period_ns)
{
	return (struct model_sample){.time_ns = model->start_ns + at_ns,
				     .thread = model->calls[0].thread,
				     .stack = model->calls[0].stack,
				     .native = NONE,
				     .period_ns = period_ns,
				     .place = GPT_SAMPLE_USER};
}

static struct kept keep_samples(struct model *model, struct model_sample *samples, uint32_t count)
{
	struct kept kept;

	model->samples = samples;
	model->sample_count = count;
	kept = keep(model, -1);
	assert_int_equal(count_of_category(&kept, TIMELINE_CPU_SAMPLE), count);
	return kept;
}

static void free_all(struct kept *kept, struct model *model)
{
	kept_free(kept);
	model->samples = NULL;
	model->sample_count = 0;
	model->waits = NULL;
	model->wait_count = 0;
	model_free(model);
}

static void assert_span(const struct kept *kept, const struct model *model, uint32_t n, uint64_t from_ns,
			uint64_t to_ns)
{
	assert_int_equal(nth(kept, TIMELINE_CPU_SAMPLE, n)->start_ns, model->start_ns + from_ns);
	assert_int_equal(nth(kept, TIMELINE_CPU_SAMPLE, n)->end_ns, model->start_ns + to_ns);
}

static void a_sample_is_the_period_that_ended_with_it_beside_its_thread(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_sample sample = sample_of(model, 900, 300);
	struct kept kept = keep_samples(model, &sample, 1);
	const struct kept_slice *slice = nth(&kept, TIMELINE_CPU_SAMPLE, 0);
	const struct timeline_track *track = &kept.timeline->tracks.items[slice->track];

	assert_span(&kept, model, 0, 600, 900);
	assert_string_equal(slice->name, "Block.forward");
	assert_int_equal(track->kind, TIMELINE_TRACK_CPU_SAMPLES);
	assert_int_equal(track->thread, kept.timeline->thread_tracks[sample.thread]);
	assert_string_equal(label_of(&kept, slice->track), "thread 41230 samples");
	assert_string_equal(slice->stack, "Block.forward:42;train_step:23;main:97;");
	assert_int_equal(arg_of(slice, TIMELINE_ARG_THREAD)->number, PID);
	assert_int_equal(arg_of(slice, TIMELINE_ARG_PERIOD)->number, 300);
	assert_null(arg_of(slice, TIMELINE_ARG_IN_KERNEL));
	assert_null(arg_of(slice, TIMELINE_ARG_NATIVE_FUNCTION));
	free_all(&kept, model);
}

static void samples_of_a_thread_do_not_overlap(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_sample samples[] = {sample_of(model, 400, 300), sample_of(model, 500, 300),
					 sample_of(model, 500, 300), sample_of(model, 900, 300)};
	struct kept kept;

	samples[3].thread = model->calls[5].thread; /* a sample of another thread */
	kept = keep_samples(model, samples, 4);
	assert_span(&kept, model, 0, 100, 400);
	assert_span(&kept, model, 1, 400, 500);
	assert_span(&kept, model, 2, 500, 500);
	assert_span(&kept, model, 3, 600, 900);
	assert_int_equal(nth(&kept, TIMELINE_CPU_SAMPLE, 0)->track, nth(&kept, TIMELINE_CPU_SAMPLE, 2)->track);
	assert_int_not_equal(nth(&kept, TIMELINE_CPU_SAMPLE, 0)->track, nth(&kept, TIMELINE_CPU_SAMPLE, 3)->track);
	free_all(&kept, model);
}

static void a_sample_does_not_go_back_over_a_wait_or_before_the_recording(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_sample samples[] = {sample_of(model, 100, 300), sample_of(model, 900, 300)};
	struct model_wait wait = {.start_ns = model->start_ns + 200,
				  .end_ns = model->start_ns + 850,
				  .thread = samples[0].thread,
				  .stack = NONE,
				  .native = NONE,
				  .waker = NONE,
				  .waker_stack = NONE,
				  .holder = NONE,
				  .reason = GPT_WAIT_PIPE};
	struct kept kept;

	model->waits = &wait;
	model->wait_count = 1;
	kept = keep_samples(model, samples, 2);
	assert_span(&kept, model, 0, 0, 100);
	assert_span(&kept, model, 1, 850, 900);
	free_all(&kept, model);
}

static void a_sample_without_python_has_the_name_of_what_ran(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_sample samples[] = {sample_of(model, 400, 100), sample_of(model, 500, 100)};
	struct kept kept;

	for (int i = 0; i < 2; i++) {
		samples[i].stack = NONE;
		samples[i].stack_state = GPT_STACK_NO_THREAD;
	}
	samples[1].place = GPT_SAMPLE_KERNEL;
	kept = keep_samples(model, samples, 2);
	assert_string_equal(nth(&kept, TIMELINE_CPU_SAMPLE, 0)->name, "(not known)");
	assert_string_equal(nth(&kept, TIMELINE_CPU_SAMPLE, 1)->name, "(in the kernel)");
	assert_true(arg_of(nth(&kept, TIMELINE_CPU_SAMPLE, 1), TIMELINE_ARG_IN_KERNEL)->truth);
	assert_string_equal(arg_of(nth(&kept, TIMELINE_CPU_SAMPLE, 1), TIMELINE_ARG_NO_STACK)->text,
			    "not a Python thread");
	free_all(&kept, model);
}

static void samples_of_other_processes_are_left_out(void **state)
{
	struct model *model = sample_model(2, 1);
	struct model_sample sample = sample_of(model, 900, 100);
	struct kept kept;

	model->samples = &sample;
	model->sample_count = 1;
	kept = keep(model, 1);
	assert_int_equal(count_of_category(&kept, TIMELINE_CPU_SAMPLE), 0);
	free_all(&kept, model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_the_period_that_ended_with_it_beside_its_thread),
		cmocka_unit_test(samples_of_a_thread_do_not_overlap),
		cmocka_unit_test(a_sample_does_not_go_back_over_a_wait_or_before_the_recording),
		cmocka_unit_test(a_sample_without_python_has_the_name_of_what_ran),
		cmocka_unit_test(samples_of_other_processes_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
