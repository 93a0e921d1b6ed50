/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time by op of PyTorch, as rows and in the report. */
#include "analyzed.h"
#include "ops_log.h"

#include "analyze/analyze.h"
#include "report_of.h"

static const struct op_row *row_of(const struct analyses *all, const char *name)
{
	for (size_t i = 0; i < all->ops.rows.count; i++)
		if (!strcmp(all->model->strings[all->ops.rows.items[i].name], name))
			return &all->ops.rows.items[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void assert_gpu(const struct analyses *all, const char *name, uint64_t self_us, uint64_t total_us)
{
	assert_int_equal(row_of(all, name)->gpu_self_ns, self_us * 1000);
	assert_int_equal(row_of(all, name)->gpu_once_ns, total_us * 1000);
}

static void gpu_time_is_of_the_innermost_op_and_in_the_totals_of_those_around(void **state)
{
	struct model *model = ops_model();
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_OPS));
	assert_int_equal(all.ops.rows.count, 5);
	assert_gpu(&all, "aten::mm", 40, 40);
	assert_gpu(&all, "AddmmBackward0", 0, 40);
	assert_gpu(&all, "aten::addmm", 30, 30);
	assert_gpu(&all, "aten::linear", 0, 30);
	assert_gpu(&all, "step \"1\"", 5, 35);
	assert_int_equal(all.ops.gpu_inside_ns, 75000);
	analyses_free(&all);
	model_free(model);
}

static void cpu_time_of_its_own_is_what_ops_and_calls_inside_leave(void **state)
{
	struct model *model = ops_model();
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_OPS));
	assert_int_equal(row_of(&all, "step \"1\"")->cpu_ns, 200000);
	assert_int_equal(row_of(&all, "step \"1\"")->cpu_self_ns, 200000 - 40000 - 2000);
	assert_int_equal(row_of(&all, "aten::linear")->cpu_self_ns, 40000 - 33000);
	assert_int_equal(row_of(&all, "aten::addmm")->cpu_self_ns, 33000 - 2 * 2000);
	assert_int_equal(row_of(&all, "AddmmBackward0")->cpu_self_ns, 60000 - 30000);
	analyses_free(&all);
	model_free(model);
}

#define SEPARATOR GPT_COLLECTIVE_SEPARATOR
#define COLLECTIVE(elements, rank)                                                                                     \
	"all_reduce" SEPARATOR "0" SEPARATOR "" SEPARATOR "[]" SEPARATOR "[]" SEPARATOR                                \
	"[]" SEPARATOR elements SEPARATOR elements SEPARATOR "5" SEPARATOR rank SEPARATOR "2" SEPARATOR "-1" SEPARATOR \
	"-1" SEPARATOR "-1" SEPARATOR "0" SEPARATOR "1"

/* On each of two ranks a collective of 1,000 elements of two bytes, and on rank 0 one of 3,000. */
static struct ops_log collectives_log(void)
{
	static const char *const texts[] = {COLLECTIVE("1000", "0"), COLLECTIVE("1000", "1"), COLLECTIVE("3000", "0")};
	struct ops_log ops = ops_log_begin();

	for (uint32_t i = 0; i < 3; i++) {
		log_agent_op_name(&ops.log, 10 + i, texts[i]);
		ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500 + 100 * i,
						       .end_ns = 550 + 100 * i,
						       .name = 3,
						       .sequence = -1,
						       .collective = 10 + i,
						       .collective_sequence = i});
		ops_log_launch(&ops, TID, 510 + 100 * i, 20);
	}
	log_end(&ops.log, 1000000);
	return ops;
}

static void collectives_of_several_ranks_are_one_row(void **state)
{
	struct ops_log ops = collectives_log();
	struct model *model = model_of(&ops.log);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_OPS));
	assert_int_equal(all.collectives.group.count, 2);
	assert_int_equal(all.collectives.group.rows[0].ns, 40000);
	assert_int_equal(all.collectives.group.rows[0].count, 2);
	assert_int_equal(all.collectives.group.rows[1].ns, 20000);
	analyses_free(&all);
	model_free(model);
}

static void the_report_says_what_collectives_moved(void **state)
{
	struct ops_log ops = collectives_log();
	char *text = report_of(&ops.log);

	assert_non_null(strstr(text, "GPU time by collective"));
	assert_non_null(strstr(text, "40.0        2    20.0  2.0 KB   0.1  Half       2  0      all_reduce"));
	assert_non_null(strstr(text, "20.0        1    20.0  6.0 KB   0.3  Half       2  0      all_reduce"));
	free(text);
}

static void an_op_inside_one_of_its_name_counts_once_in_the_report(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct analyses all;

	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 510, .end_ns = 530, .name = 5, .sequence = -1});
	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500, .end_ns = 540, .name = 5, .sequence = -1});
	ops_log_launch(&ops, TID, 520, 7);
	log_end(&ops.log, 1000000);
	model = model_of(&ops.log);
	analyze_model(&all, model, ANALYSES(ANALYZE_OPS));
	assert_gpu(&all, "aten::mm", 47, 47);
	assert_int_equal(row_of(&all, "aten::mm")->gpu_ns, 54000); /* PyTorch counts the inner op's time twice */
	assert_int_equal(row_of(&all, "aten::mm")->calls, 3);
	analyses_free(&all);
	model_free(model);
}

static void ops_nested_beyond_all_reason_are_counted_and_left_out(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct analyses all;

	for (uint32_t i = OPS_OPEN_MAX + 3; i-- > 0;)
		ops_log_op(&ops, (struct gpt_agent_op){
					 .start_ns = 500 + i / 10, .end_ns = 899 - i / 10, .name = 5, .sequence = -1});
	log_end(&ops.log, 1000000);
	model = model_of(&ops.log);
	analyze_model(&all, model, ANALYSES(ANALYZE_OPS));
	assert_int_equal(all.ops.left_out, 3);
	assert_int_equal(row_of(&all, "aten::mm")->calls, OPS_OPEN_MAX + 4);
	analyses_free(&all);
	model_free(model);
}

/* ---- report ----------------------------------------------------------------------------------------------------- */

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("not in the report: %s\n%s", part, text);
}

static void the_report_has_gpu_time_by_op(void **state)
{
	struct ops_log ops = ops_log_begin();
	char *text = report_of(&ops.log);

	assert_has(text, "GPU time by op   of PyTorch; self: launched in it, but in no op inside of it\n"
			 "  self us  total us     %  calls  op\n"
			 "     40.0      40.0  52.6      1  aten::mm\n"
			 "     30.0      30.0  39.5      1  aten::addmm\n"
			 "      5.0      35.0   6.6      1  step \"1\"\n");
	assert_has(text, "  1.3 % of GPU time was launched outside of all ops\n");
	free(text);
}

static void without_gpu_time_the_report_has_cpu_time_by_op(void **state)
{
	struct log_builder log;
	char *text;

	log_begin(&log, 10, 0);
	log_batch(&log, PID, TID, 900000);
	log_agent_op_name(&log, 1, "aten::mm");
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 1000, .end_ns = 3000, .tid = TID, .name = 1});
	text = report_of(&log);
	assert_has(text, "CPU time by op");
	assert_has(text, "aten::mm\n");
	free(text);
}

static void ops_whose_name_was_lost_are_one_row(void **state)
{
	struct ops_log ops = ops_log_begin();
	char *text;

	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 410, .end_ns = 430, .name = 99, .sequence = -1});
	ops_log_launch(&ops, TID, 420, 7);
	text = report_of(&ops.log);
	assert_has(text, "      7.0       7.0   8.4      1  (name not known)\n");
	free(text);
}

static void the_report_says_why_there_are_no_ops(void **state)
{
	struct log_builder log;
	char *text;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&log, PID, TID, 900000);
	log_agent_ops(&log, GPT_AGENT_OPS_REFUSED, 0, "PyTorch 2.99 is not known");
	text = report_of(&log);
	assert_has(text, "  no ops of python3 41230: PyTorch 2.99 is not known\n");
	free(text);
}

static void the_report_says_when_there_was_no_pytorch(void **state)
{
	struct log_builder log;
	char *text;

	log_begin(&log, 10, 0);
	log_batch(&log, PID, TID, 900000);
	log_agent_ops(&log, GPT_AGENT_OPS_WAITING, 0, "");
	text = report_of(&log);
	assert_has(text, "  no process had PyTorch loaded that could have reported ops\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpu_time_is_of_the_innermost_op_and_in_the_totals_of_those_around),
		cmocka_unit_test(cpu_time_of_its_own_is_what_ops_and_calls_inside_leave),
		cmocka_unit_test(collectives_of_several_ranks_are_one_row),
		cmocka_unit_test(the_report_says_what_collectives_moved),
		cmocka_unit_test(an_op_inside_one_of_its_name_counts_once_in_the_report),
		cmocka_unit_test(ops_nested_beyond_all_reason_are_counted_and_left_out),
		cmocka_unit_test(the_report_has_gpu_time_by_op),
		cmocka_unit_test(without_gpu_time_the_report_has_cpu_time_by_op),
		cmocka_unit_test(ops_whose_name_was_lost_are_one_row),
		cmocka_unit_test(the_report_says_why_there_are_no_ops),
		cmocka_unit_test(the_report_says_when_there_was_no_pytorch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
