/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by module of PyTorch: own parts and totals, what belongs to no module, and what has no name. */
#include "analyzed.h"
#include "forward_log.h"
#include "report/report.h"

#define NET 0x7f0000010000ull
#define BLOCK (NET + 0x100)
#define LEAF (NET + 0x200)
#define LOOSE (NET + 0x300)
#define OTHER_NET 0x7f0000090000ull
#define OTHER_LEAF (OTHER_NET + 0x200)

#define CODE(n) (0xc0de0000ull + 16 * (n))

/* name, class, class of the root, why it has no name */
static void describe(struct forward_log *made, uint64_t module, uint32_t root, const char *const text[4])
{
	char bytes[256];
	size_t size = log_join(bytes, sizeof(bytes), 4, text);

	log_module(&made->log,
		   &(struct gpt_module){.hdr.flags = *text[3] ? GPT_MODULE_UNNAMED : 0,
					.module = module,
					.root = root == 1 ? NET : OTHER_NET,
					.pid = PID,
					.root_number = root,
					.names = 1},
		   bytes, (uint32_t)size);
}

static void describe_net(struct forward_log *made)
{
	describe(made, NET, 1, (const char *const[]){"", "Net", "Net", ""});
	describe(made, BLOCK, 1, (const char *const[]){"blocks.0", "Block", "Net", ""});
	describe(made, LEAF, 1, (const char *const[]){"blocks.0.up", "Linear", "Net", ""});
}

/* The stack of a launch inside these modules, innermost first; 0 ends them. */
static uint64_t stack_in(struct forward_log *made, const uint64_t modules[4])
{
	struct gpt_stack_module entries[4];
	struct gpt_pyframe frames[5];
	uint64_t id = 1;
	uint32_t count = 0;

	for (; count < 4 && modules[count]; count++) {
		frames[count] = (struct gpt_pyframe){.code = CODE(1)};
		entries[count] = (struct gpt_stack_module){.module = modules[count], .frame = (int32_t)count};
		id = id * 31 + modules[count];
	}
	frames[count] = (struct gpt_pyframe){.code = CODE(0)};
	log_function(&made->log, PID, CODE(0), "main", "/src/train.py", 10);
	log_function(&made->log, PID, CODE(1), "__call__", "/src/module.py", 20);
	if (count)
		log_stack_of_modules(&made->log, PID, id, count + 1, frames, count, entries);
	else
		log_stack(&made->log, PID, id, 1, frames);
	return id;
}

static void launch_in(struct forward_log *made, uint64_t time_us, uint64_t gpu_us, const uint64_t modules[4])
{
	forward_log_call(made, TID, time_us, gpu_us, stack_in(made, modules), GPT_STACK_OK);
}

#define IN(...) ((const uint64_t[4]){__VA_ARGS__})

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* All rows as "kind class of root#root.name (class) self/total us xlaunches\n", largest own part first. */
static char *rows_of(const struct analyses *all)
{
	static const char *const kinds[] = {"module", "unnamed", "backward", "none", "missing", "no stack"};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	uint64_t sum = 0;

	for (size_t i = 0; i < all->layers.count; i++) {
		const struct layer_row *row = &all->layers.rows[i];
		const struct model_module *module = row->module == NONE ? NULL : &all->model->modules[row->module];

		fprintf(out, "%s", kinds[row->kind]);
		if (row->kind == LAYER_MODULE)
			fprintf(out, " %s#%u.%s", module->root_class, row->root, module->name);
		if (module)
			fprintf(out, " (%s)", module->class);
		fprintf(out, " %llu/%llu x%llu\n", (unsigned long long)row->self / 1000,
			(unsigned long long)row->total / 1000, (unsigned long long)row->launches);
		sum += row->self;
	}
	fclose(out);
	assert_int_equal(sum, all->layers.count ? all->gpu_lines.sum : 0);
	return text;
}

static void assert_rows(struct model *model, const struct attribution *attribution, const char *expected)
{
	struct analyses all;
	char *text;

	assert_int_equal(analyze(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES, ANALYZE_LAYERS), attribution),
			 0);
	text = rows_of(&all);
	assert_string_equal(text, expected);
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
	for (uint32_t i = 1; i <= LAYER_ROOTS_SEPARATE + 1; i++) {
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
			    "backward 40/40 x1\n"
			    "module Net#0.blocks.0.up (Linear) 3/3 x1\n"
			    "module Net#0. (Net) 0/3 x0\n");
	}
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
	assert_non_null(strstr(text, "   10.0      10.0  50.0      1  [no name]        Replica\n"));
	assert_non_null(strstr(text, "it is in no tree\n"));
	assert_non_null(strstr(text, "    5.0       5.0  25.0      1  Net.blocks.0.up  Linear\n"));
	assert_non_null(strstr(text, "    5.0       5.0  25.0      1  [no module]      -\n"));
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
		cmocka_unit_test(what_was_launched_where_no_python_is_known_has_its_own_row),
		cmocka_unit_test(the_innermost_module_is_not_guessed_where_frames_are_left_out),
		cmocka_unit_test(the_table_names_layers_by_root_and_says_why_one_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
