/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the GPU time of layers is of: kernels, steps; and their memory and FLOPs.  All layers together have the whole.
 */
#include "analyzed.h"
#include "module_log.h"
#include "analyze/steps/differences.h"
#include "report/differences/differences.h"
#include "report/sums/layers.h"

#include "model/steps/steps.h"
#include "model/trace.h"
#include "whole_trace.h"

#define PARTS ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_TORCH_MEMORY, ANALYZE_KEY_AVERAGES, ANALYZE_LAYER_PARTS)
#define MM_SHAPES "[[8, 4], [4, 2]] [\"float\", \"float\"] [[4, 1], [2, 1]] [\"\", \"\"]"
#define MM_FLOPS (2 * 8 * 4 * 2)

static void set_up(struct forward_log *made)
{
	*made = forward_log_begin();
	describe_net(made);
	log_batch(&made->log, PID, TID, 900000000);
	log_agent_op_inputs(&made->log, 1, MM_SHAPES);
	log_agent_torch_memory_state(&made->log, 0, "");
	log_agent_name(&made->log, 2, "ampere_sgemm_128x64_tn");
	log_agent_name(&made->log, 3, "ampere_sgemm_64x64_tn");
}

/* A launch inside these modules, of a kernel by the number of its name. */
static void launch_kernel(struct forward_log *made, uint64_t time_us, uint64_t gpu_us, uint32_t name,
			  const uint64_t modules[4])
{
	log_call(&made->log, (struct gpt_call){.time_ns = time_us * 1000,
					       .pid = PID,
					       .tid = TID,
					       .stack_id = stack_in(made, modules),
					       .corr = ++made->corr,
					       .api = CUDA_LAUNCH,
					       .origin = GPT_ORIGIN_AGENT,
					       .stack_state = GPT_STACK_OK});
	log_batch(&made->log, PID, TID, 900000000);
	log_agent_kernel(&made->log, (struct gpt_agent_kernel){.start_wall_ns = time_us * 1000 + 1000,
							       .end_wall_ns = (time_us + 1 + gpu_us) * 1000,
							       .corr = made->corr,
							       .name = name});
}

static struct gpt_agent_op op_at(uint64_t start_us, uint32_t tid)
{
	return (struct gpt_agent_op){.start_ns = start_us,
				     .end_ns = start_us + 10,
				     .sequence = -1,
				     .thread = tid == ENGINE ? ENGINE_THREAD : FORWARD_THREAD,
				     .tid = tid,
				     .inputs = 1 | GPT_AGENT_NAME_OF_INPUTS};
}

/* Memory of a device with a stack inside these modules; none: without one. */
static void hand_out(struct forward_log *made, uint64_t time_us, uint32_t tid, int64_t bytes, uint8_t device_type,
		     const uint64_t modules[4])
{
	if (modules)
		log_stack_at(&made->log, (struct gpt_stack_at){.time_ns = time_us * 1000 - 1,
							       .stack_id = stack_in(made, modules),
							       .number = ++made->taken,
							       .pid = PID,
							       .tid = tid,
							       .what = GPT_STACK_OF_MEMORY});
	log_batch(&made->log, PID, TID, 900000000);
	log_agent_torch_memory(&made->log, (struct gpt_agent_torch_memory){.time_ns = time_us * 1000,
									   .address = 0x1000 * time_us,
									   .bytes = bytes,
									   .stack = modules ? made->taken : 0,
									   .tid = tid,
									   .kind = GPT_AGENT_TORCH_MEMORY_ALLOCATED,
									   .device_type = device_type,
									   .device = device_type ? 0 : -1,
									   .has_totals = device_type != GPT_TORCH_CPU});
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void assert_whole(const struct analyses *all)
{
	const struct layers *layers = &all->layers;
	struct layer_amount rows = {0}, classes = {0};
	uint64_t kernels = 0, steps = 0, flops = 0, known = 0;

	for (size_t i = 0; i < layers->count; i++)
		layer_amount_add(&rows, &layers->rows[i].self);
	for (size_t i = 0; i < layers->class_count; i++)
		layer_amount_add(&classes, &layers->classes[i].self);
	for (size_t i = 0; i < layers->kernels.count; i++)
		kernels += layers->kernels.entries[i].ns;
	for (size_t i = 0; i < layers->steps.count; i++)
		steps += layers->steps.entries[i].ns;
	for (size_t i = 0; i < all->keys.rows.count; i++)
		flops += all->keys.rows.items[i].flops;
	for (size_t i = 0; i < all->torch_memory.spaces.count; i++)
		if (all->torch_memory.spaces.items[i].device_type != GPT_TORCH_CPU)
			known += all->torch_memory.spaces.items[i].most_known;
	assert_int_equal(rows.ns, all->gpu_lines.sum);
	assert_int_equal(kernels, all->gpu_lines.sum);
	assert_int_equal(steps, all->gpu_lines.sum);
	assert_int_equal(rows.flops, flops);
	assert_int_equal(rows.memory_bytes, known);
	assert_int_equal(classes.flops, flops);
	assert_int_equal(classes.memory_bytes, known);
	assert_int_equal(layers->tree.nodes.items[0].total.flops, flops);
	assert_int_equal(layers->tree.nodes.items[0].total.memory_bytes, known);
}

/* "label memory bytes, FLOPs\n" of rows that have some, and the checks above. */
static char *rows_of(struct model *model)
{
	struct analyses all;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(analyze(&all, WHOLE_TRACE(model), PARTS, NULL), 0);
	assert_whole(&all);
	for (size_t i = 0; i < all.layers.count; i++) {
		const struct layer_row *row = &all.layers.rows[i];

		if (row->total.memory_bytes || row->total.flops)
			fprintf(out, "%s memory %llu/%llu, FLOPs %llu/%llu\n", layer_label(&all.layers, row),
				(unsigned long long)row->self.memory_bytes, (unsigned long long)row->total.memory_bytes,
				(unsigned long long)row->self.flops, (unsigned long long)row->total.flops);
	}
	fclose(out);
	analyses_free(&all);
	model_free(model);
	return text;
}

static void flops_are_of_the_layer_in_which_an_op_launched_or_was_called(void **state)
{
	struct forward_log made;
	char *text;

	(void)state;
	set_up(&made);
	forward_log_op(&made, "aten::mm", op_at(100, TID), 0);
	launch_in(&made, 105, 5, IN(LEAF, NET));
	forward_log_op(&made, "aten::mm", op_at(200, TID), 0);
	launch_in(&made, 205, 4, IN(NET));
	forward_log_op(&made, "aten::mm", op_at(300, TID), 20); /* it launches nothing; main called it */
	forward_log_op(&made, "aten::mm", op_at(400, TID), 0);	/* nor does this, which has no stack */
	text = rows_of(forward_log_end(&made));
	assert_string_equal(text, "Net.blocks.0.up memory 0/0, FLOPs 128/128\n"
				  "Net memory 0/0, FLOPs 128/256\n"
				  "[no module] memory 0/0, FLOPs 128/128\n"
				  "[no Python stack] memory 0/0, FLOPs 128/128\n");
	free(text);
}

static void flops_and_memory_of_a_backward_pass_are_of_the_layer_of_its_forward_op(void **state)
{
	struct forward_log made;
	char *text;

	(void)state;
	set_up(&made);
	log_stack_of_op_in(&made, 99999, IN(LEAF, NET));
	forward_log_op(&made, "aten::mm",
		       (struct gpt_agent_op){.start_ns = 100,
					     .end_ns = 110,
					     .sequence = 7,
					     .thread = FORWARD_THREAD,
					     .stack = made.taken,
					     .inputs = 1 | GPT_AGENT_NAME_OF_INPUTS},
		       0);
	launch_in(&made, 105, 3, IN(LEAF, NET));
	for (uint64_t i = 0; i < 2; i++) { /* the second one's forward op is not known */
		forward_log_launch(&made, 225 + 100 * i, 40 - i);
		hand_out(&made, 226 + 100 * i, ENGINE, 1000 + (int64_t)i, GPT_TORCH_CUDA, IN(0));
		forward_log_op(&made, "aten::mm", op_at(221 + 100 * i, ENGINE), 0);
		forward_log_node(&made, "MmBackward0", 220 + 100 * i, 235 + 100 * i, i ? 99 : 7, FORWARD_THREAD);
	}
	text = rows_of(forward_log_end(&made));
	assert_string_equal(text, "Net.blocks.0.up memory 1000/1000, FLOPs 256/256\n"
				  "[backward] memory 1001/1001, FLOPs 128/128\n"
				  "Net memory 0/1000, FLOPs 0/256\n");
	free(text);
}

/* A forward that a node computes again has its own modules. */
static void memory_is_of_the_module_that_asked_for_it_also_in_a_node(void **state)
{
	struct forward_log made;
	char *text;

	(void)state;
	set_up(&made);
	launch_in(&made, 105, 3, IN(LEAF, NET));
	hand_out(&made, 106, TID, 10, GPT_TORCH_CUDA, IN(NET));
	hand_out(&made, 107, TID, 200, GPT_TORCH_CUDA, IN(0));
	hand_out(&made, 108, TID, 3000, GPT_TORCH_CUDA, NULL);
	hand_out(&made, 109, TID, 40000, GPT_TORCH_CPU, IN(NET));
	hand_out(&made, 226, ENGINE, 500000, GPT_TORCH_CUDA, IN(BLOCK, NET));
	forward_log_node(&made, "CheckpointFunctionBackward", 220, 230, 7, FORWARD_THREAD);
	text = rows_of(forward_log_end(&made));
	assert_string_equal(text, "Net memory 10/500010, FLOPs 0/0\n"
				  "Net.blocks.0 memory 500000/500000, FLOPs 0/0\n"
				  "[no module] memory 200/200, FLOPs 0/0\n"
				  "[no Python stack] memory 3000/3000, FLOPs 0/0\n");
	free(text);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static char *table_of(struct trace *trace, struct layers_options options, const char *table, const char *format)
{
	const struct report_options page = {
		.width = 100, .table = table, .format = format ? table_format_by_name(format) : NULL};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_layers(out, trace, &page, &options), 0);
	fclose(out);
	return text;
}

static void assert_text(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

static struct model *of_kernels(void)
{
	struct forward_log made;

	set_up(&made);
	launch_kernel(&made, 100, 40, 2, IN(LEAF, BLOCK, NET));
	launch_kernel(&made, 200, 20, 3, IN(LEAF, BLOCK, NET));
	launch_kernel(&made, 300, 25, 1, IN(LEAF, BLOCK, NET));
	launch_kernel(&made, 400, 10, 2, IN(NET));
	launch_kernel(&made, 500, 4, 1, IN(0));
	launch_kernel(&made, 600, 1, 2, IN(BLOCK, NET));
	return forward_log_end(&made);
}

static void kernels_of_a_layer_are_rows_by_family(void **state)
{
	struct model *model = of_kernels();
	struct layers_options all = {0}, large = {.min_percent = 5000, .depth = 1};

	(void)state;
	assert_text(table_of(WHOLE_TRACE(model), all, "layer_kernels", "csv"),
		    "gpu_ns,percent,count,kernel,layer,class,process\n"
		    "60000,60,2,ampere_sgemm_#x#_tn,Net.blocks.0.up,Linear,python3 41230\n"
		    "25000,25,1,kernel,Net.blocks.0.up,Linear,python3 41230\n"
		    "10000,10,1,ampere_sgemm_#x#_tn,Net,Net,python3 41230\n"
		    "4000,4,1,kernel,[no module],,python3 41230\n"
		    "1000,1,1,ampere_sgemm_#x#_tn,Net.blocks.0,Block,python3 41230\n");
	/* what is deeper is of the last level, and what is too small is one row */
	assert_text(table_of(WHOLE_TRACE(model), large, "layer_kernels", NULL),
		    "GPU time by layer and kernel   kernels that differ in types and sizes only are one; % of GPU "
		    "time\n"
		    "    us     %  count  kernel               layer  class\n"
		    "  71.0  71.0      4  ampere_sgemm_#x#_tn  Net    Net\n"
		    "  25.0  25.0      1  kernel               Net    Net\n"
		    "   4.0   4.0      1  [1 smaller]          -      -\n");
	model_free(model);
}

static void a_page_has_the_tables_by_kernel_and_step_only_if_they_are_named(void **state)
{
	struct model *model = of_kernels();
	char *page = table_of(WHOLE_TRACE(model), (struct layers_options){0}, NULL, NULL),
	     *json = table_of(WHOLE_TRACE(model), (struct layers_options){0}, NULL, "json");

	(void)state;
	assert_null(strstr(page, "kernel"));
	assert_null(strstr(page, "memory"));
	assert_null(strstr(page, "FLOPs"));
	assert_non_null(strstr(page, "GPU time by class of layer"));
	assert_non_null(strstr(json, "\"memory_bytes\": null, \"flops\": null"));
	assert_non_null(strstr(json, "\"id\": \"layer_kernels\""));
	assert_non_null(strstr(json, "\"id\": \"layer_steps\""));
	free(page);
	free(json);
	model_free(model);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Step i launches 10 + i us in Net's leaf and 1 us in Net; an optimizer ends it.  Between the last two is one launch.
 */
static struct model *of_steps(uint64_t steps)
{
	struct forward_log made;

	set_up(&made);
	for (uint64_t i = 0; i < steps; i++) {
		struct gpt_agent_op end = {.start_ns = 100 * i + 180, .end_ns = 100 * i + 200, .sequence = -1};

		launch_in(&made, 100 * i + 105, 10 + i, IN(LEAF, NET));
		launch_in(&made, 100 * i + 155, 1, IN(NET));
		end.scope = GPT_AGENT_OP_USER_SCOPE;
		forward_log_op(&made, "Optimizer.step#Adam.step", end, 0);
	}
	launch_in(&made, 100 * steps + 150, 7, IN(0));
	return forward_log_end(&made);
}

static struct trace *with_steps(struct trace_of_model *of, struct model *model, struct steps *steps)
{
	struct trace *trace = trace_of_model(of, model);

	assert_int_equal(steps_find(steps, trace, &(struct step_request){0}), 0);
	trace->steps = steps;
	return trace;
}

static void steps_are_columns_of_a_page_and_rows_for_programs(void **state)
{
	struct model *model = of_steps(4);
	struct trace_of_model of;
	struct steps steps;
	struct trace *trace = with_steps(&of, model, &steps);
	struct analyses all;

	(void)state;
	assert_text(table_of(trace, (struct layers_options){0}, "layer_steps", NULL),
		    "GPU time by layer and step\n"
		    "  total us of a step, on average where a column has several\n"
		    "  step 1  step 2  step 3  no step  layer\n"
		    "    12.0    13.0    14.0     11.0  Net\n"
		    "    11.0    12.0    13.0     10.0  \u00a0\u00a0blocks.0.up\n"
		    "     0.0     0.0     0.0      7.0  [no module]\n");
	assert_text(table_of(trace, (struct layers_options){.depth = 1}, "layer_steps", "csv"),
		    "total_ns,self_ns,step,steps,depth,layer,class,process\n"
		    "12000,12000,1,1,0,Net,Net,python3 41230\n"
		    "13000,13000,2,1,0,Net,Net,python3 41230\n"
		    "14000,14000,3,1,0,Net,Net,python3 41230\n"
		    "11000,11000,,0,0,Net,Net,python3 41230\n"
		    "7000,7000,,0,0,[no module],,python3 41230\n");
	assert_int_equal(analyze(&all, trace, PARTS, NULL), 0);
	assert_whole(&all);
	analyses_free(&all);
	steps_free(&steps);
	model_free(model);
}

static void many_steps_share_columns(void **state)
{
	struct model *model = of_steps(17);
	struct trace_of_model of;
	struct steps steps;
	struct trace *trace = with_steps(&of, model, &steps);

	(void)state;
	assert_text(table_of(trace, (struct layers_options){.depth = 1}, "layer_steps", NULL),
		    "GPU time by layer and step\n"
		    "  total us of a step, on average where a column has several\n"
		    "   1-2   3-4   5-6   7-8  9-10  11-12  13-14  15-16  no step  layer\n"
		    "  12.5  14.5  16.5  18.5  20.5   22.5   24.5   26.5     11.0  Net\n"
		    "   0.0   0.0   0.0   0.0   0.0    0.0    0.0    0.0      7.0  [no module]\n");
	steps_free(&steps);
	model_free(model);
}

static void without_steps_the_table_says_how_they_are_found(void **state)
{
	struct model *model = of_kernels();

	(void)state;
	assert_text(table_of(WHOLE_TRACE(model), (struct layers_options){0}, "layer_steps", NULL),
		    "GPU time by layer and step\n"
		    "  no steps were found; they are found by --ops, or --step says what they are\n");
	model_free(model);
}

/* ---- two traces -------------------------------------------------------------------------------------------------- */

static void make_tables(struct per_step_tables *tables, struct model *model)
{
	struct analyses all;

	assert_int_equal(analyze(&all, WHOLE_TRACE(model), ANALYZE_PER_STEP_TABLES, NULL), 0);
	per_step_tables_make(tables, &all);
	analyses_free(&all);
	model_free(model);
}

static double sum_of(const struct per_step_rows *rows)
{
	double sum = 0;

	for (size_t i = 0; i < rows->list.count; i++)
		sum += rows->list.items[i].cost.mean;
	return sum;
}

static char *difference_of_layers(const struct differences *all, const struct per_step_tables *tables,
				  const char *format)
{
	const struct differences_options options = {
		.before = {.names = (const char *const[]){"a.gpt"}, .tables = &tables[0], .count = 1},
		.after = {.names = (const char *const[]){"b.gpt"}, .tables = &tables[1], .count = 1},
		.only_layers = true,
		.table = format ? "diff_layer_kernels" : NULL,
		.format = format ? table_format_by_name(format) : NULL};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_differences(out, all, &options), 0);
	fclose(out);
	return text;
}

static void assert_has(char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no line '%s' in:\n%s", line, text);
}

static void what_changed_in_a_layer_is_said_with_its_kernels(void **state)
{
	struct per_step_tables tables[2];
	struct differences all;
	struct forward_log made;
	char *text;

	(void)state;
	set_up(&made);
	launch_kernel(&made, 100, 60, 2, IN(LEAF, BLOCK, NET));
	launch_kernel(&made, 200, 30, 3, IN(LEAF, BLOCK, NET)); /* of the same family */
	launch_kernel(&made, 300, 5, 1, IN(NET));
	launch_kernel(&made, 400, 4, 1, IN(0));
	make_tables(&tables[0], of_kernels());
	make_tables(&tables[1], forward_log_end(&made));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(sum_of(&tables[i].layers), tables[i].gpu_ns.mean);
		assert_int_equal(sum_of(&tables[i].layer_kernels), tables[i].gpu_ns.mean);
	}
	differences_make(&all, &tables[0], &tables[1]);
	text = difference_of_layers(&all, tables, "csv");
	assert_has(text, "Net.blocks.0.up,ampere_sgemm_#x#_tn\n");
	assert_has(text, "60000,90000,30000,");
	assert_has(text, "25000,0,-25000,");
	free(text);
	text = difference_of_layers(&all, tables, NULL);
	assert_has(text, "GPU time by layer of the model");
	assert_has(text, "GPU time by layer and kernel");
	assert_has(text, "Net.blocks.0.up  ampere_sgemm_#x#_tn\n");
	assert_null(strstr(text, "GPU time by line"));
	free(text);
	differences_free(&all);
	per_step_tables_free(&tables[0]);
	per_step_tables_free(&tables[1]);
}

static void without_modules_there_are_no_layers_to_compare(void **state)
{
	struct per_step_tables tables[2];
	struct differences all;
	char *text;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct forward_log made;

		set_up(&made);
		launch_kernel(&made, 400, 4, 1, i ? IN(NET) : IN(0));
		make_tables(&tables[i], forward_log_end(&made));
	}
	differences_make(&all, &tables[0], &tables[1]);
	text = difference_of_layers(&all, tables, NULL);
	assert_has(text, "  no call of a torch.nn.Module is on a stack with GPU work in the one before\n");
	free(text);
	differences_free(&all);
	per_step_tables_free(&tables[0]);
	per_step_tables_free(&tables[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flops_are_of_the_layer_in_which_an_op_launched_or_was_called),
		cmocka_unit_test(flops_and_memory_of_a_backward_pass_are_of_the_layer_of_its_forward_op),
		cmocka_unit_test(memory_is_of_the_module_that_asked_for_it_also_in_a_node),
		cmocka_unit_test(kernels_of_a_layer_are_rows_by_family),
		cmocka_unit_test(a_page_has_the_tables_by_kernel_and_step_only_if_they_are_named),
		cmocka_unit_test(steps_are_columns_of_a_page_and_rows_for_programs),
		cmocka_unit_test(many_steps_share_columns),
		cmocka_unit_test(without_steps_the_table_says_how_they_are_found),
		cmocka_unit_test(what_changed_in_a_layer_is_said_with_its_kernels),
		cmocka_unit_test(without_modules_there_are_no_layers_to_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
