/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `view` shows of a long log before it has read all of it: places spread over the log, by its index; each slice
 * once.
 */
#include "model_of.h"
#include "rank_log.h"

#include "export/zoom/store.h"
#include "input/gpt/gpt_places.h"
#include "input/gpt/gpt_slice.h"
#include "view/view.h"

#define EARLY_PID 100u
#define DEFERRED_PID 200u
#define RARE_PID 300u
#define STEPS 2000u
#define DEFERRED_STEP 1700u
#define RARE_STEP 77u
#define STEP_NS (10 * MS)
#define KERNEL_NS (4 * MS)
#define STEP_AT(i) (1000 * MS + (i)*STEP_NS)
#define SPAN_NS STEP_AT(STEPS)

static void put_process(struct log_builder *log, uint32_t pid, const char *name)
{
	const struct gpt_pyframe frame = {.code = CODE, .lasti = 2};

	log_process(log, pid, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(log, pid, CODE, name, "/src/train.py", 10);
	log_stack(log, pid, 1, 1, &frame);
	log_batch(log, pid, pid, 900 * MS);
	log_agent_name(log, 1, name);
}

static void put_launch(struct log_builder *log, uint32_t pid, uint32_t i)
{
	uint64_t at_ns = STEP_AT(i);

	log_launch(log, pid, pid, at_ns, 1, i + 1);
	log_batch(log, pid, pid, at_ns + 8 * MS);
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = at_ns + MS,
							.end_wall_ns = at_ns + MS + KERNEL_NS,
							.corr = i + 1,
							.name = 1});
}

/* One process launches first, another from DEFERRED_STEP on; a third launches once, early. */
static int log_of_phases(void)
{
	struct log_builder log = {0};
	int fd;

	log_begin(&log, 500 * MS, 0);
	put_process(&log, EARLY_PID, "early");
	for (uint32_t i = 0; i < STEPS; i++) {
		if (i == DEFERRED_STEP)
			put_process(&log, DEFERRED_PID, "late");
		if (i == RARE_STEP) {
			put_process(&log, RARE_PID, "rare");
			put_launch(&log, RARE_PID, i);
			continue;
		}
		put_launch(&log, i < DEFERRED_STEP ? EARLY_PID : DEFERRED_PID, i);
	}
	log_end(&log, STEP_AT(STEPS));
	fd = log_fd(&log);
	log_free(&log);
	return fd;
}

static struct trace *open_trace(int fd, const struct trace_division *division, const struct log_restriction *wanted)
{
	struct trace *trace;
	const char *why;

	assert_int_equal(gpt_trace_open(fd, division, wanted, &trace, &why), 0);
	return trace;
}

/* ---- answers to a browser ---------------------------------------------------------------------------------------- */

/* The caller frees it. */
static char *answer_query(struct view *view, const char *path, const char *query)
{
	struct http_request request = {.path = path, .query = query};
	struct sink body;
	char *text;

	sink_open_memory(&body);
	assert_non_null(view_answer(view, &request, &body));
	sink_char(&body, '\0');
	text = strdup((const char *)body.buffer);
	sink_close(&body);
	return text;
}

static void assert_answer(struct view *view, const char *path, const char *query, const char *part, bool is_there)
{
	char *text = answer_query(view, path, query);

	if (!!strstr(text, part) != is_there)
		fail_msg("%s?%s: %s", path, query, text);
	free(text);
}

struct reported_box {
	uint64_t track, depth, start_ns, length, label, count, busy_ns;
};

struct reported {
	ARRAY(struct reported_box) boxes;
	char *text;
};

/* The answer in which each slice is a box of its own. */
static char *every_slice(struct view *view)
{
	struct zoom *zoom = view_zoom(view);
	struct sink body;
	char *text;

	sink_open_memory(&body);
	zoom_put_answer(zoom, &(struct zoom_question){.from_ns = zoom_progress(zoom).start_ns, .to_ns = 2 * SPAN_NS},
			&body);
	sink_char(&body, '\0');
	text = strdup((const char *)body.buffer);
	sink_close(&body);
	return text;
}

/* Takes ownership of an answer; returns the boxes of its list "rows" or "estimates". */
static struct reported reported_of(char *text, const char *list)
{
	struct reported reported = {.text = text};
	uint64_t from_ns = strtoull(strstr(reported.text, "\"from\":") + 7, NULL, 10);
	char name[32], *at;

	snprintf(name, sizeof(name), "\"%s\":[", list);
	at = strstr(reported.text, name);
	for (at = at ? at + strlen(name) : NULL; at && (*at == '\n' || *at == ',' || *at == '[');) {
		struct reported_box box = {0};

		at += strcspn(at, "[");
		box.track = strtoull(at + 1, &at, 10);
		box.depth = strtoull(at + 1, &at, 10);
		for (at++; *at == '[' || *at == ',';) {
			uint64_t number;
			uint64_t *fields[] = {&box.start_ns, &box.length,  &box.label,
					      &box.count,    &box.busy_ns, &number};

			for (unsigned i = 0; i < 6; i++)
				*fields[i] = strtoull(at + 1, &at, 10);
			box.start_ns += from_ns;
			array_push(&reported.boxes, box);
		}
		at += 2;
	}
	return reported;
}

static void free_reported(struct reported *reported)
{
	array_free(&reported->boxes);
	free(reported->text);
}

static bool is_on_gpu(struct view *view, uint64_t track)
{
	return view_zoom(view)->tracks.items[track].on_gpu;
}

#define ALL "from=0&to=30000000000&width="

/* ---- a view of the log ------------------------------------------------------------------------------------------ */

static void expect_span(struct view *view, int fd, struct gpt_places *places)
{
	struct gpt_span span;

	assert_true(gpt_find_span(fd, &span) && gpt_places_find(fd, places));
	zoom_expect(view_zoom(view), span.start_ns, span.end_ns);
	for (size_t i = 0; i < places->list.count; i++)
		zoom_expect_records(view_zoom(view), places->list.items[i].from_ns, places->list.items[i].to_ns,
				    places->list.items[i].records);
	gpt_places_choose(places, 0);
}

static void sample_place(struct view *view, int fd, const struct gpt_place *place)
{
	const struct log_restriction wanted = gpt_restrict_to_place(place);
	struct trace *trace = open_trace(fd, NULL, &wanted);

	assert_int_equal(zoom_sample(view_zoom(view), trace, -1,
				     &(struct zoom_place){.from_ns = place->from_ns,
							  .to_ns = place->to_ns,
							  .records = place->records}),
			 0);
	gpt_trace_close(trace);
}

static struct view *sampled_view(int fd)
{
	struct view *view = view_new("log");
	struct gpt_places places;

	expect_span(view, fd, &places);
	for (uint32_t i = 0; i < places.first; i++)
		sample_place(view, fd, &places.list.items[places.chosen.items[i]]);
	zoom_show_samples(view_zoom(view));
	gpt_places_free(&places);
	return view;
}

static const struct export_options options = {.process = -1};

/* ---- places ----------------------------------------------------------------------------------------------------- */

static void places_are_spread_over_the_log_and_leave_out_no_process(void **state)
{
	bool quarters[4] = {0}, rare = false;
	struct gpt_places places;
	int fd = log_of_phases();
	uint64_t bytes = 0;

	(void)state;
	assert_true(gpt_places_find(fd, &places));
	gpt_places_choose(&places, 0);
	assert_in_range(places.first, 7, 15);
	assert_true(places.list.count > 2 * places.first);
	for (uint32_t i = 0; i < places.first; i++) {
		const struct gpt_place *place = &places.list.items[places.chosen.items[i]];

		assert_true(place->from_ns <= place->to_ns && place->is_whole);
		quarters[place->to_ns * 4 / (SPAN_NS + 1)] = true;
		for (uint32_t k = 0; k < place->pids; k++)
			rare = rare || places.pids.items[place->first_pid + k] == RARE_PID;
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(places.chosen.items[k], places.chosen.items[i]);
		bytes += place->bytes;
	}
	assert_true(rare && quarters[0] && quarters[1] && quarters[2] && quarters[3]);
	gpt_places_free(&places);
	assert_true(gpt_places_find(fd, &places));
	gpt_places_choose(&places, bytes * 2);
	assert_true(places.chosen.count > places.first);
	gpt_places_free(&places);
	close(fd);
}

static void a_log_that_was_cut_has_no_places(void **state)
{
	struct gpt_places places;
	int fd = log_of_phases();

	(void)state;
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 100), 0);
	assert_false(gpt_places_find(fd, &places));
	gpt_places_choose(&places, 1000);
	assert_int_equal(places.chosen.count, 0);
	gpt_places_free(&places);
	close(fd);
}

/* ---- the first picture ------------------------------------------------------------------------------------------ */

static void nothing_is_shown_before_the_first_places_are_all_read(void **state)
{
	struct view *view = view_new("log");
	int fd = log_of_phases();
	struct gpt_places places;

	(void)state;
	expect_span(view, fd, &places);
	sample_place(view, fd, &places.list.items[places.chosen.items[0]]);
	assert_answer(view, "tracks", "", "\"tracks\":[]", true);
	assert_answer(view, "slices", ALL "100", "\"rows\":[]", true);
	zoom_show_samples(view_zoom(view));
	assert_answer(view, "tracks", "", "\"places\":1,", true);
	assert_answer(view, "slices", ALL "100", "\"rows\":[]", false);
	gpt_places_free(&places);
	view_free(view);
	close(fd);
}

static void the_first_picture_has_what_only_a_late_part_of_the_log_has(void **state)
{
	int fd = log_of_phases();
	struct view *view = sampled_view(fd);
	struct reported rows;
	char query[64];

	(void)state;
	assert_answer(view, "tracks", "", "\"done\":false", true);
	assert_answer(view, "tracks", "", "\"read\":0,", true);
	assert_answer(view, "tracks", "", "pid 200", true);
	assert_answer(view, "tracks", "", "pid 300", true);
	assert_answer(view, "find", "text=late&after=0", "\"start\"", true);
	assert_answer(view, "find", "text=rare&after=0", "\"start\"", true);
	snprintf(query, sizeof(query), "from=%llu&to=30000000000&width=100", STEP_AT(DEFERRED_STEP) + STEP_NS);
	rows = reported_of(answer_query(view, "slices", query), "rows");
	assert_true(rows.boxes.count > 0);
	assert_non_null(strstr(rows.text, "[\"late\""));
	assert_null(strstr(rows.text, "[\"early\""));
	free_reported(&rows);
	view_free(view);
	close(fd);
}

static uint64_t count_of(struct view *view, const struct reported *reported, uint64_t *busy_ns)
{
	uint64_t count = 0;

	*busy_ns = 0;
	for (size_t i = 0; i < reported->boxes.count; i++) {
		if (!is_on_gpu(view, reported->boxes.items[i].track))
			continue;
		count += reported->boxes.items[i].count;
		*busy_ns += reported->boxes.items[i].busy_ns;
	}
	return count;
}

static void what_is_read_and_what_is_expected_are_about_what_there_is(void **state)
{
	int fd = log_of_phases();
	struct view *view = sampled_view(fd);
	struct reported rows = reported_of(answer_query(view, "slices", ALL "1000"), "rows");
	struct reported expected = reported_of(answer_query(view, "slices", ALL "1000"), "estimates");
	uint64_t busy_ns, expected_ns, read = count_of(view, &rows, &busy_ns);
	uint64_t count = read + count_of(view, &expected, &expected_ns);

	(void)state;
	assert_in_range(read, STEPS / 20, STEPS / 2);
	assert_in_range(count, STEPS * 3 / 4, STEPS * 5 / 4);
	assert_in_range(busy_ns + expected_ns, STEPS * KERNEL_NS * 3 / 4, STEPS * KERNEL_NS * 5 / 4);
	for (size_t i = 0; i < expected.boxes.count; i++)
		assert_true(expected.boxes.items[i].busy_ns <= expected.boxes.items[i].length);
	free_reported(&rows);
	free_reported(&expected);
	view_free(view);
	close(fd);
}

/* ---- until all is read ------------------------------------------------------------------------------------------ */

struct checked_trace {
	struct trace trace;
	struct trace *inner;
	struct view *view;
	unsigned checks;
};

static int by_place(const void *left, const void *right)
{
	const struct reported_box *a = left, *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->label < b->label ? -1 : a->label > b->label;
}

/* All kernels that began before the place reached by the reader are there, and no slice is there twice. */
static void check_trace(struct checked_trace *checked)
{
	struct zoom_progress progress = zoom_progress(view_zoom(checked->view));
	uint64_t read_ns = progress.read_ns - progress.start_ns, kernels = 0, there = 0;
	struct reported rows;

	if (progress.done || progress.read_ns < STEP_AT(1))
		return;
	rows = reported_of(every_slice(checked->view), "rows");
	qsort(rows.boxes.items, rows.boxes.count, sizeof(*rows.boxes.items), by_place);
	for (size_t i = 0; i < rows.boxes.count; i++) {
		const struct reported_box *box = &rows.boxes.items[i];

		assert_int_equal(box->count, 1);
		if (i && !by_place(box - 1, box))
			fail_msg("twice: %s depth %llu at %llu",
				 view_zoom(checked->view)->tracks.items[box->track].label,
				 (unsigned long long)box->depth, (unsigned long long)box->start_ns);
		there += is_on_gpu(checked->view, box->track) && box->start_ns < read_ns;
	}
	for (uint32_t i = 0; i < STEPS; i++)
		kernels += STEP_AT(i) + MS < progress.read_ns;
	assert_int_equal(there, kernels);
	free_reported(&rows);
	checked->checks++;
}

static const struct model *first_of_checked(struct trace *trace)
{
	return trace_first(((struct checked_trace *)trace)->inner);
}

static const struct model *next_of_checked(struct trace *trace)
{
	struct checked_trace *checked = (struct checked_trace *)trace;

	check_trace(checked);
	return trace_next(checked->inner);
}

static void while_it_is_read_each_slice_is_there_once(void **state)
{
	static const struct trace_kind kind = {.first = first_of_checked, .next = next_of_checked};
	const struct trace_division division = {.chunk_records = 64, .part_events = 400};
	int fd = log_of_phases();
	struct checked_trace checked = {
		.trace = {.kind = &kind}, .inner = open_trace(fd, &division, NULL), .view = sampled_view(fd)};

	(void)state;
	assert_int_equal(view_read(checked.view, &checked.trace, &options), 0);
	assert_true(checked.checks > 3);
	gpt_trace_close(checked.inner);
	view_free(checked.view);
	close(fd);
}

/* Every slice as text, so that numbers of tracks and labels do not matter; the caller frees it. */
static char **slices_of(struct zoom *zoom, size_t *count)
{
	ARRAY(char *) lines = {0};

	for (size_t t = 0; t < zoom->tracks.count; t++) {
		const struct zoom_track *track = &zoom->tracks.items[t];

		assert_int_equal(track->sampled.rows.count, 0);
		for (size_t depth = 0; depth < track->read.rows.count; depth++) {
			const struct zoom_row *row = track->read.rows.items[depth];
			struct zoom_slice slices[BLOCK_SLICES];

			for (size_t block = 0; block <= row->blocks.count; block++) {
				bool is_open = block == row->blocks.count;
				uint32_t some = is_open ? row->open_count
							: zoom_unpack(zoom, &row->blocks.items[block], slices);

				for (uint32_t i = 0; i < some; i++) {
					const struct zoom_slice *slice = is_open ? &row->open[i] : &slices[i];
					const struct zoom_label *label = &zoom->labels.items[slice->label];

					array_push(&lines,
						   xasprintf("%s %s %zu %llu %llu %s %s", track->group, track->label,
							     depth, (unsigned long long)slice->start_ns,
							     (unsigned long long)slice->end_ns,
							     texts_at(&zoom->texts, label->name),
							     texts_at(&zoom->texts, label->where)));
				}
			}
		}
	}
	*count = lines.count;
	return lines.items;
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void assert_same_slices(struct zoom *one, struct zoom *other)
{
	size_t count, others;
	char **lines = slices_of(one, &count), **wanted = slices_of(other, &others);

	assert_int_equal(count, others);
	qsort(lines, count, sizeof(*lines), by_text);
	qsort(wanted, count, sizeof(*wanted), by_text);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(lines[i], wanted[i]);
		free(lines[i]);
		free(wanted[i]);
	}
	free(lines);
	free(wanted);
}

/* The labels of the tracks, in order. */
static char *labels_of(struct view *view)
{
	char *text = answer_query(view, "tracks", ""), *to = text;

	for (char *at = text; *at; at++)
		if (*at == '[' && at[1] >= '0' && at[1] <= '9')
			at += strspn(at + 1, "0123456789");
		else
			*to++ = *at;
	*to = '\0';
	return text;
}

static void once_all_is_read_it_is_as_if_nothing_had_been_shown_before(void **state)
{
	int fd = log_of_phases();
	struct view *sampled = sampled_view(fd), *plain = view_new("log");
	struct trace *trace = open_trace(fd, NULL, NULL);
	char *one, *other;

	(void)state;
	assert_int_equal(view_read(sampled, trace, &options), 0);
	assert_int_equal(view_read(plain, trace, &options), 0);
	assert_same_slices(view_zoom(sampled), view_zoom(plain));
	one = labels_of(sampled);
	other = labels_of(plain);
	assert_string_equal(one, other);
	assert_answer(sampled, "tracks", "", "places", false);
	assert_answer(sampled, "slices", ALL "100", "estimates", false);
	free(one);
	free(other);
	gpt_trace_close(trace);
	view_free(sampled);
	view_free(plain);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_spread_over_the_log_and_leave_out_no_process),
		cmocka_unit_test(a_log_that_was_cut_has_no_places),
		cmocka_unit_test(nothing_is_shown_before_the_first_places_are_all_read),
		cmocka_unit_test(the_first_picture_has_what_only_a_late_part_of_the_log_has),
		cmocka_unit_test(what_is_read_and_what_is_expected_are_about_what_there_is),
		cmocka_unit_test(while_it_is_read_each_slice_is_there_once),
		cmocka_unit_test(once_all_is_read_it_is_as_if_nothing_had_been_shown_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
