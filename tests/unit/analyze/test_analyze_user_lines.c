/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The innermost line of the user's own code, next to the line of a library. */
#include "analyzed.h"
#include "report_of.h"

#include "base/library_file.h"

#define LINEAR "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py"

struct frames_log {
	struct log_builder log;
	uint64_t code, time_ns;
	uint32_t corr;
};

static struct frames_log frames_log_begin(void)
{
	struct frames_log frames = {.code = 0xc0de00, .time_ns = 1000};

	log_begin(&frames.log, 10, 0);
	log_process(&frames.log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&frames.log, PID, TID, 900000);
	log_agent_name(&frames.log, 1, "kernel");
	return frames;
}

/* A stack of functions in those files, the innermost first, each at line 13. */
static uint64_t stack_of(struct frames_log *frames, const char *const files[])
{
	struct gpt_pyframe stack[8];
	uint64_t id = frames->code;
	uint32_t depth = 0;

	for (; files[depth]; depth++) {
		stack[depth] = (struct gpt_pyframe){.code = frames->code, .lasti = 6};
		log_function(&frames->log, PID, frames->code++, depth ? "main" : "forward", files[depth], 10);
	}
	log_stack(&frames->log, PID, id, depth, stack);
	return id;
}

/* A kernel that this stack launches. */
static void add_launch(struct frames_log *frames, uint64_t gpu_ns, const char *const files[])
{
	log_launch(&frames->log, PID, TID, frames->time_ns, stack_of(frames, files), ++frames->corr);
	log_batch(&frames->log, PID, TID, 900000);
	log_agent_kernel(&frames->log, (struct gpt_agent_kernel){.start_wall_ns = frames->time_ns + 100,
								 .end_wall_ns = frames->time_ns + 100 + gpu_ns,
								 .corr = frames->corr,
								 .name = 1});
	frames->time_ns += 10000;
}

#define LAUNCH(frames, gpu_ns, ...) add_launch(frames, gpu_ns, (const char *const[]){__VA_ARGS__, NULL})

/* A cudaStreamSynchronize of `ns` in this stack. */
static void wait_in(struct frames_log *frames, uint64_t ns, const char *const files[])
{
	uint16_t api = GPT_API(GPT_DOMAIN_RUNTIME, 131);

	log_call(&frames->log, (struct gpt_call){.time_ns = frames->time_ns,
						 .pid = PID,
						 .tid = TID,
						 .stack_id = stack_of(frames, files),
						 .corr = ++frames->corr,
						 .api = api,
						 .origin = GPT_ORIGIN_AGENT,
						 .stack_state = GPT_STACK_OK});
	log_batch(&frames->log, PID, TID, 900000);
	log_agent_api(&frames->log, (struct gpt_agent_api){.start_ns = frames->time_ns,
							   .end_ns = frames->time_ns + ns,
							   .corr = frames->corr,
							   .api = api,
							   .tid = TID});
	frames->time_ns += ns;
}

#define WAIT(frames, ns, ...) wait_in(frames, ns, (const char *const[]){__VA_ARGS__, NULL})

static void analyze_frames(struct frames_log *frames, struct model **model, struct analyses *all)
{
	log_end(&frames->log, 1000000);
	*model = model_of(&frames->log);
	analyze_model(all, *model, ANALYSES(ANALYZE_GPU_LINES));
}

static void a_librarys_line_has_the_innermost_of_the_users_own_beside_it(void **state)
{
	struct frames_log frames = frames_log_begin();
	struct analyses all;
	struct model *model;

	LAUNCH(&frames, 500, LINEAR, "/usr/lib/python3.12/site-packages/torch/nn/modules/module.py", "/src/model.py",
	       "/src/train.py");
	analyze_frames(&frames, &model, &all);
	assert_int_equal(all.gpu_lines.count, 1);
	assert_line(&all, all.gpu_lines.rows[0].line, "linear.py:13 forward");
	assert_line(&all, all.gpu_lines.rows[0].user_line, "model.py:13 main");
	assert_int_equal(all.gpu_lines.rows[0].user_lines, 1);
	analyses_free(&all);
	model_free(model);
}

static void of_several_lines_of_the_users_own_it_is_the_one_with_most_time(void **state)
{
	struct frames_log frames = frames_log_begin();
	struct analyses all;
	struct model *model;

	LAUNCH(&frames, 500, LINEAR, "/src/one.py");
	LAUNCH(&frames, 700, LINEAR, "/src/two.py");
	LAUNCH(&frames, 300, LINEAR, "/src/one.py");
	analyze_frames(&frames, &model, &all);
	assert_int_equal(all.gpu_lines.count, 1);
	assert_line(&all, all.gpu_lines.rows[0].user_line, "one.py:13 main");
	assert_int_equal(all.gpu_lines.rows[0].user_lines, 2);
	analyses_free(&all);
	model_free(model);
}

static void a_line_of_the_users_own_and_one_without_any_have_none_beside_them(void **state)
{
	struct frames_log frames = frames_log_begin();
	struct analyses all;
	struct model *model;

	LAUNCH(&frames, 500, "/src/one.py", "/src/two.py");
	LAUNCH(&frames, 400, LINEAR, LINEAR);
	log_launch(&frames.log, PID, TID, 90000, 0, 0);
	analyze_frames(&frames, &model, &all);
	for (size_t i = 0; i < all.gpu_lines.count; i++)
		assert_int_equal(all.gpu_lines.rows[i].user_line, NONE);
	analyses_free(&all);
	model_free(model);
}

static void code_that_compilers_generate_is_no_code_of_the_users_own(void **state)
{
	static const char *const generated[] = {
		"/tmp/torchinductor_root/ab/cabcdef.py",
		"/src/pytorch/torch/_inductor/output_code.py",
		"/src/pytorch/torch/_dynamo/eval_frame.py",
		"<eval_with_key>.3",
		"/cache/y3/cy3gisdmn7kmudikk4le27rpytixf6syvy7jzx35ptltwsw7sgy4.py",
	};

	for (size_t i = 0; i < sizeof(generated) / sizeof(generated[0]); i++) {
		struct frames_log frames = frames_log_begin();
		struct analyses all;
		struct model *model;

		LAUNCH(&frames, 500, generated[i], "/src/one.py");
		analyze_frames(&frames, &model, &all);
		assert_line(&all, all.gpu_lines.rows[0].user_line, "one.py:13 main");
		analyses_free(&all);
		model_free(model);
	}
}

static void whose_a_file_is_is_known_by_its_path(void **state)
{
	static const char *const own[] = {
		"/cache/x3/cy3gisdmn7kmudikk4le27rpytixf6syvy7jzx35ptltwsw7sgy4.py",
		"/cache/y3/cy3.py",
		"y3/cy3gisdmn7kmudikk4le27rpytixf6syvy7jzx35ptltwsw7sgy4.pyc",
		"cy3gisdmn7kmudikk4le27rpytixf6syvy7jzx35ptltwsw7sgy4.py",
		"/src/libpython.py",
		"train.py",
		"profile.py",
		"models/transformers.py",
		"/src/threading.py",
		"/src/transformers/mine.py",
		"C:/Users/me/lib/train.py",
		"C:\\Users\\me\\threading.py",
		"",
	};
	static const char *const libraries[] = {
		"torch/nn/modules/module.py",
		"threading.py",
		"multiprocessing/spawn.py",
		"concurrent/futures/thread.py",
		"transformers/pipelines/base.py",
		"site-packages/mine.py",
		"C:/Users/me/venv/Lib/site-packages/mine/a.py",
		"C:\\Users\\me\\anaconda3\\lib\\site-packages\\torch\\nn\\modules\\module.py",
		"C:\\Python311\\Lib\\asyncio\\events.py",
		"D:/conda/lib/threading.py",
		"<frozen runpy>",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (file_is_library(own[i]))
			fail_msg("%s is taken for a library's", own[i]);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (!file_is_library(libraries[i]))
			fail_msg("%s is taken for the user's own", libraries[i]);
}

static void of_compiled_code_the_generated_line_is_there_too(void **state)
{
	struct frames_log frames = frames_log_begin();
	char *text;

	LAUNCH(&frames, 700000, "<string>", "/cache/y3/cy3gisdmn7kmudikk4le27rpytixf6syvy7jzx35ptltwsw7sgy4.py",
	       "/usr/lib/python3/dist-packages/torch/_inductor/output_code.py", "/src/one.py");
	text = report_of(&frames.log);
	assert_non_null(strstr(text, "<- one.py:13 main, generated cy3gisdm....py:13\n"));
	free(text);
}

static void what_a_generated_file_says_of_its_line_is_below_it(void **state)
{
	static const char file[] = "/cache/y3/cy3gisdmn7kmudikk4le27rpytixf6syvy7jzx35ptltwsw7sgy4.py";
	struct frames_log frames = frames_log_begin();
	char *text;

	LAUNCH(&frames, 700000, "<string>", file, "/src/one.py");
	log_generated(&frames.log, 13, 18,
		      (const char *const[]){file, "an_older_kernel", "older", "aten.older", "/src/older.py"});
	log_generated(&frames.log, 14, 18, (const char *const[]){file, "triton_1", "another", "aten.another", ""});
	log_generated(&frames.log, 13, 18,
		      (const char *const[]){file, "triton_0", "sin, z", "aten.sin, aten.mul",
					    "/cache/rt/crtaxtbcxksvla5hmj4ckdmjtrbqqiyzb62lnbybnbt3wa6maeuf.py"});
	text = report_of(&frames.log);
	assert_non_null(strstr(text, "<- one.py:13 main, generated cy3gisdm....py:13\n"));
	assert_non_null(strstr(text, "   made of sin, z (aten.sin, aten.mul)\n"));
	assert_non_null(strstr(text, "   launches triton_0 crtaxtbc....py:18\n"));
	assert_null(strstr(text, "older"));
	assert_null(strstr(text, "another"));
	free(text);
}

static void a_generated_line_that_calls_a_library_itself_has_its_own(void **state)
{
	static const char file[] = "/cache/y3/cy3gisdmn7kmudikk4le27rpytixf6syvy7jzx35ptltwsw7sgy4.py";
	struct frames_log frames = frames_log_begin();
	char *text;

	LAUNCH(&frames, 700000, file, "/src/one.py");
	log_generated(&frames.log, 13, 0, (const char *const[]){file, "extern_kernels.mm", "", "aten.mm", ""});
	text = report_of(&frames.log);
	assert_non_null(strstr(text, "   made of aten.mm\n"));
	assert_non_null(strstr(text, "   launches extern_kernels.mm\n"));
	free(text);
}

static void only_generated_lines_say_so(void **state)
{
	struct frames_log frames = frames_log_begin();
	char *text;

	LAUNCH(&frames, 700000, "/src/one.py");
	log_generated(&frames.log, 13, 0, (const char *const[]){"/src/one.py", "kernel", "nodes", "aten.mm", ""});
	text = report_of(&frames.log);
	assert_null(strstr(text, "made of"));
	free(text);
}

static void who_kept_the_gpu_waiting_and_who_waits_for_it_have_it_too(void **state)
{
	struct frames_log frames = frames_log_begin();
	struct analyses all;
	struct model *model;

	LAUNCH(&frames, 500, LINEAR, "/src/one.py");
	LAUNCH(&frames, 500, LINEAR, "/src/one.py");
	WAIT(&frames, 6000, LINEAR, "/src/two.py");
	LAUNCH(&frames, 500, LINEAR, "/src/own.py");
	LAUNCH(&frames, 500, LINEAR, "/src/own.py");
	WAIT(&frames, 9000, "/src/own.py");
	log_end(&frames.log, 1000000);
	model = model_of(&frames.log);
	analyze_model(&all, model, ANALYSES(ANALYZE_IDLE, ANALYZE_WAITS));

	for (size_t i = 0; i < 3; i++) { /* a row for each caller */
		static const char *const callers[] = {"own.py:13 main", "one.py:13 main", "two.py:13 main"};

		assert_int_equal(all.idle.rows[i].cause, i == 2 ? WHY_SYNC : WHY_LAUNCH);
		assert_line(&all, all.idle.rows[i].line, "linear.py:13 forward");
		assert_line(&all, all.idle.rows[i].user_line, callers[i]);
		assert_int_equal(all.idle.rows[i].user_lines, 1);
	}

	assert_int_equal(all.waits.count, 2);
	assert_line(&all, all.waits.rows[0].line, "own.py:13 forward");
	assert_int_equal(all.waits.rows[0].user_line, NONE);
	assert_line(&all, all.waits.rows[1].line, "linear.py:13 forward");
	assert_line(&all, all.waits.rows[1].user_line, "two.py:13 main");
	analyses_free(&all);
	model_free(model);
}

static void the_report_has_it_below_the_librarys(void **state)
{
	struct frames_log frames = frames_log_begin();
	char *text;

	LAUNCH(&frames, 700000, LINEAR, "/src/one.py");
	LAUNCH(&frames, 200000, LINEAR, "/src/two.py");
	LAUNCH(&frames, 100000, "/src/own.py");
	text = report_of(&frames.log);
	assert_non_null(strstr(text, "  linear.py:13  forward\n"
				     "                                  <- one.py:13 main (and 1 more)\n"));
	assert_non_null(strstr(text, "  own.py:13     forward\n\n"));
	free(text);
}

static void the_report_has_it_below_who_kept_the_gpu_waiting(void **state)
{
	struct frames_log frames = frames_log_begin();
	char *text;

	LAUNCH(&frames, 500, LINEAR, "/src/one.py");
	LAUNCH(&frames, 500, LINEAR, "/src/two.py");
	WAIT(&frames, 6000, LINEAR, "/src/own.py");
	text = report_of(&frames.log);
	assert_non_null(strstr(text, "  linear.py:13 forward                   small kernels\n"
				     "                        <- two.py:13 main\n"));
	assert_non_null(strstr(text, "cudaStreamSynchronize  linear.py:13 forward\n"
				     "                               <- own.py:13 main\n"));
	free(text);
}

static void a_report_without_such_lines_says_nothing_of_them(void **state)
{
	struct frames_log frames = frames_log_begin();
	char *text;

	LAUNCH(&frames, 700000, "/src/own.py", "/src/two.py");
	text = report_of(&frames.log);
	assert_null(strstr(text, "<- "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_librarys_line_has_the_innermost_of_the_users_own_beside_it),
		cmocka_unit_test(of_several_lines_of_the_users_own_it_is_the_one_with_most_time),
		cmocka_unit_test(a_line_of_the_users_own_and_one_without_any_have_none_beside_them),
		cmocka_unit_test(code_that_compilers_generate_is_no_code_of_the_users_own),
		cmocka_unit_test(whose_a_file_is_is_known_by_its_path),
		cmocka_unit_test(of_compiled_code_the_generated_line_is_there_too),
		cmocka_unit_test(what_a_generated_file_says_of_its_line_is_below_it),
		cmocka_unit_test(a_generated_line_that_calls_a_library_itself_has_its_own),
		cmocka_unit_test(only_generated_lines_say_so),
		cmocka_unit_test(who_kept_the_gpu_waiting_and_who_waits_for_it_have_it_too),
		cmocka_unit_test(the_report_has_it_below_the_librarys),
		cmocka_unit_test(the_report_has_it_below_who_kept_the_gpu_waiting),
		cmocka_unit_test(a_report_without_such_lines_says_nothing_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
