/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What compiled in a gap of 90 ms, by the frames of a compiler, by calls that load code and by the driver. */
#include "gap_log.h"
#include "model/slice/sliced_trace.h"
#include "report/why/why.h"

#define PACKAGES "/x/site-packages/"

enum { TRITON = 20, TRITON_DEEPER, INDUCTOR, DYNAMO, NAMESAKE, IN_WORKER }; /* stacks */

#define LOAD_API GPT_API(GPT_DOMAIN_DRIVER, 19)

/* train.py:32 calls Dynamo, which calls Inductor, which calls Triton. */
static void define_compilers(struct log_builder *log)
{
	const struct gpt_pyframe triton = {.code = 0xc1, .lasti = 2}, inductor = {.code = 0xc2, .lasti = 2},
				 dynamo = {.code = 0xc3, .lasti = 2}, train = {.code = 0xc0de, .lasti = 4};

	log_function(log, PID, 0xc1, "compile", PACKAGES "triton/compiler/compiler.py", 226);
	log_function(log, PID, 0xc2, "compile_fx_inner", PACKAGES "torch/_inductor/compile_fx.py", 1032);
	log_function(log, PID, 0xc3, "_compile", PACKAGES "torch/_dynamo/convert_frame.py", 1690);
	log_function(log, PID, 0xc4, "make_cubin", PACKAGES "triton/backends/nvidia/compiler.py", 576);
	log_function(log, PID, 0xc5, "compile", "/src/mytriton/compiler/compiler.py", 5);
	log_stack(log, PID, TRITON, 4, (struct gpt_pyframe[]){triton, inductor, dynamo, train});
	log_stack(log, PID, TRITON_DEEPER, 5,
		  (struct gpt_pyframe[]){{.code = 0xc4, .lasti = 2}, triton, inductor, dynamo, train});
	log_stack(log, PID, INDUCTOR, 3, (struct gpt_pyframe[]){inductor, dynamo, train});
	log_stack(log, PID, DYNAMO, 2, (struct gpt_pyframe[]){dynamo, train});
	log_stack(log, PID, NAMESAKE, 2, (struct gpt_pyframe[]){{.code = 0xc5, .lasti = 2}, train});
}

/* Only of such a process a launch is known to be the first of its kernel. */
static void began_in_trace(struct log_builder *log)
{
	log_process(log, PID, 1, 1200, 1050, 0x30c, "python3", "", "", "");
}

static void begin_compiling(struct gap *gap)
{
	begin_gap(gap);
	define_compilers(&gap->log);
	began_in_trace(&gap->log);
}

/* A call with its return. */
static void add_call_with(struct gap *gap, struct gpt_agent_api back, uint64_t stack)
{
	back.tid = TID;
	log_call(&gap->log, (struct gpt_call){.time_ns = back.start_ns,
					      .pid = PID,
					      .tid = TID,
					      .stack_id = stack,
					      .corr = back.corr,
					      .api = back.api,
					      .origin = GPT_ORIGIN_AGENT,
					      .stack_state = GPT_STACK_OK});
	log_batch(&gap->log, PID, TID, back.end_ns);
	log_agent_api(&gap->log, back);
}

static void load_code(struct gap *gap, uint64_t stack, uint64_t start_ns, uint64_t end_ns)
{
	add_call_with(gap, (struct gpt_agent_api){.start_ns = start_ns, .end_ns = end_ns, .corr = 7, .api = LOAD_API},
		      stack);
}

static const struct compile_row *row_of(const struct gap *gap, enum why_compile kind, uint32_t what)
{
	const struct compiles *compiles = &gap->all.idle.compiles;

	for (size_t i = 0; i < compiles->rows.count; i++)
		if (compiles->rows.items[i].kind == kind && compiles->rows.items[i].what == what)
			return &compiles->rows.items[i];
	fail_msg("no row of kind %d, %u", kind, what);
	return NULL;
}

static const struct compile_row *row_of_frames(const struct gap *gap, enum compiler compiler)
{
	const struct compile_row *row = row_of(gap, WHY_COMPILE_FRAMES, compiler);

	assert_line(&gap->all, row->line, LINE_LOAD);
	return row;
}

static void time_in_frames_of_a_compiler_is_the_innermost_one_s_on_the_line_that_called_it(void **state)
{
	struct gap gap;
	uint64_t rest;

	begin_compiling(&gap);
	runs(&gap.log, PID, TID, DYNAMO, 10 * MS, 30 * MS);
	runs(&gap.log, PID, TID, INDUCTOR, 30 * MS, 40 * MS);
	runs(&gap.log, PID, TID, TRITON, 40 * MS, 60 * MS);
	runs(&gap.log, PID, TID, TRITON_DEEPER, 60 * MS, 70 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_CHILD, TRITON_DEEPER, 70 * MS, 90 * MS)); /* ptxas */
	runs(&gap.log, PID, TID, LOAD, 90 * MS, 100 * MS);
	end_gap(&gap);
	assert_int_equal(row_of_frames(&gap, COMPILER_DYNAMO)->ns, 20 * MS);
	assert_int_equal(row_of_frames(&gap, COMPILER_INDUCTOR)->ns, 10 * MS);
	assert_int_equal(row_of_frames(&gap, COMPILER_TRITON)->ns, 50 * MS);
	assert_int_equal(row_of_frames(&gap, COMPILER_TRITON)->count, 1);
	assert_int_equal(row_of_frames(&gap, COMPILER_TRITON)->idle_ns, 50 * MS);
	assert_int_equal(row_of_frames(&gap, COMPILER_INDUCTOR)->idle_ns, 10 * MS);
	assert_int_equal(row_of_frames(&gap, COMPILER_DYNAMO)->idle_ns, 20 * MS);
	assert_int_equal(gap.all.idle.compiles.rows.count, 3);
	assert_int_equal(gap.all.idle.sums[WHY_COMPILE].ns, 80 * MS);
	rest = own(&gap, LINE_LOAD, WHY_RAN);
	free_gap(&gap, 80 * MS + rest + begun(&gap));
}

static void a_function_that_is_named_as_a_compiler_s_in_another_folder_is_none(void **state)
{
	struct gap gap;

	begin_compiling(&gap);
	runs(&gap.log, PID, TID, NAMESAKE, 10 * MS, 100 * MS);
	end_gap(&gap);
	assert_int_equal(gap.all.idle.compiles.rows.count, 0);
	assert_int_equal(gap.all.idle.sums[WHY_COMPILE].ns, 0);
	free_gap(&gap, LAUNCHED - FROM + begun(&gap));
}

/* The thread is woken by another one, which waits for Inductor's worker process, in which Triton compiles. */
static void what_a_compiler_waits_for_in_another_process_is_its_line_s(void **state)
{
	struct gap gap;

	begin_compiling(&gap);
	log_function(&gap.log, WORKER, 0xc1, "compile", PACKAGES "triton/compiler/compiler.py", 226);
	log_stack(&gap.log, WORKER, IN_WORKER, 2,
		  (struct gpt_pyframe[]){{.code = 0xc1, .lasti = 2}, {.code = 0xc0de, .lasti = 2}});
	runs(&gap.log, WORKER, WORKER, IN_WORKER, FROM, 80 * MS);
	log_wait(&gap.log,
		 woken_by(of(waits(GPT_WAIT_PIPE, HOLDS, 5 * MS, 80 * MS), PID, HELPER), WORKER, WORKER, IN_WORKER));
	runs(&gap.log, PID, HELPER, HOLDS, 80 * MS, 100 * MS);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, INDUCTOR, FROM, LAUNCHED), PID, HELPER, HOLDS));
	end_gap(&gap);
	assert_int_equal(row_of_frames(&gap, COMPILER_INDUCTOR)->ns, LAUNCHED - FROM);
	assert_int_equal(row_of_frames(&gap, COMPILER_INDUCTOR)->idle_ns, LAUNCHED - FROM);
	assert_int_equal(row_of(&gap, WHY_COMPILE_FRAMES, COMPILER_TRITON)->idle_ns, 0); /* the worker's own row */
	assert_line(&gap.all, row_of(&gap, WHY_COMPILE_FRAMES, COMPILER_TRITON)->line, LINE_WORKS);
	free_gap(&gap, own(&gap, LINE_LOAD, WHY_COMPILE) + begun(&gap));
}

static void a_compiler_s_lack_of_a_cpu_is_the_cpu_s(void **state)
{
	struct gap gap;
	uint64_t no_cpu;

	begin_compiling(&gap);
	runs(&gap.log, PID, TID, TRITON, 10 * MS, 50 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_PREEMPTED, TRITON, 50 * MS, LAUNCHED));
	end_gap(&gap);
	no_cpu = gap.all.idle.sums[WHY_NO_CPU].ns;
	assert_int_equal(no_cpu, LAUNCHED - 50 * MS);
	assert_int_equal(row_of_frames(&gap, COMPILER_TRITON)->idle_ns, 40 * MS);
	free_gap(&gap, no_cpu + own(&gap, LINE_LOAD, WHY_COMPILE) + begun(&gap));
}

static void code_that_a_compiler_loads_is_part_of_its_time_once(void **state)
{
	struct gap gap;

	begin_compiling(&gap);
	runs(&gap.log, PID, TID, TRITON, 10 * MS, 40 * MS);
	load_code(&gap, TRITON, 40 * MS, 60 * MS);
	runs(&gap.log, PID, TID, TRITON, 40 * MS, 60 * MS); /* in the call */
	runs(&gap.log, PID, TID, LOAD, 60 * MS, 100 * MS);
	end_gap(&gap);
	assert_int_equal(row_of_frames(&gap, COMPILER_TRITON)->ns, 50 * MS);
	assert_int_equal(row_of_frames(&gap, COMPILER_TRITON)->count, 1);
	assert_int_equal(row_of_frames(&gap, COMPILER_TRITON)->idle_ns, 50 * MS);
	assert_int_equal(gap.all.idle.compiles.rows.count, 1);
	free_gap(&gap, own(&gap, LINE_LOAD, WHY_COMPILE) + own(&gap, LINE_LOAD, WHY_RAN) + begun(&gap));
}

static void a_compiler_counts_again_after_the_program_s_own_lines_ran(void **state)
{
	struct gap gap;

	begin_compiling(&gap);
	for (uint64_t at = 10 * MS; at < 90 * MS; at += 20 * MS) {
		runs(&gap.log, PID, TID, at < 70 * MS ? DYNAMO : TRITON, at, at + 10 * MS);
		runs(&gap.log, PID, TID, LOAD, at + 10 * MS, at + 20 * MS);
	}
	runs(&gap.log, PID, TID, LOAD, 90 * MS, 100 * MS);
	end_gap(&gap);
	assert_int_equal(row_of_frames(&gap, COMPILER_DYNAMO)->count, 3);
	assert_int_equal(row_of_frames(&gap, COMPILER_TRITON)->count, 1);
	free_gap(&gap, own(&gap, LINE_LOAD, WHY_COMPILE) + own(&gap, LINE_LOAD, WHY_RAN) + begun(&gap) +
			       row_of_frames(&gap, COMPILER_TRITON)->idle_ns);
}

static void launch_fresh(struct gap *gap, uint32_t corr, uint64_t launch_ns)
{
	log_batch(&gap->log, PID, TID, launch_ns - MS);
	log_agent_name(&gap->log, 2, "_Z5freshv");
	log_launch(&gap->log, PID, TID, launch_ns, LAUNCH, corr);
	log_batch(&gap->log, PID, TID, launch_ns + 2 * MS);
	log_agent_kernel(&gap->log, (struct gpt_agent_kernel){.start_wall_ns = launch_ns + (TO - LAUNCHED),
							      .end_wall_ns = launch_ns + 2 * MS,
							      .corr = corr,
							      .name = 2});
}

static void end_and_analyze(struct gap *gap)
{
	log_end(&gap->log, 10000 * MS);
	gap->model = model_of(&gap->log);
	analyze_model(&gap->all, gap->model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_IDLE));
}

static void code_that_is_loaded_has_its_call_and_the_new_kernel_that_is_launched_next(void **state)
{
	struct gap gap;
	const struct compile_row *row;

	begin_compiling(&gap);
	load_code(&gap, WAITS, 20 * MS, 50 * MS);
	launch_fresh(&gap, 2, LAUNCHED);
	end_and_analyze(&gap);
	row = row_of(&gap, WHY_COMPILE_MODULE, LOAD_API);
	assert_line(&gap.all, row->line, LINE_WAITS);
	assert_int_equal(row->ns, 30 * MS);
	assert_int_equal(row->idle_ns, 30 * MS);
	assert_int_equal(row->count, 1);
	assert_string_equal(gap.model->strings[row->kernel], "fresh()");
	SAYS(&gap, report_write_why, "30.0 ms in cuModuleLoadData (once; fresh was new and launched next)");
	end_words(&gap);
}

static void a_kernel_that_ran_before_is_not_what_was_loaded(void **state)
{
	struct gap gap;

	begin_compiling(&gap);
	load_code(&gap, WAITS, 20 * MS, 50 * MS);
	end_gap(&gap); /* launches the kernel of before the gap */
	assert_int_equal(row_of(&gap, WHY_COMPILE_MODULE, LOAD_API)->kernel, NONE);
	end_words(&gap);
}

/* The driver compiles in a call that loads code: the account of idle time has the call. */
static void what_the_driver_compiles_in_a_call_that_loads_code_is_that_call_s(void **state)
{
	struct gap gap;

	begin_compiling(&gap);
	load_code(&gap, WAITS, 20 * MS, 50 * MS);
	log_batch(&gap.log, PID, TID, 50 * MS);
	log_agent_jit(&gap.log, (struct gpt_agent_jit){.start_wall_ns = 25 * MS,
						       .end_wall_ns = 45 * MS,
						       .corr = 7,
						       .tid = TID,
						       .operation = GPT_AGENT_JIT_COMPILE});
	end_gap(&gap);
	assert_int_equal(gap.all.idle.compiles.rows.count, 1);
	assert_int_equal(row_of(&gap, WHY_COMPILE_MODULE, LOAD_API)->ns, 30 * MS);
	assert_int_equal(gap.all.idle.compiles.ns, 30 * MS);
	assert_int_equal(gap.all.idle.compiles.idle_ns, gap.all.idle.sums[WHY_COMPILE].ns);
	end_words(&gap);
}

/* The first launch of a kernel, from 60 to 99 ms, with what the driver compiles in it. */
static void end_with_fresh_kernel(struct gap *gap, uint64_t compiled_ns)
{
	log_batch(&gap->log, PID, TID, 50 * MS);
	log_agent_name(&gap->log, 2, "_Z5freshv");
	add_call_with(
		gap,
		(struct gpt_agent_api){
			.start_ns = 60 * MS, .end_ns = 99 * MS, .corr = 2, .api = GPT_API(GPT_DOMAIN_RUNTIME, 211)},
		WAITS);
	if (compiled_ns)
		log_agent_jit(&gap->log, (struct gpt_agent_jit){.start_wall_ns = 70 * MS,
								.end_wall_ns = 70 * MS + compiled_ns,
								.corr = 2,
								.tid = TID,
								.operation = GPT_AGENT_JIT_COMPILE});
	log_agent_kernel(&gap->log,
			 (struct gpt_agent_kernel){.start_wall_ns = TO, .end_wall_ns = TO + MS, .corr = 2, .name = 2});
	log_end(&gap->log, 10000 * MS);
	gap->model = model_of(&gap->log);
	analyze_model(&gap->all, gap->model, ANALYSES(ANALYZE_IDLE));
}

static void a_long_first_launch_for_which_the_gpu_waits_has_its_kernel(void **state)
{
	struct gap gap;
	const struct compile_row *row;

	begin_compiling(&gap);
	end_with_fresh_kernel(&gap, 0);
	assert_int_equal(gap.all.idle.compiles.rows.count, 1);
	row = &gap.all.idle.compiles.rows.items[0];
	assert_int_equal(row->kind, WHY_COMPILE_LAUNCH);
	assert_string_equal(gap.model->strings[row->kernel], "fresh()");
	assert_line(&gap.all, row->line, LINE_WAITS);
	assert_int_equal(row->ns, 39 * MS);
	assert_int_equal(row->idle_ns, 39 * MS);
	end_words(&gap);
}

/* It may have waited for room in its stream, except for what the driver says that it compiled. */
static void a_long_first_launch_while_the_gpu_works_is_none_but_for_what_the_driver_compiled(void **state)
{
	for (uint64_t compiled_ns = 0; compiled_ns <= 20 * MS; compiled_ns += 20 * MS) {
		struct gap gap;

		begin(&gap.log);
		define_compilers(&gap.log);
		began_in_trace(&gap.log);
		kernel(&gap.log, 1, FROM - 20 * US, FROM - 10 * US, TO - US); /* no gap that counts */
		end_with_fresh_kernel(&gap, compiled_ns);
		assert_int_equal(gap.all.idle.compiles.rows.count, compiled_ns ? 1 : 0);
		assert_int_equal(gap.all.idle.compiles.ns, compiled_ns);
		end_words(&gap);
	}
}

/* A launch that became a node of a graph. */
static void add_captured(struct gap *gap, uint64_t stack, uint32_t corr, uint64_t start_ns)
{
	add_call_with(gap,
		      (struct gpt_agent_api){.start_ns = start_ns,
					     .end_ns = start_ns + MS,
					     .corr = corr,
					     .api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
					     .flags = GPT_AGENT_API_CAPTURED},
		      stack);
}

static void a_capture_lasts_from_its_first_call_to_its_last(void **state)
{
	struct gap gap;
	const struct compile_row *row;

	begin_compiling(&gap);
	add_captured(&gap, WAITS, 7, 20 * MS);
	add_captured(&gap, LOAD, 8, 40 * MS);
	add_captured(&gap, LOAD, 9, 59 * MS);
	kernel(&gap.log, 2, LAUNCHED, TO, TO + MS); /* launched next, and not new */
	launch_fresh(&gap, 3, TO + 10 * MS);
	end_and_analyze(&gap);
	row = row_of(&gap, WHY_COMPILE_CAPTURE, NONE);
	assert_int_equal(row->kernel, NONE);
	assert_line(&gap.all, row->line, LINE_WAITS);
	assert_int_equal(row->ns, 40 * MS);
	assert_int_equal(row->count, 1);
	assert_int_equal(row->idle_ns, 40 * MS);
	assert_int_equal(own(&gap, LINE_WAITS, WHY_COMPILE), 40 * MS);
	SAYS(&gap, report_write, "CUDA graph capture", "capturing a CUDA graph", "exact");
	end_words(&gap);
}

/* It is known to be over only at the thread's next launch. */
static void what_is_compiled_after_a_capture_and_before_the_next_launch_stays(void **state)
{
	struct gap gap;

	begin_compiling(&gap);
	add_captured(&gap, WAITS, 7, 20 * MS);
	add_captured(&gap, LOAD, 8, 39 * MS);
	add_call_with(&gap, (struct gpt_agent_api){.start_ns = 50 * MS, .end_ns = 80 * MS, .corr = 9, .api = LOAD_API},
		      LOAD);
	kernel(&gap.log, 2, LAUNCHED, TO, TO + MS);
	end_and_analyze(&gap);
	assert_int_equal(row_of(&gap, WHY_COMPILE_CAPTURE, NONE)->ns, 20 * MS);
	assert_int_equal(row_of(&gap, WHY_COMPILE_MODULE, LOAD_API)->ns, 30 * MS);
	assert_int_equal(row_of(&gap, WHY_COMPILE_MODULE, LOAD_API)->count, 1);
	end_words(&gap);
}

/* A thousand samples a second of a compilation of half a minute. */
static void what_is_part_of_a_long_compilation_counts_once_however_often_it_was_seen(void **state)
{
	static const uint64_t of_lines[] = {TRITON, TRITON_DEEPER, INDUCTOR, DYNAMO};
	struct gap gap;

	begin_compiling(&gap);
	add_captured(&gap, WAITS, 7, 20 * MS);
	for (uint32_t i = 0; i < 30000; i++)
		log_sample(&gap.log, (struct gpt_sample){.time_ns = 22 * MS + i * 1000,
							 .stack_id = of_lines[i % 4],
							 .pid = PID,
							 .tid = TID,
							 .period_ns = 1000,
							 .stack_state = GPT_STACK_OK,
							 .place = GPT_SAMPLE_USER});
	add_captured(&gap, LOAD, 8, 59 * MS);
	kernel(&gap.log, 2, LAUNCHED, TO, TO + MS);
	end_and_analyze(&gap);
	assert_int_equal(gap.all.idle.compiles.ns, 40 * MS);
	end_words(&gap);
}

static void the_report_and_why_say_which_compiler_on_which_line(void **state)
{
	struct gap gap;

	begin_compiling(&gap);
	runs(&gap.log, PID, TID, TRITON, 10 * MS, 100 * MS);
	end_gap(&gap);
	SAYS(&gap, report_write, "Compiling and loading code by Python line", "Triton", "sampled", LINE_LOAD,
	     "compiling: Triton");
	SAYS(&gap, report_write_why, "the GPU waits while code is compiled or loaded", "in the frames of Triton (once)",
	     "where    " LINE_LOAD, "TRITON_CACHE_DIR");
	end_words(&gap);
}

/* A compiler that is in two slices counts in both, each with its own time. */
static void a_compilation_counts_in_each_slice_that_has_some_of_its_time(void **state)
{
	const struct slice halves[2] = {{.to_ns = 50 * MS, .device = NONE},
					{.from_ns = 50 * MS, .to_ns = UINT64_MAX, .device = NONE}};
	struct gap gap;

	begin_compiling(&gap);
	runs(&gap.log, PID, TID, TRITON, 10 * MS, 100 * MS);
	end_gap(&gap);
	for (size_t i = 0; i < 2; i++) {
		struct sliced_trace sliced;
		struct analyses all;

		assert_int_equal(sliced_trace_open(&sliced, WHOLE_TRACE(gap.model), &halves[i], ""), 0);
		assert_int_equal(analyze(&all, &sliced.trace, ANALYSES(ANALYZE_IDLE), NULL), 0);
		assert_int_equal(all.idle.compiles.rows.count, 1);
		assert_int_equal(all.idle.compiles.rows.items[0].count, 1);
		assert_int_equal(all.idle.compiles.ns, i ? 55 * MS : 35 * MS); /* a sample stands for what follows */
		analyses_free(&all);
		sliced_trace_close(&sliced);
	}
	end_words(&gap);
}

static void what_compiles_before_any_gpu_work_has_its_row(void **state)
{
	struct gap gap;
	const struct compile_row *row;

	begin(&gap.log);
	define_compilers(&gap.log);
	runs(&gap.log, PID, TID, TRITON, 10 * MS, 50 * MS);
	log_end(&gap.log, 10000 * MS);
	gap.model = model_of(&gap.log);
	analyze_model(&gap.all, gap.model, analyses_of_report);
	row = row_of_frames(&gap, COMPILER_TRITON);
	assert_int_equal(row->ns, 40 * MS);
	assert_int_equal(row->idle_ns, 0);
	SAYS(&gap, report_write, "Compiling and loading code by Python line", "40.0         -      1  Triton");
	end_words(&gap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_in_frames_of_a_compiler_is_the_innermost_one_s_on_the_line_that_called_it),
		cmocka_unit_test(a_function_that_is_named_as_a_compiler_s_in_another_folder_is_none),
		cmocka_unit_test(what_a_compiler_waits_for_in_another_process_is_its_line_s),
		cmocka_unit_test(a_compiler_s_lack_of_a_cpu_is_the_cpu_s),
		cmocka_unit_test(code_that_a_compiler_loads_is_part_of_its_time_once),
		cmocka_unit_test(a_compiler_counts_again_after_the_program_s_own_lines_ran),
		cmocka_unit_test(code_that_is_loaded_has_its_call_and_the_new_kernel_that_is_launched_next),
		cmocka_unit_test(a_kernel_that_ran_before_is_not_what_was_loaded),
		cmocka_unit_test(what_the_driver_compiles_in_a_call_that_loads_code_is_that_call_s),
		cmocka_unit_test(a_long_first_launch_for_which_the_gpu_waits_has_its_kernel),
		cmocka_unit_test(a_long_first_launch_while_the_gpu_works_is_none_but_for_what_the_driver_compiled),
		cmocka_unit_test(a_capture_lasts_from_its_first_call_to_its_last),
		cmocka_unit_test(what_is_compiled_after_a_capture_and_before_the_next_launch_stays),
		cmocka_unit_test(what_is_part_of_a_long_compilation_counts_once_however_often_it_was_seen),
		cmocka_unit_test(a_compilation_counts_in_each_slice_that_has_some_of_its_time),
		cmocka_unit_test(what_compiles_before_any_gpu_work_has_its_row),
		cmocka_unit_test(the_report_and_why_say_which_compiler_on_which_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
