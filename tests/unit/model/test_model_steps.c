/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps: what is a boundary between steps in a trace, and which kind of boundary is used. */
#include "model_of.h"

#include "model/steps/steps.h"
#include "whole_trace.h"

#define ENGINE (TID + 5) /* the thread of the autograd engine */

enum name {
	ADAM = 1,
	SGD,
	PROFILER_7,
	PROFILER_8,
	LINEAR,
	NODE,
	CHECKPOINT,
	EVALUATE,
	EPOCH,
	BATCH,
};

static void begin_log(struct log_builder *log)
{
	static const char *const names[] = {"",
					    "Optimizer.step#Adam.step",
					    "Optimizer.step#SGD.step",
					    "ProfilerStep#7",
					    "ProfilerStep#8",
					    "aten::linear",
					    "AddmmBackward0",
					    "CheckpointFunctionBackward",
					    "autograd::engine::evaluate_function: AddmmBackward0",
					    "epoch",
					    "batch"};

	log_begin(log, 10, 0);
	log_process(log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(log, PID, TID, 900);
	for (uint32_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		log_agent_op_name(log, i, names[i]);
}

static void add_named(struct log_builder *log, enum name name, uint64_t start_ns, uint64_t end_ns)
{
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = start_ns,
						 .end_ns = end_ns,
						 .sequence = -1,
						 .thread = 1,
						 .tid = TID,
						 .name = name,
						 .scope = GPT_AGENT_OP_USER_SCOPE});
}

static void add_forward(struct log_builder *log, uint32_t tid, uint64_t start_ns, uint64_t end_ns)
{
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = start_ns,
						 .end_ns = end_ns,
						 .sequence = 5,
						 .thread = tid == TID ? 1 : 3,
						 .tid = tid,
						 .name = LINEAR});
}

static void add_backward(struct log_builder *log, uint32_t tid, enum name name, uint64_t start_ns, uint64_t end_ns)
{
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = start_ns,
						 .end_ns = end_ns,
						 .sequence = 5,
						 .thread = tid == TID ? 1 : 2,
						 .forward_thread = 1,
						 .tid = tid,
						 .name = name,
						 .scope = name == EVALUATE ? GPT_AGENT_OP_FUNCTION
									   : GPT_AGENT_OP_BACKWARD_FUNCTION});
}

static void add_range(struct log_builder *log, uint16_t what, uint64_t time_ns, const char *name)
{
	log_agent_range(log, &(struct gpt_agent_range){.time_ns = time_ns, .tid = TID, .what = what}, name, "");
}

static void add_launch(struct log_builder *log, uint32_t tid, uint64_t time_ns, uint64_t stack)
{
	log_launch(log, PID, tid, time_ns, stack, (uint32_t)time_ns);
}

static void add_traced(struct log_builder *log, uint64_t time_ns, uint64_t code, uint64_t frame)
{
	struct gpt_pycall record = {.time_ns = time_ns, .pid = PID, .tid = TID, .code = code, .frame = frame};

	log_put(log, GPT_PYCALL, &record, sizeof(record), NULL, 0);
}

/* Expects the log's steps as "source thread name: number start-end, ..."; a star marks a first step that is cut. */
static void assert_steps(struct log_builder *log, struct step_request request, const char *expected)
{
	struct model *model;
	struct steps steps;
	char text[1024] = "";

	log_end(log, 1000);
	model = model_of(log);
	assert_int_equal(steps_find(&steps, WHOLE_TRACE(model), &request), 0);
	for (size_t i = 0; i < steps.tracks.count; i++) {
		const struct step_track *track = &steps.tracks.items[i];

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d %u %s%s:", track->source, track->tid,
			 track->name, track->from_stacks ? " by stacks" : "");
		for (size_t k = 0; k < track->list.count; k++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %lu %lu-%lu%s",
				 (unsigned long)track->list.items[k].number,
				 (unsigned long)track->list.items[k].start_ns,
				 (unsigned long)track->list.items[k].end_ns, track->first_cut && !k ? "*" : "");
	}
	assert_string_equal(text, expected);
	steps_free(&steps);
	model_free(model);
}

static const struct step_request fitting = {0};

/* ---- optimizers -------------------------------------------------------------------------------------------------- */

static void a_step_ends_with_the_optimizer(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_forward(&log, TID, 90, 95);
	add_named(&log, ADAM, 100, 110);
	add_named(&log, ADAM, 200, 215);
	add_named(&log, ADAM, 300, 310);
	assert_steps(&log, fitting, "2 41231 Adam.step: 0 90-110* 1 110-215 2 215-310");
}

static void of_several_optimizers_the_first_one_ends_steps(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_named(&log, SGD, 102, 108);
	add_named(&log, ADAM, 100, 110);
	add_named(&log, SGD, 120, 130);
	add_named(&log, ADAM, 200, 215);
	add_named(&log, SGD, 220, 230);
	assert_steps(&log, fitting, "2 41231 Adam.step: 0 100-110* 1 110-215");
}

static void an_optimizer_that_steps_once_makes_no_steps(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_forward(&log, TID, 100, 110);
	add_backward(&log, TID, NODE, 120, 130);
	add_named(&log, ADAM, 140, 150);
	add_forward(&log, TID, 200, 210);
	add_backward(&log, TID, NODE, 220, 230);
	assert_steps(&log, fitting, "3 41231 : 0 100-130* 1 130-230");
}

/* ---- torch.profiler ---------------------------------------------------------------------------------------------- */

static void steps_of_torch_profiler_are_taken_as_they_are(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_named(&log, ADAM, 100, 110);
	add_named(&log, PROFILER_7, 90, 150);
	add_named(&log, ADAM, 200, 215);
	add_named(&log, PROFILER_8, 160, 250);
	add_named(&log, ADAM, 300, 315);
	assert_steps(&log, fitting, "1 41231 : 7 90-150 8 160-250");
}

static void their_boundaries_can_be_others_than_fit(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_named(&log, ADAM, 100, 110);
	add_named(&log, PROFILER_7, 90, 150);
	add_named(&log, ADAM, 200, 215);
	assert_steps(&log, (struct step_request){.source = STEP_OPTIMIZER}, "2 41231 Adam.step: 0 90-110* 1 110-215");
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

static void a_backward_pass_is_over_when_its_thread_goes_on(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_forward(&log, TID, 100, 110);
	add_backward(&log, ENGINE, NODE, 120, 130);
	add_forward(&log, TID + 9, 132, 134); /* on another thread: it means nothing */
	add_backward(&log, ENGINE, NODE, 140, 150);
	add_forward(&log, TID, 160, 170);
	add_backward(&log, ENGINE, NODE, 180, 190);
	add_forward(&log, TID, 200, 210);
	assert_steps(&log, (struct step_request){.source = STEP_BACKWARD}, "3 41231 : 0 100-150* 1 150-190");
}

static void what_is_computed_again_in_a_node_is_of_the_pass(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_forward(&log, TID, 100, 110);
	add_forward(&log, TID, 122, 124);
	add_backward(&log, TID, NODE, 126, 128);
	add_backward(&log, TID, CHECKPOINT, 120, 130);
	add_backward(&log, TID, NODE, 140, 150);
	add_forward(&log, TID, 160, 170);
	add_backward(&log, TID, NODE, 180, 190);
	assert_steps(&log, (struct step_request){.source = STEP_BACKWARD}, "3 41231 : 0 100-150* 1 150-190");
}

static void what_the_engine_has_around_a_node_is_of_the_pass(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_forward(&log, TID, 100, 110);
	add_backward(&log, TID, NODE, 121, 129);
	add_backward(&log, TID, EVALUATE, 120, 130);
	add_backward(&log, TID, NODE, 141, 149);
	add_backward(&log, TID, EVALUATE, 140, 150);
	add_forward(&log, TID, 160, 170);
	add_backward(&log, TID, EVALUATE, 180, 190);
	assert_steps(&log, (struct step_request){.source = STEP_BACKWARD}, "3 41231 : 0 100-150* 1 150-190");
}

static void without_ops_the_stacks_of_calls_say_of_passes(void **state)
{
	static const struct gpt_pyframe in_forward[] = {{.code = 1, .lasti = 2}},
					in_backward[] = {{.code = 2, .lasti = 2}, {.code = 1, .lasti = 4}};
	struct log_builder log;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(&log, PID, 1, "main", "train.py", 10);
	log_function(&log, PID, 2, "_engine_run_backward", "torch/autograd/graph.py", 10);
	log_stack(&log, PID, 7, 1, in_forward);
	log_stack(&log, PID, 8, 2, in_backward);
	for (uint64_t at = 100; at < 400; at += 100) {
		add_launch(&log, TID, at, 7);
		log_call(&log, (struct gpt_call){.time_ns = at + 20,
						 .pid = PID,
						 .tid = ENGINE,
						 .stack_id = 8,
						 .api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
						 .origin = GPT_ORIGIN_AGENT,
						 .stack_state = GPT_STACK_BACKWARD});
		add_launch(&log, TID, at + 30, 8);
		add_launch(&log, TID, at + 40, 7);
	}
	assert_steps(&log, (struct step_request){.source = STEP_BACKWARD},
		     "3 41231  by stacks: 0 100-130* 1 130-230 2 230-330");
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static void a_step_begins_with_its_range_and_the_last_ends_with_it(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_range(&log, GPT_AGENT_RANGE_PUSHED, 100, "batch 1");
	add_range(&log, GPT_AGENT_RANGE_POPPED, 150, "");
	add_range(&log, GPT_AGENT_RANGE_PUSHED, 200, "batch 2");
	add_range(&log, GPT_AGENT_RANGE_PUSHED, 210, "batch inside of it");
	add_range(&log, GPT_AGENT_RANGE_POPPED, 220, "");
	add_range(&log, GPT_AGENT_RANGE_POPPED, 250, "");
	add_range(&log, GPT_AGENT_RANGE_PUSHED, 300, "another");
	add_range(&log, GPT_AGENT_RANGE_POPPED, 350, "");
	assert_steps(&log, (struct step_request){.source = STEP_RANGE, .name = "batch*"},
		     "5 41231 batch*: 0 100-200 1 200-250");
}

static void a_record_function_is_a_range(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_named(&log, BATCH, 100, 150);
	add_named(&log, BATCH, 200, 250);
	add_named(&log, EPOCH, 90, 300);
	assert_steps(&log, (struct step_request){.source = STEP_RANGE, .name = "batch"},
		     "5 41231 batch: 0 100-200 1 200-250");
}

static void a_range_that_is_open_lasts_until_the_trace_ends(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_range(&log, GPT_AGENT_RANGE_PUSHED, 100, "batch");
	assert_steps(&log, (struct step_request){.source = STEP_RANGE, .name = "batch"}, "5 41231 batch: 0 100-1000");
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void a_function_is_seen_in_stacks_where_calls_go_on_elsewhere(void **state)
{
	static const struct gpt_pyframe elsewhere[] = {{.code = 1, .lasti = 2}},
					line_4[] = {{.code = 3, .lasti = 2},
						    {.code = 2, .lasti = 2},
						    {.code = 1, .lasti = 8}},
					line_5[] = {{.code = 2, .lasti = 6}, {.code = 1, .lasti = 8}};
	struct log_builder log;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(&log, PID, 1, "main", "train.py", 10);
	log_function(&log, PID, 2, "Trainer.step", "/src/train.py", 10);
	log_function(&log, PID, 3, "forward", "train.py", 10);
	log_stack(&log, PID, 7, 1, elsewhere);
	log_stack(&log, PID, 8, 3, line_4);
	log_stack(&log, PID, 9, 2, line_5);
	for (uint64_t at = 100; at < 300; at += 100) {
		add_launch(&log, TID, at, 7);
		add_launch(&log, TID, at + 10, 8);
		add_launch(&log, TID, at + 20, 9);
		add_launch(&log, TID, at + 30, 8);
	}
	add_launch(&log, TID, 340, 7);
	assert_steps(&log, (struct step_request){.source = STEP_FUNCTION, .name = "step", .file = "train.py"},
		     "4 41231 step by stacks: 0 110-210 1 210-230");
}

static void functions_of_two_modules(struct log_builder *log)
{
	static const struct gpt_pyframe core[] = {{.code = 1, .lasti = 2}}, other[] = {{.code = 2, .lasti = 2}},
					package[] = {{.code = 3, .lasti = 2}};

	log_begin(log, 10, 0);
	log_process(log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(log, PID, 1, "step", "/src/engine/core.py", 10);
	log_function(log, PID, 2, "Engine.step", "/src/engine/other.py", 20);
	log_function(log, PID, 3, "step", "/src/trainer/__init__.py", 30);
	log_stack(log, PID, 7, 1, core);
	log_stack(log, PID, 8, 1, other);
	log_stack(log, PID, 9, 1, package);
	add_launch(log, TID, 100, 7);
	add_launch(log, TID, 200, 8);
	add_launch(log, TID, 300, 9);
}

static void assert_function(const char *file, const char *name, uint32_t line, const char *expected)
{
	struct log_builder log;

	functions_of_two_modules(&log);
	assert_steps(&log, (struct step_request){.source = STEP_FUNCTION, .name = name, .file = file, .line = line},
		     expected);
}

static void a_function_is_named_by_its_module_its_class_or_its_first_line(void **state)
{
	assert_function(NULL, "engine.core.step", 0, "4 41231 engine.core.step by stacks: 0 100-100");
	assert_function(NULL, "core.step", 0, "4 41231 core.step by stacks: 0 100-100");
	assert_function(NULL, "ore.step", 0, "");
	assert_function(NULL, "core.engine.step", 0, "");
	assert_function(NULL, "other.Engine.step", 0, "4 41231 other.Engine.step by stacks: 0 200-200");
	assert_function(NULL, "Engine.step", 0, "4 41231 Engine.step by stacks: 0 200-200");
	assert_function(NULL, "other.step", 0, "");
	assert_function(NULL, "trainer.step", 0, "4 41231 trainer.step by stacks: 0 300-300");
	assert_function("engine.core", "step", 0, "4 41231 step by stacks: 0 100-100");
	assert_function("engine", "step", 0, "");
	assert_function("other.py", "20", 20, "4 41231 Engine.step by stacks: 0 200-200");
	assert_function("other.py", "21", 21, "");
}

/* Expects "name file:line, ...". */
static void assert_functions(const struct step_function_list *list, const char *expected)
{
	char text[512] = "";

	for (size_t i = 0; i < list->count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s:%u", i ? ", " : "",
			 list->items[i].name, list->items[i].file, list->items[i].line);
	assert_string_equal(text, expected);
}

static void assert_found(const char *name, const char *functions, const char *similar)
{
	struct step_request request = {.source = STEP_FUNCTION, .name = name};
	struct log_builder log;
	struct model *model;
	struct steps steps;

	functions_of_two_modules(&log);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(steps_find(&steps, WHOLE_TRACE(model), &request), 0);
	assert_functions(&steps.functions, functions);
	assert_functions(&steps.similar, similar);
	steps_free(&steps);
	model_free(model);
}

static void functions_that_a_name_fits_and_those_with_a_similar_one_are_known(void **state)
{
	static const char all[] = "step /src/engine/core.py:10, Engine.step /src/engine/other.py:20, "
				  "step /src/trainer/__init__.py:30";

	assert_found("step", all, "");
	assert_found("core.Step", "", all);
	assert_found("stpe", "", "");
	assert_found("steps", "", all);
	assert_found("backward", "", "");
}

/* A server's loop: main waits for a request, handle() processes it. */
static void begin_server(struct log_builder *log)
{
	static const struct gpt_pyframe waits[] = {{.code = 1, .lasti = 2}},
					handles[] = {{.code = 2, .lasti = 2}, {.code = 1, .lasti = 8}};

	log_begin(log, 10, 0);
	log_process(log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(log, PID, 1, "main", "server.py", 10);
	log_function(log, PID, 2, "handle", "server.py", 20);
	log_stack(log, PID, 7, 1, waits);
	log_stack(log, PID, 8, 2, handles);
}

static void add_sample(struct log_builder *log, uint64_t time_ns, uint64_t stack)
{
	log_sample(log, (struct gpt_sample){.time_ns = time_ns,
					    .stack_id = stack,
					    .pid = PID,
					    .tid = TID,
					    .period_ns = 10,
					    .place = GPT_SAMPLE_USER});
}

static void add_wait(struct log_builder *log, uint64_t start_ns, uint64_t end_ns, uint64_t stack)
{
	log_wait(log, (struct gpt_wait){.time_ns = start_ns,
					.end_ns = end_ns,
					.stack_id = stack,
					.pid = PID,
					.tid = TID,
					.syscall = -1,
					.reason = GPT_WAIT_SLEEP});
}

static const struct step_request handle = {.source = STEP_FUNCTION, .name = "handle"};

static void calls_alone_do_not_tell_runs_of_a_function_apart(void **state)
{
	struct log_builder log;

	begin_server(&log);
	add_launch(&log, TID, 120, 8);
	add_launch(&log, TID, 220, 8);
	assert_steps(&log, handle, "4 41231 handle by stacks: 0 120-220");
}

static void a_wait_elsewhere_ends_the_run_of_a_function(void **state)
{
	struct log_builder log;

	begin_server(&log);
	add_launch(&log, TID, 120, 8);
	add_wait(&log, 150, 190, 7);
	add_launch(&log, TID, 220, 8);
	add_wait(&log, 230, 260, 8);
	add_wait(&log, 270, 290, 7);
	assert_steps(&log, handle, "4 41231 handle by stacks: 0 120-220 1 220-260");
}

static void a_sample_shows_a_function_before_it_launches_and_one_elsewhere_that_it_is_over(void **state)
{
	struct log_builder log;

	begin_server(&log);
	add_sample(&log, 110, 8);
	add_launch(&log, TID, 120, 8);
	add_sample(&log, 150, 7);
	add_sample(&log, 160, 0); /* its stack is unknown */
	add_launch(&log, TID, 220, 8);
	add_sample(&log, 230, 8);
	add_sample(&log, 240, 8);
	assert_steps(&log, handle, "4 41231 handle by stacks: 0 110-220 1 220-240");
}

static void a_function_that_makes_no_call_has_steps_by_samples_and_waits(void **state)
{
	struct log_builder log;

	begin_server(&log);
	add_wait(&log, 100, 140, 8);
	add_sample(&log, 150, 7);
	add_wait(&log, 160, 190, 8);
	assert_steps(&log, handle, "4 41231 handle by stacks: 0 100-160 1 160-190");
}

static void a_function_whose_calls_were_traced_is_exact(void **state)
{
	struct log_builder log;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(&log, PID, 1, "step", "train.py", 10);
	log_function(&log, PID, 2, "Step", "train.py", 10);
	add_traced(&log, 100, 1, 5000);
	add_traced(&log, 110, 1, 4000); /* it calls itself */
	add_traced(&log, 120, 0, 4000);
	add_traced(&log, 130, 0, 5000);
	add_traced(&log, 150, 2, 5000);
	add_traced(&log, 160, 0, 5000);
	add_traced(&log, 200, 1, 5000);
	add_traced(&log, 240, 0, 5000);
	assert_steps(&log, (struct step_request){.source = STEP_FUNCTION, .name = "step"},
		     "4 41231 step: 0 100-200 1 200-240");
}

/* ---- bursts of GPU work ------------------------------------------------------------------------------------------ */

static void add_kernel(struct log_builder *log, uint32_t corr, uint64_t start_ns, uint64_t end_ns)
{
	log_launch(log, PID, TID, start_ns - 5, 0, corr);
	log_batch(log, PID, TID, 900);
	log_agent_kernel(log, (struct gpt_agent_kernel){
				      .start_wall_ns = start_ns, .end_wall_ns = end_ns, .corr = corr, .name = 1});
}

static void bursts_are_apart_by_more_than_was_requested(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_kernel(&log, 1, 100, 150);
	add_kernel(&log, 2, 110, 120); /* on another stream: the first continues */
	add_kernel(&log, 3, 200, 210); /* 50 later, not more: the same burst */
	add_kernel(&log, 4, 261, 270);
	add_kernel(&log, 5, 400, 420);
	assert_steps(&log, (struct step_request){.source = STEP_BURST, .name = "50ns", .gap_ns = 50},
		     "6 41231 50ns: 0 100-261 1 261-400 2 400-420");
}

/* ---- traces without steps ---------------------------------------------------------------------------------------- */

static void a_trace_without_ops_has_steps_only_where_they_are_requested(void **state)
{
	struct log_builder log;

	log_begin(&log, 10, 0);
	add_launch(&log, TID, 100, 0);
	add_launch(&log, TID, 200, 0);
	assert_steps(&log, fitting, "");
}

static void names_that_only_begin_like_steps_are_none(void **state)
{
	static const char *const names[] = {"ProfilerStep#", "ProfilerStep#7x", "ProfilerStep#99999999999999999999999"};
	struct log_builder log;

	begin_log(&log);
	for (uint32_t i = 0; i < 3; i++) {
		log_agent_op_name(&log, 100 + i, names[i]);
		add_named(&log, 100 + i, 100 + 10 * i, 105 + 10 * i);
	}
	assert_steps(&log, fitting, "");
}

/* ---- using steps ------------------------------------------------------------------------------------------------- */

static struct steps three_steps(void)
{
	struct steps steps = {0};
	struct step_track track = {.name = xstrdup(""), .source = STEP_OPTIMIZER, .first_cut = true};

	array_push(&track.list, ((struct step){.start_ns = 100, .end_ns = 200, .number = 0}));
	array_push(&track.list, ((struct step){.start_ns = 200, .end_ns = 300, .number = 1}));
	array_push(&track.list, ((struct step){.start_ns = 400, .end_ns = 500, .number = 2}));
	array_push(&steps.tracks, track);
	return steps;
}

static void a_step_is_found_by_time(void **state)
{
	struct steps steps = three_steps();
	const struct step *list = steps.tracks.items[0].list.items;

	assert_true(step_at(list, 3, 99) == SIZE_MAX);
	assert_int_equal(step_at(list, 3, 100), 0);
	assert_int_equal(step_at(list, 3, 299), 1);
	assert_int_equal(step_at(list, 3, 350), 1); /* between two steps: the event's end decides */
	assert_int_equal(step_at(list, 3, 1000), 2);
	steps_free(&steps);
}

static void steps_that_are_not_all_in_a_slice_go(void **state)
{
	struct model_process process = {.name = ""};
	struct model model = {.processes = &process, .process_count = 1};
	struct steps steps = three_steps();

	steps_keep_slice(&steps, &(struct slice){.from_ns = 150, .to_ns = 450}, &model);
	assert_int_equal(steps.tracks.items[0].list.count, 1);
	assert_int_equal(steps.tracks.items[0].list.items[0].number, 0);
	assert_false(steps.tracks.items[0].first_cut);
	steps_keep_slice(&steps, &(struct slice){.to_ns = UINT64_MAX, .processes = (bool[]){false}}, &model);
	assert_int_equal(steps.tracks.count, 0);
	steps_free(&steps);
}

static void steps_are_kept_by_number(void **state)
{
	struct steps steps = three_steps();

	steps_keep_numbers(&steps, 1, 2);
	assert_int_equal(steps.tracks.items[0].list.count, 2);
	assert_int_equal(steps.tracks.items[0].list.items[0].number, 1);
	assert_false(steps.tracks.items[0].first_cut);
	steps_keep_numbers(&steps, 7, 7);
	assert_int_equal(steps.tracks.count, 0);
	steps_free(&steps);
}

/* ---- steps of a schedule ----------------------------------------------------------------------------------------- */

static void add_reported(struct log_builder *log, uint64_t time_ns, uint64_t number, uint8_t phase, uint32_t cycle)
{
	struct gpt_agent_step step = {.time_ns = time_ns,
				      .number = number,
				      .tid = TID,
				      .cycle = cycle,
				      .phase = phase,
				      .by = GPT_STEP_BY_OPTIMIZER};

	log_put(log, GPT_AGENT_STEP, &step, sizeof(step), NULL, 0);
}

static void add_schedule(struct log_builder *log)
{
	struct gpt_agent_schedule record = {.skip_first = 1, .warmup = 1, .active = 2};

	log_put(log, GPT_AGENT_SCHEDULE, &record, sizeof(record), NULL, 0);
}

static void two_cycles(struct log_builder *log)
{
	begin_log(log);
	add_schedule(log);
	add_reported(log, 100, 0, GPT_STEP_WAITING, 0);
	add_reported(log, 200, 1, GPT_STEP_WARMUP, 0);
	add_reported(log, 300, 2, GPT_STEP_ACTIVE, 0);
	add_reported(log, 400, 3, GPT_STEP_ACTIVE, 0);
	add_reported(log, 500, 4, GPT_STEP_WARMUP, 1);
	add_reported(log, 600, 5, GPT_STEP_ACTIVE, 1);
}

static void of_a_schedule_only_steps_that_were_active_are_shown(void **state)
{
	struct log_builder log;

	two_cycles(&log);
	add_named(&log, ADAM, 310, 320);
	add_named(&log, ADAM, 410, 420);
	add_named(&log, ADAM, 610, 620);
	assert_steps(&log, fitting, "2 41231 : 2 300-400 3 400-500 5 600-1000");
}

static void they_can_be_found_by_something_else_where_that_is_requested(void **state)
{
	struct log_builder log;

	two_cycles(&log);
	add_named(&log, ADAM, 310, 320);
	add_named(&log, ADAM, 410, 420);
	assert_steps(&log, (struct step_request){.source = STEP_OPTIMIZER}, "2 41231 Adam.step: 0 310-320* 1 320-420");
}

static void steps_are_kept_by_their_cycle(void **state)
{
	struct log_builder log;
	struct model *model;
	struct steps steps;

	two_cycles(&log);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(steps_find(&steps, WHOLE_TRACE(model), &fitting), 0);
	assert_true(steps.scheduled);
	assert_int_equal(steps.seen, 6);
	assert_int_equal(steps.schedule_first, 2);
	steps_keep_cycle(&steps, 2);
	assert_int_equal(steps.tracks.items[0].list.count, 1);
	assert_int_equal(steps.tracks.items[0].list.items[0].number, 5);
	steps_keep_cycle(&steps, 1);
	assert_int_equal(steps.tracks.count, 0);
	steps_free(&steps);
	model_free(model);
}

static void steps_that_a_process_says_out_of_order_do_not_overlap(void **state)
{
	struct log_builder log;

	begin_log(&log);
	add_schedule(&log);
	add_reported(&log, 300, 2, GPT_STEP_ACTIVE, 0);
	add_reported(&log, 200, 3, GPT_STEP_ACTIVE, 0);
	add_reported(&log, 400, 4, GPT_STEP_ACTIVE, UINT32_MAX);
	add_reported(&log, 800, 9, GPT_STEP_OVER, 0);
	assert_steps(&log, fitting, "2 41231 : 2 300-400 4 400-800");
}

static void steps_that_began_late_or_were_not_reported_are_in_the_receipt(void **state)
{
	struct gpt_agent_step event = {
		.time_ns = 700, .tid = TID, .phase = GPT_STEP_ACTIVE, .by = GPT_STEP_BY_BACKWARD, .late = 1, .lost = 7};
	struct model_receipt *receipt;
	struct log_builder log;
	struct model *model;

	two_cycles(&log);
	log_put(&log, GPT_AGENT_STEP, &event, sizeof(event), NULL, 0);
	log_end(&log, 1000);
	model = model_of(&log);
	receipt = &model_source(model)->receipt;
	assert_int_equal(receipt->late_steps, 1);
	assert_int_equal(receipt->steps_lost, 7);
	assert_true(model_completeness(model) < MODEL_COMPLETE);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_ends_with_the_optimizer),
		cmocka_unit_test(of_several_optimizers_the_first_one_ends_steps),
		cmocka_unit_test(an_optimizer_that_steps_once_makes_no_steps),
		cmocka_unit_test(steps_of_torch_profiler_are_taken_as_they_are),
		cmocka_unit_test(their_boundaries_can_be_others_than_fit),
		cmocka_unit_test(a_backward_pass_is_over_when_its_thread_goes_on),
		cmocka_unit_test(what_is_computed_again_in_a_node_is_of_the_pass),
		cmocka_unit_test(what_the_engine_has_around_a_node_is_of_the_pass),
		cmocka_unit_test(without_ops_the_stacks_of_calls_say_of_passes),
		cmocka_unit_test(a_step_begins_with_its_range_and_the_last_ends_with_it),
		cmocka_unit_test(a_record_function_is_a_range),
		cmocka_unit_test(a_range_that_is_open_lasts_until_the_trace_ends),
		cmocka_unit_test(a_function_is_seen_in_stacks_where_calls_go_on_elsewhere),
		cmocka_unit_test(calls_alone_do_not_tell_runs_of_a_function_apart),
		cmocka_unit_test(a_wait_elsewhere_ends_the_run_of_a_function),
		cmocka_unit_test(a_sample_shows_a_function_before_it_launches_and_one_elsewhere_that_it_is_over),
		cmocka_unit_test(a_function_that_makes_no_call_has_steps_by_samples_and_waits),
		cmocka_unit_test(a_function_whose_calls_were_traced_is_exact),
		cmocka_unit_test(a_function_is_named_by_its_module_its_class_or_its_first_line),
		cmocka_unit_test(functions_that_a_name_fits_and_those_with_a_similar_one_are_known),
		cmocka_unit_test(bursts_are_apart_by_more_than_was_requested),
		cmocka_unit_test(a_trace_without_ops_has_steps_only_where_they_are_requested),
		cmocka_unit_test(names_that_only_begin_like_steps_are_none),
		cmocka_unit_test(a_step_is_found_by_time),
		cmocka_unit_test(steps_that_are_not_all_in_a_slice_go),
		cmocka_unit_test(steps_are_kept_by_number),
		cmocka_unit_test(of_a_schedule_only_steps_that_were_active_are_shown),
		cmocka_unit_test(they_can_be_found_by_something_else_where_that_is_requested),
		cmocka_unit_test(steps_are_kept_by_their_cycle),
		cmocka_unit_test(steps_that_a_process_says_out_of_order_do_not_overlap),
		cmocka_unit_test(steps_that_began_late_or_were_not_reported_are_in_the_receipt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
