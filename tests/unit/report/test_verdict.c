/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lines with which a report begins: gaps that one culprit, several or none are charged with. */
#include "gap_log.h"
#include "steps_log.h"

#include "analyze/why/why_findings.h"
#include "report/why/verdict.h"
#include "report/table/table_writer.h"
#include "report/table/text.h"
#include "report/why/why.h"

/* The verdict of a report: what is between its first and its second blank line. */
static char *verdict_of(const struct model *model)
{
	char *text = written(model, report_write), *begin = strstr(text, "\n\n"), *end, *verdict;

	assert_non_null(begin);
	end = strstr(begin + 2, "\n\n");
	assert_non_null(end);
	verdict = strndup(begin + 1, (size_t)(end + 1 - begin - 1));
	free(text);
	return verdict;
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void assert_has(const char *text, size_t count, const char *const *parts)
{
	for (size_t i = 0; i < count; i++)
		if (!strstr(text, parts[i]))
			fail_msg("'%s' is not in:%s", parts[i], text);
}

/* Frees the text. */
static void assert_lines(char *verdict, size_t count, const char *const *lines)
{
	assert_has(verdict, count, lines);
	if (lines_of(verdict) > VERDICT_LINES + 1)
		fail_msg("more than %u lines:%s", VERDICT_LINES, verdict);
	free(verdict);
}

#define VERDICT_HAS(model, ...)                                                                                        \
	assert_lines(verdict_of(model), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),             \
		     (const char *const[]){__VA_ARGS__})

static void the_worker_that_kept_the_gpu_waiting_leads(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, WORKS, FROM, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_PIPE, LOADER, FROM, LAUNCHED), WORKER, WORKER, WORKS));
	end_gap(&gap);
	VERDICT_HAS(gap.model,
		    "\nThe GPU was busy for 1.1 % of the 91.0 ms from its first operation to its last. Lost most to:\n"
		    "1. 90.0 ms, 98.9 %, data loading: data.py:17 __getitem__ (worker 41330)\n"
		    "   Try: Make that line cheaper, or give the DataLoader more num_workers",
		    "\nMost GPU time: 99.0 % train.py:34 train\n"
		    "Complete: 2 of 2 launches joined, 0 lost; 100.0 % of GPU time under a Python line\n"
		    "Next: gputrace report FILE --lines __getitem__\n");
	end_words(&gap);
}

static void a_worker_that_lacked_a_cpu_is_not_to_load_faster_alone(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, WORKS, FROM, 50 * MS);
	log_wait(&gap.log, of(waits(GPT_WAIT_PREEMPTED, WORKS, 50 * MS, 90 * MS), WORKER, WORKER));
	runs(&gap.log, WORKER, WORKER, WORKS, 90 * MS, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_PIPE, LOADER, FROM, LAUNCHED), WORKER, WORKER, WORKS));
	end_gap(&gap);
	VERDICT_HAS(
		gap.model,
		"\n1. 90.0 ms, 98.9 %, data loading (40.0 ms of it no CPU): data.py:17 __getitem__ (worker 41330)\n");
	end_words(&gap);
}

static void a_culprit_that_lacked_a_cpu_for_a_part_is_one_finding(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, PID, TID, LOAD, 10 * MS, 70 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_PREEMPTED, LOAD, 70 * MS, 90 * MS));
	runs(&gap.log, PID, TID, LOAD, 90 * MS, 100 * MS);
	end_gap(&gap);
	VERDICT_HAS(
		gap.model,
		"\n1. 90.0 ms, 98.9 %, Python (20.0 ms of it no CPU): train.py:32 train\n   Try: Take it out",
		"out of the loop, give it to a thread or process of its own, or launch the GPU's next work before it\n"
		"Most GPU time");
	SAYS(&gap, report_write_why, "1. 70.0 ms", "2. 20.0 ms"); /* by cause */
	end_words(&gap);
}

static void the_sum_of_further_causes_is_named_too(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, PID, TID, LOAD, 10 * MS, 50 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_PREEMPTED, LOAD, 50 * MS, 75 * MS));
	log_wait(&gap.log, waits(GPT_WAIT_SLEEP, LOAD, 75 * MS, 95 * MS));
	end_gap(&gap);
	VERDICT_HAS(gap.model, "1. 90.0 ms, 98.9 %, Python (25.0 ms of it no CPU, 20.0 ms other causes): train.py:32");
	end_words(&gap);
}

static void of_a_gap_without_samples_both_launches_are_named_and_no_culprit(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	end_gap(&gap);
	VERDICT_HAS(gap.model,
		    "\n1. 90.0 ms, 98.9 %, Python: from train.py:31 train to the next launch, train.py:34 train\n",
		    "\nWhat ran while the GPU waited is not in this trace: with root, -p or a COMMAND",
		    "\nNext: sudo gputrace why -p 41230\n");
	end_words(&gap);
}

static void so_they_are_where_no_sample_is_in_the_gap(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	sample(&gap.log, PID, TID, 15 * MS, LOAD);
	end_gap(&gap);
	VERDICT_HAS(gap.model, "not sampled: from train.py:31 train to the next launch, train.py:34 train\n",
		    "Python: train.py:32 train\n");
	SAYS(&gap, report_write_why, "from train.py:31 train to the next launch, train.py:34 train");
	end_words(&gap);
}

/* The default rests where it costs too much, and leaves short waits out: a higher rate alone would not help. */
static void what_samples_and_waits_miss_is_recorded_at_any_cost(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	sample(&gap.log, PID, TID, 15 * MS, LOAD);
	log_wait(&gap.log, waits(GPT_WAIT_PIPE, LOAD, 20 * MS, 21 * MS));
	end_gap(&gap);
	VERDICT_HAS(gap.model, "not sampled: from train.py:31 train to the next launch, train.py:34 train\n"
			       "   Try: Record what runs and waits at any cost (--cpu --off-cpu -F 4999): by default");
	end_words(&gap);
}

/* Another thread launched before the gap, and waits in it; the launching thread has done nothing so far. */
static void of_a_thread_that_may_just_have_begun_no_rate_of_samples_is_advised(void **state)
{
	struct gap gap;

	begin(&gap.log);
	log_launch(&gap.log, PID, HELPER, FROM - 20 * US, TRAIN, 1);
	log_batch(&gap.log, PID, HELPER, FROM);
	log_agent_kernel(&gap.log, (struct gpt_agent_kernel){
					   .start_wall_ns = FROM - 10 * US, .end_wall_ns = FROM, .corr = 1, .name = 1});
	sample(&gap.log, PID, HELPER, FROM - 5 * US, TRAIN);
	log_wait(&gap.log, of(waits(GPT_WAIT_POLL, HOLDS, FROM, LAUNCHED), PID, HELPER));
	end_gap(&gap);
	VERDICT_HAS(gap.model,
		    "not sampled: train.py:34 train\n   Try: See what the threads waited for that start this one");
	SAYS(&gap, report_write_why, "(--table off_cpu)");
	end_words(&gap);
}

/* The report of 5 ms of a trace, from that time on. */
static char *report_of_slice(const struct model *model, uint64_t from_ns)
{
	const struct slice slice = {.from_ns = from_ns, .to_ns = from_ns + 5 * MS, .device = NONE};
	struct sliced_trace sliced;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(sliced_trace_open(&sliced, WHOLE_TRACE(model), &slice, "a slice"), 0);
	assert_int_equal(report_write(out, &sliced.trace, &(struct report_options){.width = 200}), 0);
	sliced_trace_close(&sliced);
	fclose(out);
	return text;
}

static void of_a_slice_without_gpu_work_nothing_is_said_where_launches_lack_their_times(void **state)
{
	struct gap gap;
	char *text;

	begin(&gap.log);
	log_launch(&gap.log, PID, TID, 2 * MS, LOAD, 7);
	kernel(&gap.log, 1, FROM - 20 * US, FROM - 10 * US, FROM);
	end_gap(&gap);
	text = report_of_slice(gap.model, MS);
	assert_has(text, 1,
		   (const char *const[]){"No GPU operation is in this slice: 1 launch has no GPU times: whether GPUs "
					 "worked is not known. Take a slice"});
	free(text);
	text = report_of_slice(gap.model, 200 * MS);
	assert_has(text, 1, (const char *const[]){"in this slice: GPUs worked only before it, or only after it."});
	free(text);
	end_words(&gap);
}

static void a_copy_whose_call_was_lost_is_a_loss_of_that_call(void **state)
{
	struct log_builder log;
	struct model *model;

	begin(&log);
	kernel(&log, 1, FROM - 20 * US, FROM - 10 * US, FROM);
	log_agent_memcpy(&log, (struct gpt_agent_memcpy){.start_wall_ns = FROM,
							 .end_wall_ns = FROM + 60 * MS,
							 .corr = 77,
							 .bytes = 4096,
							 .kind = 1,
							 .from = 1,
							 .to = 3});
	kernel(&log, 2, FROM + 50 * MS, FROM + 60 * MS, TO);
	log_end(&log, 10000 * MS);
	model = model_of(&log);
	VERDICT_HAS(model, "\n1. 60.0 ms, 66.7 %, copies: (call not seen)\n");
	assert_says(model, (const char *const[]){"   where    (call not seen)\n"}, 1, report_write_why);
	model_free(model);
}

static void a_wait_in_the_middle_of_a_kernel_is_in_a_slice_in_which_no_operation_begins(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	begin(&log);
	kernel(&log, 1, 9 * MS, 10 * MS, 100 * MS);
	call_that_waits(&log, 31 * MS, 99 * MS);
	log_end(&log, 200 * MS);
	model = model_of(&log);
	text = report_of_slice(model, 30 * MS);
	assert_has(text, 2,
		   (const char *const[]){"CPU waiting for the GPU by Python line",
					 "  68.0  100.0      1  68,000.0  cudaStreamSynchronize  train.py:33 train\n"});
	free(text);
	model_free(model);
}

static void of_steps_without_gpu_work_it_is_said_that_it_is_elsewhere(void **state)
{
	struct ops_log ops = {0};
	struct found found;
	struct trace *trace;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	begin(&ops.log);
	kernel(&ops.log, 1, 200 * US, 210 * US, 300 * US);
	kernel(&ops.log, 2, 220 * US, 400 * US, 500 * US);
	log_batch(&ops.log, PID, TID, 900 * MS);
	log_agent_op_name(&ops.log, ADAM, "Optimizer.step#Adam.step");
	for (uint64_t us = 700; us < 1000; us += 50)
		add_op(&ops, ADAM, us, us + 1);
	trace = find(&found, &ops);
	assert_int_equal(report_write(out, trace, &(struct report_options){.width = 200}), 0);
	fclose(out);
	assert_has(text, 1,
		   (const char *const[]){"No GPU operation ran in the 5 steps of training of this trace: what GPUs did "
					 "is before and after them."});
	free(text);
	found_free(&found);
}

static void a_busy_gpu_has_nothing_to_mend(void **state)
{
	struct log_builder log;
	struct model *model;

	begin(&log);
	kernel(&log, 1, FROM, FROM + 10 * US, FROM + 90 * MS);
	kernel(&log, 2, FROM + 20 * US, FROM + 91 * MS, FROM + 190 * MS);
	log_end(&log, 10000 * MS);
	model = model_of(&log);
	VERDICT_HAS(model,
		    "\nThe GPU was busy for 99.5 % of the 190.0 ms from its first operation to its last.\n"
		    "Nothing to mend: 0.5 % of that time was lost; in the other 9.8 s no GPU work was seen.\n"
		    "Most GPU time: 52.4 % train.py:34 train",
		    "\nNext: gputrace report FILE --lines train\n");
	model_free(model);
}

/* What would not fit on a line with the lines of a library is said by one's own lines, each once. */
static void lines_of_a_library_count_for_the_own_line_that_called_them(void **state)
{
	static const struct {
		uint32_t library, own, ms; /* lasti; train.py:30 + own / 2 */
	} calls[] = {{2, 2, 40}, {4, 4, 30}, {6, 2, 20}, {8, 4, 10}};
	struct log_builder log;
	struct model *model;
	uint64_t at = FROM;

	begin(&log);
	log_function(&log, PID, 0xc0e0, "forward", "/x/site-packages/torch/nn.py", 100);
	for (uint32_t i = 0; i < 4; i++) {
		log_stack(&log, PID, 100 + i, 2,
			  (struct gpt_pyframe[]){{.code = 0xc0e0, .lasti = calls[i].library},
						 {.code = 0xc0de, .lasti = calls[i].own}});
		log_launch(&log, PID, TID, at - 10 * US, 100 + i, 1 + i);
		log_batch(&log, PID, TID, at + calls[i].ms * MS);
		log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = at,
								 .end_wall_ns = at + calls[i].ms * MS,
								 .corr = 1 + i,
								 .name = 1});
		at += calls[i].ms * MS;
	}
	log_end(&log, 10000 * MS);
	model = model_of(&log);
	VERDICT_HAS(model, "\nMost GPU time: 60.0 % train.py:31 train, 40.0 % train.py:32 train\n");
	model_free(model);
}

/* A kernel of NCCL at train.py:35. */
static void reduce(struct log_builder *log, uint32_t corr, uint64_t start_ns, uint64_t end_ns)
{
	log_launch(log, PID, TID, start_ns - 10 * US, HOLDS, corr);
	log_batch(log, PID, TID, end_ns);
	log_agent_kernel(log, (struct gpt_agent_kernel){
				      .start_wall_ns = start_ns, .end_wall_ns = end_ns, .corr = corr, .name = 2});
}

/* A GPU that is never idle, of which a share runs NCCL's kernel alone. */
static struct model *reducing(uint64_t exposed_ns)
{
	struct log_builder log;

	begin(&log);
	log_batch(&log, PID, TID, 1600);
	log_agent_name(&log, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)");
	kernel(&log, 1, FROM, FROM + 10 * US, FROM + 50 * MS);
	reduce(&log, 3, FROM + 20 * MS, FROM + 50 * MS + exposed_ns);
	kernel(&log, 2, FROM + 21 * MS, FROM + 50 * MS + exposed_ns, FROM + 100 * MS);
	log_end(&log, 10000 * MS);
	return model_of(&log);
}

static void communication_that_nothing_hides_is_named_with_its_line(void **state)
{
	struct model *model = reducing(20 * MS);
	char *verdict;

	VERDICT_HAS(model, "\nThe GPU was busy for 100.0 % of",
		    "\nExposed communication: 20.0 % of the time from the first operation to the last: all-reduce at "
		    "train.py:35\nMost GPU time");
	verdict = verdict_of(model);
	assert_null(strstr(verdict, "Nothing to mend"));
	free(verdict);
	model_free(model);
	model = reducing(4 * MS);
	verdict = verdict_of(model);
	assert_null(strstr(verdict, "Exposed"));
	assert_non_null(strstr(verdict, "Nothing to mend"));
	free(verdict);
	model_free(model);
}

static void without_gpu_times_it_says_how_to_get_them_and_which_lines_launch(void **state)
{
	struct log_builder log;
	struct model *model;

	begin(&log);
	log_launch(&log, PID, TID, FROM, TRAIN, 1);
	log_launch(&log, PID, TID, TO, TRAIN, 2);
	log_launch(&log, PID, TID, TO + MS, LOAD, 3);
	log_end(&log, 10000 * MS);
	model = model_of(&log);
	VERDICT_HAS(model, "\nNo GPU times for pid 41230: ", " To get them: ",
		    "seen, but no GPU times: when the GPU worked is not in this trace.\n",
		    "\nMost launches: 66.7 % train.py:31 train, 33.3 % train.py:32 train\n");
	model_free(model);
}

static void what_lost_records_is_not_complete(void **state)
{
	uint64_t counters[GPT_COUNTER_COUNT] = {[GPT_COUNTER_CALLS_LOST] = 5};
	struct log_builder log;
	struct model *model;

	begin(&log);
	kernel(&log, 1, FROM - 20 * US, FROM - 10 * US, FROM);
	kernel(&log, 2, LAUNCHED, TO, TO + MS);
	log_end_with(&log, &(struct gpt_end){.time_ns = 10000 * MS}, counters);
	model = model_of(&log);
	VERDICT_HAS(model, "\nIncomplete: 2 of 2 launches joined, 5 lost; ");
	model_free(model);
}

static uint64_t sum_of(const struct why_findings *findings)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < findings->all.count; i++)
		sum += findings->all.items[i].ns;
	return sum;
}

static void lines_too_small_to_be_named_are_one_finding_of_their_cause(void **state)
{
	struct why_line lines[100];
	struct why why = {.count = 2};
	struct why_findings findings;

	for (uint32_t i = 0; i < 100; i++)
		lines[i] =
			(struct why_line){.line = i, .from_line = NONE, .extra = NONE, .process = i % 4, .ns = 100 - i};
	why.losses[0] = (struct why_loss){.cause = WHY_RAN, .ns = 5050, .lines = lines, .line_count = 100};
	why.losses[1] = (struct why_loss){.cause = WHY_NO_CPU, .ns = 100, .lines = lines, .line_count = 1};
	why_findings_make(&findings, &why, 100);
	assert_int_equal(findings.all.count, 2);
	assert_int_equal(sum_of(&findings), 5150);
	assert_int_equal(findings.all.items[0].lines, 99);
	assert_int_equal(findings.all.items[0].processes, 4);
	assert_int_equal(findings.all.items[0].line->line, 1);
	assert_int_equal(findings.all.items[1].ns, 200); /* the first line, with what it lacked of a CPU */
	assert_int_equal(findings.all.items[1].of_cause[WHY_NO_CPU], 100);
	why_findings_free(&findings);
}

/* A line with these times of imports, of no CPU and of samples: what it is found to have lost. */
static struct why_findings findings_of_import(uint64_t import_ns, uint64_t no_cpu_ns, uint64_t ran_ns)
{
	struct why_line import = {.line = 7, .from_line = NONE, .ns = import_ns}, no_cpu = import, ran = import;
	struct why_loss losses[] = {
		{.cause = WHY_IMPORT, .ns = import_ns, .lines = &import, .line_count = 1},
		{.cause = WHY_NO_CPU, .ns = no_cpu_ns, .lines = &no_cpu, .line_count = 1},
		{.cause = WHY_RAN, .ns = ran_ns, .lines = &ran, .line_count = ran_ns != 0},
	};
	struct why why = {.count = 3};
	struct why_findings findings;

	no_cpu.ns = no_cpu_ns;
	ran.ns = ran_ns;
	memcpy(why.losses, losses, sizeof(losses));
	why_findings_make(&findings, &why, 1);
	assert_int_equal(sum_of(&findings), import_ns + no_cpu_ns + ran_ns);
	return findings;
}

static void an_import_that_lacked_a_cpu_for_a_part_is_one_finding(void **state)
{
	struct why_findings findings = findings_of_import(300, 200, 0);

	assert_int_equal(findings.all.count, 1);
	assert_int_equal(findings.all.items[0].of_cause[WHY_NO_CPU], 200);
	assert_int_equal(findings.all.items[0].lines, 1);
	why_findings_free(&findings);
	findings = findings_of_import(300, 200, 400); /* what the line ran takes more: it lacked a CPU for that */
	assert_int_equal(findings.all.count, 2);
	assert_int_equal(findings.all.items[0].of_cause[WHY_NO_CPU], 200);
	assert_int_equal(findings.all.items[0].of_cause[WHY_RAN], 400);
	why_findings_free(&findings);
}

static void findings_add_up_to_the_losses_of_why(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;
	uint64_t sum = 0;

	analyze_model(&all, model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED));
	for (size_t i = 0; i < all.why.count; i++) {
		uint64_t lines_ns = 0;

		for (size_t k = 0; k < all.why.losses[i].line_count; k++)
			lines_ns += all.why.losses[i].lines[k].ns;
		assert_int_equal(lines_ns, all.why.losses[i].ns);
		sum += all.why.losses[i].ns;
	}
	assert_true(sum);
	for (uint64_t least_ns = 1; least_ns < 100 * MS; least_ns *= 10) {
		struct why_findings findings;

		why_findings_make(&findings, &all.why, least_ns);
		assert_int_equal(sum_of(&findings), sum);
		for (size_t i = 1; i < findings.all.count; i++)
			assert_true(findings.all.items[i - 1].ns >= findings.all.items[i].ns);
		why_findings_free(&findings);
	}
	analyses_free(&all);
	model_free(model);
}

/* A name comes from the traced program, and the command is there to be pasted. */
static void no_name_that_a_shell_would_read_is_in_a_command(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_function(&gap.log, PID, 0xbad, "f;reboot", "/src/$(reboot).py", 1);
	log_stack(&gap.log, PID, 77, 1, (struct gpt_pyframe[]){{.code = 0xbad, .lasti = 2}});
	runs(&gap.log, PID, TID, 77, FROM, TO);
	end_gap(&gap);
	VERDICT_HAS(gap.model, ": $(reboot).py:2 f;reboot\n", "\nNext: gputrace why FILE\n");
	end_words(&gap);
}

/* ---- callers ----------------------------------------------------------------------------------------------------- */

#define BUSY 0xb5u     /* code: util.py:11 busy */
#define ENCODER 0xe4cu /* code: a library's encoder.py:258 iterencode */

static void log_helpers(struct gap *gap)
{
	log_function(&gap->log, PID, BUSY, "busy", "/src/util.py", 10);
	log_function(&gap->log, PID, ENCODER, "iterencode", "/usr/lib/python3.12/json/encoder.py", 257);
}

#define STACK_OF(code, line) (((uint64_t)(code) << 8) + (line))

/* Line 30 + line of train calls the function of that code, which runs in that time. */
static void called_from(struct gap *gap, uint64_t code, uint32_t line, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t stack = STACK_OF(code, line);

	log_stack(&gap->log, PID, stack, 2,
		  (struct gpt_pyframe[]){{.code = code, .lasti = 2}, {.code = 0xc0de, .lasti = 2 * line}});
	runs(&gap->log, PID, TID, stack, from_ns, to_ns);
}

static void a_helper_is_told_apart_by_who_called_it(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_helpers(&gap);
	called_from(&gap, BUSY, 1, 10 * MS, 70 * MS);
	called_from(&gap, BUSY, 2, 70 * MS, 100 * MS);
	end_gap(&gap);
	VERDICT_HAS(gap.model, "\n1. 60.0 ms, 65.9 %, Python: util.py:11 busy <- train.py:31 train\n",
		    "\n2. 30.0 ms, 33.0 %, Python: util.py:11 busy <- train.py:32 train\n",
		    "\nNext: gputrace report FILE --lines busy\n");
	SAYS(&gap, report_write_why, "util.py:11 busy <- train.py:31 train: 60.0 ms",
	     "util.py:11 busy <- train.py:32 train: 30.0 ms");
	SAYS(&gap, report_write, "\n     60.0  66.7     1  util.py:11 busy ",
	     "\n     30.0  33.3     1  util.py:11 busy ", "<- train.py:31 train\n", "<- train.py:32 train\n");
	end_words(&gap);
}

static void a_caller_that_is_always_the_same_is_not_news(void **state)
{
	struct gap gap;
	char *text;

	begin_gap(&gap);
	log_helpers(&gap);
	called_from(&gap, BUSY, 1, 10 * MS, 100 * MS);
	end_gap(&gap);
	VERDICT_HAS(gap.model, "\n1. 90.0 ms, 98.9 %, Python: util.py:11 busy\n");
	text = written(gap.model, report_write);
	assert_null(strstr(text, "<-"));
	free(text);
	end_words(&gap);
}

static void a_library_s_line_is_named_before_the_line_that_called_it(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_helpers(&gap);
	called_from(&gap, ENCODER, 2, 10 * MS, 100 * MS);
	end_gap(&gap);
	VERDICT_HAS(gap.model, "\n1. 90.0 ms, 98.9 %, Python: encoder.py:258 iterencode <- train.py:32 train\n",
		    "\nNext: gputrace report FILE --lines train\n");
	SAYS(&gap, report_write_why, "   where    encoder.py:258 iterencode <- train.py:32 train\n");
	end_words(&gap);
}

/* 90 callers have 1 ms each: none of them is 1 % of it, but the helper is. */
static void callers_too_small_to_be_named_are_one_finding_of_the_line(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_helpers(&gap);
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t stack = 2000 + i;

		log_function(&gap.log, PID, 0xf000 + i, "caller", "/src/callers.py", 10 * i);
		log_stack(&gap.log, PID, stack, 2,
			  (struct gpt_pyframe[]){{.code = BUSY, .lasti = 2}, {.code = 0xf000 + i, .lasti = 2}});
		sample(&gap.log, PID, TID, FROM + 225 * US + i * 450 * US, stack);
	}
	end_gap(&gap);
	VERDICT_HAS(gap.model, "\n1. 90.0 ms, 98.9 %, Python: util.py:11 busy <- ", " caller (and 199 more)\n");
	SAYS(&gap, report_write, " caller (and 199 more)\n");
	end_words(&gap);
}

static void a_caller_too_small_to_be_named_stays_with_the_one_that_has_most(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_helpers(&gap);
	called_from(&gap, BUSY, 1, 10 * MS, 60 * MS);
	called_from(&gap, BUSY, 3, 60 * MS, 60 * MS); /* only their stacks, for the samples below */
	called_from(&gap, BUSY, 2, 60 * MS, 60 * MS);
	sample(&gap.log, PID, TID, 60 * MS, STACK_OF(BUSY, 1));
	sample(&gap.log, PID, TID, 60 * MS + 200 * US, STACK_OF(BUSY, 3));
	sample(&gap.log, PID, TID, 60 * MS + 400 * US, STACK_OF(BUSY, 2));
	for (uint64_t at = 65 * MS; at < 100 * MS; at += PERIOD)
		sample(&gap.log, PID, TID, at, STACK_OF(BUSY, 2));
	end_gap(&gap);
	VERDICT_HAS(gap.model, "\n1. 50.3 ms, 55.3 %, Python: util.py:11 busy <- train.py:31 train (and 1 more)\n",
		    "\n2. 39.7 ms, 43.6 %, Python: util.py:11 busy <- train.py:32 train\n");
	end_words(&gap);
}

static void a_function_that_calls_itself_is_told_apart_by_who_called_it_first(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_helpers(&gap);
	for (uint32_t depth = 1; depth < 10; depth++) {
		struct gpt_pyframe frames[11];

		for (uint32_t i = 0; i < depth; i++)
			frames[i] = (struct gpt_pyframe){.code = BUSY, .lasti = i ? 4 : 2};
		frames[depth] = (struct gpt_pyframe){.code = 0xc0de, .lasti = depth % 3 ? 2 : 4};
		log_stack(&gap.log, PID, 3000 + depth, depth + 1, frames);
		runs(&gap.log, PID, TID, 3000 + depth, depth * 10 * MS, depth * 10 * MS + 10 * MS);
	}
	end_gap(&gap);
	VERDICT_HAS(gap.model, "\n1. 60.0 ms, 65.9 %, Python: util.py:11 busy <- train.py:31 train\n",
		    "\n2. 30.0 ms, 33.0 %, Python: util.py:11 busy <- train.py:32 train\n");
	end_words(&gap);
}

/* What makes it less certain has two lines at most. */
static void what_has_no_room_ends_after_a_clause(void **state)
{
	struct verdict verdict;
	struct gap gap;

	begin_gap(&gap);
	end_gap(&gap);
	text_begin();
	verdict_make(&verdict, &gap.all, 44);
	assert_string_equal(verdict.lines[3], "What ran while the GPU waited is not in this");
	assert_string_equal(verdict.lines[4], "  trace");
	assert_memory_equal(verdict.lines[5], "Complete: ", 10);
	verdict_free(&verdict);
	text_end();
	end_words(&gap);
}

/* The verdict at each width from `least` on has each line whole, and the first loss its place. */
static void assert_fits(struct gap *gap, unsigned least, const char *place)
{
	text_begin();
	for (unsigned width = least; width < 130; width++) {
		struct verdict verdict;

		verdict_make(&verdict, &gap->all, width);
		assert_non_null(strstr(verdict.lines[1], place));
		assert_true(text_width(verdict.lines[1]) <= width);
		for (size_t i = 0; i < verdict.count; i++)
			if (!strncmp(verdict.lines[i], "Complete: ", 10))
				assert_true(text_width(verdict.lines[i]) <= width);
		verdict_free(&verdict);
	}
	text_end();
}

static void a_loss_says_less_of_its_causes_before_its_line_is_cut(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, PID, TID, LOAD, 10 * MS, 50 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_PREEMPTED, LOAD, 50 * MS, 75 * MS));
	log_wait(&gap.log, waits(GPT_WAIT_SLEEP, LOAD, 75 * MS, 95 * MS));
	end_gap(&gap);
	assert_fits(&gap, 50, ": train.py:32 train");
	end_words(&gap);
}

static void a_launch_before_which_nothing_is_known_is_named_at_any_width(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	end_gap(&gap);
	assert_fits(&gap, 54, "train.py:34 train");
	end_words(&gap);
}

static void a_brief_verdict_tells_a_helper_apart_by_who_called_it(void **state)
{
	struct verdict verdict;
	struct gap gap;

	begin_gap(&gap);
	log_helpers(&gap);
	called_from(&gap, BUSY, 2, 10 * MS, 70 * MS);
	called_from(&gap, BUSY, 3, 70 * MS, 100 * MS);
	end_gap(&gap);
	text_begin();
	verdict_make_brief(&verdict, &gap.all, 55);
	assert_string_equal(verdict.lines[0], "1. 65.9 %, Python: util.py:11 busy <- train.py:32 train");
	assert_string_equal(verdict.lines[1], "2. 33.0 %, Python: util.py:11 busy <- train.py:33 train");
	verdict_free(&verdict);
	text_end();
	end_words(&gap);
}

/* However narrow the screen, the line stays, and no line is wider. */
static void a_brief_verdict_has_the_line_on_any_screen(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_helpers(&gap);
	called_from(&gap, BUSY, 1, 10 * MS, 70 * MS);
	called_from(&gap, ENCODER, 2, 70 * MS, 100 * MS);
	end_gap(&gap);
	text_begin();
	for (unsigned width = 12; width < 130; width++) {
		struct verdict verdict;

		verdict_make_brief(&verdict, &gap.all, width);
		assert_int_equal(verdict.count, 2);
		assert_non_null(strstr(verdict.lines[0], "util.py:11"));
		assert_non_null(strstr(verdict.lines[1], "train.py:32"));
		for (size_t i = 0; i < verdict.count; i++)
			assert_true(text_width(verdict.lines[i]) <= width);
		if (width >= 110)
			assert_string_equal(verdict.lines[1],
					    "2. 30.0 ms, 33.0 %, Python: encoder.py:258 iterencode <- "
					    "train.py:32 train");
		else if (width >= 40)
			assert_memory_equal(verdict.lines[0], "1. 6", 4);
		verdict_free(&verdict);
	}
	text_end();
	end_words(&gap);
}

static void for_programs_why_names_callers_and_stacks_and_says_how_complete_it_is(void **state)
{
	const struct report_options options = {.format = &table_format_json};
	struct gap gap;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	begin_gap(&gap);
	log_helpers(&gap);
	called_from(&gap, ENCODER, 2, 10 * MS, 70 * MS);
	called_from(&gap, BUSY, 3, 70 * MS, 100 * MS);
	end_gap(&gap);
	assert_int_equal(report_write_why(out, WHOLE_TRACE(gap.model), &options), 0);
	fclose(out);
	assert_has(
		text, 5,
		(const char *const[]){
			"\"innermost\": \"encoder.py:258 iterencode\", \"innermost_lines\": 1, \"called_from\": null, "
			"\"callers\": 0, \"stack\": \"encoder.py:258 iterencode <- train.py:32 train\", ",
			"\"innermost\": \"util.py:11 busy\", \"innermost_lines\": 1, \"called_from\": \"train.py:33 "
			"train\", "
			"\"callers\": 1, \"stack\": \"util.py:11 busy <- train.py:33 train\", ",
			"\"pid\": 41230", "\"id\": \"receipt\"", "\"complete_percent\": 100"});
	free(text);
	end_words(&gap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worker_that_kept_the_gpu_waiting_leads),
		cmocka_unit_test(a_worker_that_lacked_a_cpu_is_not_to_load_faster_alone),
		cmocka_unit_test(a_culprit_that_lacked_a_cpu_for_a_part_is_one_finding),
		cmocka_unit_test(of_a_gap_without_samples_both_launches_are_named_and_no_culprit),
		cmocka_unit_test(so_they_are_where_no_sample_is_in_the_gap),
		cmocka_unit_test(the_sum_of_further_causes_is_named_too),
		cmocka_unit_test(what_samples_and_waits_miss_is_recorded_at_any_cost),
		cmocka_unit_test(of_a_thread_that_may_just_have_begun_no_rate_of_samples_is_advised),
		cmocka_unit_test(of_a_slice_without_gpu_work_nothing_is_said_where_launches_lack_their_times),
		cmocka_unit_test(a_copy_whose_call_was_lost_is_a_loss_of_that_call),
		cmocka_unit_test(a_wait_in_the_middle_of_a_kernel_is_in_a_slice_in_which_no_operation_begins),
		cmocka_unit_test(of_steps_without_gpu_work_it_is_said_that_it_is_elsewhere),
		cmocka_unit_test(a_busy_gpu_has_nothing_to_mend),
		cmocka_unit_test(lines_of_a_library_count_for_the_own_line_that_called_them),
		cmocka_unit_test(communication_that_nothing_hides_is_named_with_its_line),
		cmocka_unit_test(without_gpu_times_it_says_how_to_get_them_and_which_lines_launch),
		cmocka_unit_test(what_lost_records_is_not_complete),
		cmocka_unit_test(lines_too_small_to_be_named_are_one_finding_of_their_cause),
		cmocka_unit_test(an_import_that_lacked_a_cpu_for_a_part_is_one_finding),
		cmocka_unit_test(findings_add_up_to_the_losses_of_why),
		cmocka_unit_test(no_name_that_a_shell_would_read_is_in_a_command),
		cmocka_unit_test(a_helper_is_told_apart_by_who_called_it),
		cmocka_unit_test(a_caller_that_is_always_the_same_is_not_news),
		cmocka_unit_test(a_library_s_line_is_named_before_the_line_that_called_it),
		cmocka_unit_test(callers_too_small_to_be_named_are_one_finding_of_the_line),
		cmocka_unit_test(a_caller_too_small_to_be_named_stays_with_the_one_that_has_most),
		cmocka_unit_test(what_has_no_room_ends_after_a_clause),
		cmocka_unit_test(a_loss_says_less_of_its_causes_before_its_line_is_cut),
		cmocka_unit_test(a_launch_before_which_nothing_is_known_is_named_at_any_width),
		cmocka_unit_test(a_brief_verdict_tells_a_helper_apart_by_who_called_it),
		cmocka_unit_test(a_brief_verdict_has_the_line_on_any_screen),
		cmocka_unit_test(for_programs_why_names_callers_and_stacks_and_says_how_complete_it_is),
		cmocka_unit_test(a_function_that_calls_itself_is_told_apart_by_who_called_it_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
