/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The causes of lost GPU time: small logs, each with one way to lose it. */
#include "analyzed.h"
#include "report/why/why.h"

#define TRAIN 1u /* stacks: train.py:43, train.py:40, a library's line below train.py:45 */
#define EARLIER 2u
#define LIBRARY 3u

#define US 1000ull
#define MS 1000000ull

static void begin_log(struct log_builder *log)
{
	log_begin(log, 1000, 0);
	log_function(log, PID, 0xc0de, "train", "/src/train.py", 30);
	log_function(log, PID, 0xc0df, "forward", "/usr/lib/python3/dist-packages/torch/nn.py", 100);
	log_stack(log, PID, TRAIN, 1, (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 26}});
	log_stack(log, PID, EARLIER, 1, (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 20}});
	log_stack(log, PID, LIBRARY, 2,
		  (struct gpt_pyframe[]){{.code = 0xc0df, .lasti = 2}, {.code = 0xc0de, .lasti = 30}});
	log_batch(log, PID, TID, 1500);
	log_agent_ready(log, "kernels,cuda,sync");
	log_agent_name(log, 1, "_Z4gemmPf");
}

static void add_kernel(struct log_builder *log, uint32_t corr, uint64_t start_ns, uint64_t end_ns)
{
	log_batch(log, PID, TID, end_ns);
	log_agent_kernel(log, (struct gpt_agent_kernel){
				      .start_wall_ns = start_ns, .end_wall_ns = end_ns, .corr = corr, .name = 1});
}

/* A call with its return, as the agent reports them. */
static void add_call(struct log_builder *log, uint32_t api, uint64_t stack, uint32_t corr, uint64_t start_ns,
		     uint64_t end_ns)
{
	log_call(log, (struct gpt_call){.time_ns = start_ns,
					.pid = PID,
					.tid = TID,
					.stack_id = stack,
					.corr = corr,
					.api = api,
					.origin = GPT_ORIGIN_AGENT,
					.stack_state = GPT_STACK_OK});
	log_batch(log, PID, TID, end_ns);
	log_agent_api(log, (struct gpt_agent_api){
				   .start_ns = start_ns, .end_ns = end_ns, .corr = corr, .tid = TID, .api = api});
}

/* A launch 10 us before its kernel. */
static void add_run(struct log_builder *log, uint64_t stack, uint32_t corr, uint64_t start_ns, uint64_t end_ns)
{
	log_launch(log, PID, TID, start_ns - 10 * US, stack, corr);
	add_kernel(log, corr, start_ns, end_ns);
}

static struct model *end_log(struct log_builder *log, struct analyses *all)
{
	struct model *model;

	log_end(log, 10000 * MS);
	model = model_of(log);
	analyze_model(all, model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED));
	return model;
}

static const struct why_loss *loss_of(const struct analyses *all, enum why_cause cause)
{
	for (size_t i = 0; i < all->why.count; i++)
		if (all->why.losses[i].cause == cause)
			return &all->why.losses[i];
	return NULL;
}

static uint64_t sum_of_all(const struct analyses *all)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WHY_CAUSES; i++)
		sum += all->why.sums[i].ns;
	return sum;
}

/* Every nanosecond must be in one of the sums. */
static void finish_analyses(struct analyses *all, struct model *model)
{
	assert_int_equal(sum_of_all(all), all->why.lost_ns);
	analyses_free(all);
	model_free(model);
}

#define CUDA_SYNC GPT_API(GPT_DOMAIN_RUNTIME, 131)
#define CU_SYNC GPT_API(GPT_DOMAIN_DRIVER, 126)
#define CUDA_MALLOC GPT_API(GPT_DOMAIN_RUNTIME, 20)
#define CUDA_MEMCPY GPT_API(GPT_DOMAIN_RUNTIME, 41)

static void time_between_two_calls_is_pythons(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, EARLIER, 1, 10 * MS, 12 * MS);
	add_run(&log, TRAIN, 2, 20 * MS, 22 * MS);
	model = end_log(&log, &all);
	assert_int_equal(all.why.losses[0].cause, WHY_PYTHON);
	assert_int_equal(all.why.losses[0].ns, 8 * MS - 10 * US); /* until the launch */
	assert_int_equal(all.why.sums[WHY_GPU].ns, 10 * US);
	assert_line(&all, all.why.losses[0].lines[0].line, "train.py:43 train");
	assert_line(&all, all.why.losses[0].lines[0].from_line, "train.py:40 train");
	assert_int_equal(all.why.looked_ns, 12 * MS);
	finish_analyses(&all, model);
}

static void a_library_s_line_is_put_on_the_line_of_the_user_s_that_called_it(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, LIBRARY, 1, 10 * MS, 12 * MS);
	add_run(&log, LIBRARY, 2, 20 * MS, 22 * MS);
	model = end_log(&log, &all);
	assert_line(&all, all.why.losses[0].lines[0].line, "train.py:45 train");
	finish_analyses(&all, model);
}

static void a_wait_costs_what_the_cpu_would_have_been_ahead(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 20 * MS);
	add_call(&log, CUDA_SYNC, EARLIER, 2, 16 * MS, 20 * MS); /* the last 4 ms of the kernel */
	add_run(&log, TRAIN, 3, 26 * MS, 28 * MS);		 /* 6 ms after the end of the first kernel */
	model = end_log(&log, &all);
	assert_int_equal(loss_of(&all, WHY_SYNC)->ns, 4 * MS);
	assert_line(&all, loss_of(&all, WHY_SYNC)->lines[0].line, "train.py:40 train");
	assert_int_equal(loss_of(&all, WHY_SYNC)->lines[0].calls, 1);
	assert_int_equal(loss_of(&all, WHY_SYNC)->lines[0].calls_ns, 4 * MS);
	assert_int_equal(loss_of(&all, WHY_PYTHON)->ns, 2 * MS - 10 * US);
	finish_analyses(&all, model);
}

static void what_is_left_of_a_wait_counts_for_later_gaps_until_the_next_wait(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 20 * MS);
	add_call(&log, CUDA_SYNC, EARLIER, 2, 16 * MS, 20 * MS);
	add_run(&log, TRAIN, 3, 21 * MS, 22 * MS); /* 0.99 of the wait's 4 ms */
	add_run(&log, TRAIN, 4, 24 * MS, 25 * MS); /* 1.99 more of them */
	add_call(&log, CUDA_SYNC, EARLIER, 5, 24500 * US, 25 * MS);
	add_run(&log, TRAIN, 6, 28 * MS, 29 * MS); /* 0.5 ms of the new wait */
	model = end_log(&log, &all);
	assert_int_equal(loss_of(&all, WHY_SYNC)->ns, 3500 * US - 2 * 10 * US); /* gaps until the launches */
	assert_int_equal(loss_of(&all, WHY_PYTHON)->ns, 2500 * US - 10 * US);
	finish_analyses(&all, model);
}

static void add_collection(struct log_builder *log, uint64_t time_ns, bool begins)
{
	struct gpt_pyevent event = {.time_ns = time_ns,
				    .frame = 0x7000,
				    .pid = PID,
				    .tid = TID,
				    .kind = GPT_PYEVENT_GC,
				    .ends = !begins,
				    .value = 2};

	log_put(log, GPT_PYEVENT, &event, sizeof(event), NULL, 0);
}

static void time_in_a_collection_is_not_the_line_s(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	add_collection(&log, 13 * MS, true);
	add_collection(&log, 18 * MS, false);
	add_run(&log, TRAIN, 2, 20 * MS, 22 * MS);
	model = end_log(&log, &all);
	assert_int_equal(loss_of(&all, WHY_GC)->ns, 5 * MS);
	assert_int_equal(loss_of(&all, WHY_GC)->lines[0].detail, 2);
	assert_int_equal(loss_of(&all, WHY_PYTHON)->ns, 3 * MS - 10 * US);
	finish_analyses(&all, model);
}

static void memory_that_is_handed_out_in_a_gap_is_alloc(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	add_call(&log, CUDA_MALLOC, EARLIER, 2, 13 * MS, 19 * MS);
	add_run(&log, TRAIN, 3, 20 * MS, 22 * MS);
	model = end_log(&log, &all);
	assert_int_equal(all.why.losses[0].cause, WHY_ALLOC);
	assert_int_equal(all.why.losses[0].ns, 6 * MS);
	assert_line(&all, all.why.losses[0].lines[0].line, "train.py:40 train");
	finish_analyses(&all, model);
}

static void kernels_shorter_than_their_launches_are_the_price_of_launching(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	for (uint32_t i = 0; i < 100; i++)
		add_run(&log, TRAIN, 1 + i, 10 * MS + i * 30 * US, 10 * MS + i * 30 * US + 3 * US);
	model = end_log(&log, &all);
	assert_int_equal(all.why.losses[0].cause, WHY_LAUNCH);
	assert_int_equal(all.why.losses[0].ns, 99 * 27 * US);
	assert_int_equal(all.why.losses[0].count, 99);
	assert_int_equal(all.idle.launch_kernel_ns, 99 * 3 * US);
	assert_int_equal(all.idle.launch_interval_ns, 99 * 30 * US);
	finish_analyses(&all, model);
}

static void a_kernel_whose_gap_an_earlier_call_took_is_not_among_the_small_ones(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 20 * MS);
	add_call(&log, CUDA_MALLOC, EARLIER, 2, 12 * MS,
		 12 * MS + 40 * US); /* two gaps until their launches, and a part of the third */
	for (uint32_t i = 1; i <= 100; i++)
		add_run(&log, TRAIN, 2 + i, 20 * MS + i * 30 * US, 20 * MS + i * 30 * US + 3 * US);
	model = end_log(&log, &all);
	assert_int_equal(loss_of(&all, WHY_ALLOC)->ns, 40 * US);
	assert_int_equal(loss_of(&all, WHY_LAUNCH)->count, 98);
	assert_int_equal(all.idle.launch_kernel_ns, 98 * 3 * US);
	assert_int_equal(all.idle.launch_interval_ns, 98 * 30 * US);
	finish_analyses(&all, model);
}

static void add_copy(struct log_builder *log, uint32_t corr, uint64_t start_ns, uint64_t end_ns)
{
	log_batch(log, PID, TID, end_ns);
	log_agent_memcpy(log, (struct gpt_agent_memcpy){.start_wall_ns = start_ns,
							.end_wall_ns = end_ns,
							.bytes = 6000000,
							.corr = corr,
							.kind = 1,
							.from = 1,
							.to = 3});
}

static void a_copy_counts_as_far_as_no_kernel_runs_beside_it(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	add_call(&log, CUDA_MEMCPY, EARLIER, 2, 10500 * US, 15 * MS);
	add_copy(&log, 2, 11 * MS, 15 * MS);
	add_run(&log, TRAIN, 3, 14 * MS, 16 * MS);
	model = end_log(&log, &all);
	assert_int_equal(all.why.copy_alone_ns, 2 * MS);
	assert_int_equal(loss_of(&all, WHY_COPY)->ns, 2 * MS);
	assert_line(&all, loss_of(&all, WHY_COPY)->lines[0].line, "train.py:40 train");
	assert_int_equal(loss_of(&all, WHY_COPY)->lines[0].pageable, 1);
	assert_int_equal(loss_of(&all, WHY_COPY)->lines[0].copy_bytes, 6000000);
	finish_analyses(&all, model);
}

static char *print_words(const struct model *model)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_why(out, WHOLE_TRACE(model), &(struct report_options){.width = 200}), 0);
	fclose(out);
	return text;
}

static void work_that_was_launched_in_time_is_no_one_s_loss(void **state)
{
	char *text;
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	log_launch(&log, PID, TID, 11 * MS, TRAIN, 2);
	add_kernel(&log, 2, 14 * MS, 16 * MS);
	model = end_log(&log, &all);
	assert_int_equal(all.why.count, 0);
	assert_int_equal(all.why.sums[WHY_GPU].ns, 2 * MS);
	text = print_words(model);
	assert_non_null(strstr(text, "No cause that this trace shows has 1 % of that time or more."));
	assert_non_null(strstr(text, "For 2.0 ms the GPU had work that was launched and did not begin it"));
	free(text);
	finish_analyses(&all, model);
}

static void a_busy_gpu_loses_nothing(void **state)
{
	char *text;
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	log_launch(&log, PID, TID, 9 * MS, TRAIN, 1);
	log_launch(&log, PID, TID, 9500 * US, TRAIN, 2);
	add_kernel(&log, 1, 10 * MS, 20 * MS);
	add_kernel(&log, 2, 20 * MS + 1 * US, 30 * MS);
	model = end_log(&log, &all);
	assert_int_equal(all.why.count, 0);
	assert_int_equal(all.why.lost_ns, 1 * US);
	assert_int_equal(all.why.sums[WHY_SHORT].ns, 1 * US);
	text = print_words(model);
	assert_non_null(strstr(text, "Nothing to mend"));
	free(text);
	finish_analyses(&all, model);
}

/* A launch of 5 us, 105 us after the GPU ran out of work, whose kernel begins 790 us after it returned. */
static void a_gap_is_the_launch_s_until_it_returned_and_then_the_gpu_s(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 10 * MS + 100 * US);
	for (uint32_t i = 1; i <= 29; i++) {
		uint64_t idle_ns = 10 * MS + 100 * US + (i - 1) * MS, launch_ns = idle_ns + 105 * US;

		add_call(&log, CUDA_LAUNCH, TRAIN, 1 + i, launch_ns, launch_ns + 5 * US);
		add_kernel(&log, 1 + i, launch_ns + 795 * US, launch_ns + 895 * US);
	}
	model = end_log(&log, &all);
	assert_int_equal(all.why.sums[WHY_PYTHON].ns, 29 * 110 * US);
	assert_int_equal(all.why.sums[WHY_GPU].ns, 29 * 790 * US);
	finish_analyses(&all, model);
}

/* Without the call both later launches come 1 ms earlier: the first gap is shorter by that, the second is not. */
static void a_call_in_one_gap_does_not_count_for_the_next(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 1 * MS, 1100 * US);
	add_call(&log, CUDA_MALLOC, EARLIER, 2, 2 * MS, 3 * MS);
	add_run(&log, TRAIN, 3, 4010 * US, 4100 * US);
	add_run(&log, TRAIN, 4, 7010 * US, 7100 * US);
	model = end_log(&log, &all);
	assert_int_equal(all.why.sums[WHY_ALLOC].ns, 1 * MS);
	assert_int_equal(all.why.sums[WHY_PYTHON].ns, 1900 * US + 2900 * US);
	finish_analyses(&all, model);
}

/* A call of the runtime and the driver's below it wait for the same. */
static void a_call_inside_another_is_charged_once(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 20 * MS);
	add_call(&log, CUDA_SYNC, EARLIER, 2, 16 * MS, 20 * MS);
	add_call(&log, CU_SYNC, EARLIER, 3, 16 * MS, 20 * MS);
	add_run(&log, TRAIN, 4, 30 * MS, 32 * MS);
	model = end_log(&log, &all);
	assert_int_equal(all.why.sums[WHY_SYNC].ns, 4 * MS);
	finish_analyses(&all, model);
}

/* ---- ops ----------------------------------------------------------------------------------------------------- */

static void time_in_a_data_loader_is_data(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	log_batch(&log, PID, TID, 19 * MS);
	log_agent_op_name(&log, 1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 11 * MS,
						  .end_ns = 19 * MS,
						  .tid = TID,
						  .name = 1,
						  .sequence = -1,
						  .scope = GPT_AGENT_OP_USER_SCOPE});
	add_run(&log, TRAIN, 2, 20 * MS, 22 * MS);
	model = end_log(&log, &all);
	assert_int_equal(all.why.losses[0].cause, WHY_DATA);
	assert_int_equal(all.why.losses[0].ns, 7 * MS); /* in the first ms the GPU had work */
	assert_line(&all, all.why.losses[0].lines[0].line, "train.py:43 train");
	finish_analyses(&all, model);
}

static void put_op(struct log_builder *log, const char *text, uint32_t name, uint64_t start_ns, uint64_t end_ns)
{
	log_agent_op_name(log, name, text);
	log_agent_op(log, &(struct gpt_agent_op){
				  .start_ns = start_ns, .end_ns = end_ns, .tid = TID, .name = name, .sequence = -1});
}

/* Counts from the cache lookup.  At the second lookup the region is compiled already. */
static void time_before_a_new_region_of_torch_compile_is_compilation_s(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	for (uint64_t at = 0; at <= 20 * MS; at += 20 * MS) {
		uint32_t name = at ? 8 : 1;

		log_batch(&log, PID, TID, at + 29 * MS);
		put_op(&log, "TorchDynamo Cache Lookup", name, at + 14 * MS, at + 15 * MS);
		put_op(&log, "PythonDispatchMode", name + 1, at + 17 * MS, at + 18 * MS);
		put_op(&log, "Torch-Compiled Region: 0/1", name + 2, at + 28 * MS, at + 29 * MS);
		add_run(&log, TRAIN, (uint32_t)(2 + at / MS), at + 30 * MS, at + 32 * MS);
	}
	model = end_log(&log, &all);
	assert_int_equal(loss_of(&all, WHY_COMPILE)->ns, 13 * MS);
	assert_line(&all, loss_of(&all, WHY_COMPILE)->lines[0].line, "train.py:43 train");
	assert_int_equal(loss_of(&all, WHY_PYTHON)->ns, 5 * MS + 18 * MS - 2 * 10 * US);
	finish_analyses(&all, model);
}

/*
 * Two regions without a compilation: one that was compiled before the trace began, and one after ops under a mode of
 * the program's own, which the launch between them shows.
 */
static void a_region_of_torch_compile_alone_is_no_compilation(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_log(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	log_batch(&log, PID, TID, 35 * MS);
	put_op(&log, "TorchDynamo Cache Lookup", 1, 14 * MS, 15 * MS);
	put_op(&log, "Torch-Compiled Region: 0/1", 2, 16 * MS, 17 * MS);
	put_op(&log, "PythonDispatchMode", 3, 18 * MS, 19 * MS);
	add_run(&log, TRAIN, 2, 30 * MS, 32 * MS);
	put_op(&log, "Torch-Compiled Region: 1/0", 4, 34 * MS, 35 * MS);
	add_run(&log, TRAIN, 3, 40 * MS, 42 * MS);
	model = end_log(&log, &all);
	assert_null(loss_of(&all, WHY_COMPILE));
	finish_analyses(&all, model);
}

#define IN_LOADER 4u
#define IN_NAMESAKE 5u

static void begin_with_loader(struct log_builder *log, const char *name)
{
	begin_log(log);
	log_function(log, PID, 0xc0e0, name, "/x/site-packages/torch/utils/data/dataloader.py", 700);
	log_function(log, PID, 0xc0e1, "__next__", "/src/torch_utils/data/dataloader.py", 7);
	log_stack(log, PID, IN_LOADER, 2,
		  (struct gpt_pyframe[]){{.code = 0xc0e0, .lasti = 2}, {.code = 0xc0de, .lasti = 20}});
	log_stack(log, PID, IN_NAMESAKE, 2,
		  (struct gpt_pyframe[]){{.code = 0xc0e1, .lasti = 2}, {.code = 0xc0de, .lasti = 20}});
	log_batch(log, PID, TID, 2000);
}

/* Works without ops, and whether or not the interpreter has qualified names. */
static void time_until_a_call_inside_a_data_loader_is_data(void **state)
{
	static const char *const names[] = {"__next__", "_BaseDataLoaderIter.__next__"};

	for (size_t i = 0; i < 2; i++) {
		struct log_builder log;
		struct analyses all;
		struct model *model;
		char *text;

		begin_with_loader(&log, names[i]);
		add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
		add_call(&log, CUDA_MALLOC, IN_LOADER, 2, 18 * MS, 18 * MS + 1 * US);
		add_run(&log, TRAIN, 3, 20 * MS, 22 * MS);
		model = end_log(&log, &all);
		assert_int_equal(all.why.losses[0].cause, WHY_DATA);
		assert_int_equal(all.why.losses[0].ns, 6 * MS);
		assert_line(&all, all.why.losses[0].lines[0].line, "train.py:40 train");
		text = print_words(model);
		assert_non_null(strstr(text, "before the DataLoader's call at train.py:40 train"));
		assert_non_null(strstr(text, "num_workers"));
		free(text);
		finish_analyses(&all, model);
	}
}

static void a_function_that_is_called_as_the_data_loader_s_is_none(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;
	char *text;

	begin_with_loader(&log, "__next__");
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	add_call(&log, CUDA_MALLOC, IN_NAMESAKE, 2, 18 * MS, 18 * MS + 1 * US);
	add_run(&log, TRAIN, 3, 20 * MS, 22 * MS);
	model = end_log(&log, &all);
	assert_null(loss_of(&all, WHY_DATA));
	assert_int_equal(all.why.losses[0].cause, WHY_PYTHON);
	text = print_words(model);
	assert_null(strstr(text, "num_workers"));
	assert_non_null(strstr(text, "Whether Python was in PyTorch's DataLoader or compiler cannot be said"));
	free(text);
	finish_analyses(&all, model);
}

/* ---- other processes and ranks ------------------------------------------------------------------------------- */

#define OTHER (PID + 100)
#define THIRD 302u

static void run_named(struct log_builder *log, uint32_t pid, uint32_t name, uint32_t corr, uint64_t launch_ns,
		      struct why_span span)
{
	log_launch(log, pid, pid, launch_ns, 0, corr);
	log_batch(log, pid, pid, span.end_ns);
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = span.start_ns,
							.end_wall_ns = span.end_ns,
							.device = pid == PID ? 0 : 1,
							.corr = corr,
							.name = name});
}

static void run_of(struct log_builder *log, uint32_t pid, uint32_t device, uint32_t corr, uint64_t launch_ns,
		   struct why_span span)
{
	log_launch(log, pid, pid, launch_ns, 0, corr);
	log_batch(log, pid, pid, span.end_ns);
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = span.start_ns,
							.end_wall_ns = span.end_ns,
							.device = device,
							.corr = corr,
							.name = 1});
}

static void begin_other(struct log_builder *log)
{
	begin_log(log);
	log_process(log, OTHER, 1, 1600, 1550, 0x30c, "other", "", "", "");
	log_batch(log, OTHER, OTHER, 1700);
	log_agent_ready(log, "kernels,cuda");
	log_agent_name(log, 1, "_Z4gemmPf");
}

static void work_that_waits_for_another_process_s_is_that_process_s(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_other(&log);
	add_run(&log, TRAIN, 1, 10 * MS, 12 * MS);
	run_of(&log, OTHER, 0, 1, 12 * MS - 2 * US, (struct why_span){12 * MS, 20 * MS});
	log_launch(&log, PID, TID, 14 * MS, TRAIN, 2); /* its kernel waits for 6 ms */
	add_kernel(&log, 2, 20 * MS, 22 * MS);
	model = end_log(&log, &all);
	assert_int_equal(all.why.idle_ns, 0);
	assert_int_equal(all.why.losses[0].cause, WHY_PROCESS);
	assert_int_equal(all.why.losses[0].ns, 6 * MS);
	assert_line(&all, all.why.losses[0].lines[0].line, "train.py:43 train");
	assert_string_equal(model->processes[all.why.losses[0].lines[0].detail].name, "other");
	finish_analyses(&all, model);
}

#define SEPARATOR GPT_COLLECTIVE_SEPARATOR
#define COLLECTIVE(rank)                                                                                               \
	"all_reduce" SEPARATOR "0" SEPARATOR "" SEPARATOR "[0, 1]" SEPARATOR "[]" SEPARATOR "[]" SEPARATOR             \
	"8" SEPARATOR "8" SEPARATOR "6" SEPARATOR rank SEPARATOR "2" SEPARATOR "-1" SEPARATOR "-1" SEPARATOR           \
	"-1" SEPARATOR "0" SEPARATOR "1"

/* The op of a collective around its launch, on one rank. */
static void add_collective(struct log_builder *log, uint32_t pid, const char *params, uint64_t time_ns)
{
	log_batch(log, pid, pid, time_ns + 100 * US);
	log_agent_op_name(log, 7, "record_param_comms");
	log_agent_op_name(log, 8, params);
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = time_ns,
						 .end_ns = time_ns + 100 * US,
						 .tid = pid,
						 .name = 7,
						 .sequence = -1,
						 .collective = 8,
						 .collective_sequence = 5});
}

static void ranks_that_wait_for_the_last_one_are_lost_to_it(void **state)
{
	struct log_builder log;
	struct analyses all;
	struct model *model;

	begin_other(&log);
	add_collective(&log, PID, COLLECTIVE("0"), 10 * MS);
	run_of(&log, PID, 0, 1, 10 * MS + 10 * US, (struct why_span){11 * MS, 20 * MS});
	run_of(&log, PID, 0, 2, 11 * MS, (struct why_span){12 * MS, 14 * MS}); /* on another stream */
	add_collective(&log, OTHER, COLLECTIVE("1"), 17 * MS);
	run_of(&log, OTHER, 1, 1, 17 * MS + 10 * US, (struct why_span){18 * MS, 20 * MS});
	model = end_log(&log, &all);
	assert_non_null(all.why.open_collectives);
	assert_int_equal(all.why.open_collectives->complete, 1);
	assert_int_equal(all.why.losses[0].cause, WHY_RANK);
	assert_int_equal(all.why.losses[0].ns, 5 * MS); /* in 2 of 7 ms the GPU had other work */
	assert_int_equal(all.why.losses[0].lines[0].detail, 1);
	finish_analyses(&all, model);
}

/* What ranks lost in kernels called my_ring of two processes; `third`: another one has such a kernel alone. */
static uint64_t lost_in_named(const char *pattern, bool third)
{
	struct comm_kernels names = {0};
	struct log_builder log;
	struct analyses all;
	struct model *model;
	uint64_t ns;

	assert_null(comm_kernels_add(&names, pattern));
	begin_other(&log);
	log_agent_name(&log, 5, "my_ring");
	log_agent_name(&log, 6, "my_tree");
	log_batch(&log, PID, TID, 1800);
	log_agent_name(&log, 5, "my_ring");
	log_agent_name(&log, 6, "my_tree");
	run_named(&log, PID, 5, 1, 11 * MS - 10 * US, (struct why_span){11 * MS, 20 * MS});
	run_of(&log, PID, 0, 2, 11 * MS, (struct why_span){12 * MS, 14 * MS}); /* on another stream */
	run_named(&log, OTHER, 5, 1, 18 * MS - 10 * US, (struct why_span){18 * MS, 20 * MS});
	run_named(&log, PID, 6, 4, 24 * MS - 10 * US, (struct why_span){24 * MS, 28 * MS});
	run_named(&log, OTHER, 6, 3, 26 * MS - 10 * US, (struct why_span){26 * MS, 28 * MS});
	run_named(&log, PID, 5, 3, 30 * MS - 10 * US, (struct why_span){30 * MS, 34 * MS});
	run_named(&log, OTHER, 5, 2, 31 * MS - 10 * US, (struct why_span){31 * MS, 34 * MS});
	if (third) {
		log_process(&log, THIRD, 1, 1600, 1550, 0x30c, "third", "", "", "");
		log_batch(&log, THIRD, THIRD, 1900);
		log_agent_ready(&log, "kernels,cuda");
		log_agent_name(&log, 5, "my_ring");
		run_named(&log, THIRD, 5, 1, 50 * MS - 10 * US, (struct why_span){50 * MS, 51 * MS});
	}
	log_end(&log, 10000 * MS);
	model = model_of(&log);
	assert_int_equal(analyze_with(&all, WHOLE_TRACE(model), ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED),
				      &(struct analyze_options){.comm_names = &names}),
			 0);
	ns = all.why.sums[WHY_RANK].ns;
	if (ns) {
		assert_int_equal(all.why.named.complete, third ? 1 : 3);
		assert_int_equal(all.why.sums[WHY_RANK].count, third ? 1 : 3);
		assert_int_equal(all.why.sums[WHY_RANK].longest_ns, third ? 2 * MS : 5 * MS);
		assert_int_equal(model->processes[loss_of(&all, WHY_RANK)->lines[0].process].pid, OTHER);
		assert_int_equal(loss_of(&all, WHY_RANK)->lines[0].detail, NONE);
	}
	finish_analyses(&all, model);
	comm_kernels_free(&names);
	return ns;
}

static void collectives_that_a_kernel_s_name_shows_are_lost_to_the_last_one_too(void **state)
{
	assert_int_equal(lost_in_named("^my_", false), 8 * MS); /* 5 as above, 2 and 1 */
	assert_int_equal(lost_in_named("^other_ring", false), 0);
}

/* Who waits for whom is not known where not all that have such kernels take part. */
static void a_kernel_s_name_shows_nothing_where_not_all_processes_with_it_take_part(void **state)
{
	assert_int_equal(lost_in_named("^my_", true), 2 * MS); /* my_tree */
}

/* ---- the sample run ------------------------------------------------------------------------------------------ */

static void it_counts_the_same_idle_time_as_the_table_of_idle_lines(void **state)
{
	struct model *model = sample_model(2, 20);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_IDLE));
	assert_int_equal(all.why.idle_ns, all.idle.sum);
	finish_analyses(&all, model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_between_two_calls_is_pythons),
		cmocka_unit_test(a_library_s_line_is_put_on_the_line_of_the_user_s_that_called_it),
		cmocka_unit_test(a_wait_costs_what_the_cpu_would_have_been_ahead),
		cmocka_unit_test(what_is_left_of_a_wait_counts_for_later_gaps_until_the_next_wait),
		cmocka_unit_test(time_in_a_collection_is_not_the_line_s),
		cmocka_unit_test(memory_that_is_handed_out_in_a_gap_is_alloc),
		cmocka_unit_test(kernels_shorter_than_their_launches_are_the_price_of_launching),
		cmocka_unit_test(a_kernel_whose_gap_an_earlier_call_took_is_not_among_the_small_ones),
		cmocka_unit_test(a_copy_counts_as_far_as_no_kernel_runs_beside_it),
		cmocka_unit_test(work_that_was_launched_in_time_is_no_one_s_loss),
		cmocka_unit_test(a_busy_gpu_loses_nothing),
		cmocka_unit_test(a_gap_is_the_launch_s_until_it_returned_and_then_the_gpu_s),
		cmocka_unit_test(a_call_in_one_gap_does_not_count_for_the_next),
		cmocka_unit_test(a_call_inside_another_is_charged_once),
		cmocka_unit_test(time_in_a_data_loader_is_data),
		cmocka_unit_test(time_before_a_new_region_of_torch_compile_is_compilation_s),
		cmocka_unit_test(a_region_of_torch_compile_alone_is_no_compilation),
		cmocka_unit_test(time_until_a_call_inside_a_data_loader_is_data),
		cmocka_unit_test(a_function_that_is_called_as_the_data_loader_s_is_none),
		cmocka_unit_test(work_that_waits_for_another_process_s_is_that_process_s),
		cmocka_unit_test(collectives_that_a_kernel_s_name_shows_are_lost_to_the_last_one_too),
		cmocka_unit_test(a_kernel_s_name_shows_nothing_where_not_all_processes_with_it_take_part),
		cmocka_unit_test(ranks_that_wait_for_the_last_one_are_lost_to_it),
		cmocka_unit_test(it_counts_the_same_idle_time_as_the_table_of_idle_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
