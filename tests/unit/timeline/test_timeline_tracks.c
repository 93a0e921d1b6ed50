/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Groups, tracks and counters of a timeline, and its span. */
#include "timeline_of.h"

#include "sample_model.h"

/* The n-th track of a kind, from 0; TIMELINE_NONE: there are fewer. */
static uint32_t track_of_kind(const struct timeline *timeline, enum timeline_track_kind kind, uint32_t n)
{
	for (uint32_t i = 0; i < timeline->tracks.count; i++)
		if (timeline->tracks.items[i].kind == kind && !n--)
			return i;
	return TIMELINE_NONE;
}

static void assert_label(const struct timeline *timeline, enum timeline_track_kind kind, uint32_t n, const char *label)
{
	char text[256];

	assert_int_not_equal(track_of_kind(timeline, kind, n), TIMELINE_NONE);
	timeline_track_label(timeline, track_of_kind(timeline, kind, n), text, sizeof(text));
	assert_string_equal(text, label);
}

static void a_process_has_its_threads_and_a_gpu_its_streams(void **state)
{
	struct model *model = sample_model(1, 1);
	struct timeline *timeline = timeline_of(model, -1);
	const struct timeline_track *stream;

	assert_int_equal(timeline->groups.count, 3);
	assert_int_equal(timeline->groups.items[0].kind, TIMELINE_GROUP_PROCESS);
	assert_int_equal(timeline->groups.items[0].pid, PID);
	assert_string_equal(timeline->groups.items[0].name, "python3");
	assert_int_equal(timeline->groups.items[1].kind, TIMELINE_GROUP_CUPTI);
	assert_int_equal(timeline->groups.items[2].kind, TIMELINE_GROUP_GPU);
	assert_string_equal(timeline->groups.items[2].name, "Example GPU");
	assert_label(timeline, TIMELINE_TRACK_THREAD, 0, "thread 41230 (python3)");
	assert_label(timeline, TIMELINE_TRACK_INTERPRETER, 0, "thread 41230 collections, imports");
	assert_label(timeline, TIMELINE_TRACK_THREAD, 1, "thread 41288 (pt_autograd_0)");
	assert_label(timeline, TIMELINE_TRACK_STREAM, 0, "stream 7");
	assert_label(timeline, TIMELINE_TRACK_WAITS, 0, "stream 7 (sync)");
	stream = &timeline->tracks.items[track_of_kind(timeline, TIMELINE_TRACK_STREAM, 0)];
	assert_int_equal(stream->group, 2);
	assert_int_equal(stream->stream, 7);
	timeline_free(timeline);
	model_free(model);
}

static void an_interpreter_follows_its_thread_and_names_it(void **state)
{
	struct model *model = sample_model(1, 1);
	struct timeline *timeline = timeline_of(model, -1);
	uint32_t thread = track_of_kind(timeline, TIMELINE_TRACK_THREAD, 0);

	assert_int_equal(timeline->tracks.items[thread + 1].kind, TIMELINE_TRACK_INTERPRETER);
	assert_int_equal(timeline->tracks.items[thread + 1].thread, thread);
	assert_int_equal(timeline->tracks.items[thread + 1].tid, PID);
	/* The other thread has no interpreter. */
	assert_int_equal(track_of_kind(timeline, TIMELINE_TRACK_INTERPRETER, 1), TIMELINE_NONE);
	timeline_free(timeline);
	model_free(model);
}

static void operations_that_overlap_are_on_rows_of_their_stream(void **state)
{
	struct model *model = sample_model(1, 1);
	struct timeline *timeline = timeline_of(model, -1);
	uint32_t first = track_of_kind(timeline, TIMELINE_TRACK_STREAM, 0);

	assert_label(timeline, TIMELINE_TRACK_STREAM, 1, "stream 7 (overlap 1)");
	assert_int_equal(timeline->tracks.items[first + 1].row, 1);
	assert_int_equal(timeline->tracks.items[first + 1].first, first);
	assert_int_equal(timeline->tracks.items[first].first, first);
	timeline_free(timeline);
	model_free(model);
}

static void streams_of_several_processes_say_whose_they_are(void **state)
{
	struct model *model = sample_model(2, 1);
	struct timeline *timeline = timeline_of(model, -1);

	assert_true(timeline->several);
	assert_label(timeline, TIMELINE_TRACK_STREAM, 0, "stream 7 of python3 41230");
	assert_label(timeline, TIMELINE_TRACK_WAITS, 1, "stream 7 (sync) of python3 41330");
	timeline_free(timeline);
	model_free(model);
}

static void one_process_of_two_has_only_its_own_tracks(void **state)
{
	struct model *model = sample_model(2, 1);
	struct timeline *timeline = timeline_of(model, 1);

	assert_false(timeline->several);
	assert_int_equal(timeline->groups.count, 3);
	assert_int_equal(timeline->groups.items[0].pid, 41330);
	for (uint32_t i = 0; i < timeline->tracks.count; i++)
		assert_int_equal(timeline->tracks.items[i].process, 1);
	assert_label(timeline, TIMELINE_TRACK_STREAM, 0, "stream 7");
	timeline_free(timeline);
	model_free(model);
}

static void an_empty_model_has_the_group_of_cupti_and_no_track(void **state)
{
	struct model_source source = {.version = "", .host = "", .kernel = "", .target = ""};
	struct model model = {.sources = &source, .source_count = 1, .start_ns = 7};
	struct timeline *timeline = timeline_of(&model, -1);

	assert_int_equal(timeline->groups.count, 1);
	assert_int_equal(timeline->groups.items[0].kind, TIMELINE_GROUP_CUPTI);
	assert_int_equal(timeline->tracks.count, 0);
	assert_int_equal(timeline->busiest, TIMELINE_NONE);
	assert_int_equal(timeline->start_ns, 7);
	assert_int_equal(timeline->end_ns, 7);
	timeline_free(timeline);
}

static void the_busiest_thread_is_the_one_with_most_calls(void **state)
{
	struct model *model = sample_model(1, 3);
	struct timeline *timeline = timeline_of(model, -1);

	assert_int_equal(timeline->tracks.items[timeline->busiest].tid, PID);
	timeline_free(timeline);
	model->threads[1].calls = 100;
	timeline = timeline_of(model, -1);
	assert_int_equal(timeline->tracks.items[timeline->busiest].tid, PID + 58);
	timeline_free(timeline);
	model_free(model);
}

static void a_timeline_spans_what_lies_outside_of_the_recording(void **state)
{
	struct model *model = sample_model(1, 1);
	struct timeline *timeline = timeline_of(model, -1);

	assert_int_equal(timeline->start_ns, model->start_ns);
	assert_int_equal(timeline->end_ns, model->end_ns);
	timeline_free(timeline);
	model->gpu[0].start_ns = model->start_ns - 100;
	model->gpu[model->gpu_count - 1].end_ns = model->end_ns + 100;
	timeline = timeline_of(model, -1);
	assert_int_equal(timeline->start_ns, model->start_ns - 100);
	assert_int_equal(timeline->end_ns, model->end_ns + 100);
	timeline_free(timeline);
	model_free(model);
}

static void what_cannot_be_placed_is_counted(void **state)
{
	struct model *model = sample_model(1, 1);
	struct timeline *timeline;

	model->gpu[0].start_ns = model->gpu[0].end_ns = 0;
	model->syncs[0].device = NONE;
	timeline = timeline_of(model, -1);
	assert_int_equal(timeline->omitted.untimed, 1);
	assert_int_equal(timeline->omitted.syncs, 1);
	assert_int_equal(timeline->omitted.gpu, 0);
	assert_int_equal(track_of_kind(timeline, TIMELINE_TRACK_WAITS, 0), TIMELINE_NONE);
	timeline_free(timeline);
	model_free(model);
}

static void memory_of_the_host_and_of_each_gpu_has_a_counter(void **state)
{
	struct model *model = sample_model(1, 1);
	struct timeline *timeline;

	model->memories[1].kind = 2; /* pinned */
	timeline = timeline_of(model, -1);
	assert_int_equal(timeline->counters.count, 2);
	assert_false(timeline->counters.items[0].of_host);
	assert_int_equal(timeline->counters.items[0].device, 0);
	assert_true(timeline->counters.items[1].of_host);
	assert_int_equal(timeline->counters.items[1].device, TIMELINE_NONE);
	timeline_free(timeline);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_has_its_threads_and_a_gpu_its_streams),
		cmocka_unit_test(an_interpreter_follows_its_thread_and_names_it),
		cmocka_unit_test(operations_that_overlap_are_on_rows_of_their_stream),
		cmocka_unit_test(streams_of_several_processes_say_whose_they_are),
		cmocka_unit_test(one_process_of_two_has_only_its_own_tracks),
		cmocka_unit_test(an_empty_model_has_the_group_of_cupti_and_no_track),
		cmocka_unit_test(the_busiest_thread_is_the_one_with_most_calls),
		cmocka_unit_test(a_timeline_spans_what_lies_outside_of_the_recording),
		cmocka_unit_test(what_cannot_be_placed_is_counted),
		cmocka_unit_test(memory_of_the_host_and_of_each_gpu_has_a_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
