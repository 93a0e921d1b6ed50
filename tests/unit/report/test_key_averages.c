/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of ops: its rows match torch.profiler's, and so does its printed form. */
#include "analyzed.h"
#include "ops_log.h"

#include <unistd.h>

#include "analyze/sums/flops.h"
#include "report/sums/key_averages.h"

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static const struct key_row *find_row(const struct analyses *all, enum key_kind kind, const char *name)
{
	for (size_t i = 0; i < all->keys.rows.count; i++)
		if (all->keys.rows.items[i].kind == kind && !strcmp(all->keys.rows.items[i].name, name))
			return &all->keys.rows.items[i];
	return NULL;
}

static const struct key_row *row_of(const struct analyses *all, enum key_kind kind, const char *name)
{
	const struct key_row *row = find_row(all, kind, name);

	if (!row)
		fail_msg("no row %s", name);
	return row;
}

static struct model *end_of(struct ops_log *ops)
{
	log_end(&ops->log, 1000000);
	return model_of(&ops->log);
}

static void work_in_no_op_but_in_an_annotation_is_a_row_of_the_gpus_side(void **state)
{
	struct model *model = ops_model();
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_KEY_AVERAGES));
	assert_int_equal(row_of(&all, KEY_ANNOTATION, "step \"1\"")->gpu_self_ns, 0);
	assert_int_equal(row_of(&all, KEY_ANNOTATION, "step \"1\"")->gpu_ns, 30000);
	/* from the start of the first kernel, launched at 120, to the end of the last, launched at 160 */
	assert_int_equal(row_of(&all, KEY_ON_GPU, "step \"1\"")->gpu_self_ns, 45000);
	assert_int_equal(row_of(&all, KEY_ON_GPU, "step \"1\"")->count, 1);
	assert_int_equal(row_of(&all, KEY_OP, "aten::linear")->gpu_ns, 30000);
	assert_int_equal(all.keys.gpu_ns, 76000);
	analyses_free(&all);
	model_free(model);
}

static void an_op_alone_in_one_of_its_name_is_one_with_it(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct analyses all;

	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 520, .end_ns = 525, .name = 3, .sequence = -1});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 510, .end_ns = 530, .name = 5, .sequence = -1});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 505, .end_ns = 535, .name = 5, .sequence = -1});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500, .end_ns = 540, .name = 5, .sequence = -1});
	ops_log_launch(&ops, TID, 527, 7);
	model = end_of(&ops);
	analyze_model(&all, model, ANALYSES(ANALYZE_KEY_AVERAGES));
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->count, 2);
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->cpu_ns, 30000 + 40000);
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->cpu_self_ns, 28000 + 40000 - 5000 - 2000);
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->gpu_self_ns, 47000);
	analyses_free(&all);
	model_free(model);
}

static void an_op_beside_another_in_one_of_its_name_counts(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct analyses all;

	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 510, .end_ns = 520, .name = 5, .sequence = -1});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 525, .end_ns = 530, .name = 3, .sequence = -1});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500, .end_ns = 540, .name = 5, .sequence = -1});
	model = end_of(&ops);
	analyze_model(&all, model, ANALYSES(ANALYZE_KEY_AVERAGES));
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->count, 3);
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->cpu_self_ns, 28000 + 10000 + 40000 - 15000);
	analyses_free(&all);
	model_free(model);
}

static void an_asynchronous_op_has_no_time_of_its_own(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct analyses all;

	log_agent_op_name(&ops.log, 6, "async");
	ops_log_op(&ops,
		   (struct gpt_agent_op){
			   .start_ns = 500, .end_ns = 540, .name = 6, .sequence = -1, .flags = GPT_AGENT_OP_ASYNC});
	model = end_of(&ops);
	analyze_model(&all, model, ANALYSES(ANALYZE_KEY_AVERAGES));
	assert_int_equal(row_of(&all, KEY_OP, "async")->cpu_ns, 40000);
	assert_int_equal(row_of(&all, KEY_OP, "async")->cpu_self_ns, 0);
	analyses_free(&all);
	model_free(model);
}

static void steps_of_torch_profiler_are_one_row(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct analyses all;

	log_agent_op_name(&ops.log, 6, "ProfilerStep#1");
	log_agent_op_name(&ops.log, 7, "ProfilerStep#2");
	for (uint32_t i = 0; i < 2; i++)
		ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500 + 50 * i,
						       .end_ns = 540 + 50 * i,
						       .name = 6 + i,
						       .sequence = -1,
						       .scope = GPT_AGENT_OP_USER_SCOPE});
	model = end_of(&ops);
	analyze_model(&all, model, ANALYSES(ANALYZE_KEY_AVERAGES));
	assert_int_equal(row_of(&all, KEY_ANNOTATION, "ProfilerStep*")->count, 2);
	analyses_free(&all);
	model_free(model);
}

static void ops_nested_beyond_all_reason_are_rows_of_their_own(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct analyses all;

	for (uint32_t i = OP_TREE_OPEN_MAX + 3; i-- > 0;)
		ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500 + i / 10,
						       .end_ns = 899 - i / 10,
						       .name = 3 + 2 * (i % 2),
						       .sequence = -1});
	model = end_of(&ops);
	analyze_model(&all, model, ANALYSES(ANALYZE_KEY_AVERAGES));
	assert_int_equal(all.keys.tree.left_out, 3);
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->count + row_of(&all, KEY_OP, "aten::addmm")->count,
			 OP_TREE_OPEN_MAX + 3 + 2);
	analyses_free(&all);
	model_free(model);
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("not in the table: %s\n%s", part, text);
}

static char *table_of(struct model *model, const struct key_averages_options *options)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_key_averages(out, WHOLE_TRACE(model), options), 0);
	fclose(out);
	model_free(model);
	return text;
}

static void key_averages_are_a_table_for_programs_too(void **state)
{
	const struct report_options page = {.format = &table_format_csv, .table = "key_averages"};
	struct model *model = ops_model();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_key_tables(out, WHOLE_TRACE(model), &(struct key_averages_options){0}, &page), 0);
	fclose(out);
	assert_has(text, "name,kind,self_cpu_percent,self_cpu_ns,cpu_ns,cpu_avg_ns,self_gpu_ns,self_gpu_percent,"
			 "gpu_ns,gpu_avg_ns,calls,shapes,flops,stack,cpu_memory_bytes,self_cpu_memory_bytes,"
			 "gpu_memory_bytes,self_gpu_memory_bytes\n");
	assert_has(text, "\naten::mm,op,10.6870229,28000,30000,30000,40000,52.63157895,40000,40000,1,,,,,,,\n");
	assert_has(text, "\ncudaLaunchKernel,call,3.816793893,10000,10000,2000,0,0,0,0,5,,,,,,,\n");
	assert_has(text, "\nkernel,gpu,0,0,0,0,76000,100,76000,15200,5,,,,,,,\n");
	free(text);
	model_free(model);
}

static char *key_averages_of(struct model *model)
{
	return table_of(model, &(struct key_averages_options){0});
}

static void key_averages_have_the_form_of_torch_profiler(void **state)
{
	static const char line[] =
		"--------------------  ------------  ------------  ------------  ------------  "
		"------------  ------------  ------------  ------------  ------------  ------------  ";
	char *text = key_averages_of(ops_model()), expected[4096];

	snprintf(expected, sizeof(expected),
		 "%s\n"
		 "                Name    Self CPU %%      Self CPU   CPU total %%     CPU total  CPU time avg     "
		 "Self CUDA   "
		 "Self CUDA %%    CUDA total  CUDA time avg    # of Calls  \n%s\n",
		 line, line);
	assert_has(text, expected);
	assert_has(text,
		   "            aten::mm        10.69%      28.000us        11.45%      30.000us      30.000us      "
		   "40.000us        52.63%      40.000us      40.000us             1  \n");
	assert_has(text,
		   "    cudaLaunchKernel         3.82%      10.000us         3.82%      10.000us       2.000us       "
		   "0.000us         0.00%       0.000us       0.000us             5  \n");
	assert_has(text,
		   "              kernel         0.00%       0.000us         0.00%       0.000us       0.000us      "
		   "76.000us       100.00%      76.000us      15.200us             5  \n");
	assert_has(text, "Self CPU time total: 262.000us\nSelf CUDA time total: 76.000us\n");
	free(text);
}

static void key_averages_without_a_gpu_have_no_columns_of_it(void **state)
{
	struct log_builder log;
	char *text;

	log_begin(&log, 10, 0);
	log_batch(&log, PID, TID, 900000000);
	log_agent_op_name(&log, 1, "an::op_with_a_name_that_has_as_many_as_52_characters");
	log_agent_op_name(&log, 2, "aten::is_leaf");
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 1000, .end_ns = 1234567, .tid = TID, .name = 1});
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 1235000, .end_ns = 1236000, .tid = TID, .name = 2});
	log_end(&log, 1000000000);
	text = key_averages_of(model_of(&log));
	assert_null(strstr(text, "CUDA"));
	assert_null(strstr(text, "is_leaf"));
	assert_has(text, "\nan::op_with_a_name_that_has_as_many_as_52_characters...       100.00%       1.234ms       "
			 "100.00%       1.234ms       1.234ms             1  \n");
	free(text);
}

/* The text has each of the names, in this order. */
static void assert_in_order(const char *text, const char *const names[])
{
	for (; *names; names++) {
		const char *at = strstr(text, *names);

		if (!at)
			fail_msg("%s is not there, or not in this order", *names);
		text = at + 1;
	}
}

static void rows_are_sorted_by_what_is_asked_for(void **state)
{
	static const char *const by_count[] = {" cudaLaunchKernel ", " kernel ",      " step ",
					       " aten::linear ",     " aten::addmm ", NULL};
	static const char *const by_cpu[] = {" step ",	      " AddmmBackward0 ", " aten::linear ",
					     " aten::addmm ", " aten::mm ",	  NULL};
	char *text = table_of(ops_model(), &(struct key_averages_options){.sort = key_sort_by_name("count")});

	assert_in_order(text, by_count);
	free(text);
	text = table_of(ops_model(), &(struct key_averages_options){.sort = key_sort_by_name("cpu_time_total")});
	assert_in_order(text, by_cpu);
	free(text);
}

static void as_many_rows_are_printed_as_are_asked_for(void **state)
{
	char *text = table_of(ops_model(), &(struct key_averages_options){.rows = 2});

	assert_has(text, "  kernel ");
	assert_has(text, "  step \"1\" ");
	assert_null(strstr(text, "  aten::linear "));
	assert_has(text, "Self CPU time total: 262.000us\n");
	free(text);
}

static void the_top_level_is_what_was_in_no_op(void **state)
{
	char *text = table_of(ops_model(), &(struct key_averages_options){.top_level = true});

	assert_has(text, "=\nThis report only display top-level ops statistics\n---");
	assert_has(text, " step \"1\" ");
	assert_has(text, " AddmmBackward0 ");
	assert_has(text, "  kernel ");
	assert_null(strstr(text, " aten::linear "));
	free(text);
}

/* Two launches in one op, from lines 13 and 23 of train(); an op whose stack is not known. */
static struct model *model_with_stacks(void)
{
	struct ops_log ops = ops_log_begin();

	for (uint32_t line = 10; line <= 20; line += 10) {
		uint64_t code = 0xc0de00 + line;

		log_function(&ops.log, PID, code, "train", "/src/train.py", line);
		log_stack(&ops.log, PID, code, 1, (struct gpt_pyframe[]){{.code = code, .lasti = 6}});
		log_launch(&ops.log, PID, TID, (500 + line) * 1000, code, 0);
		log_batch(&ops.log, PID, TID, 900000);
		ops_log_op(&ops, (struct gpt_agent_op){
					 .start_ns = 499 + line, .end_ns = 505 + line, .name = 3, .sequence = -1});
	}
	return end_of(&ops);
}

static void rows_are_kept_apart_by_python_lines(void **state)
{
	char *text = table_of(model_with_stacks(), &(struct key_averages_options){.stack_frames = 1});

	assert_has(text, "  Source Location               \n");
	assert_has(text, "    1  /src/train.py(13): train      \n");
	assert_has(text, "    1  /src/train.py(23): train      \n");
	assert_has(text, "    1  (not recorded)                \n");
	free(text);
}

/* mm with two shapes, the first of them twice, beside the ops of the log. */
static struct model *model_with_shapes(void)
{
	static const char *const texts[] = {
		"[[4, 8], [8, 2]] [\"float\", \"float\"] [[8, 1], [2, 1]] [\"\", \"\"]",
		"[[16, 8], [8, 2]] [\"float\", \"float\"] [[8, 1], [2, 1]] [\"\", \"\"]",
	};
	struct ops_log ops = ops_log_begin();

	for (uint32_t i = 0; i < 3; i++) {
		log_agent_op_inputs(&ops.log, 5 + i, texts[i / 2]);
		ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500 + 20 * i,
						       .end_ns = 510 + 20 * i,
						       .name = 5,
						       .inputs = (5 + i) | GPT_AGENT_NAME_OF_INPUTS,
						       .sequence = -1});
	}
	return end_of(&ops);
}

static void rows_are_kept_apart_by_shapes(void **state)
{
	char *text = table_of(model_with_shapes(), &(struct key_averages_options){.by_shape = true});

	assert_has(text, "# of Calls           Input Shapes   Total FLOPs  \n");
	assert_has(text, "2       [[4, 8], [8, 2]]       256.000  \n");
	assert_has(text, "1      [[16, 8], [8, 2]]       512.000  \n");
	assert_has(text, "1                     []            --  \n");
	free(text);
}

static void a_list_of_tensors_has_no_shapes_in_the_table(void **state)
{
	struct ops_log ops = ops_log_begin();
	char *text;

	log_agent_op_inputs(&ops.log, 5,
			    "[[[4, 8], [8]], [2], [[]]] [\"\", \"\", \"\"] [[], [], []] [\"\", \"\", \"\"]");
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500,
					       .end_ns = 510,
					       .name = 5,
					       .inputs = 5 | GPT_AGENT_NAME_OF_INPUTS,
					       .sequence = -1});
	text = table_of(end_of(&ops), &(struct key_averages_options){.by_shape = true});
	assert_has(text, " [[], [2], []]  ");
	free(text);
}

static void without_recorded_shapes_the_table_says_so(void **state)
{
	struct log_builder log;
	char *text;

	log_begin(&log, 10, 0);
	log_batch(&log, PID, TID, 900000);
	log_agent_op_name(&log, 1, "aten::mm");
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 1000, .end_ns = 3000, .tid = TID, .name = 1});
	log_end(&log, 1000000);
	text = table_of(model_of(&log), &(struct key_averages_options){.by_shape = true});
	assert_has(text, "(not recorded)  \n");
	assert_null(strstr(text, "FLOPs"));
	free(text);
}

static void flops_are_those_of_pytorchs_formulas(void **state)
{
	static const char two[] = "[[4, 8], [8, 2]] [\"float\", \"float\"] [[8, 1], [2, 1]] [\"\", \"\"]";
	static const char three[] = "[[3], [2, 4, 8], [2, 8, 5]] [\"float\", \"float\", \"float\"] [[1], [1], [1]] "
				    "[\"\", \"\", \"\"]";
	static const char conv[] =
		"[[2, 3, 10, 10], [6, 3, 3, 3], [], [], [], [], []] "
		"[\"float\", \"float\", \"\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\"] "
		"[[1], [1], [], [], [], [], []] "
		"[\"\", \"\", \"\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"1\"]";
	static const char heads[] = "[[2, 4, 16, 8], [2, 4, 32, 8], [2, 4, 32, 8]] [\"float\", \"float\", \"float\"] "
				    "[[1], [1], [1]] [\"\", \"\", \"\"]";

	assert_int_equal(op_flops("aten::mm", two), 2 * 4 * 8 * 2);
	assert_int_equal(op_flops("aten::mul", two), 32);
	assert_int_equal(op_flops("aten::add", two), 32);
	assert_int_equal(op_flops("aten::addmm", two), 0);
	assert_int_equal(op_flops("aten::baddbmm", three), 2 * 2 * 4 * 8 * 5);
	assert_int_equal(op_flops("aten::conv2d", conv), 2 * 2 * (5 * 5) * (3 * 3) * 3 * 6);
	assert_int_equal(op_flops("aten::_scaled_dot_product_flash_attention", heads), 2 * 2 * (2 * 4 * 16 * 32 * 8));
	assert_int_equal(op_flops("aten::relu", two), 0);
}

static void inputs_that_fit_no_formula_have_no_flops(void **state)
{
	static const char *const texts[] = {
		"",
		"[] [] [] []",
		"[[]] [\"\"] [[]] [\"\"]",
		"[[[4], [8]], [8, 2]] [\"\", \"\"] [[], []] [\"\", \"\"]",
		"[[-4, 8], [8, 2]] [\"\", \"\"] [[], []] [\"\", \"\"]",
		"[[9223372036854775807, 8], [8, 9223372036854775807]] [\"\", \"\"] [[], []] [\"\", \"\"]",
		"[[1, 1, 1, 1, 1, 1, 1, 1, 1], [8, 2]] [\"\", \"\"] [[], []] [\"\", \"\"]",
		"[[4, 8]] [\"\"] [[]] [\"\"]",
		"[[0, 3, 1, 1], [6, 3, 3, 3], [], [], [], [], []] [\"\", \"\", \"\", \"\", \"\", \"\", \"\"] "
		"[[], [], [], [], [], [], []] "
		"[\"\", \"\", \"\", \"[0, 0]\", \"[1, 1]\", \"[1]\", \"0\"]",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(op_flops("aten::mm", texts[i]), 0);
		assert_int_equal(op_flops("aten::conv2d", texts[i]), 0);
		assert_int_equal(op_flops("aten::_scaled_dot_product_flash_attention", texts[i]), 0);
	}
}

static char *table_in_parts(int fd, const struct trace_division *division)
{
	static const struct key_averages_options options = {.by_shape = true, .stack_frames = 3};
	struct trace *trace;
	const char *why;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(gpt_trace_open(fd, division, NULL, &trace, &why), 0);
	assert_int_equal(report_write_key_averages(out, trace, &options), 0);
	gpt_trace_close(trace);
	fclose(out);
	return text;
}

static void a_log_that_is_read_in_parts_has_the_table_of_the_whole(void **state)
{
	static const struct trace_division whole = {.whole_bytes = UINT64_MAX},
					   parts = {.chunk_records = 1, .part_events = 1};
	struct ops_log ops = ops_log_begin();
	char *one, *many;
	int fd;

	log_end(&ops.log, 1000000);
	fd = log_fd(&ops.log);
	log_free(&ops.log);
	one = table_in_parts(fd, &whole);
	many = table_in_parts(fd, &parts);
	assert_has(one, " aten::linear ");
	assert_string_equal(many, one);
	close(fd);
	free(one);
	free(many);
}

/* Memory of the CPU or of a GPU, on a thread at a time. */
static void add_memory(struct ops_log *ops, uint32_t tid, uint64_t time, int64_t bytes, int8_t device_type)
{
	log_agent_torch_memory(
		&ops->log, (struct gpt_agent_torch_memory){.time_ns = time * 1000,
							   .address = 0x1000 * time,
							   .bytes = bytes,
							   .tid = tid,
							   .kind = bytes < 0 ? GPT_AGENT_TORCH_MEMORY_FREED
									     : GPT_AGENT_TORCH_MEMORY_ALLOCATED,
							   .device_type = device_type,
							   .device = (int8_t)(device_type == GPT_TORCH_CPU ? -1 : 0),
							   .has_totals = device_type != GPT_TORCH_CPU});
}

/* linear from 500 to 560, in it mm from 510 to 540 with an mm in it; on the other thread an op from 520 to 530. */
static struct model *model_with_memory(void)
{
	struct ops_log ops = ops_log_begin();

	log_agent_torch_memory_state(&ops.log, 0, "");
	add_memory(&ops, TID, 505, 100, GPT_TORCH_CPU);
	add_memory(&ops, TID, 525, 2048, GPT_TORCH_CPU);
	add_memory(&ops, TID, 535, 3 << 20, GPT_TORCH_CUDA);
	add_memory(&ops, TID, 545, -(2 << 20), GPT_TORCH_CUDA);
	add_memory(&ops, TID, 570, 7, GPT_TORCH_CPU);
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 512, .end_ns = 538, .name = 5, .sequence = -1});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 510, .end_ns = 540, .name = 5, .sequence = -1});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500, .end_ns = 560, .name = 2, .sequence = -1});
	ops_log_op(&ops,
		   (struct gpt_agent_op){.start_ns = 520, .end_ns = 530, .name = 4, .sequence = -1, .tid = ENGINE});
	return end_of(&ops);
}

static void an_op_has_the_memory_of_its_time_on_all_threads(void **state)
{
	struct model *model = model_with_memory();
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_KEY_AVERAGES));
	assert_true(all.keys.has_memory);
	assert_int_equal(row_of(&all, KEY_OP, "aten::linear")->memory.cpu, 100 + 2048);
	assert_int_equal(row_of(&all, KEY_OP, "aten::linear")->memory_self.cpu, 100);
	assert_int_equal(row_of(&all, KEY_OP, "aten::linear")->memory.gpu, 1 << 20);
	assert_int_equal((int64_t)row_of(&all, KEY_OP, "aten::linear")->memory_self.gpu, -(2 << 20));
	/* two nested ones of the same name count once */
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->memory.cpu, 2048);
	assert_int_equal(row_of(&all, KEY_OP, "aten::mm")->memory_self.cpu, 2048);
	assert_int_equal(row_of(&all, KEY_OP, "AddmmBackward0")->memory.cpu, 2048);
	assert_int_equal(row_of(&all, KEY_MEMORY, "[memory]")->count, 1);
	assert_int_equal(row_of(&all, KEY_MEMORY, "[memory]")->memory.cpu, 7);
	analyses_free(&all);
	model_free(model);
}

static void memory_has_the_columns_of_torch_profiler(void **state)
{
	char *text = table_of(model_with_memory(),
			      &(struct key_averages_options){.sort = key_sort_by_name("cpu_memory_usage")});

	assert_has(text, "     CPU Mem  Self CPU Mem      CUDA Mem  Self CUDA Mem    # of Calls  \n");
	assert_has(text, "       2.10 KB         100 B       1.00 MB      -2.00 MB             2  \n");
	assert_has(text, "           7 B           7 B           0 B           0 B             1  \n");
	free(text);
}

static void the_names_that_rows_can_be_sorted_by_are_those_of_torch_profiler(void **state)
{
	assert_null(key_sort_by_name("speed"));
	assert_string_equal(key_sort_names(),
			    "cpu_time, cpu_time_total, self_cpu_time_total, cuda_time, cuda_time_total, "
			    "self_cuda_time_total, device_time, device_time_total, self_device_time_total, count, "
			    "cpu_memory_usage, self_cpu_memory_usage, cuda_memory_usage, self_cuda_memory_usage, "
			    "device_memory_usage, self_device_memory_usage, flops");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_in_no_op_but_in_an_annotation_is_a_row_of_the_gpus_side),
		cmocka_unit_test(an_op_alone_in_one_of_its_name_is_one_with_it),
		cmocka_unit_test(an_op_beside_another_in_one_of_its_name_counts),
		cmocka_unit_test(an_asynchronous_op_has_no_time_of_its_own),
		cmocka_unit_test(steps_of_torch_profiler_are_one_row),
		cmocka_unit_test(ops_nested_beyond_all_reason_are_rows_of_their_own),
		cmocka_unit_test(key_averages_have_the_form_of_torch_profiler),
		cmocka_unit_test(key_averages_are_a_table_for_programs_too),
		cmocka_unit_test(key_averages_without_a_gpu_have_no_columns_of_it),
		cmocka_unit_test(rows_are_sorted_by_what_is_asked_for),
		cmocka_unit_test(as_many_rows_are_printed_as_are_asked_for),
		cmocka_unit_test(the_top_level_is_what_was_in_no_op),
		cmocka_unit_test(rows_are_kept_apart_by_python_lines),
		cmocka_unit_test(rows_are_kept_apart_by_shapes),
		cmocka_unit_test(a_list_of_tensors_has_no_shapes_in_the_table),
		cmocka_unit_test(without_recorded_shapes_the_table_says_so),
		cmocka_unit_test(flops_are_those_of_pytorchs_formulas),
		cmocka_unit_test(inputs_that_fit_no_formula_have_no_flops),
		cmocka_unit_test(a_log_that_is_read_in_parts_has_the_table_of_the_whole),
		cmocka_unit_test(an_op_has_the_memory_of_its_time_on_all_threads),
		cmocka_unit_test(memory_has_the_columns_of_torch_profiler),
		cmocka_unit_test(the_names_that_rows_can_be_sorted_by_are_those_of_torch_profiler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
