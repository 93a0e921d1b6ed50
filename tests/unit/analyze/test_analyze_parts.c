/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows do not depend on the number of parts of a trace: reports and folded stacks of random models, cut and whole. */
#include <errno.h>
#include <inttypes.h>

#include "analyzed.h"
#include "analyze/steps/per_step_tables.h"
#include "export/folded/folded.h"
#include "input/gpt/gpt_trace.h"
#include "random_model.h"
#include "report/sums/activities.h"
#include "report/report.h"
#include "report/lines/source_lines.h"
#include "report/why/why.h"
#include "sanitizers.h"
#include "trace_cut.h"
#include "tree_of.h"

static char *report_with(struct trace *trace, struct attribution attribution)
{
	const struct report_options options = {.width = 200, .rows = 1000, .attribution = attribution};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_write(out, trace, &options), 0);
	fclose(out);
	return text;
}

static char *report_of(struct trace *trace)
{
	return report_with(trace, (struct attribution){});
}

/* All text of `gputrace why`, with every line that a reader could see. */
static char *why_of(struct trace *trace)
{
	const struct report_options options = {.width = 200};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_write_why(out, trace, &options), 0);
	fclose(out);
	return text;
}

/* Backward work counts for forward ops, work of graphs for the captured calls. */
static const struct attribution otherwise = {.forward = true, .graphs = GRAPHS_CAPTURE};

static char *report_otherwise_of(struct trace *trace)
{
	return report_with(trace, otherwise);
}

static char *folded_with(struct trace *trace, bool by_launches, struct attribution attribution)
{
	const struct export_options options = {.process = -1, .by_launches = by_launches, .attribution = attribution};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(folded_write(&sink, trace, &options), 0);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	assert_int_equal(sink_close(&sink), 0);
	return text;
}

static char *folded_gpu_of(struct trace *trace)
{
	return folded_with(trace, false, (struct attribution){});
}

static char *folded_launches_of(struct trace *trace)
{
	return folded_with(trace, true, (struct attribution){});
}

/* The numbers must add up to the idle time. */
static char *folded_idle_of(struct trace *trace)
{
	const struct export_options options = {.process = -1};
	uint64_t sum = 0;
	struct analyses all;
	struct sink sink;
	char *text;
	int error;

	sink_open_memory(&sink);
	error = folded_idle_write(&sink, trace, &options);
	assert_true(!error || error == -ENODATA);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	assert_int_equal(sink_close(&sink), 0);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		sum += strtoull(memrchr(line, ' ', strcspn(line, "\n")), NULL, 10);
	assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_IDLE), NULL), 0);
	assert_int_equal(sum, all.idle.sum);
	analyses_free(&all);
	return text;
}

/* Of a slice by time, whose idle time may be charged to what launched after it. */
static char *of_middle(struct trace *trace, char *(*make)(struct trace *))
{
	const struct model *model = trace_first(trace);
	uint64_t third_ns = (model->end_ns - model->start_ns) / 3;
	struct slice slice = {
		.from_ns = model->start_ns + third_ns, .to_ns = model->start_ns + 2 * third_ns, .device = NONE};
	struct sliced_trace sliced;
	char *text;

	assert_true(model->end_ns > model->start_ns);
	assert_int_equal(sliced_trace_open(&sliced, trace, &slice, ""), 0);
	text = make(&sliced.trace);
	sliced_trace_close(&sliced);
	return text;
}

static char *folded_idle_of_middle(struct trace *trace)
{
	return of_middle(trace, folded_idle_of);
}

static char *report_of_middle(struct trace *trace)
{
	return of_middle(trace, report_of);
}

static char *why_of_middle(struct trace *trace)
{
	return of_middle(trace, why_of);
}

static char *folded_otherwise_of(struct trace *trace)
{
	return folded_with(trace, false, otherwise);
}

/* nvprof's lists: all rows, in one order. */
static char *activities_of(struct trace *trace)
{
	const struct report_options options = {.format = &table_format_csv};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_write_activities(out, trace, &options, LIST_GPU_TRACE | LIST_GPU_SUM | LIST_API_SUM),
			 0);
	fclose(out);
	return text;
}

static char *tree_by_gpu_of(struct trace *trace)
{
	return tree_of_trace(trace, (struct attribution){}, &(struct tree_options){.all_frames = true});
}

static char *tree_by_calls_of(struct trace *trace)
{
	return tree_of_trace(trace, otherwise, &(struct tree_options){.by = TREE_BY_CALLS});
}

static char *tree_by_cpu_of(struct trace *trace)
{
	return tree_of_trace(trace, otherwise, &(struct tree_options){.by = TREE_BY_CPU});
}

static char *tree_otherwise_of(struct trace *trace)
{
	return tree_of_trace(trace, otherwise, &(struct tree_options){.by = TREE_BY_GPU});
}

static void print_rows(FILE *out, const struct per_step_rows *rows)
{
	for (size_t i = 0; i < rows->list.count; i++)
		fprintf(out, "%s %.0f %.0f\n", rows->list.items[i].key, rows->list.items[i].cost.mean,
			rows->list.items[i].count.mean);
}

static char *per_step_of(struct trace *trace)
{
	struct per_step_tables tables;
	struct analyses all;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(analyze(&all, trace, ANALYZE_PER_STEP_TABLES, NULL), 0);
	per_step_tables_make(&tables, &all);
	fprintf(out, "%" PRIu64 "\n", tables.wall_ns);
	print_rows(out, &tables.lines);
	print_rows(out, &tables.kernels);
	print_rows(out, &tables.ops);
	print_rows(out, &tables.stacks);
	print_rows(out, &tables.losses);
	print_rows(out, &tables.waits);
	print_rows(out, &tables.memory);
	print_rows(out, &tables.peaks);
	fclose(out);
	per_step_tables_free(&tables);
	analyses_free(&all);
	return text;
}

static char *lines_of(struct trace *trace)
{
	const struct report_options page = {.width = 120, .attribution = otherwise};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_lines(out, trace, &page, &(struct lines_options){}), 0);
	fclose(out);
	return text;
}

/* On a difference, fails with the first line that differs. */
static void assert_same_lines(const char *parts, const char *whole, uint32_t events)
{
	size_t begin = 0, at = 0;

	for (; parts[at] && parts[at] == whole[at]; at++)
		if (parts[at] == '\n')
			begin = at + 1;
	if (parts[at] != whole[at])
		fail_msg("parts of %u events: '%.*s', the whole: '%.*s'", events, (int)strcspn(parts + begin, "\n"),
			 parts + begin, (int)strcspn(whole + begin, "\n"), whole + begin);
}

/* `make` must give the same text however the model is cut. */
static void assert_same(const struct model *model, char *(*make)(struct trace *))
{
	char *whole = make(WHOLE_TRACE(model));

	uint32_t least = model->call_count < 1000 ? 1 : 100;

	for (uint32_t events = least; events < 3 * model->call_count; events = 2 * events + 1) {
		struct trace *cut = trace_cut_each(model, events);
		char *parts = make(cut);

		assert_same_lines(parts, whole, events);
		free(parts);
		trace_cut_free(cut);
	}
	free(whole);
}

static void assert_same_of_models(uint64_t models, uint32_t calls, char *(*make)(struct trace *))
{
	for (uint64_t number = 1; number <= SOME_OF(models); number++) {
		struct model *model = random_model(number, calls);

		assert_same(model, make);
		random_model_free(model);
	}
}

static void the_report_is_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 12, report_of);
	assert_same_of_models(40, 150, report_of);
	assert_same_of_models(4, 3000, report_of);
}

static void idle_time_of_a_slice_is_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 12, folded_idle_of_middle);
	assert_same_of_models(40, 150, folded_idle_of_middle);
	assert_same_of_models(40, 12, why_of_middle);
	assert_same_of_models(40, 150, why_of_middle);
}

/* Without records of waits: one that begins after the slice may be of a call in it. */
static void the_report_of_a_slice_is_the_same_in_parts(void **state)
{
	for (uint64_t number = 1; number <= SOME_OF(40); number++) {
		struct model *model = random_model(number, number % 2 ? 12 : 150);
		uint32_t syncs = model->sync_count;

		model->sync_count = 0;
		assert_same(model, report_of_middle);
		model->sync_count = syncs;
		random_model_free(model);
	}
}

static void what_is_compared_is_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 150, per_step_of);
}

static void the_losses_in_words_are_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 12, why_of);
	assert_same_of_models(40, 150, why_of);
	assert_same_of_models(4, 3000, why_of);
}

static void the_lists_of_activities_are_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 12, activities_of);
	assert_same_of_models(40, 150, activities_of);
	assert_same_of_models(4, 3000, activities_of);
}

static void folded_stacks_are_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 150, folded_gpu_of);
	assert_same_of_models(40, 150, folded_launches_of);
	assert_same_of_models(40, 150, folded_idle_of);
}

static void work_that_is_put_elsewhere_is_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 150, report_otherwise_of);
	assert_same_of_models(40, 150, folded_otherwise_of);
}

static void trees_are_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 150, tree_by_gpu_of);
	assert_same_of_models(40, 150, tree_by_cpu_of);
	assert_same_of_models(40, 150, tree_by_calls_of);
	assert_same_of_models(40, 150, tree_otherwise_of);
}

static void costs_of_source_lines_are_the_same_in_parts(void **state)
{
	assert_same_of_models(40, 150, lines_of);
}

static void tables_for_launches_alone_are_the_same_in_parts(void **state)
{
	for (uint64_t number = 1; number <= SOME_OF(20); number++) {
		struct model *model = random_model(number, 100);
		uint32_t operations = model->gpu_count;

		model->gpu_count = 0;
		for (uint32_t i = 0; i < model->call_count; i++) {
			model->calls[i].first_gpu = NONE;
			model->calls[i].gpu_count = 0;
		}
		for (uint32_t i = 0; i < model->process_count; i++)
			model->processes[i].gpu_ops = 0;
		assert_same(model, report_of);
		assert_same(model, folded_gpu_of);
		model->gpu_count = operations;
		random_model_free(model);
	}
}

static void the_sample_run_is_the_same_in_parts(void **state)
{
	struct model *model = sample_model(2, 10);

	assert_same(model, report_of);
	assert_same(model, folded_gpu_of);
	model_free(model);
}

static void assert_has_the_report_of_the_whole(const struct trace_division *division)
{
	struct model *model = sample_model(2, 40);
	char *whole = report_of(WHOLE_TRACE(model)), *parts;
	int fd = sample_log(2, 40);
	struct trace *trace;
	const char *why;

	assert_int_equal(gpt_trace_open(fd, division, NULL, &trace, &why), 0);
	assert_true(trace_first(trace)->more);
	parts = report_of(trace);
	assert_same_lines(parts, whole, division->part_events);
	gpt_trace_close(trace);
	close(fd);
	free(parts);
	free(whole);
	model_free(model);
}

static void a_log_that_is_read_in_parts_has_the_report_of_the_whole(void **state)
{
	assert_has_the_report_of_the_whole(&(struct trace_division){.chunk_records = 16, .part_events = 100});
}

/* An agent's batches are few records but many bytes. */
static void parts_end_by_bytes_too(void **state)
{
	assert_has_the_report_of_the_whole(
		&(struct trace_division){.chunk_records = UINT32_MAX, .chunk_bytes = 2000, .part_events = 100});
}

static void several_rounds_over_a_log_go_on_at_once(void **state)
{
	const struct trace_division division = {.chunk_records = 16, .part_events = 100};
	int fd = sample_log(2, 40);
	struct trace *trace, *ahead, *beside;
	const char *why;
	char *whole, *parts;
	uint32_t calls;

	(void)state;
	assert_int_equal(gpt_trace_open(fd, &division, NULL, &trace, &why), 0);
	whole = report_of(trace);
	calls = trace_last(trace)->calls_in_part.number;
	assert_true(two_pass_trace_is_long(trace));
	assert_int_equal(gpt_trace_open_again(fd, NULL, trace, &ahead), 0);
	assert_int_equal(gpt_trace_open_again(fd, NULL, trace, &beside), 0);
	assert_true(trace_first(ahead)->more);
	parts = report_of(beside);
	assert_string_equal(parts, whole);
	while (trace_next(ahead))
		;
	assert_int_equal(ahead->part->calls_in_part.number, calls);
	assert_int_equal(trace_last(trace)->calls_in_part.number, calls);
	gpt_trace_close(beside);
	gpt_trace_close(ahead);
	gpt_trace_close(trace);
	close(fd);
	free(parts);
	free(whole);
}

/* ---- traces that cannot be read ---------------------------------------------------------------------------------- */

struct broken {
	struct trace trace;
	struct trace *whole;
	unsigned good; /* parts before the error */
	unsigned given;
};

static const struct model *broken_give(struct trace *trace, bool first)
{
	struct broken *broken = (struct broken *)((char *)trace - offsetof(struct broken, trace));

	broken->given = first ? 0 : broken->given;
	if (broken->given++ < broken->good)
		return first ? trace_first(broken->whole) : trace_next(broken->whole);
	trace->error = -EIO;
	return NULL;
}

static const struct model *broken_first(struct trace *trace)
{
	return broken_give(trace, true);
}

static const struct model *broken_next(struct trace *trace)
{
	return broken_give(trace, false);
}

static const struct trace_kind broken_kind = {.first = broken_first, .next = broken_next};

static void a_trace_that_cannot_be_read_to_its_end_is_an_error(void **state)
{
	const struct export_options options = {.process = -1};
	const struct report_options wide = {.width = 100};
	struct model *model = random_model(1, 50);
	struct broken broken = {.trace = {.kind = &broken_kind}, .whole = trace_cut_each(model, 20)};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct sink sink;

	sink_open_memory(&sink);
	for (broken.good = 0; broken.good < 3; broken.good++) {
		assert_int_equal(report_write(out, &broken.trace, &wide), -EIO);
		assert_int_equal(folded_write(&sink, &broken.trace, &options), -EIO);
	}
	fclose(out);
	assert_int_equal(size, 0);
	assert_int_equal(sink.used, 0);
	sink_close(&sink);
	free(text);
	trace_cut_free(broken.whole);
	random_model_free(model);
}

/* The reader stops early, as head(1) does; a full disk stands in for it. */
static void a_list_that_no_one_reads_any_more_is_not_read_to_its_end(void **state)
{
	const struct report_options options = {.width = 100};
	struct model *model = sample_model(2, 40);
	struct broken broken = {.trace = {.kind = &broken_kind}, .whole = trace_cut_each(model, 20)};
	FILE *out = fopen("/dev/full", "we");

	setvbuf(out, NULL, _IONBF, 0);
	for (broken.good = 1; broken.good < trace_cut_parts(broken.whole); broken.good++) {
		broken.trace.error = 0;
		if (report_write_activities(out, &broken.trace, &options, LIST_GPU_TRACE) == -EPIPE)
			break;
	}
	assert_int_equal(broken.trace.error, 0);
	assert_true(broken.good < trace_cut_parts(broken.whole));
	fclose(out);
	trace_cut_free(broken.whole);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_report_is_the_same_in_parts),
		cmocka_unit_test(idle_time_of_a_slice_is_the_same_in_parts),
		cmocka_unit_test(the_report_of_a_slice_is_the_same_in_parts),
		cmocka_unit_test(what_is_compared_is_the_same_in_parts),
		cmocka_unit_test(the_losses_in_words_are_the_same_in_parts),
		cmocka_unit_test(the_lists_of_activities_are_the_same_in_parts),
		cmocka_unit_test(folded_stacks_are_the_same_in_parts),
		cmocka_unit_test(work_that_is_put_elsewhere_is_the_same_in_parts),
		cmocka_unit_test(trees_are_the_same_in_parts),
		cmocka_unit_test(costs_of_source_lines_are_the_same_in_parts),
		cmocka_unit_test(tables_for_launches_alone_are_the_same_in_parts),
		cmocka_unit_test(the_sample_run_is_the_same_in_parts),
		cmocka_unit_test(a_log_that_is_read_in_parts_has_the_report_of_the_whole),
		cmocka_unit_test(parts_end_by_bytes_too),
		cmocka_unit_test(several_rounds_over_a_log_go_on_at_once),
		cmocka_unit_test(a_trace_that_cannot_be_read_to_its_end_is_an_error),
		cmocka_unit_test(a_list_that_no_one_reads_any_more_is_not_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
