/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by module of PyTorch: own parts and totals, what belongs to no module, and what has no name. */
#include <errno.h>

#include "analyzed.h"
#include "export/folded/folded.h"
#include "module_log.h"
#include "report/report.h"
#include "report/sums/layers.h"
#include "report/why/why.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* All rows as "kind class of root#root.name (class) self/total us xlaunches\n", largest own part first. */
static char *rows_of(const struct analyses *all)
{
	static const char *const kinds[] = {"module", "unnamed", "backward", "none", "missing", "no stack", "no line"};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	uint64_t sum = 0;

	for (size_t i = 0; i < all->layers.count; i++) {
		const struct layer_row *row = &all->layers.rows[i];
		const struct model_module *module = row->module == NONE ? NULL : &all->model->modules[row->module];

		fprintf(out, "%s", kinds[row->kind]);
		if (row->kind == LAYER_MODULE)
			fprintf(out, " %s#%u.%s", module->root_class, module->number_in_label, module->name);
		if (module)
			fprintf(out, " (%s)", module->class);
		fprintf(out, " %llu/%llu x%llu", (unsigned long long)row->self.ns / 1000,
			(unsigned long long)row->total.ns / 1000, (unsigned long long)row->self.launches);
		if (row->total.backward_ns)
			fprintf(out, " backward %llu/%llu", (unsigned long long)row->self.backward_ns / 1000,
				(unsigned long long)row->total.backward_ns / 1000);
		if (row->total.recomputed_ns)
			fprintf(out, " recomputed %llu/%llu", (unsigned long long)row->self.recomputed_ns / 1000,
				(unsigned long long)row->total.recomputed_ns / 1000);
		fputc('\n', out);
		sum += row->self.ns;
	}
	fclose(out);
	assert_int_equal(sum, all->layers.count ? all->gpu_lines.sum : 0);
	return text;
}

static void assert_same(const struct layer_amount *a, const struct layer_amount *b)
{
	assert_int_equal(a->ns, b->ns);
	assert_int_equal(a->launches, b->launches);
	assert_int_equal(a->idle_ns, b->idle_ns);
	assert_int_equal(a->backward_ns, b->backward_ns);
	assert_int_equal(a->recomputed_ns, b->recomputed_ns);
}

/* What is under a node, and what of a row is in its nodes; the outermost of a path have the row's total. */
static struct layer_amount sum_node(const struct layers *layers, uint32_t node, struct layer_amount *self,
				    struct layer_amount *total, unsigned *open)
{
	const struct layer_node *of = &layers->tree.nodes.items[node];
	struct layer_amount sum = of->self;

	if (node) {
		layer_amount_add(&self[of->row], &of->self);
		if (!open[of->row]++)
			layer_amount_add(&total[of->row], &of->total);
	}
	for (uint32_t child = of->children; child != NONE; child = layers->tree.nodes.items[child].next) {
		struct layer_amount below = sum_node(layers, child, self, total, open);

		layer_amount_add(&sum, &below);
	}
	if (node)
		open[of->row]--;
	assert_same(&sum, &of->total);
	return sum;
}

/* Rows, nodes and classes each have all GPU time and all idle time between operations. */
static void assert_parts_are_the_whole(const struct analyses *all)
{
	const struct layers *layers = &all->layers;
	struct layer_amount *self = xcalloc(layers->count + 1, sizeof(*self)),
			    *total = xcalloc(layers->count + 1, sizeof(*total));
	unsigned *open = xcalloc(layers->count + 1, sizeof(*open));
	struct layer_amount rows = {0}, classes = {0}, nodes;

	if (layers->count) {
		nodes = sum_node(layers, 0, self, total, open);
		for (size_t i = 0; i < layers->count; i++) {
			layer_amount_add(&rows, &layers->rows[i].self);
			assert_same(&self[i], &layers->rows[i].self);
			assert_same(&total[i], &layers->rows[i].total);
		}
		for (size_t i = 0; i < layers->class_count; i++)
			layer_amount_add(&classes, &layers->classes[i].self);
		assert_same(&rows, &nodes);
		assert_same(&rows, &classes);
		assert_int_equal(rows.ns, all->gpu_lines.sum);
		assert_int_equal(rows.idle_ns, all->idle.sum);
		assert_int_equal(rows.idle_ns, layers->all.idle_ns);
	}
	free(self);
	free(total);
	free(open);
}

static void assert_rows(struct model *model, const struct attribution *attribution, const char *expected)
{
	struct analyses all;
	char *text;

	assert_int_equal(analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_LAYERS),
				 attribution),
			 0);
	text = rows_of(&all);
	assert_string_equal(text, expected);
	assert_parts_are_the_whole(&all);
	free(text);
	analyses_free(&all);
	model_free(model);
}

static void time_is_of_the_innermost_module_and_in_the_total_of_all(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	launch_in(&made, 100, 5, IN(LEAF, BLOCK, NET));
	launch_in(&made, 200, 7, IN(LEAF, BLOCK, NET));
	launch_in(&made, 300, 3, IN(BLOCK, NET));
	launch_in(&made, 400, 2, IN(0));
	assert_rows(forward_log_end(&made), NULL,
		    "module Net#0.blocks.0.up (Linear) 12/12 x2\n"
		    "module Net#0.blocks.0 (Block) 3/15 x1\n"
		    "none 2/2 x1\n"
		    "module Net#0. (Net) 0/15 x0\n");
}

static void a_module_that_calls_itself_has_its_time_once(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	launch_in(&made, 100, 5, IN(LEAF, LEAF, NET));
	assert_rows(forward_log_end(&made), NULL,
		    "module Net#0.blocks.0.up (Linear) 5/5 x1\n"
		    "module Net#0. (Net) 0/5 x0\n");
}

static void a_trace_without_modules_has_no_rows(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	launch_in(&made, 100, 5, IN(0));
	assert_rows(forward_log_end(&made), NULL, "");
}

static void modules_without_a_name_are_a_row_for_each_class(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe(&made, LOOSE, 0, (const char *const[]){"", "Replica", "", "it is in no tree"});
	describe(&made, LOOSE + 1, 0, (const char *const[]){"", "Replica", "", "it is in no tree"});
	launch_in(&made, 100, 5, IN(LOOSE));
	launch_in(&made, 200, 6, IN(LOOSE + 1));
	launch_in(&made, 300, 1, IN(LOOSE + 2)); /* the log does not describe it */
	assert_rows(forward_log_end(&made), NULL,
		    "unnamed (Replica) 11/11 x2\n"
		    "unnamed () 1/1 x1\n");
}

static void roots_of_one_class_are_told_apart_unless_there_are_many(void **state)
{
	struct forward_log made = forward_log_begin(), many = forward_log_begin();

	(void)state;
	describe_net(&made);
	describe(&made, OTHER_LEAF, 2, (const char *const[]){"blocks.0.up", "Linear", "Net", ""});
	launch_in(&made, 100, 5, IN(LEAF));
	launch_in(&made, 200, 6, IN(OTHER_LEAF));
	assert_rows(forward_log_end(&made), NULL,
		    "module Net#2.blocks.0.up (Linear) 6/6 x1\n"
		    "module Net#1.blocks.0.up (Linear) 5/5 x1\n");
	for (uint32_t i = 1; i <= MODEL_ROOTS_NUMBERED + 1; i++) {
		describe(&many, NET + i, i, (const char *const[]){"", "Loss", "Loss", ""});
		launch_in(&many, 100 * (uint64_t)i, 2, IN(NET + i));
	}
	assert_rows(forward_log_end(&many), NULL, "module Loss#0. (Loss) 18/18 x9\n");
}

/* ---- what belongs to no module ----------------------------------------------------------------------------------- */

static void a_backward_pass_is_no_layer_s_unless_its_forward_op_is_known(void **state)
{
	struct attribution forward = {.forward = true};

	(void)state;
	for (int on_forward = 0; on_forward <= 1; on_forward++) {
		struct forward_log made = forward_log_begin();

		describe_net(&made);
		forward_log_op(
			&made, "aten::mm",
			(struct gpt_agent_op){.start_ns = 100, .end_ns = 110, .sequence = 7, .thread = FORWARD_THREAD},
			0);
		launch_in(&made, 105, 3, IN(LEAF, NET));
		forward_log_launch(&made, 225, 40);
		forward_log_node(&made, "MmBackward0", 220, 230, 7, FORWARD_THREAD);
		assert_rows(forward_log_end(&made), on_forward ? &forward : NULL,
			    "backward 40/40 x1 backward 40/40\n"
			    "module Net#0.blocks.0.up (Linear) 3/3 x1\n"
			    "module Net#0. (Net) 0/3 x0\n");
	}
}

/* A forward op, of which the stack was taken, inside these modules. */
static void forward_op_in(struct forward_log *made, uint64_t start_us, int64_t sequence, const uint64_t modules[4])
{
	log_stack_of_op_in(made, start_us * 1000 - 1, modules);
	forward_log_op(made, "aten::mm",
		       (struct gpt_agent_op){.start_ns = start_us,
					     .end_ns = start_us + 10,
					     .sequence = sequence,
					     .thread = FORWARD_THREAD,
					     .stack = made->taken},
		       0);
}

static void backward_work_is_of_the_module_of_its_forward_op_whatever_line_gets_it(void **state)
{
	struct attribution forward = {.forward = true};

	(void)state;
	for (int on_forward = 0; on_forward <= 1; on_forward++) {
		struct forward_log made = forward_log_begin();

		describe_net(&made);
		forward_op_in(&made, 100, 7, IN(LEAF, NET));
		launch_in(&made, 105, 3, IN(LEAF, NET));
		forward_op_in(&made, 120, 8, IN(0));
		forward_log_launch(&made, 225, 40);
		forward_log_node(&made, "MmBackward0", 220, 230, 7, FORWARD_THREAD);
		forward_log_launch(&made, 325, 20);
		forward_log_node(&made, "MmBackward0", 320, 330, 8, FORWARD_THREAD);
		assert_rows(forward_log_end(&made), on_forward ? &forward : NULL,
			    "module Net#0.blocks.0.up (Linear) 43/43 x2 backward 40/40\n"
			    "none 20/20 x1 backward 20/20\n"
			    "module Net#0. (Net) 0/43 x0 backward 0/40\n");
	}
}

/* As activation checkpointing does, and custom functions do. */
static void what_python_launches_in_a_node_is_recomputed_in_a_module_and_else_backward(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	launch_in(&made, 105, 3, IN(LEAF, BLOCK, NET));
	forward_log_call(&made, ENGINE, 205, 9, stack_in(&made, IN(LEAF, BLOCK)), GPT_STACK_OK);
	forward_log_call(&made, ENGINE, 220, 2, stack_in(&made, IN(0)), GPT_STACK_OK);
	forward_log_node(&made, "CheckpointFunctionBackward", 200, 230, 7, FORWARD_THREAD);
	assert_rows(forward_log_end(&made), NULL,
		    "module Net#0.blocks.0.up (Linear) 12/12 x2 recomputed 9/9\n"
		    "backward 2/2 x1 backward 2/2\n"
		    "module Net#0.blocks.0 (Block) 0/12 x0 recomputed 0/9\n"
		    "module Net#0. (Net) 0/3 x0\n");
}

/* As custom functions do, and PyTorch's own dispatch to Python. */
static void what_python_launches_in_a_node_outside_of_modules_is_of_the_module_of_the_forward_op(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	forward_op_in(&made, 100, 7, IN(LEAF, NET));
	launch_in(&made, 105, 3, IN(LEAF, NET));
	forward_log_call(&made, ENGINE, 205, 9, stack_in(&made, IN(BLOCK)), GPT_STACK_OK);
	forward_log_call(&made, ENGINE, 220, 2, stack_in(&made, IN(0)), GPT_STACK_OK);
	forward_log_node(&made, "FusedBackward", 200, 230, 7, FORWARD_THREAD);
	assert_rows(forward_log_end(&made), NULL,
		    "module Net#0.blocks.0 (Block) 9/9 x1 recomputed 9/9\n"
		    "module Net#0.blocks.0.up (Linear) 5/5 x2 backward 2/2\n"
		    "module Net#0. (Net) 0/5 x0 backward 0/2\n");
}

static void what_was_launched_where_no_python_is_known_has_its_own_row(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	launch_in(&made, 100, 5, IN(LEAF, NET));
	forward_log_call(&made, TID, 200, 9, 0, GPT_STACK_NO_PYTHON);
	assert_rows(forward_log_end(&made), NULL,
		    "no stack 9/9 x1\n"
		    "module Net#0.blocks.0.up (Linear) 5/5 x1\n"
		    "module Net#0. (Net) 0/5 x0\n");
}

/* Of a deep stack frames in the middle are left out, and with them perhaps the call of a module. */
static void launch_deep(struct forward_log *made, uint64_t time_us, uint64_t gpu_us, int32_t frame_of_module)
{
	enum { GAP = GPT_PYSTACK_MAX_FRAMES - GPT_PYSTACK_OUTER_FRAMES - 1 };
	struct gpt_pyframe frames[GPT_PYSTACK_MAX_FRAMES + 1];
	struct gpt_stack_module module = {.module = NET, .frame = frame_of_module};
	struct gpt_pystack record = {.hdr.flags =
					     GPT_PYSTACK_TRUNCATED | (frame_of_module >= 0 ? GPT_PYSTACK_MODULES : 0),
				     .id = 900 + time_us,
				     .pid = PID,
				     .depth = GPT_PYSTACK_MAX_FRAMES};
	uint32_t count = GPT_PYSTACK_MAX_FRAMES;

	log_function(&made->log, PID, CODE(0), "main", "/src/train.py", 10);
	for (uint32_t i = 0; i < count; i++)
		frames[i] = (struct gpt_pyframe){.code = CODE(0)};
	frames[GAP] = (struct gpt_pyframe){.lasti = 11};
	if (frame_of_module >= 0)
		memcpy(&frames[count++], &module, sizeof(module));
	log_put(&made->log, GPT_PYSTACK, &record, sizeof(record), frames, count * sizeof(*frames));
	forward_log_call(made, TID, time_us, gpu_us, record.id, GPT_STACK_OK);
}

static void the_innermost_module_is_not_guessed_where_frames_are_left_out(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	launch_deep(&made, 100, 5, 3);	  /* further in than the gap: it is the innermost */
	launch_deep(&made, 200, 20, 100); /* further out */
	launch_deep(&made, 300, 40, -1);
	assert_rows(forward_log_end(&made), NULL,
		    "missing 60/60 x2\n"
		    "module Net#0. (Net) 5/25 x1\n");
}

static void assert_has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no line '%s' in:\n%s", line, text);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- idle time --------------------------------------------------------------------------------------------------- */

static void idle_time_is_of_the_innermost_module_of_the_line_to_blame(void **state)
{
	struct forward_log made = forward_log_begin();
	struct model *model;
	struct analyses all;

	(void)state;
	describe_net(&made);
	launch_in(&made, 1000, 5, IN(BLOCK, NET));
	launch_in(&made, 9000, 7, IN(LEAF, BLOCK, NET));
	launch_in(&made, 29000, 7, IN(0));
	model = forward_log_end(&made);
	assert_int_equal(
		analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_LAYERS), NULL), 0);
	assert_parts_are_the_whole(&all);
	assert_int_equal(all.layers.count, 4);
	for (size_t i = 0; i < all.layers.count; i++) {
		const struct layer_row *row = &all.layers.rows[i];
		const char *class = row->module == NONE ? "" : all.model->modules[row->module].class;
		bool is_leaf = !strcmp(class, "Linear");

		assert_int_equal(row->self.idle_ns / 1000000, is_leaf ? 7 : row->kind == LAYER_NONE ? 19 : 0);
		assert_int_equal(row->total.idle_ns / 1000000, row->kind == LAYER_NONE ? 19 : 7);
	}
	analyses_free(&all);
	model_free(model);
}

static void idle_time_for_which_no_line_is_to_blame_has_its_own_row(void **state)
{
	struct forward_log made = forward_log_begin();
	struct model *model;
	struct analyses all;

	(void)state;
	describe_net(&made);
	launch_in(&made, 1000, 6, IN(LEAF, NET));
	launch_in(&made, 1009, 100, IN(LEAF, NET)); /* after a gap of 3 us */
	model = forward_log_end(&made);
	assert_int_equal(
		analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_LAYERS), NULL), 0);
	assert_parts_are_the_whole(&all);
	assert_int_equal(all.layers.count, 3);
	assert_int_equal(all.layers.rows[2].kind, LAYER_NO_LINE);
	assert_int_equal(all.layers.rows[2].self.idle_ns, 3000);
	analyses_free(&all);
	model_free(model);
}

/* Idle time of rows, in ms: "kind ms\n", by name for layers. */
static char *idle_rows_of(struct model *model)
{
	struct analyses all;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(
		analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_LAYERS), NULL), 0);
	assert_parts_are_the_whole(&all);
	for (size_t i = 0; i < all.layers.count; i++) {
		const struct layer_row *row = &all.layers.rows[i];

		if (row->self.idle_ns)
			fprintf(out, "%s %llu\n", layer_label(&all.layers, row),
				(unsigned long long)row->self.idle_ns / 1000000);
	}
	fclose(out);
	analyses_free(&all);
	model_free(model);
	return text;
}

static void idle_time_before_backward_work_is_of_the_module_of_its_forward_op(void **state)
{
	struct forward_log made = forward_log_begin();
	char *text;

	(void)state;
	describe_net(&made);
	forward_op_in(&made, 1000, 7, IN(LEAF, NET));
	launch_in(&made, 1005, 3, IN(LEAF, NET));
	forward_log_launch(&made, 9000, 40);
	forward_log_node(&made, "MmBackward0", 8990, 9010, 7, FORWARD_THREAD);
	forward_log_launch(&made, 14000, 20); /* its forward op is not known */
	forward_log_node(&made, "MmBackward0", 13990, 14010, 99, FORWARD_THREAD);
	launch_in(&made, 17000, 3, IN(0));
	text = idle_rows_of(forward_log_end(&made));
	assert_string_equal(text, "Net.blocks.0.up 7\n"
				  "[backward] 4\n"
				  "[no module] 2\n");
	free(text);
}

static void a_short_gap_before_backward_work_is_no_layer_s(void **state)
{
	struct forward_log made = forward_log_begin();
	struct model *model;
	struct analyses all;

	(void)state;
	describe_net(&made);
	forward_op_in(&made, 1000, 7, IN(LEAF, NET));
	launch_in(&made, 1005, 100, IN(LEAF, NET)); /* up to 1106 or so */
	forward_log_launch(&made, 1107, 100);
	forward_log_node(&made, "MmBackward0", 1090, 1120, 7, FORWARD_THREAD);
	model = forward_log_end(&made);
	assert_int_equal(
		analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES, ANALYZE_IDLE, ANALYZE_LAYERS), NULL), 0);
	assert_parts_are_the_whole(&all);
	assert_in_range(all.idle.sum, 1, 4999);
	for (size_t i = 0; i < all.layers.count; i++)
		assert_int_equal(all.layers.rows[i].self.idle_ns,
				 all.layers.rows[i].kind == LAYER_NO_LINE ? all.idle.sum : 0);
	analyses_free(&all);
	model_free(model);
}

static void assert_why(struct model *model, const char *const *lines)
{
	const struct report_options options = {.width = 100};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_why(out, WHOLE_TRACE(model), &options), 0);
	fclose(out);
	for (; *lines; lines++)
		assert_has(text, *lines);
	free(text);
	model_free(model);
}

static void why_names_the_layer_beside_the_line(void **state)
{
	struct forward_log made = forward_log_begin();

	(void)state;
	describe_net(&made);
	describe(&made, LOOSE, 0, (const char *const[]){"", "Replica", "", "it is in no tree"});
	launch_in(&made, 1000, 5, IN(0));
	launch_in(&made, 9000, 7, IN(LEAF, BLOCK, NET));
	launch_in(&made, 29000, 7, IN(0));
	assert_why(forward_log_end(&made), LINES(":20 __call__, in Net.blocks.0.up:", ":10 main: 20.0 ms\n"));
	made = forward_log_begin();
	describe_net(&made);
	describe(&made, LOOSE, 0, (const char *const[]){"", "Replica", "", "it is in no tree"});
	launch_in(&made, 1000, 5, IN(0));
	launch_in(&made, 9000, 5, IN(LEAF, BLOCK, NET));
	launch_in(&made, 29000, 5, IN(LOOSE));
	launch_in(&made, 37000, 5, IN(LEAF, BLOCK, NET));
	assert_why(forward_log_end(&made), LINES("20.0 ms of it in [no name] Replica"));
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static char *tree_with(const struct model *model, struct layers_options options, const char *format)
{
	const struct report_options page = {.width = 100, .format = format ? table_format_by_name(format) : NULL};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_layers(out, WHOLE_TRACE(model), &page, &options), 0);
	fclose(out);
	return text;
}

static void the_tree_has_columns_for_the_passes_that_there_were(void **state)
{
	struct forward_log made = forward_log_begin();
	struct model *model;
	char *text;

	(void)state;
	describe_net(&made);
	forward_op_in(&made, 100, 7, IN(LEAF, NET));
	launch_in(&made, 105, 3, IN(LEAF, NET));
	forward_log_launch(&made, 225, 40);
	forward_log_node(&made, "MmBackward0", 220, 230, 7, FORWARD_THREAD);
	model = forward_log_end(&made);
	text = tree_with(model, (struct layers_options){0}, NULL);
	assert_has(text, "backward us");
	assert_null(strstr(text, "recomputed"));
	assert_null(strstr(text, "--forward-lines"));
	free(text);
	text = tree_with(model, (struct layers_options){0}, "json");
	assert_has(text, "\"backward_ns\": 40000, \"recomputed_ns\": 0");
	free(text);
	model_free(model);
	made = forward_log_begin();
	describe_net(&made);
	launch_in(&made, 105, 3, IN(LEAF, NET));
	forward_log_launch(&made, 225, 40);
	forward_log_node(&made, "MmBackward0", 220, 230, 7, FORWARD_THREAD);
	model = forward_log_end(&made);
	text = tree_with(model, (struct layers_options){0}, NULL);
	assert_has(
		text,
		"[backward]: the layer of a backward pass is known where --forward-lines recorded the forward ops\n");
	free(text);
	model_free(model);
}

static struct model *two_blocks(void)
{
	struct forward_log made = forward_log_begin();

	describe_net(&made);
	describe(&made, LOOSE, 1, (const char *const[]){"blocks.1", "Block", "Net", ""});
	launch_in(&made, 100, 60, IN(LEAF, BLOCK, NET));
	launch_in(&made, 200, 25, IN(LEAF, LOOSE, NET)); /* it is shared */
	launch_in(&made, 300, 10, IN(LOOSE, NET));
	launch_in(&made, 400, 4, IN(0));
	launch_in(&made, 500, 1, IN(NET));
	return forward_log_end(&made);
}

static void assert_tree(struct model *model, struct layers_options options, const char *format,
			const char *const *lines)
{
	char *text = tree_with(model, options, format);

	for (; *lines; lines++)
		assert_has(text, *lines);
	free(text);
}

static void a_layer_stands_under_the_one_that_called_it(void **state)
{
	struct model *model = two_blocks();

	(void)state;
	assert_tree(model, (struct layers_options){0}, "csv",
		    LINES("total_ns,self_ns,percent,launches,backward_ns,recomputed_ns,idle_ns,"
			  "backward_self_ns,recomputed_self_ns,idle_self_ns,memory_bytes,flops,memory_self_bytes,"
			  "flops_self,depth,layer,class,process\n"
			  "96000,1000,96,1,0,0,211000,0,0,96000,,,,,0,Net,Net,python3 41230\n"
			  "60000,0,60,0,0,0,0,0,0,0,,,,,1,Net.blocks.0,Block,python3 41230\n"
			  "60000,60000,60,1,0,0,0,0,0,0,,,,,2,Net.blocks.0.up,Linear,python3 41230\n"
			  "35000,10000,35,1,0,0,115000,0,0,75000,,,,,1,Net.blocks.1,Block,python3 41230\n"
			  "25000,25000,25,1,0,0,40000,0,0,40000,,,,,2,Net.blocks.0.up,Linear,python3 41230\n"
			  "4000,4000,4,1,0,0,90000,0,0,90000,,,,,0,[no module],,python3 41230\n"));
	assert_tree(
		model, (struct layers_options){0}, NULL,
		LINES("  total us  self us     %  calls  idle us  layer                class\n"
		      "      96.0      1.0  96.0      1    211.0  Net                  Net\n"
		      "      60.0      0.0  60.0      0      0.0  \u00a0\u00a0blocks.0           Block\n"
		      "      60.0     60.0  60.0      1      0.0  \u00a0\u00a0\u00a0\u00a0up               Linear\n",
		      "      25.0     25.0  25.0      1     40.0  \u00a0\u00a0\u00a0\u00a0Net.blocks.0.up  Linear\n"
		      "       4.0      4.0   4.0      1     90.0  [no module]          -\n"));
	model_free(model);
}

static void work_of_a_graph_stands_under_the_modules_that_launched_it_and_were_captured(void **state)
{
	static const char all[] = "0,Net,Net|1,Net.blocks.0,Block|2,Net.blocks.0.up,Linear";
	const struct {
		const uint64_t *captured, *launching;
		const char *rows;
	} cases[] = {
		{IN(LEAF, BLOCK), IN(BLOCK, NET), all},	     {IN(LEAF, BLOCK, NET), IN(NET), all},
		{IN(LEAF, BLOCK, NET), IN(BLOCK, NET), all}, {IN(LEAF), IN(BLOCK, NET), all},
		{IN(LEAF, BLOCK, NET), IN(0), all},	     {IN(0), IN(BLOCK, NET), "0,Net,Net|1,Net.blocks.0,Block"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forward_log made = forward_log_begin();
		struct model *model;
		char *text, rows[256], *end = rows;

		describe_net(&made);
		launch_graph_in(&made, 100, 30, cases[i].captured, cases[i].launching);
		model = forward_log_end(&made);
		text = tree_with(model, (struct layers_options){0}, "csv");
		strtok(text, "\n");
		for (char *line = strtok(NULL, "\n"); line; line = strtok(NULL, "\n")) {
			assert_int_equal(strncmp(line, "30000,", 6), 0);
			for (int comma = 0; comma < 14; comma++)
				line = strchr(line, ',') + 1;
			*strrchr(line, ',') = '\0';
			end += sprintf(end, "%s%s", end == rows ? "" : "|", line);
		}
		assert_string_equal(rows, cases[i].rows);
		free(text);
		model_free(model);
	}
}

static void layers_of_a_class_are_one_row_and_time_in_several_of_them_counts_once(void **state)
{
	struct model *model = two_blocks();

	(void)state;
	assert_tree(model, (struct layers_options){0}, NULL,
		    LINES("      96.0      1.0  96.0      1    211.0  Net\n"
			  "      95.0     10.0  95.0      1    115.0  Block x 2\n"
			  "      85.0     85.0  85.0      2     40.0  Linear\n"
			  "       4.0      4.0   4.0      1     90.0  [no module]\n"));
	assert_tree(model, (struct layers_options){0}, "json",
		    LINES("\"class\": \"Block\", \"layers\": 2", "\"class\": \"[no module]\", \"layers\": null"));
	model_free(model);
}

static void what_is_deeper_than_the_levels_that_are_shown_is_part_of_the_last(void **state)
{
	struct model *model = two_blocks();

	(void)state;
	assert_tree(model, (struct layers_options){.depth = 2}, "csv",
		    LINES("process\n"
			  "96000,1000,96,1,0,0,211000,0,0,96000,,,,,0,Net,Net,python3 41230\n"
			  "60000,60000,60,1,0,0,0,0,0,0,,,,,1,Net.blocks.0,Block,python3 41230\n"
			  "35000,35000,35,2,0,0,115000,0,0,115000,,,,,1,Net.blocks.1,Block,python3 41230\n"
			  "4000,4000,4,1,0,0,90000,0,0,90000,,,,,0,[no module],,python3 41230\n"));
	model_free(model);
}

static char *folded_of(const struct model *model, bool by_launches, bool by_idle, int error)
{
	const struct export_options options = {.process = -1,
					       .folded_by = FOLDED_BY_LAYER,
					       .has_metric = true,
					       .by_launches = by_launches,
					       .by_idle = by_idle};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(folded_write(&sink, WHOLE_TRACE(model), &options), error);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	sink_close(&sink);
	return text;
}

static void folded_stacks_can_be_those_of_the_tree(void **state)
{
	static const struct {
		bool by_launches, by_idle;
		const char *lines;
	} cases[] = {
		{false, false,
		 "python3;Net 1000\n"
		 "python3;Net;Net.blocks.0;Net.blocks.0.up 60000\n"
		 "python3;Net;Net.blocks.1 10000\n"
		 "python3;Net;Net.blocks.1;Net.blocks.0.up 25000\n"
		 "python3;[no module] 4000\n"},
		{true, false,
		 "python3;Net 1\n"
		 "python3;Net;Net.blocks.0;Net.blocks.0.up 1\n"
		 "python3;Net;Net.blocks.1 1\n"
		 "python3;Net;Net.blocks.1;Net.blocks.0.up 1\n"
		 "python3;[no module] 1\n"},
		{false, true,
		 "python3;Net 96000\n"
		 "python3;Net;Net.blocks.1 75000\n"
		 "python3;Net;Net.blocks.1;Net.blocks.0.up 40000\n"
		 "python3;[no module] 90000\n"},
	};
	struct model *model = two_blocks();
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = folded_of(model, cases[i].by_launches, cases[i].by_idle, 0);
		assert_string_equal(text, cases[i].lines);
		free(text);
	}
	model_free(model);
}

static void without_a_module_there_are_no_folded_stacks_of_layers(void **state)
{
	struct forward_log made = forward_log_begin();
	struct model *model;
	char *text;

	(void)state;
	launch_in(&made, 100, 5, IN(0));
	model = forward_log_end(&made);
	text = folded_of(model, false, false, -ENODATA);
	assert_string_equal(text, "");
	free(text);
	model_free(model);
}

static void layers_that_are_too_small_are_one_row_with_how_many_they_are(void **state)
{
	struct model *model = two_blocks();

	(void)state;
	/* neither 70 % of the GPU time nor of the idle time */
	assert_tree(model, (struct layers_options){.min_percent = 70000}, NULL,
		    LINES("      96.0      1.0  96.0      1    211.0  Net            Net\n"
			  "      95.0     95.0  95.0      3    115.0  \u00a0\u00a0[2 smaller]  -\n"
			  "       4.0      4.0   4.0      1     90.0  [1 smaller]    -\n"));
	model_free(model);
}

static void without_a_module_the_tree_says_so(void **state)
{
	struct forward_log made = forward_log_begin();
	struct model *model;

	(void)state;
	launch_in(&made, 100, 5, IN(0));
	model = forward_log_end(&made);
	assert_tree(model, (struct layers_options){0}, NULL, LINES("no call of a torch.nn.Module is on a stack with"));
	model_free(model);
	made = forward_log_begin();
	describe_net(&made);
	log_launch(&made.log, PID, TID, 100000, stack_in(&made, IN(LEAF, NET)), 1);
	model = forward_log_end(&made);
	assert_tree(model, (struct layers_options){0}, NULL, LINES("  no GPU times were recorded\n"));
	model_free(model);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static char *table_with(const struct model *model, const struct table_format *format)
{
	const struct report_options options = {.width = 100, .table = "layers", .format = format};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write(out, WHOLE_TRACE(model), &options), 0);
	fclose(out);
	return text;
}

static void the_table_names_layers_by_root_and_says_why_one_has_no_name(void **state)
{
	struct forward_log made = forward_log_begin();
	struct model *model;
	char *text;

	(void)state;
	describe_net(&made);
	describe(&made, LOOSE, 0, (const char *const[]){"", "Replica", "", "it is in no tree"});
	launch_in(&made, 100, 5, IN(LEAF, NET));
	launch_in(&made, 200, 10, IN(LOOSE));
	launch_in(&made, 300, 5, IN(0));
	model = forward_log_end(&made);
	text = table_with(model, NULL);
	assert_non_null(strstr(text, "     10.0      10.0  50.0      1     95.0  [no name]        Replica\n"));
	assert_non_null(strstr(text, "it is in no tree\n"));
	assert_non_null(strstr(text, "      5.0       5.0  25.0      1      0.0  Net.blocks.0.up  Linear\n"));
	assert_non_null(strstr(text, "      5.0       5.0  25.0      1     90.0  [no module]      -\n"));
	free(text);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_is_of_the_innermost_module_and_in_the_total_of_all),
		cmocka_unit_test(a_module_that_calls_itself_has_its_time_once),
		cmocka_unit_test(a_trace_without_modules_has_no_rows),
		cmocka_unit_test(modules_without_a_name_are_a_row_for_each_class),
		cmocka_unit_test(roots_of_one_class_are_told_apart_unless_there_are_many),
		cmocka_unit_test(a_backward_pass_is_no_layer_s_unless_its_forward_op_is_known),
		cmocka_unit_test(backward_work_is_of_the_module_of_its_forward_op_whatever_line_gets_it),
		cmocka_unit_test(what_python_launches_in_a_node_is_recomputed_in_a_module_and_else_backward),
		cmocka_unit_test(what_python_launches_in_a_node_outside_of_modules_is_of_the_module_of_the_forward_op),
		cmocka_unit_test(the_tree_has_columns_for_the_passes_that_there_were),
		cmocka_unit_test(what_was_launched_where_no_python_is_known_has_its_own_row),
		cmocka_unit_test(the_innermost_module_is_not_guessed_where_frames_are_left_out),
		cmocka_unit_test(idle_time_for_which_no_line_is_to_blame_has_its_own_row),
		cmocka_unit_test(idle_time_is_of_the_innermost_module_of_the_line_to_blame),
		cmocka_unit_test(idle_time_before_backward_work_is_of_the_module_of_its_forward_op),
		cmocka_unit_test(a_short_gap_before_backward_work_is_no_layer_s),
		cmocka_unit_test(why_names_the_layer_beside_the_line),
		cmocka_unit_test(a_layer_stands_under_the_one_that_called_it),
		cmocka_unit_test(work_of_a_graph_stands_under_the_modules_that_launched_it_and_were_captured),
		cmocka_unit_test(layers_of_a_class_are_one_row_and_time_in_several_of_them_counts_once),
		cmocka_unit_test(what_is_deeper_than_the_levels_that_are_shown_is_part_of_the_last),
		cmocka_unit_test(folded_stacks_can_be_those_of_the_tree),
		cmocka_unit_test(without_a_module_there_are_no_folded_stacks_of_layers),
		cmocka_unit_test(layers_that_are_too_small_are_one_row_with_how_many_they_are),
		cmocka_unit_test(without_a_module_the_tree_says_so),
		cmocka_unit_test(the_table_names_layers_by_root_and_says_why_one_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
