/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree of calls: callers, their callees, times, and what of it is shown. */
#include "analyzed.h"
#include "analyze/tree/call_tree_nodes.h"
#include "forward_log.h"
#include "memory_log.h"
#include "random_model.h"
#include "tree_of.h"

static const struct tree_options all_of_it = {.by = TREE_BY_GPU};

static void assert_tree(const struct model *model, struct attribution attribution, const struct tree_options *options,
			const char *expected)
{
	char *text = tree_of_trace(WHOLE_TRACE(model), attribution, options);

	assert_string_equal(text, expected);
	free(text);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

/* ---- a program without PyTorch ----------------------------------------------------------------------------------- */

static void a_process_has_its_functions_what_ran_and_what_no_function_has(void **state)
{
	struct model *model = sample_model(1, 10);

	assert_tree(model, (struct attribution){}, &all_of_it,
		    "\n"
		    "GPU time by call   frames of libraries are folded: --show-all\n"
		    "  3,050.0 us  100.0 %  GPU time\n"
		    "  ├─ 2,450.0 us  80.3 %  thread python3 41230\n"
		    "  │  └─ 2,450.0 us  80.3 %  main  train.py:90\n"
		    "  │     └─ 2,450.0 us  80.3 %  train_step  train.py:20\n"
		    "  │        ├─ 1,000.0 us  32.8 %  Block.forward  model.py:40\n"
		    "  │        │  └─ 1,000.0 us  32.8 %  gemm<128>  10x\n"
		    "  │        ├─ 600.0 us  19.7 %  triton_poi_fused_relu_0  20x\n"
		    "  │        ├─ 500.0 us  16.4 %  Memcpy HtoD (Pageable -> Device)  10x\n"
		    "  │        ├─ 300.0 us  9.8 %  gemm<128>  10x\n"
		    "  │        └─ 50.0 us  1.6 %  Memset (Device)  10x\n"
		    "  └─ 600.0 us  19.7 %  thread pt_autograd_0 41288\n"
		    "     └─ 600.0 us  19.7 %  [not a Python thread]\n"
		    "        └─ 600.0 us  19.7 %  gemm<128>  10x\n"
		    "\n"
		    "  [idle] GPU 0: 9.1 ms, 75.8 % of the 12.0 ms recorded\n"
		    "  operations took 3.1 ms in 2.9 ms of busy time: several run at once (streams overlap)\n");
	model_free(model);
}

static void on_a_terminal_without_utf_8_its_branches_are_ascii(void **state)
{
	const struct report_options page = {.is_ascii = true};
	struct model *model = sample_model(1, 10);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_tree(out, WHOLE_TRACE(model), &page, &all_of_it), 0);
	fclose(out);
	assert_has(text, "\n  |- 2,450.0 us  80.3 %  thread python3 41230\n"
			 "  |  `- 2,450.0 us  80.3 %  main  train.py:90\n"
			 "  |     `- 2,450.0 us  80.3 %  train_step  train.py:20\n"
			 "  |        |- 1,000.0 us  32.8 %  Block.forward  model.py:40\n");
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at < 0x80);
	free(text);
	model_free(model);
}

static void several_processes_stand_apart(void **state)
{
	struct model *model = sample_model(2, 10);
	char *text = tree_of_trace(WHOLE_TRACE(model), (struct attribution){}, &all_of_it);

	assert_has(text, "├─ 3,050.0 us  50.0 %  process python3 4");
	free(text);
	model_free(model);
}

static void by_cpu_time_the_tree_has_cuda_calls(void **state)
{
	struct model *model = sample_model(1, 10);

	assert_tree(model, (struct attribution){}, &(struct tree_options){.by = TREE_BY_CPU},
		    "\n"
		    "CPU time in CUDA calls and ops by call   frames of libraries are folded: --show-all\n"
		    "  6,210.0 us  100.0 %  time in CUDA calls and ops\n"
		    "  ├─ 6,160.0 us  99.2 %  thread python3 41230\n"
		    "  │  └─ 6,160.0 us  99.2 %  main  train.py:90\n"
		    "  │     └─ 6,160.0 us  99.2 %  train_step  train.py:20\n"
		    "  │        ├─ 6,000.0 us  96.6 %  cudaStreamSynchronize  10x\n"
		    "  │        ├─ 40.0 us  0.6 %  Block.forward  model.py:40\n"
		    "  │        │  └─ 40.0 us  0.6 %  cudaLaunchKernel  10x\n"
		    "  │        ├─ 40.0 us  0.6 %  cudaMemcpyAsync  10x\n"
		    "  │        ├─ 40.0 us  0.6 %  cudaMemsetAsync  10x\n"
		    "  │        └─ 40.0 us  0.6 %  cudaGraphLaunch  10x\n"
		    "  └─ 50.0 us  0.8 %  thread pt_autograd_0 41288\n"
		    "     └─ 50.0 us  0.8 %  [not a Python thread]\n"
		    "        └─ 50.0 us  0.8 %  cuLaunchKernel  10x\n"
		    "\n"
		    "  [outside of CUDA calls and ops] thread python3 41230: 5.8 ms of the 12.0 ms recorded\n"
		    "  [outside of CUDA calls and ops] thread pt_autograd_0 41288: 12.0 ms of the 12.0 ms recorded\n");
	model_free(model);
}

static void by_memory_it_has_what_was_held_at_the_peak_and_what_of_that_was_not_freed(void **state)
{
	struct model *model = model_with_memory("/work/train.py", 0);

	assert_tree(model, (struct attribution){}, &(struct tree_options){.by = TREE_BY_MEMORY},
		    "\n"
		    "GPU memory of PyTorch at its peak by call   frames of libraries are folded: --show-all\n"
		    "  2.9 MiB  100.0 %  GPU memory  976.6 KiB not freed\n"
		    "  └─ 2.9 MiB  100.0 %  main  train.py:10  976.6 KiB not freed\n"
		    "     └─ 2.9 MiB  100.0 %  train_step  train.py:2  976.6 KiB not freed\n"
		    "        └─ 2.9 MiB  100.0 %  aten::empty  2x  976.6 KiB not freed\n");
	model_free(model);
}

static void programs_get_the_tree_by_memory_in_bytes(void **state)
{
	struct report_options page = {.format = table_format_by_name("csv"), .table = "tree"};
	struct model *model = model_with_memory("/work/train.py", 0);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(
		report_write_tree(out, WHOLE_TRACE(model), &page, &(struct tree_options){.by = TREE_BY_MEMORY}), 0);
	fclose(out);
	assert_has(text, "at_peak_bytes,not_freed_bytes,growth_per_step_bytes,percent,depth,kind,name,place,count,file,"
			 "line_number\n"
			 "3000000,1000000,,100,0,all,GPU memory,,,,\n"
			 "3000000,1000000,,100,1,function,main,train.py:10,,/work/train.py,10\n");
	free(text);
	model_free(model);
}

static void without_memory_it_says_what_records_it(void **state)
{
	struct model *model = sample_model(1, 10);
	char *text =
		tree_of_trace(WHOLE_TRACE(model), (struct attribution){}, &(struct tree_options){.by = TREE_BY_MEMORY});

	assert_has(text, "no memory of PyTorch was recorded; --memory records it");
	free(text);
	model_free(model);
}

static void what_has_less_than_asked_for_is_summed_up(void **state)
{
	struct model *model = sample_model(1, 10);

	assert_tree(model, (struct attribution){}, &(struct tree_options){.min_percent = 30000},
		    "\n"
		    "GPU time by call   frames of libraries are folded: --show-all\n"
		    "  3,050.0 us  100.0 %  GPU time\n"
		    "  └─ 2,450.0 us  80.3 %  thread python3 41230\n"
		    "     └─ 2,450.0 us  80.3 %  main  train.py:90\n"
		    "        └─ 2,450.0 us  80.3 %  train_step  train.py:20\n"
		    "           ├─ 1,000.0 us  32.8 %  Block.forward  model.py:40\n"
		    "           │  └─ 1,000.0 us  32.8 %  gemm<128>  10x\n"
		    "           └─ 1,450.0 us  47.5 %  [4 smaller]\n"
		    "\n"
		    "  [idle] GPU 0: 9.1 ms, 75.8 % of the 12.0 ms recorded\n"
		    "  operations took 3.1 ms in 2.9 ms of busy time: several run at once (streams overlap)\n"
		    "  5 nodes below 30 % are not shown (--min-percent)\n");
	model_free(model);
}

static void so_many_levels_are_shown(void **state)
{
	struct model *model = sample_model(1, 10);

	assert_tree(model, (struct attribution){}, &(struct tree_options){.depth = 2},
		    "\n"
		    "GPU time by call   frames of libraries are folded: --show-all\n"
		    "  3,050.0 us  100.0 %  GPU time\n"
		    "  ├─ 2,450.0 us  80.3 %  thread python3 41230\n"
		    "  │  └─ 2,450.0 us  80.3 %  main  train.py:90\n"
		    "  └─ 600.0 us  19.7 %  thread pt_autograd_0 41288\n"
		    "     └─ 600.0 us  19.7 %  [not a Python thread]\n"
		    "\n"
		    "  [idle] GPU 0: 9.1 ms, 75.8 % of the 12.0 ms recorded\n"
		    "  operations took 3.1 ms in 2.9 ms of busy time: several run at once (streams overlap)\n");
	model_free(model);
}

static void programs_get_the_tree_as_rows_with_their_depth(void **state)
{
	struct report_options page = {.format = table_format_by_name("csv"), .table = "tree"};
	struct model *model = sample_model(1, 10);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(
		report_write_tree(out, WHOLE_TRACE(model), &page, &(struct tree_options){.min_percent = 30000}), 0);
	fclose(out);
	assert_string_equal(text,
			    "time_ns,self_ns,percent,depth,kind,name,place,count,file,line_number\n"
			    "3050000,0,100,0,all,GPU time,,,,\n"
			    "2450000,0,80.32786885,1,thread,thread python3 41230,,,,\n"
			    "2450000,0,80.32786885,2,function,main,train.py:90,,/home/user/train.py,90\n"
			    "2450000,1450000,80.32786885,3,function,train_step,train.py:20,,/home/user/train.py,20\n"
			    "1000000,1000000,32.78688525,4,function,Block.forward,model.py:40,,/home/user/model.py,40\n"
			    "1000000,,32.78688525,5,what,\"void gemm<128>(float const*, float*)\",,10,,\n"
			    "1450000,0,47.54098361,4,smaller,[4 smaller],,4,,\n");
	free(text);
	model_free(model);
}

/* ---- libraries --------------------------------------------------------------------------------------------------- */

/* A 10 us launch in main > two frames of torch > one of threading > block, and one of 5 us directly in torch. */
static struct model *with_libraries(void)
{
	static const struct {
		const char *function, *file;
	} codes[] = {{"main", "/home/me/project/train.py"},
		     {"Module._call", "/usr/lib/python3/dist-packages/torch/nn/modules/module.py"},
		     {"Linear.forward", "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py"},
		     {"Thread.run", "/usr/lib/python3.12/threading.py"},
		     {"block", "/home/me/project/models/block.py"}};
	struct gpt_pyframe frames[5];
	struct log_builder log;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	for (uint32_t i = 0; i < 5; i++) {
		log_function(&log, PID, 0xc0de + i, codes[i].function, codes[i].file, 10 + i);
		frames[4 - i] = (struct gpt_pyframe){.code = 0xc0de + i, .lasti = 6};
	}
	log_stack(&log, PID, 1, 5, frames);
	log_stack(&log, PID, 2, 3, frames + 2);
	log_launch(&log, PID, TID, 2000, 1, 1);
	log_launch(&log, PID, TID, 4000, 2, 2);
	log_batch(&log, PID, TID, 900000);
	log_agent_name(&log, 1, "kernel");
	log_agent_kernel(&log,
			 (struct gpt_agent_kernel){.start_wall_ns = 3000, .end_wall_ns = 13000, .corr = 1, .name = 1});
	log_agent_kernel(&log,
			 (struct gpt_agent_kernel){.start_wall_ns = 14000, .end_wall_ns = 19000, .corr = 2, .name = 1});
	log_end(&log, 100000);
	return model_of(&log);
}

static void frames_of_libraries_are_folded(void **state)
{
	struct model *model = with_libraries();

	assert_tree(model, (struct attribution){}, &all_of_it,
		    "\n"
		    "GPU time by call   frames of libraries are folded: --show-all\n"
		    "  15.0 us  100.0 %  GPU time\n"
		    "  └─ 15.0 us  100.0 %  main  train.py:10\n"
		    "     └─ 15.0 us  100.0 %  [3 frames hidden]  torch, threading\n"
		    "        ├─ 10.0 us  66.7 %  block  models/block.py:14\n"
		    "        │  └─ 10.0 us  66.7 %  kernel\n"
		    "        └─ 5.0 us  33.3 %  kernel\n"
		    "\n"
		    "  [idle] GPU 0: 85.0 us, 85.0 % of the 100.0 us recorded\n");
	model_free(model);
}

static void or_shown(void **state)
{
	struct model *model = with_libraries();

	assert_tree(model, (struct attribution){}, &(struct tree_options){.all_frames = true},
		    "\n"
		    "GPU time by call\n"
		    "  15.0 us  100.0 %  GPU time\n"
		    "  └─ 15.0 us  100.0 %  main  train.py:10\n"
		    "     └─ 15.0 us  100.0 %  Module._call  torch/nn/modules/module.py:11\n"
		    "        └─ 15.0 us  100.0 %  Linear.forward  torch/nn/modules/linear.py:12\n"
		    "           ├─ 10.0 us  66.7 %  Thread.run  threading.py:13\n"
		    "           │  └─ 10.0 us  66.7 %  block  models/block.py:14\n"
		    "           │     └─ 10.0 us  66.7 %  kernel\n"
		    "           └─ 5.0 us  33.3 %  kernel\n"
		    "\n"
		    "  [idle] GPU 0: 85.0 us, 85.0 % of the 100.0 us recorded\n");
	model_free(model);
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

static void backward_nodes_name_their_forward_op(void **state)
{
	struct model *model = forward_log_training_step();

	assert_tree(model, (struct attribution){}, &all_of_it,
		    "\n"
		    "GPU time by call   frames of libraries are folded: --show-all\n"
		    "  55.0 us  100.0 %  GPU time\n"
		    "  ├─ 52.0 us  94.5 %  step  model.py:37\n"
		    "  │  ├─ 40.0 us  72.7 %  MmBackward0 (mm:1)\n"
		    "  │  │  └─ 40.0 us  72.7 %  kernel\n"
		    "  │  ├─ 7.0 us  12.7 %  AddBackward0 (add:1)\n"
		    "  │  │  └─ 7.0 us  12.7 %  kernel\n"
		    "  │  └─ 5.0 us  9.1 %  AccumulateGrad\n"
		    "  │     └─ 5.0 us  9.1 %  kernel\n"
		    "  └─ 3.0 us  5.5 %  forward  model.py:17\n"
		    "     └─ 3.0 us  5.5 %  aten::mm:1\n"
		    "        └─ 3.0 us  5.5 %  kernel\n"
		    "\n"
		    "  [idle] GPU 0: 899.9 ms, 100.0 % of the 900.0 ms recorded\n");
	model_free(model);
}

static void or_stand_under_its_functions(void **state)
{
	struct model *model = forward_log_training_step();

	assert_tree(model, (struct attribution){.forward = true}, &all_of_it,
		    "\n"
		    "GPU time by call   frames of libraries are folded: --show-all\n"
		    "  55.0 us  100.0 %  GPU time\n"
		    "  ├─ 43.0 us  78.2 %  forward  model.py:17\n"
		    "  │  ├─ 40.0 us  72.7 %  MmBackward0 (mm:1)\n"
		    "  │  │  └─ 40.0 us  72.7 %  kernel\n"
		    "  │  └─ 3.0 us  5.5 %  aten::mm:1\n"
		    "  │     └─ 3.0 us  5.5 %  kernel\n"
		    "  ├─ 7.0 us  12.7 %  forward  model.py:18\n"
		    "  │  └─ 7.0 us  12.7 %  AddBackward0 (add:1)\n"
		    "  │     └─ 7.0 us  12.7 %  kernel\n"
		    "  └─ 5.0 us  9.1 %  step  model.py:37\n"
		    "     └─ 5.0 us  9.1 %  AccumulateGrad\n"
		    "        └─ 5.0 us  9.1 %  kernel\n"
		    "\n"
		    "  [idle] GPU 0: 899.9 ms, 100.0 % of the 900.0 ms recorded\n");
	model_free(model);
}

static void by_cpu_time_ops_have_what_is_left_of_their_own(void **state)
{
	struct model *model = forward_log_training_step();

	char *text =
		tree_of_trace(WHOLE_TRACE(model), (struct attribution){}, &(struct tree_options){.by = TREE_BY_CPU});

	assert_has(text, "  50.0 us  100.0 %  time in CUDA calls and ops\n"
			 "  ├─ 30.0 us  60.0 %  step  model.py:37\n"
			 "  │  ├─ 10.0 us  20.0 %  AddBackward0 (add:1)\n"
			 "  │  │  ├─ 9.5 us  19.0 %  [self]\n"
			 "  │  │  └─ 0.5 us  1.0 %  cudaLaunchKernel\n");
	assert_has(text, "  └─ 10.0 us  20.0 %  forward  model.py:18\n"
			 "     └─ 10.0 us  20.0 %  aten::add:1\n"
			 "\n");
	assert_has(text, "thread python3 41236: 900.0 ms of the 900.0 ms recorded\n");
	free(text);
	model_free(model);
}

/* ---- CPU time by samples ----------------------------------------------------------------------------------------- */

static void log_sample_at(struct log_builder *log, uint32_t tid, uint64_t time_us, uint32_t period_us, uint64_t stack,
			  enum gpt_stack_state state)
{
	log_sample(log, (struct gpt_sample){.time_ns = time_us * 1000,
					    .stack_id = stack,
					    .pid = PID,
					    .tid = tid,
					    .period_ns = period_us * 1000,
					    .stack_state = state,
					    .place = GPT_SAMPLE_USER});
}

/*
 * step calls forward, which runs aten::sort from 100 to 200 us, in it cudaLaunchKernel from 150 to 160, then a node of
 * a backward pass on the engine's thread.  Neither op has a stack of its own.
 */
static struct model *with_samples(void)
{
	struct forward_log forward = forward_log_begin();
	uint64_t step = forward_log_stack(&forward, "step", STEP_LINE), sorts;
	struct log_builder *log = &forward.log;

	log_function(log, PID, 0xfee1, "forward", "/src/model.py", 20);
	log_stack(log, PID, 3, 2, (struct gpt_pyframe[]){{.code = 0xfee1, .lasti = 6}, {.code = step - 1, .lasti = 6}});
	sorts = 3;
	forward_log_layer(&forward, "aten::sort", 100, 200, 7, 0);
	forward_log_node(&forward, "SortBackward0", 300, 400, 7, FORWARD_THREAD);
	log_launch(log, PID, TID, 150000, sorts, 1);
	log_batch(log, PID, TID, 900000000);
	log_agent_api(log, (struct gpt_agent_api){.end_ns = 160000, .corr = 1, .tid = TID, .api = CUDA_LAUNCH});
	log_sample_at(log, TID, 50, 10, step, GPT_STACK_OK);
	log_sample_at(log, TID, 110, 20, sorts, GPT_STACK_OK);
	log_sample_at(log, TID, 155, 40, sorts, GPT_STACK_OK);
	log_sample_at(log, TID, 160, 80, sorts, GPT_STACK_OK);
	log_sample_at(log, TID, 200, 160, sorts, GPT_STACK_OK);
	log_sample_at(log, ENGINE, 350, 320, step, GPT_STACK_BACKWARD);
	log_sample_at(log, ENGINE, 500, 640, 0, GPT_STACK_NO_PYTHON);
	log_end(log, 1000000);
	return model_of(log);
}

static void by_cpu_time_samples_stand_in_the_functions_ops_and_calls_in_which_they_were_taken(void **state)
{
	struct model *model = with_samples();

	assert_tree(model, (struct attribution){}, &(struct tree_options){.by = TREE_BY_CPU},
		    "\n"
		    "CPU time by call   frames of libraries are folded: --show-all\n"
		    "  1,270.0 us  100.0 %  CPU time\n"
		    "  ├─ 640.0 us  50.4 %  thread python3 41236\n"
		    "  │  └─ 640.0 us  50.4 %  [no Python in the process]\n"
		    "  └─ 630.0 us  49.6 %  thread python3 41231\n"
		    "     └─ 630.0 us  49.6 %  step  model.py:37\n"
		    "        ├─ 320.0 us  25.2 %  SortBackward0 (sort:1)\n"
		    "        ├─ 300.0 us  23.6 %  forward  model.py:20\n"
		    "        │  ├─ 160.0 us  12.6 %  [self]\n"
		    "        │  └─ 140.0 us  11.0 %  aten::sort:1\n"
		    "        │     ├─ 100.0 us  7.9 %  [self]\n"
		    "        │     └─ 40.0 us  3.1 %  cudaLaunchKernel\n"
		    "        └─ 10.0 us  0.8 %  [self]\n");
	model_free(model);
}

static void a_sample_in_a_node_stands_under_the_functions_of_its_forward_op_if_these_are_wanted(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct log_builder *log = &forward.log;
	uint64_t step = forward_log_stack(&forward, "step", STEP_LINE);
	struct model *model;
	char *text;

	forward_log_layer(&forward, "aten::sort", 100, 200, 7, 20);
	forward_log_node(&forward, "SortBackward0", 300, 400, 7, FORWARD_THREAD);
	log_sample_at(log, ENGINE, 350, 320, step, GPT_STACK_BACKWARD);
	model = forward_log_end(&forward);
	text = tree_of_trace(WHOLE_TRACE(model), (struct attribution){}, &(struct tree_options){.by = TREE_BY_CPU});
	assert_has(text, "  └─ 320.0 us  100.0 %  step  model.py:37\n"
			 "     └─ 320.0 us  100.0 %  SortBackward0 (sort:1)\n");
	free(text);
	text = tree_of_trace(WHOLE_TRACE(model), (struct attribution){.forward = true},
			     &(struct tree_options){.by = TREE_BY_CPU});
	assert_has(text, "  └─ 320.0 us  100.0 %  forward  model.py:17\n"
			 "     └─ 320.0 us  100.0 %  SortBackward0 (sort:1)\n");
	assert_null(strstr(text, "step"));
	free(text);
	model_free(model);
}

static void the_time_in_calls_and_ops_can_still_be_asked_for(void **state)
{
	struct model *model = with_samples();
	char *text =
		tree_of_trace(WHOLE_TRACE(model), (struct attribution){}, &(struct tree_options){.by = TREE_BY_CALLS});

	assert_has(text, "  200.0 us  100.0 %  time in CUDA calls and ops\n");
	assert_has(text, "[outside of CUDA calls and ops]");
	free(text);
	model_free(model);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void assert_sums(const struct model *model, struct attribution attribution)
{
	struct analyses all;
	struct call_tree_nodes nodes;

	assert_int_equal(analyze_with(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_GPU_LINES, ANALYZE_CALL_TREE),
				      &(struct analyze_options){.attribution = &attribution}),
			 0);
	call_tree_nodes_make(&nodes, &all.tree, false);
	assert_int_equal(nodes.all.items[0].ns, all.gpu_lines.sum);
	call_tree_nodes_free(&nodes);
	analyses_free(&all);
}

static void the_first_line_has_all_of_the_gpu_time_there_is(void **state)
{
	for (uint64_t number = 1; number <= 40; number++) {
		struct model *model = random_model(number, 150);

		assert_sums(model, (struct attribution){});
		assert_sums(model, (struct attribution){.forward = true, .graphs = GRAPHS_CAPTURE});
		random_model_free(model);
	}
}

static uint64_t self_of_all(const struct call_tree_nodes *nodes)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < nodes->all.count; i++)
		ns += tree_node_self_ns(nodes, i);
	return ns;
}

static void by_cpu_time_it_has_the_time_of_all_samples(void **state)
{
	for (uint64_t number = 1; number <= 40; number++) {
		struct model *model = random_model(number, 150);
		struct call_tree_nodes nodes;
		struct analyses all;

		assert_int_equal(analyze_with(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_CPU_LINES, ANALYZE_CALL_TREE),
					      &(struct analyze_options){.tree_by = TREE_BY_CPU}),
				 0);
		call_tree_nodes_make(&nodes, &all.tree, number % 2);
		assert_true(all.cpu_lines.sums.sum);
		assert_int_equal(nodes.all.items[0].ns, all.cpu_lines.sums.sum);
		assert_int_equal(self_of_all(&nodes), all.cpu_lines.sums.sum);
		call_tree_nodes_free(&nodes);
		analyses_free(&all);
		random_model_free(model);
	}
}

static void by_calls_it_has_the_time_of_all_calls(void **state)
{
	for (uint64_t number = 1; number <= 40; number++) {
		struct model *model = random_model(number, 150);
		struct call_tree_nodes nodes;
		struct analyses all;

		assert_int_equal(analyze_with(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_API_TIMES, ANALYZE_CALL_TREE),
					      &(struct analyze_options){.tree_by = TREE_BY_CALLS}),
				 0);
		call_tree_nodes_make(&nodes, &all.tree, false);
		assert_int_equal(nodes.all.items[0].ns, all.api_times.ns);
		call_tree_nodes_free(&nodes);
		analyses_free(&all);
		random_model_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_has_its_functions_what_ran_and_what_no_function_has),
		cmocka_unit_test(on_a_terminal_without_utf_8_its_branches_are_ascii),
		cmocka_unit_test(several_processes_stand_apart),
		cmocka_unit_test(by_cpu_time_the_tree_has_cuda_calls),
		cmocka_unit_test(by_memory_it_has_what_was_held_at_the_peak_and_what_of_that_was_not_freed),
		cmocka_unit_test(programs_get_the_tree_by_memory_in_bytes),
		cmocka_unit_test(without_memory_it_says_what_records_it),
		cmocka_unit_test(what_has_less_than_asked_for_is_summed_up),
		cmocka_unit_test(so_many_levels_are_shown),
		cmocka_unit_test(programs_get_the_tree_as_rows_with_their_depth),
		cmocka_unit_test(frames_of_libraries_are_folded),
		cmocka_unit_test(or_shown),
		cmocka_unit_test(backward_nodes_name_their_forward_op),
		cmocka_unit_test(or_stand_under_its_functions),
		cmocka_unit_test(by_cpu_time_ops_have_what_is_left_of_their_own),
		cmocka_unit_test(by_cpu_time_samples_stand_in_the_functions_ops_and_calls_in_which_they_were_taken),
		cmocka_unit_test(a_sample_in_a_node_stands_under_the_functions_of_its_forward_op_if_these_are_wanted),
		cmocka_unit_test(the_time_in_calls_and_ops_can_still_be_asked_for),
		cmocka_unit_test(the_first_line_has_all_of_the_gpu_time_there_is),
		cmocka_unit_test(by_cpu_time_it_has_the_time_of_all_samples),
		cmocka_unit_test(by_calls_it_has_the_time_of_all_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
