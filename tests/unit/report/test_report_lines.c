/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Source lines with their costs: the figures equal the report's; the text is the source that ran, or is reported
 * missing.
 */
#include <errno.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "analyzed.h"
#include "memory_log.h"
#include "own_folder.h"
#include "random_model.h"
#include "report/lines/source_file.h"
#include "report/lines/source_lines.h"

#define WALL 1700000000000000000ll

static char *listing_of(const struct model *model, struct lines_options options, int expected)
{
	const struct report_options page = {.width = 120, .truncates = true};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_lines(out, WHOLE_TRACE(model), &page, &options), expected);
	fclose(out);
	return text;
}

static char *lines_of(const struct model *model, struct lines_options options)
{
	return listing_of(model, options, 0);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' in:\n%s", part, text);
}

/* ---- a program with source --------------------------------------------------------------------------------------- */

/* Writes a source whose mtime is age_s seconds before the start of the trace. */
static void write_source(const char *path, const char *text, size_t bytes, int64_t age_s)
{
	const struct timespec times[2] = {{.tv_sec = WALL / 1000000000 - age_s}, {.tv_sec = WALL / 1000000000 - age_s}};
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	fclose(file);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void log_place(struct log_builder *log, uint64_t id, const char *function, const char *path, uint32_t line,
		      uint32_t first)
{
	/* the running line is the third after the first line of its code object */
	log_function(log, PID, id, function, path, first);
	log_stack(log, PID, id, 1, (struct gpt_pyframe[]){{.code = id, .lasti = 6}});
	assert_int_equal(line, first + 3);
}

/* A function whose line 5 launches 40 us, copies 10 us and waits 30 us; line 3 launches within it. */
static struct model *with_source(const char *path, const char *function)
{
	struct log_builder log;

	log_begin(&log, 1000, WALL - 1000);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_place(&log, 0xc0de, function, path, 5, 2);
	log_launch(&log, PID, TID, 100000, 0xc0de, 1);
	log_batch(&log, PID, TID, 900000);
	log_agent_name(&log, 1, "kernel");
	log_agent_api(&log, (struct gpt_agent_api){.end_ns = 104000, .corr = 1, .tid = TID, .api = CUDA_LAUNCH});
	log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = WALL + 110000 - 1000,
							 .end_wall_ns = WALL + 150000 - 1000,
							 .corr = 1,
							 .name = 1});
	log_end(&log, 1000000);
	return model_of(&log);
}

static const char source[] = "import torch\n"
			     "def train_step(model):\n"
			     "\tx = 1\n"
			     "\n"
			     "    launch(x)\n"
			     "\n"
			     "def other():\n"
			     "    pass\n";

static void a_function_has_its_source_with_figures_beside_it(void **state)
{
	char *path = in_folder("train.py"), *text;
	struct model *model;

	write_source(path, source, sizeof(source) - 1, 60);
	model = with_source(path, "train_step");
	text = lines_of(model, (struct lines_options){});
	assert_has(text, "Total GPU time: 40.0 us, 100.0 % of all; launched by its own lines: 40.0 us\n");
	assert_has(text, "Function: train_step at line 2\n\n"
			 "  Line #  GPU us      %  self GPU us  calls  in calls us  Line Contents\n"
			 "=======================================================================\n"
			 "       2                                                  def train_step(model):\n"
			 "       3                                                          x = 1\n"
			 "       4\n"
			 "       5    40.0  100.0         40.0      1          4.0      launch(x)\n");
	assert_has_not(text, "other");
	free(text);
	model_free(model);
	free(path);
}

/* A block ends where the next statement of its indentation begins, also the block of one line. */
static void a_function_ends_before_its_neighbours(void **state)
{
	static const struct {
		const char *text;
		uint32_t end;
	} blocks[] = {
		{"def first(x): return x.cuda()\ndef second(x):\n    return x\n", 1},
		{"def first(x): return x.cuda()\n\ny = 1\nif y:\n    z = 2\n", 1},
		{"def first(a,\n          b):\n    return a\ndef second(x): pass\n", 3},
		{"def first(\n    a,\n):\n    return a\n\n# next\ndef second(x): pass\n", 4},
		{"@compile(\n    mode='('\n)\n# why\n@no_grad()\ndef first(x): return x  # (\n@no_grad()\ndef "
		 "second(): pass\n",
		 6},
		{"async def first(x=')'): return x\nsecond()\n", 1},
		{"def first(x):\n    y = '\\'('\n\n    return y\nsecond()\n", 4},
	};
	char *path = in_folder("blocks.py");

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct model_code code = {
			.described = true, .name = "first", .file = path, .raw_file = path, .first_line = 1};
		struct source_file file;

		write_source(path, blocks[i].text, strlen(blocks[i].text), 60);
		source_file_read(&file, NULL, &code, NULL, false, WALL);
		if (!file.text)
			fail_msg("not read: %s", file.why);
		if (source_file_block_end(&file, 1) != blocks[i].end)
			fail_msg("%u of\n%s", source_file_block_end(&file, 1), blocks[i].text);
		source_file_free(&file);
	}
	free(path);
}

/*
 * late launches 10 us of work, then leaves the GPU idle for 390 us until it launches again; train launches 40 us at
 * once.
 */
static void a_function_that_keeps_the_gpu_waiting_owns_more_than_one_that_uses_it_less_long(void **state)
{
	static const uint64_t starts[] = {110000, 150000, 550000};
	struct log_builder log;
	struct model *model;
	char *text;

	log_begin(&log, 1000, WALL - 1000);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_place(&log, 0xc0de, "train", "/x/train.py", 5, 2);
	log_place(&log, 0xdead, "late", "/x/train.py", 25, 22);
	for (uint32_t i = 0; i < 3; i++)
		log_launch(&log, PID, TID, starts[i] - 5000, i ? 0xdead : 0xc0de, i + 1);
	log_batch(&log, PID, TID, 900000);
	log_agent_name(&log, 1, "kernel");
	for (uint32_t i = 0; i < 3; i++) {
		log_agent_api(&log, (struct gpt_agent_api){.start_ns = starts[i] - 5000,
							   .end_ns = starts[i] - 4000,
							   .corr = i + 1,
							   .tid = TID,
							   .api = CUDA_LAUNCH});
		log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = WALL + starts[i] - 1000,
								 .end_wall_ns = WALL + starts[i] + (i ? 9000 : 39000),
								 .corr = i + 1,
								 .name = 1});
	}
	log_end(&log, 1000000);
	model = model_of(&log);
	text = lines_of(model, (struct lines_options){});
	assert_has(text, "GPU idle for it: 390.0 us, kept by its own lines: 390.0 us\n");
	assert_true(strstr(text, "Function: late") < strstr(text, "Function: train"));
	free(text);
	model_free(model);
}

static void memory_stands_beside_its_line_and_beside_those_that_called_it(void **state)
{
	char *path = in_folder("train.py"), *text;
	struct model *model;

	write_source(path, source, sizeof(source) - 1, 60);
	model = model_with_memory(path, WALL);
	text = lines_of(model, (struct lines_options){});
	assert_has(text, "Memory of PyTorch (GPU): 2.9 MiB at the peak, 976.6 KiB not freed\n"
			 "Memory of PyTorch (CPU): 488.3 KiB at the peak, 0 B not freed\n");
	assert_has(text, "Function: train_step at line 2\n");
	assert_has(text, "  Line #  GPU at peak  GPU not freed  CPU at peak  Line Contents\n");
	assert_has(text, "       5      2.9 MiB      976.6 KiB    488.3 KiB      launch(x)\n");
	free(text);
	text = lines_of(model, (struct lines_options){.what = "main"});
	assert_has(text, "      13      2.9 MiB      976.6 KiB    488.3 KiB\n");
	free(text);
	model_free(model);
	free(path);
}

static void programs_get_memory_as_columns_where_it_was_recorded(void **state)
{
	struct report_options page = {.format = table_format_by_name("csv"), .table = "source_lines"};
	char *path = in_folder("train.py"), *text = NULL;
	struct model *model;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	write_source(path, source, sizeof(source) - 1, 60);
	model = model_with_memory(path, WALL);
	assert_int_equal(
		report_write_lines(out, WHOLE_TRACE(model), &page, &(struct lines_options){.what = "train_step"}), 0);
	fclose(out);
	assert_has(text, "function_line_number,gpu_at_peak_bytes,gpu_not_freed_bytes,gpu_growth_per_step_bytes,"
			 "cpu_at_peak_bytes,cpu_not_freed_bytes,cpu_growth_per_step_bytes\n");
	assert_has(text, ",2,3000000,1000000,,500000,0,\n");
	free(text);
	model_free(model);
	free(path);
}

static void programs_get_lines_with_costs_as_rows(void **state)
{
	struct report_options page = {.format = table_format_by_name("csv"), .table = "source_lines"};
	char *path = in_folder("train.py"), *text = NULL, *expected;
	struct model *model;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	write_source(path, source, sizeof(source) - 1, 60);
	model = with_source(path, "train_step");
	assert_int_equal(report_write_lines(out, WHOLE_TRACE(model), &page, &(struct lines_options){}), 0);
	fclose(out);
	expected = xasprintf("line_number,gpu_ns,percent,self_gpu_ns,launches,self_launches,copies,copies_ns,waits_ns,"
			     "idle_ns,cpu_ns,source,function,file,function_line_number\n"
			     "5,40000,100,40000,1,1,0,0,0,0,4000,    launch(x),train_step,%s,2\n",
			     path);
	assert_string_equal(text, expected);
	free(expected);
	free(text);
	model_free(model);
	free(path);
}

static void functions_and_files_are_found_by_the_ends_of_their_names(void **state)
{
	static const char *const found[] = {"train_step", "Trainer.train_step", "train.py", "own/train.py"};
	static const char *const missed[] = {"step", "ain.py", "train", "Trainer"};
	struct model *model = with_source("/nowhere/own/train.py", "Trainer.train_step");
	char *text, *there;

	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		text = lines_of(model, (struct lines_options){.what = found[i]});
		assert_has(text, "Function: Trainer.train_step at line 2\n");
		free(text);
	}
	for (size_t i = 0; i < sizeof(missed) / sizeof(missed[0]); i++) {
		text = listing_of(model, (struct lines_options){.what = missed[i], .there = &there}, -ENOENT);
		assert_has(text, " called CUDA or had a CPU sample\n");
		assert_has(there, "Trainer.train_step (train.py)");
		free(text);
		free(there);
	}
	model_free(model);
}

/* ---- CPU time by samples ----------------------------------------------------------------------------------------- */

static void log_sample_of(struct log_builder *log, uint64_t time_ns, uint32_t period_ns, uint64_t stack)
{
	log_sample(log, (struct gpt_sample){.time_ns = time_ns,
					    .stack_id = stack,
					    .pid = PID,
					    .tid = TID,
					    .period_ns = period_ns,
					    .stack_state = stack ? GPT_STACK_OK : GPT_STACK_NO_PYTHON,
					    .place = GPT_SAMPLE_USER});
}

/* Line 5 of train_step has 40 us itself, and calls help, whose line 25 has 30 us; 10 us have no Python line. */
static struct model *with_samples(const char *path)
{
	struct log_builder log;

	log_begin(&log, 1000, WALL - 1000);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_place(&log, 0xc0de, "train_step", path, 5, 2);
	log_place(&log, 0xdead, "help", "/x/help.py", 25, 22);
	log_stack(&log, PID, 7, 2, (struct gpt_pyframe[]){{.code = 0xdead, .lasti = 6}, {.code = 0xc0de, .lasti = 6}});
	log_sample_of(&log, 100000, 10000, 0xc0de);
	log_sample_of(&log, 200000, 30000, 0xc0de);
	log_sample_of(&log, 300000, 30000, 7);
	log_sample_of(&log, 400000, 10000, 0);
	log_end(&log, 1000000);
	return model_of(&log);
}

static void samples_give_each_line_its_cpu_time_and_what_has_no_line_stands_below(void **state)
{
	char *path = in_folder("train.py"), *text;
	struct model *model;

	write_source(path, source, sizeof(source) - 1, 60);
	model = with_samples(path);
	text = lines_of(model, (struct lines_options){});
	assert_has(text, "\n\nCPU time by samples: 70.0 us, 87.5 % of all; in its own lines: 40.0 us\nFile: ");
	assert_has(text, "  Line #  CPU us  self CPU us  Line Contents\n");
	assert_has(text, "       5    70.0         40.0      launch(x)\n");
	assert_has(text, "Function: help at line 22\n");
	assert_has(text, "      25    30.0         30.0\n");
	assert_has(text, "\n\nCPU time by samples: 80.0 us\n"
			 "  70.0 us, 87.5 %: lines above (self)\n"
			 "  10.0 us, 12.5 %: (thread python3: no Python in the process)\n");
	free(text);
	text = lines_of(model, (struct lines_options){.what = "help"});
	assert_has(text, "      25    30.0         30.0\n");
	assert_has_not(text, "lines above");
	free(text);
	model_free(model);
	free(path);
}

static void programs_get_the_rest_of_the_samples_as_rows(void **state)
{
	struct report_options page = {.format = table_format_by_name("csv"), .table = "source_lines"};
	struct model *model = with_samples("/x/train.py");
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_lines(out, WHOLE_TRACE(model), &page, &(struct lines_options){}), 0);
	fclose(out);
	assert_has(text, "cpu_ns,sampled_ns,self_sampled_ns,source,function,file,function_line_number\n"
			 "5,0,,0,0,0,0,0,0,0,0,70000,40000,,train_step,/x/train.py,2\n"
			 "25,0,,0,0,0,0,0,0,0,0,30000,30000,,help,/x/help.py,22\n"
			 ",,,,,,,,,,,10000,10000,,(thread python3: no Python in the process),,\n");
	free(text);
	model_free(model);
}

/* Lines, and what has none, have the time that the table of CPU time has. */
static void all_cpu_time_of_the_table_is_in_lines_or_outside_of_them(void **state)
{
	for (uint64_t number = 1; number <= 40; number++) {
		struct model *model = random_model(number, 150);
		struct analyses all;
		uint64_t sum = 0;

		assert_int_equal(
			analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_CPU_LINES, ANALYZE_LINE_COSTS), NULL), 0);
		for (size_t i = 0; i < all.line_costs.function_count; i++) {
			const struct function_cost *function = &all.line_costs.functions[i];

			for (uint32_t k = 0; k < function->rows; k++)
				sum += all.line_costs.rows[function->first_row + k].own.sampled_ns;
		}
		for (size_t i = 0; i < all.line_costs.outside.count; i++)
			sum += all.line_costs.outside.items[i].sampled_ns;
		assert_true(sum);
		assert_int_equal(sum, all.cpu_lines.sums.sum);
		assert_int_equal(sum, all.line_costs.sampled_ns);
		analyses_free(&all);
		random_model_free(model);
	}
}

/* ---- source that is not shown ------------------------------------------------------------------------------------ */

static void assert_not_shown(const char *path, const char *function, const char *why)
{
	struct model *model = with_source(path, function);
	char *text = lines_of(model, (struct lines_options){}), *said = xasprintf("Source is not shown: %s\n", why);

	assert_has(text, said);
	assert_has(text, "       5    40.0  100.0         40.0      1          4.0\n");
	assert_has_not(text, "Line Contents");
	free(said);
	free(text);
	model_free(model);
}

static void source_that_is_not_there_is_said_to_be_missing(void **state)
{
	assert_not_shown("/nowhere/train.py", "train_step", "it cannot be read: No such file or directory");
	assert_not_shown("<string>", "train_step", "the code is from no file");
	assert_not_shown("train.py", "train_step", "its path is relative, and its process is gone");
}

static void source_that_is_newer_than_the_trace_is_not_shown(void **state)
{
	char *path = in_folder("train.py");

	write_source(path, source, sizeof(source) - 1, -60);
	assert_not_shown(path, "train_step", "it was changed after the trace began");
	free(path);
}

static void source_that_has_no_such_function_is_not_what_ran(void **state)
{
	char *path = in_folder("train.py");

	write_source(path, source, sizeof(source) - 1, 60);
	assert_not_shown(path, "validate", "it is not what ran: the function is not there");
	free(path);
}

static void what_is_no_file_is_not_waited_for(void **state)
{
	char *path = in_folder("fifo.py");

	assert_int_equal(mkfifo(path, 0644), 0);
	assert_not_shown(path, "train_step", "it is not a regular file");
	assert_not_shown("/dev/zero", "train_step", "it is not a regular file");
	unlink(path);
	free(path);
}

static void a_huge_file_is_not_read(void **state)
{
	char *path = in_folder("huge.py");

	write_source(path, source, sizeof(source) - 1, 60);
	assert_int_equal(truncate(path, 1ll << 40), 0);
	assert_not_shown(path, "train_step", "it is larger than 16 MB");
	unlink(path);
	free(path);
}

static void source_of_a_process_with_other_mounts_is_not_shown(void **state)
{
	char *path = in_folder("train.py"), *text;
	struct model *model;

	write_source(path, source, sizeof(source) - 1, 60);
	model = with_source(path, "train_step");
	model->processes[0].mounts = GPT_MOUNTS_OTHER;
	text = lines_of(model, (struct lines_options){});
	assert_has(text, "Source is not shown: its process was in another mount namespace\n");
	free(text);
	model_free(model);
	free(path);
}

static void source_cannot_drive_the_terminal_and_long_lines_are_truncated(void **state)
{
	char *path = in_folder("train.py"), *text;
	char hostile[4096] = "\ndef train_step(): #\033[2J\xff\xe2\x80\xae\n\n\n";
	size_t length = strlen(hostile);
	struct model *model;

	memset(hostile + length, 'x', 3000);
	write_source(path, hostile, length + 3000, 60);
	model = with_source(path, "train_step");
	text = lines_of(model, (struct lines_options){});
	assert_has(text, "def train_step(): #\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\n");
	assert_has(text, "xxx...\n");
	assert_true(strlen(text) < 2000);
	free(text);
	model_free(model);
	free(path);
}

/* ---- figures are those of the report ----------------------------------------------------------------------------- */

static const struct line_cost_row *row_of(const struct line_costs *costs, uint32_t line)
{
	static const struct line_cost_row nothing;

	for (size_t i = 0; i < costs->function_count; i++)
		for (uint32_t k = 0; k < costs->functions[i].rows; k++)
			if (costs->rows[costs->functions[i].first_row + k].line == line)
				return &costs->rows[costs->functions[i].first_row + k];
	return &nothing;
}

static void assert_gpu(const struct analyses *all)
{
	for (size_t i = 0; i < all->gpu_lines.total_count; i++) {
		const struct line_row *row = &all->gpu_lines.totals[i];
		const struct line_cost_row *cost = row_of(&all->line_costs, row->line);

		assert_int_equal(cost->own.gpu_ns, row->self);
		assert_int_equal(cost->under.gpu_ns, row->total);
		assert_int_equal(cost->own.launches, row->launches);
	}
	assert_int_equal(all->line_costs.gpu_ns, all->gpu_lines.sum);
}

/* The sum over another analysis's rows of a line. */
static uint64_t waits_of(const struct waits *waits, uint32_t line)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < waits->count; i++)
		ns += waits->rows[i].line == line ? waits->rows[i].ns : 0;
	return ns;
}

static uint64_t idle_of(const struct idle *idle, uint32_t line)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < idle->count; i++)
		ns += idle->rows[i].line == line ? idle->rows[i].ns : 0;
	return ns;
}

static void figures_of_lines_are_those_of_the_report(void **state)
{
	for (uint64_t number = 1; number <= 40; number++) {
		struct model *model = random_model(number, 150);
		struct analyses all;

		analyze_model(&all, model,
			      ANALYSES(ANALYZE_LINE_COSTS, ANALYZE_GPU_LINES, ANALYZE_WAITS, ANALYZE_IDLE));
		assert_gpu(&all);
		for (uint32_t line = 0; line < all.lines.all.count; line++) {
			const struct line_cost_row *cost = row_of(&all.line_costs, line);

			if (all.lines.all.items[line].reason)
				continue;
			assert_int_equal(cost->own.wait_ns, waits_of(&all.waits, line));
			assert_int_equal(cost->own.idle_ns, idle_of(&all.idle, line));
		}
		analyses_free(&all);
		random_model_free(model);
	}
}

/* For the sample run (test_export_log.h), ten steps. */
static void copies_waits_and_calls_count_for_the_lines_above_them_too(void **state)
{
	struct model *model = sample_model(1, 10);
	struct analyses all;
	bool seen = false;

	analyze_model(&all, model, ANALYSES(ANALYZE_LINE_COSTS));
	for (size_t i = 0; i < all.line_costs.function_count; i++) {
		const struct function_cost *function = &all.line_costs.functions[i];

		if (strcmp(all.model->codes[function->code].name, "main"))
			continue;
		seen = true;
		assert_int_equal(function->own.gpu_ns, 0);
		assert_int_equal(function->under.gpu_ns, 2450000);
		assert_int_equal(function->under.launches, 40);
		assert_int_equal(function->under.copies, 20);
		assert_int_equal(function->under.copy_ns, 550000);
		assert_int_equal(function->under.wait_ns, 5980000);
		assert_int_equal(function->under.cpu_ns, 6160000);
	}
	assert_true(seen);
	analyses_free(&all);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		file_test(a_function_has_its_source_with_figures_beside_it),
		file_test(a_function_ends_before_its_neighbours),
		cmocka_unit_test(a_function_that_keeps_the_gpu_waiting_owns_more_than_one_that_uses_it_less_long),
		file_test(memory_stands_beside_its_line_and_beside_those_that_called_it),
		file_test(programs_get_memory_as_columns_where_it_was_recorded),
		file_test(programs_get_lines_with_costs_as_rows),
		file_test(samples_give_each_line_its_cpu_time_and_what_has_no_line_stands_below),
		file_test(programs_get_the_rest_of_the_samples_as_rows),
		file_test(all_cpu_time_of_the_table_is_in_lines_or_outside_of_them),
		file_test(functions_and_files_are_found_by_the_ends_of_their_names),
		file_test(source_that_is_not_there_is_said_to_be_missing),
		file_test(source_that_is_newer_than_the_trace_is_not_shown),
		file_test(source_that_has_no_such_function_is_not_what_ran),
		file_test(what_is_no_file_is_not_waited_for),
		file_test(a_huge_file_is_not_read),
		file_test(source_of_a_process_with_other_mounts_is_not_shown),
		file_test(source_cannot_drive_the_terminal_and_long_lines_are_truncated),
		file_test(figures_of_lines_are_those_of_the_report),
		file_test(copies_waits_and_calls_count_for_the_lines_above_them_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
