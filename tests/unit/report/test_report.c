/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report of the sample run, and of models changed into unusual ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>

#include "log_model.h"
#include "report/report.h"
#include "report/table/sections.h"
#include "report/table/text.h"
#include "test_export_log.h"
#include "whole_trace.h"

#define STEPS 20u

static struct model *model;

static int begin_test(void **state)
{
	const char *why;
	int fd = sample_log(1, STEPS), error = model_build(fd, &model, &why);

	close(fd);
	return error;
}

static int end_test(void **state)
{
	model_free(model);
	return 0;
}

/* The report as a string, which the caller frees. */
static char *report_of(const struct model *subject, unsigned width, bool color)
{
	const struct report_options options = {.width = width, .truncates = true, .color = color};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_write(out, WHOLE_TRACE(subject), &options), 0);
	fclose(out);
	assert_non_null(text);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text);
		fail_msg("no '%s' in the text above", part);
	}
}

/* In a section, the row that contains `part` starts with these cells. */
static void assert_row(const char *text, const char *section, const char *part, const char *cells)
{
	const char *at = strstr(text, section), *line;

	assert_non_null(at);
	at = strstr(at, part);
	assert_non_null(at);
	for (line = at; line > text && line[-1] != '\n'; line--)
		;
	line += strspn(line, " ");
	if (strncmp(line, cells, strlen(cells)) != 0)
		fail_msg("'%.*s' does not begin with '%s'", (int)strcspn(line, "\n"), line, cells);
}

static unsigned widest_line(const char *text)
{
	unsigned widest = 0;
	char *copy = strdup(text), *rest = copy, *line;

	text_begin();
	while ((line = strsep(&rest, "\n")))
		if (text_width(line) > widest)
			widest = text_width(line);
	text_end();
	free(copy);
	return widest;
}

static void the_header_says_what_and_how_long(void **state)
{
	char *text = report_of(model, 100, false);

	*strchr(text, '\n') = '\0';
	assert_string_equal(text, "python3 train.py (pid 41230), 22.0 ms, 2 threads launching, 1 GPU");
	free(text);
}

static void utilisation_counts_overlapping_kernels_once(void **state)
{
	char *text = report_of(model, 100, false);

	/* Of each 1 ms step the GPU works 290 us (two graph kernels overlap by 15 us); the trace has 22 ms. */
	assert_has(text,
		   "GPU 0  Example GPU   busy 26.4 %   kernels 21.4 %   copies 5.0 %   idle 73.6 %   60 launches\n");
	free(text);
}

static void lines_have_their_own_and_their_total_time(void **state)
{
	char *text = report_of(model, 100, false);

	assert_row(text, "GPU time by Python line", "model.py:42", "2,000.0   2,000.0  32.8     20  model.py:42");
	assert_row(text, "GPU time by Python line", "train.py:26", "1,800.0   1,800.0  29.5     20  train.py:26");
	assert_row(text, "GPU time by Python line", "pt_autograd_0", "1,200.0   1,200.0  19.7     20  (thread");
	assert_row(text, "lines of your own code", "train.py:97", "4,900.0  80.3  train.py:97  main");
	assert_row(text, "lines of your own code", "train.py:23", "2,000.0  32.8  train.py:23  train_step");
	free(text);
}

static void a_recursive_line_counts_a_stack_once(void **state)
{
	const struct model_stack *stack = &model->stacks[model->calls[0].stack];
	char *text;

	assert_int_equal(stack->depth, 3);
	for (uint32_t i = 1; i < stack->depth; i++)
		model->stack_frames[stack->first + i] = model->stack_frames[stack->first];
	text = report_of(model, 100, false);
	assert_row(text, "GPU time by Python line", "model.py:42", "2,000.0   2,000.0  32.8");
	free(text);
}

static void files_of_one_name_are_kept_apart(void **state)
{
	char *text;

	for (uint32_t i = 0; i < model->code_count; i++)
		if (!strcmp(model->codes[i].name, "Block.forward"))
			model->codes[i].file = "/home/user/lib/train.py";
	text = report_of(model, 100, false);
	assert_has(text, "  lib/train.py:42 ");
	assert_has(text, "  user/train.py:26 ");
	free(text);
}

static void library_lines_are_not_ones_own_code(void **state)
{
	char *text;

	for (uint32_t i = 0; i < model->code_count; i++)
		if (!strcmp(model->codes[i].name, "Block.forward"))
			model->codes[i].file = "/usr/lib/python3/site-packages/model.py";
	text = report_of(model, 100, false);
	assert_row(text, "GPU time by Python line", "model.py:42", "2,000.0");
	*strstr(text, "GPU time by kernel") = '\0';
	assert_null(strstr(strstr(text, "lines of your own code"), "model.py"));
	free(text);
}

static void kernels_name_the_line_that_launches_most(void **state)
{
	char *text = report_of(model, 100, false);

	assert_row(text, "GPU time by kernel", "gemm<128>", "3,800.0  62.3     60    63.3  gemm<128> ");
	assert_has(text, "gemm<128>                model.py:42 Block.forward\n");
	free(text);
}

static void copies_say_how_fast_and_from_which_memory(void **state)
{
	char *text = report_of(model, 100, false);

	assert_row(text, "Copies", "Host to Device", "1,000.0  20.0 MB     20  20.0       100.0  Host to Device");
	assert_row(text, "Copies", "Fill", "100.0   1.3 MB     20  13.1           -  Fill");
	free(text);
}

static void idle_time_is_charged_to_who_was_late_and_who_waited(void **state)
{
	char *text = report_of(model, 120, false);

	/*
	 * Between two steps the GPU idles 660 us: for 280 us of them the thread is still in cudaStreamSynchronize, and
	 * it would have been ahead by 320 us more. The second place is that of the late launch.
	 */
	assert_row(text, "GPU idle by Python line", "after cudaStreamSynchronize",
		   "6.1  44.9    19  train.py:27 train_step                     "
		   "after cudaStreamSynchronize      model.py:42 Block.forward");
	assert_row(text, "GPU idle by Python line", "waited in cudaStreamSynchronize",
		   "5.3  39.3    19  train.py:27 train_step");
	assert_row(text, "GPU idle by Python line", "GC of generation 1", "0.8   5.6    19  model.py:42 Block.forward");
	assert_row(text, "GPU idle by Python line", "launched late", "0.1   0.6    19  model.py:42 Block.forward");
	assert_row(text, "GPU idle by Python line", "before the first", "1.0     -");
	assert_row(text, "GPU idle by Python line", "GPU side", "0.4   3.0");
	free(text);
}

static void time_in_cuda_calls_names_the_line_that_waits(void **state)
{
	char *text = report_of(model, 100, false);

	assert_row(text, "CPU in CUDA calls", "cudaStreamSynchronize", "12.0  96.6     20   600.0");
	assert_has(text, "% of the time in calls that gputrace follows; others count as Python's\n");
	assert_has(text, "cudaStreamSynchronize  train.py:27 train_step\n");
	free(text);
}

static void lines_that_wait_for_the_gpu_say_for_what(void **state)
{
	char *text = report_of(model, 100, false);

	assert_row(text, "CPU waiting for the GPU", "train.py:27", "12.0  100.0     20   598.0  stream 7  train.py:27");
	free(text);
	for (uint32_t i = 0; i < model->sync_count; i++) {
		model->syncs[i].kind = i % 2 ? GPT_AGENT_SYNC_EVENT : GPT_AGENT_SYNC_STREAM_WAITS_EVENT;
		model->syncs[i].stream = NONE;
		model->syncs[i].recorded_by = 0; /* a call of model.py:42 */
	}
	text = report_of(model, 100, false);
	assert_row(text, "CPU waiting for the GPU", "train.py:27",
		   "5,980.0  100.0     10   598.0  event of model.py:42");
	free(text);
	model->sync_count = 0;
	text = report_of(model, 100, false);
	assert_row(text, "CPU waiting for the GPU", "train.py:27",
		   "12.0  100.0     20   600.0  cudaStreamSynchronize  train.py:27");
	free(text);
}

static void memory_names_the_lines_that_held_it_at_the_peak(void **state)
{
	char *text = report_of(model, 100, false);

	/* of the two blocks of a step one stays, one goes: 21 at most, in the last step */
	assert_has(text, "  GPU 0: 20.0 MiB at most, 20.0 ms after the start\n");
	assert_row(text, "Memory from CUDA", "train.py:24",
		   "19.1 MiB    19.1 MiB      20  GPU 0   train.py:24 train_step");
	assert_row(text, "Memory from CUDA", "model.py:42",
		   "976.6 KiB         0 B      20  GPU 0   model.py:42 Block.forward");
	free(text);
	/* a large block that the first step frees at its end: later blocks were not held at the peak */
	model->memories[0].bytes = 100000000;
	text = report_of(model, 100, false);
	assert_has(text, "  GPU 0: 96.3 MiB at most, 1.0 ms after the start\n");
	assert_row(text, "Memory from CUDA", "train.py:24",
		   "976.6 KiB    19.1 MiB      20  GPU 0   train.py:24 train_step");
	free(text);
	for (uint32_t i = 0; i < model->memory_count; i++)
		model->memories[i].kind = i % 2 ? 2 : 5;
	text = report_of(model, 100, false);
	assert_has(text, "\n  managed: ");
	assert_has(text, "\n  host, pinned: ");
	free(text);
}

static void graphs_are_on_the_lines_that_were_captured(void **state)
{
	char *text;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].graph)
			model->gpu[i].captured_by = 0; /* a call of model.py:42 */
	model_source(model)->receipt.graph_ns = 1800000;
	model_source(model)->receipt.graph_ns_captured = 1350000;
	text = report_of(model, 100, false);
	assert_row(text, "GPU time by Python line", "model.py:42", "3,800.0   3,800.0  62.3     80  model.py:42");
	assert_row(text, "lines of your own code", "train.py:26", "1,800.0  29.5  train.py:26  train_step");
	assert_has(text,
		   "  CUDA graphs: 1,800.0 us; 75.0 % on lines that were captured, the rest on lines that replay\n");
	free(text);
}

static void what_was_not_recorded_is_named(void **state)
{
	char *text = report_of(model, 100, false);

	assert_null(strstr(text, "Not recorded")); /* a log that does not list the activity sets */
	free(text);
	model->processes[0].agent_activity_sets = "kernels,cuda,memory"; /* waits are known from their calls */
	text = report_of(model, 100, false);
	assert_null(strstr(text, "Not recorded"));
	free(text);
	model->processes[0].agent_activity_sets = "kernels,cuda,sync";
	text = report_of(model, 100, false);
	assert_has(text, "\nNot recorded besides kernels: memory");
	free(text);
	model->processes[0].agent_activity_sets = "kernels";
	text = report_of(model, 100, false);
	assert_has(text, "\nNot recorded besides kernels: cuda, sync, memory");
	free(text);
}

static void what_the_trace_cost_stands_in_its_last_line_and_by_part_in_a_table(void **state)
{
	struct model_source *source = model_source(model);
	char *text;

	source->costs[GPT_PART_CALLS] = (struct model_cost){
		.state = GPT_COST_MEASURED, .count = 60, .ns = 60000, .long_count = 1, .long_ns = 51000};
	source->costs[GPT_PART_PROBE_ENTRIES] =
		(struct model_cost){.state = GPT_COST_CALIBRATED, .count = 60, .ns = 42000};
	source->costs[GPT_PART_STOPS] = (struct model_cost){.state = GPT_COST_NOT_MEASURED};
	source->cost_thread =
		(struct model_cost_thread){.pid = 7, .tid = 8, .count = 30, .ns = 29000, .span_ns = 1000000};
	text = report_of(model, 300, false);
	assert_has(text, "\nWhat the trace cost the program   102.0 us in all that is known, of all threads\n");
	assert_has(text, "  60.0 us     60  1.0 us     51.0 us  measured      CUDA calls at their symbols, with their "
			 "stacks\n");
	assert_has(text, "  42.0 us     60  700 ns        0 ns  calibrated    the way into");
	assert_has(text, "        -      -       -           -  not measured  stops of threads to let the agent in\n");
	assert_has(text, "\nCost to the program: 102.0 us on all its threads. Thread 8 paid most to BPF programs: "
			 "5.0 % of its "
			 "time (30 runs of 1.7 us). gputrace itself used 0.0 % of a core. Not measured: ");
	free(text);
	model->slice = "1 us to 2 us"; /* what gputrace used is known of the whole only */
	text = report_of(model, 300, false);
	assert_has(text, "\nCost to the program in the whole recording: 102.0 us on all its threads. Thread 8 ");
	assert_has(text, "(30 runs of 1.7 us). Not measured: ");
	free(text);
	model->slice = NULL;
	source->is_part = true; /* and of the end of a recording */
	model->start_ns++;
	text = report_of(model, 300, false);
	assert_has(text, "of all threads, in the whole recording\n");
	assert_has(text, "\nCost to the program in the whole recording: 102.0 us on all its threads. Thread 8 ");
	free(text);
}

/* Steps of 10 ms, of recorded_ns in every other window of `pairs` pairs. */
static void set_windows(unsigned pairs, uint64_t recorded_ns)
{
	uint64_t time_ns = 0;

	free(model->reported_steps);
	model->reported_step_count = pairs * 2 * 50;
	model->reported_steps = xmalloc((model->reported_step_count + 1) * sizeof(*model->reported_steps));
	for (uint32_t i = 0; i < model->reported_step_count; i++) {
		bool is_recorded = i / 50 % 2;

		model->reported_steps[i] = (struct model_reported_step){
			.time_ns = time_ns, .cycle = i / 50, .phase = is_recorded ? GPT_STEP_ACTIVE : GPT_STEP_WAITING};
		time_ns += is_recorded ? recorded_ns : 10000000;
	}
	model->schedule = (struct model_schedule){.is_there = true, .windows_ms = 1000};
}

static void what_recording_costs_a_step_is_the_whole_report_of_its_proof(void **state)
{
	char *text;

	set_windows(8, 11000000);
	text = report_of(model, 300, false);
	assert_has(text,
		   "\nRecording costs 10.00 % of a step: 10.00 to 10.00 % with 95 % confidence (11.0 ms a step while "
		   "recorded, 10.0 ms while only counted; ");
	assert_has(text, " in 8 pairs of windows of 1.0 s).\n");
	assert_null(strstr(text, "GPU time by"));
	free(text);
	model->slice = "window 3";
	text = report_of(model, 300, false);
	assert_null(strstr(text, "Recording costs"));
	assert_has(text, "GPU time by");
	free(text);
}

static void a_cost_that_is_not_seen_is_not_named(void **state)
{
	char *text;

	set_windows(8, 10000000);
	text = report_of(model, 300, false);
	assert_has(text,
		   "\nWhat recording costs a step is less than the steps differ by themselves: 0.00 to 0.00 % with ");
	free(text);
}

static void steps_that_are_faster_while_recorded_are_said_to_be(void **state)
{
	char *text;

	set_windows(8, 9900000);
	text = report_of(model, 300, false);
	assert_has(text,
		   "\nSteps were faster while recorded, which recording does not explain: -1.00 to -1.00 % with ");
	assert_null(strstr(text, "less than the steps differ"));
	free(text);
}

static void what_proves_no_cost_says_why(void **state)
{
	char *text;

	set_windows(4, 11000000);
	text = report_of(model, 300, false);
	assert_has(text, "\nNot proven: 4 pairs of windows have steps in both, and it takes 5: ");
	free(text);
	set_windows(0, 11000000);
	text = report_of(model, 300, false);
	assert_has(text, "\nNot proven: no step was seen; --step says");
	free(text);
	set_windows(8, 11000000);
	model->schedule.is_shared = true;
	text = report_of(model, 300, false);
	assert_has(text, "\nNot proven: another gputrace recorded in the same process");
	free(text);
}

static void the_receipt_stands_at_the_end(void **state)
{
	char *text = report_of(model, 100, false);

	assert_has(text, "\nComplete: 60 of 60 launches joined, 0 lost; 80.3 % of GPU time under a Python line;");
	assert_has(text, "times good to 50 ns\n");
	assert_has(text, "\ngputrace: 0.00 s CPU; probes on libcudart.so.13; Python 3.12, CUPTI 13.0\n");
	free(text);
}

static void how_the_recording_began_is_said(void **state)
{
	struct model_began *began = &model_source(model)->began;
	char *text;

	*began = (struct model_began){.start_ns = model->start_ns, .set_up_ns = 300000000, .processes = 8};
	text = report_of(model, 200, false);
	assert_has(text,
		   "\n8 processes from one moment; setting up took 300.0 ms before it and is not in the trace.\n");
	free(text);
	began->unready = 2;
	began->asked_wall_ns = 1795356000250000000;
	began->late_ns = 4000000;
	model->processes[0].start_ns = model->start_ns + 1;
	text = report_of(model, 400, false);
	assert_has(text,
		   "\n8 processes from one moment, 14:00:00.250 UTC as asked, late by 4.0 ms; setting up took 300.0 ms "
		   "before it and is not in the trace. In 2 of them the agent was not ready by then. 1 that came "
		   "later begins where it came.\n");
	free(text);
}

static void nothing_comes_before_a_program_that_gputrace_starts(void **state)
{
	char *text;

	model_source(model)->began = (struct model_began){.set_up_ns = 300000000, .processes = 1, .with_command = true};
	text = report_of(model, 200, false);
	assert_null(strstr(text, "from one moment"));
	free(text);
}

static void losses_are_known_by_cause(void **state)
{
	char *text;

	model_source(model)->receipt.lost = 1234;
	model_source(model)->receipt.counters[GPT_COUNTER_CALLS_LOST] = 1234;
	model_source(model)->receipt.cupti_dropped = 7;
	model->min_complete = 99900;
	text = report_of(model, 100, false);
	assert_has(text, "launches joined, 1,234 lost;");
	assert_null(strstr(text, "Complete:"));
	assert_has(text, "\n  1,234 calls lost: the ring buffer was full\n");
	assert_has(text, "\n  7 GPU records dropped by CUPTI\n");
	assert_has(text, "--min-complete 99.9.\n");
	free(text);
}

/* The receipt of a trace with every cause of loss, the first cause once, the second twice and so on. */
static void lose_of_every_kind(struct model_receipt *receipt)
{
	uint64_t count = 0;

#define COUNTER(counter, name, kind, words) receipt->counters[GPT_COUNTER_##counter] = ++count;
#define MEMBER(member, name, kind, words) receipt->member = ++count;
	GPT_COUNTER_LOSSES(COUNTER);
	GPT_AGENT_LOSSES(MEMBER);
	GPT_RECORD_LOSSES(MEMBER);
#undef MEMBER
#undef COUNTER
}

static void every_cause_of_loss_has_a_line(void **state)
{
	struct model_loss losses[MODEL_LOSSES];
	char *text;

	lose_of_every_kind(&model_source(model)->receipt);
	model_losses(&model_source(model)->receipt, losses);
	text = report_of(model, 100, false);
	for (size_t i = 0; i < MODEL_LOSSES; i++) {
		char line[200];

		/* for one, the text is singular */
		snprintf(line, sizeof(line), "\n  %zu %s\n", i + 1,
			 i ? losses[i].words : "call lost: the ring buffer was full");
		assert_int_equal(losses[i].count, i + 1);
		assert_has(text, line);
	}
	free(text);
}

static void one_loss_is_said_in_the_singular(void **state)
{
	static const struct {
		enum gpt_counter counter;
		const char *line;
	} rows[] = {
		{GPT_COUNTER_MISSED, "\n  1 hit that the kernel did not hand to gputrace's programs\n"},
		{GPT_COUNTER_PROCESSES_SILENT,
		 "\n  1 process left alone: it, or another of its user, keeps readers waiting\n"},
		{GPT_COUNTER_PROCESSES_UNSEEN,
		 "\n  1 process whose calls no one saw once another profiler had CUPTI's callbacks\n"},
		{GPT_COUNTER_STACKS_FILTERED,
		 "\n  1 stack not read: the program has set a filter of system calls, which may kill the reader\n"},
		{GPT_COUNTER_CODE_UNREAD,
		 "\n  1 function without lines or name: memory that could not be read, however often it was tried\n"},
		{GPT_COUNTER_MEMORY_CALLS, "\n  1 call dropped: --memory-limit was reached\n"},
		{GPT_COUNTER_SAMPLES_LOST, "\n  1 sample of threads lost: the ring buffer was full\n"},
	};
	char *text;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t *counter = &model_source(model)->receipt.counters[rows[i].counter];

		*counter = 1;
		text = report_of(model, 100, false);
		*counter = 0;
		assert_has(text, rows[i].line);
		free(text);
	}
	model_source(model)->receipt.early = 1;
	text = report_of(model, 100, false);
	assert_has(text, "\n  1 GPU operation that seems to start before ");
	free(text);
}

/* Makes the calls of one thread look as if no agent had recorded during them. */
static uint32_t leave_untimed(uint32_t thread)
{
	uint32_t launches = 0;

	for (uint32_t i = 0; i < model->call_count; i++) {
		struct model_call *call = &model->calls[i];

		if (call->thread != thread || call->class != GPT_CLASS_LAUNCH)
			continue;
		call->corr = call->gpu_count = 0;
		call->end_ns = 0;
		launches++;
	}
	return launches;
}

static void launches_without_gpu_times_have_a_table_of_their_own(void **state)
{
	char *text = report_of(model, 100, false), row[80];
	uint32_t launches;

	assert_null(strstr(text, "Launches without GPU times"));
	free(text);
	launches = leave_untimed(0);
	assert_true(launches > 0);
	model_source(model)->receipt.launches_agent_away = launches;
	text = report_of(model, 100, false);
	snprintf(row, sizeof(row), "\n  %u launches without GPU times: the agent did not record yet, or had left\n",
		 launches);
	assert_has(text, row);
	assert_has(text, "\nLaunches without GPU times by Python line   not in the tables of GPU time");
	snprintf(row, sizeof(row), "Incomplete: 60 of %u launches joined", 60 + launches);
	assert_has(text, row);
	free(text);
}

static void busy_and_idle_are_of_the_time_with_gpu_times(void **state)
{
	char *text = report_of(model, 100, false);

	assert_null(strstr(text, "GPU times begin"));
	assert_has(text, "busy 26.4 %");
	free(text);
	/* the agent started after 10 of 22 ms; one launch was before it */
	model->processes[0].agent_ready_ns = SAMPLE_START + 10000000;
	leave_untimed(0);
	text = report_of(model, 100, false);
	assert_has(text, "busy 48.3 %");
	assert_has(text,
		   "\n  GPU times begin 10.0 ms after the start: busy and idle are of the 12.0 ms from there on\n");
	free(text);
}

static struct model_call *last_launch(void)
{
	for (uint32_t i = model->call_count; i-- > 0;)
		if (launch_fate(model, &model->calls[i]) == LAUNCH_WHOLE)
			return &model->calls[i];
	fail_msg("the sample has launches");
	return NULL;
}

static void a_gpu_whose_last_launches_lack_times_may_have_been_busy(void **state)
{
	char *text = report_of(model, 200, false), said[160];

	assert_null(strstr(text, "may have been busy"));
	free(text);
	for (unsigned i = 0; i < 2; i++) {
		struct model_call *call = last_launch();

		call->first_gpu = NONE;
		call->gpu_count = 0;
		text = report_of(model, 200, false);
		snprintf(said, sizeof(said), "\n  for up to %s the GPU may have been busy, not idle: %s GPU times (%s",
			 number_time(model->end_ns - call->start_ns).text, i ? "2 launches lack" : "1 launch lacks",
			 i ? "the first: " : "");
		assert_has(text, said);
		free(text);
	}
}

static void work_after_the_end_is_no_overlap(void **state)
{
	char *text = report_of(model, 100, false);

	assert_null(strstr(text, "before or after the recording"));
	free(text);
	model->end_ns = model->gpu[model->gpu_count / 2].start_ns;
	text = report_of(model, 100, false);
	assert_has(text, "\n  2.9 ms of GPU work ran before or after the recording: in the tables, not in busy\n"
			 "  operations took 6.1 ms in 5.8 ms of busy time: several run at once (streams overlap)\n");
	free(text);
}

static void records_that_went_elsewhere_are_explained(void **state)
{
	char *text = report_of(model, 100, false);

	assert_null(strstr(text, "another user of CUPTI"));
	free(text);
	model_source(model)->receipt.launches_joined = 3;
	text = report_of(model, 100, false);
	assert_has(text, "another user of CUPTI");
	free(text);
	model_source(model)->receipt.buffers_refused = 5; /* this is the cause, not another user of CUPTI */
	text = report_of(model, 100, false);
	assert_null(strstr(text, "another user of CUPTI"));
	assert_has(text, "\n  5 buffers CUPTI asked for and did not get: all 64 MB of the agent's were in use\n");
	free(text);
}

static void what_came_from_another_profilers_buffers_is_reported(void **state)
{
	char *text = report_of(model, 100, false);

	assert_null(strstr(text, "buffers of another profiler"));
	free(text);
	model_source(model)->receipt.gpu_ops_foreign = 1234;
	text = report_of(model, 100, false);
	assert_has(text,
		   "\n  1,234 GPU operations were taken from the buffers of another profiler (torch.profiler).\n");
	free(text);
}

static void drop_gpu(void)
{
	for (uint32_t i = 0; i < model->call_count; i++) {
		model->calls[i].first_gpu = NONE;
		model->calls[i].gpu_count = 0;
	}
	model->gpu_count = 0;
	model_source(model)->receipt.gpu_ops = model_source(model)->receipt.gpu_ops_joined =
		model_source(model)->receipt.launches_expected = 0;
	model->processes[0].gpu_ops = 0;
}

static void an_agent_that_only_deferred_its_start_says_why(void **state)
{
	char *text;

	drop_gpu();
	model->processes[0].agent_state = GPT_AGENT_STOPPED;
	model->processes[0].agent_idle = true;
	model->processes[0].agent_activity_sets = "";
	text = report_of(model, 1000, false);
	assert_has(text, "another profiler (torch.profiler) recorded, or might have");
	assert_has(text, "a quarter of a second of launches shows whether one does, its buffers come when it ends");
	free(text);
	model->processes[0].agent_activity_sets = "kernels"; /* later the agent did record */
	text = report_of(model, 1000, false);
	assert_has(text, "CUPTI delivered nothing");
	free(text);
}

static void a_truncated_log_says_so_before_the_receipt(void **state)
{
	char *text;

	model_source(model)->receipt.truncated = true;
	text = report_of(model, 100, false);
	assert_has(
		text,
		"\nCut short: the log ends before the trace did; what follows covers what was written.\nIncomplete:");
	free(text);
}

static void failed_calls_are_counted_and_placed(void **state)
{
	char *text;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].class == GPT_CLASS_LAUNCH || model->calls[i].class == GPT_CLASS_MEMCPY)
			model->calls[i].result = 98;
	text = report_of(model, 100, false);
	assert_has(text, "\nFailed: 40 launches, 20 other CUDA calls\n");
	assert_has(text,
		   "\n  20 x cudaLaunchKernel returned 98 (invalid device function) at model.py:42 Block.forward\n");
	free(text);
}

/* Turns the sample into one without GPU records. */
static void without_gpu_times_it_says_why_and_what_to_do(void **state)
{
	const struct {
		enum gpt_agent_state agent_state;
		enum gpt_agent_failure failure;
		const char *why, *remedy;
	} cases[] = {
		{0, GPT_AGENT_OK, "CUPTI agent was not at work in the process", "gputrace -- COMMAND"},
		{GPT_AGENT_FAILED, GPT_AGENT_NO_CUPTI, "no libcupti was found (/opt/lib)", "pip install"},
		{GPT_AGENT_FAILED, GPT_AGENT_OCCUPIED, "another tool holds CUPTI (/opt/lib)", "end the other profiler"},
		{GPT_AGENT_FAILED, GPT_AGENT_CUPTI_UNUSABLE, "its libcupti cannot be used", "use CUPTI 11.8 or later"},
		{GPT_AGENT_FAILED, GPT_AGENT_NO_CUDA, "CUPTI found no usable NVIDIA driver",
		 "check it with nvidia-smi"},
		{GPT_AGENT_FAILED, GPT_AGENT_CUPTI_ERROR, "CUPTI answered with an error",
		 "`gputrace doctor -p 41230`."},
		{GPT_AGENT_FAILED, GPT_AGENT_NO_RESOURCES, "there was no memory or thread", "prlimit --pid"},
		{GPT_AGENT_FAILED, (enum gpt_agent_failure)99, "did not say why", "gputrace doctor"},
		{GPT_AGENT_LOADED, GPT_AGENT_OK, "still waits for CUDA", "trace again"},
		{GPT_AGENT_STOPPED, GPT_AGENT_OK, "CUPTI delivered nothing", "trace longer"},
		{GPT_AGENT_READY, GPT_AGENT_OK, "did not answer when the trace ended", "while the program runs"},
	};

	drop_gpu();
	model->gpu_times = MODEL_GPU_TIMES_MEANT;
	model_source(model)->target = "pid 41230";
	model->processes[0].agent_detail = "/opt/lib";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text, *unwrapped;

		model->processes[0].agent_state = cases[i].agent_state;
		model->processes[0].agent_failure = cases[i].failure;
		text = report_of(model, 1000, false);
		unwrapped = strstr(text, "No GPU times for pid 41230: ");
		assert_non_null(unwrapped);
		assert_has(unwrapped, cases[i].why);
		assert_has(unwrapped, cases[i].remedy);
		free(text);
	}
}

static void of_a_process_that_has_ended_no_one_is_sent_to_look_at_it(void **state)
{
	const struct {
		enum gpt_agent_state agent_state;
		const char *why, *remedy;
	} cases[] = {
		{GPT_AGENT_FAILED, "the agent failed and did not say why", "it has ended: of the next one"},
		{GPT_AGENT_LOADED, "CUDA did not start before the process ended", "see that CUDA starts there"},
	};

	drop_gpu();
	model->gpu_times = MODEL_GPU_TIMES_MEANT;
	model->processes[0].exit_ns = SAMPLE_START + 1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text;

		model->processes[0].agent_state = cases[i].agent_state;
		text = report_of(model, 1000, false);
		assert_has(text, cases[i].why);
		assert_has(text, cases[i].remedy);
		assert_null(strstr(text, "doctor -p 41230"));
		free(text);
	}
}

static void how_full_the_ring_buffer_was_is_said(void **state)
{
	char *text;

	model_source(model)->receipt.ring_bytes = 1000;
	model_source(model)->receipt.ring_bytes_max = 250;
	text = report_of(model, 1000, false);
	assert_has(text, "; ring buffer 25.0 % full at most");
	free(text);
}

static void without_gpu_times_tables_count_launches(void **state)
{
	char *text;

	drop_gpu();
	text = report_of(model, 100, false);
	assert_has(text, "2 threads launching, no GPU times\n");
	assert_row(text, "CUDA calls by Python line", "model.py:42", "20            20  20.0  model.py:42");
	assert_has(text, "Complete: 60 launches recorded, 0 lost; 66.7 % of launches under a Python line\n");
	assert_null(strstr(text, "GPU time by"));
	free(text);
}

static void launches_that_failed_are_no_launches_without_a_line(void **state)
{
	struct model_receipt *receipt;
	char *text;

	drop_gpu();
	receipt = &model_source(model)->receipt;
	receipt->launches = receipt->launches_with_line = 20;
	receipt->launches_failed = 40;
	text = report_of(model, 100, false);
	assert_has(text, "Complete: 60 launches recorded, 0 lost, 40 failed; "
			 "100.0 % of the other launches under a Python line\n");
	free(text);
	receipt->launches = receipt->launches_with_line = 0;
	receipt->launches_failed = 60;
	text = report_of(model, 100, false);
	assert_has(text, "Complete: 60 launches recorded, 0 lost, 60 failed\n");
	free(text);
}

static void an_empty_trace_is_helped(void **state)
{
	struct model_process process = {.pid = 77, .name = "python3", .exe = "", .cmdline = "", .python_path = ""};
	struct model_source source = {0};
	struct model empty = {.start_ns = 5,
			      .end_ns = 10000000005,
			      .processes = &process,
			      .process_count = 1,
			      .sources = &source,
			      .source_count = 1};
	char *text = report_of(&empty, 100, false);

	assert_has(text,
		   "\n\nNo CUDA call was seen in 10.0 s. Is the process idle, or does it hang? `gputrace dump -p 77`");
	assert_has(text, "gputrace doctor -p 77");
	assert_null(strstr(text, "\nComplete"));
	assert_null(strstr(text, "nan"));
	assert_null(strstr(strstr(text, "launches recorded") + 1, "launches recorded"));
	free(text);
	empty = (struct model){.sources = &source, .source_count = 1};
	text = report_of(&empty, 100, false);
	assert_has(text, "No CUDA call was seen in 0 ns. ");
	assert_has(text, "`gputrace doctor`");
	free(text);
}

/* As of a whole machine: which of them was meant is not known. */
static void of_many_processes_without_a_call_none_is_named(void **state)
{
	struct model_process processes[30];
	struct model_source source = {0};
	struct model empty = {.start_ns = 5,
			      .end_ns = 10000000005,
			      .processes = processes,
			      .process_count = 30,
			      .sources = &source,
			      .source_count = 1};
	char *text;

	for (uint32_t i = 0; i < 30; i++)
		processes[i] = (struct model_process){
			.pid = 77 + i, .name = "cc1", .exe = "", .cmdline = "", .python_path = ""};
	text = report_of(&empty, 100, false);
	assert_memory_equal(text, "30 processes, 10.0 s, 0 threads launching, no GPU times\n", 55);
	assert_has(text, "\n\nNo CUDA call was seen in 10.0 s. None of 30 processes made one.");
	assert_has(text, "`gputrace dump -p PID`");
	assert_null(strstr(text, "pid 77"));
	free(text);
	empty.slice = "process 77"; /* what the others did is not in it */
	text = report_of(&empty, 100, false);
	assert_null(strstr(text, "None of"));
	free(text);
}

static void a_trace_without_length_divides_by_nothing(void **state)
{
	char *text;

	model->end_ns = model->start_ns;
	for (uint32_t i = 0; i < model->gpu_count; i++)
		model->gpu[i].start_ns = model->gpu[i].end_ns = 0;
	model_source(model)->receipt.gpu_ns = model_source(model)->receipt.gpu_ns_with_line = 0;
	for (uint32_t i = 0; i < model->call_count; i++)
		model->calls[i].start_ns = model->start_ns;
	text = report_of(model, 100, false);
	assert_has(text, "busy - %");
	assert_has(text, "- % of GPU time under a Python line");
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	free(text);
}

static void long_names_never_break_the_page(void **state)
{
	char name[600], file[900];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memset(file, 'f', sizeof(file) - 1);
	file[0] = '/';
	file[sizeof(file) - 1] = '\0';
	for (uint32_t i = 0; i < model->code_count; i++) {
		model->codes[i].name = name;
		model->codes[i].file = file;
	}
	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].kind == MODEL_KERNEL)
			model->strings[model->gpu[i].name] = name;
	for (uint32_t i = 0; i < model->thread_count; i++)
		model->threads[i].name = name;
	model->processes[0].cmdline = model->processes[0].name = name;
	model->devices[0].name = name;
	model->processes[0].agent_detail = name;
	model->probes[0] = name;
	for (unsigned width = 80; width <= 140; width += 20) {
		char *text = report_of(model, width, false);

		assert_in_range(widest_line(text), 50, width);
		free(text);
	}
	drop_gpu();
	model->processes[0].agent_state = GPT_AGENT_FAILED;
	for (unsigned width = 80; width <= 140; width += 20) {
		char *text = report_of(model, width, false);

		assert_in_range(widest_line(text), 50, width);
		free(text);
	}
}

static void names_are_whole_where_no_terminal_is(void **state)
{
	const struct report_options options = {.width = 80};
	char name[201], *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	model->codes[0].name = name;
	assert_int_equal(report_write(out, WHOLE_TRACE(model), &options), 0);
	fclose(out);
	assert_has(text, name);
	assert_null(strstr(text, "..."));
	free(text);
}

static void names_cannot_reach_the_terminal(void **state)
{
	char *text;

	model->processes[0].cmdline = "\033]0;title\007 \r\n";
	model->codes[0].name = model->codes[1].name = model->codes[2].name = "\033[31mred\xc2\x9b"
									     "1m\xe2\x80\xae";
	model->devices[0].name = "\t\x7f";
	text = report_of(model, 100, false);
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		assert_true((*at >= 0x20 && *at < 0x7f) || *at == '\n');
	assert_has(text, "?[31mred?1m?");
	free(text);
}

static void colour_is_only_used_when_asked_for(void **state)
{
	char *plain = report_of(model, 100, false), *color = report_of(model, 100, true);

	assert_null(strchr(plain, '\033'));
	assert_non_null(strstr(color, "\033[1mGPU time by kernel\033[0m"));
	free(plain);
	free(color);
}

static char *page_with(const struct report_options *options, int expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write(out, WHOLE_TRACE(model), options), expected);
	fclose(out);
	return text;
}

static void rows_beyond_the_limit_are_summed(void **state)
{
	char *text = page_with(&(struct report_options){.width = 100, .rows = 2}, 0);

	assert_has(text, "  ... and 3 more lines, 2,300.0 us: --table gpu_lines\n");
	free(text);
	text = page_with(&(struct report_options){.width = 100, .rows = 4}, 0);
	assert_has(text, "  ... and 1 more line, 100.0 us: --table gpu_lines\n");
	free(text);
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void a_short_page_has_whole_tables_and_names_the_others(void **state)
{
	char *whole = page_with(&(struct report_options){.width = 200}, 0);
	size_t left_out = 0;

	for (unsigned most = 30; most < lines_of(whole) + 10; most += 5) {
		char *text = page_with(&(struct report_options){.width = 200, .lines = most}, 0);
		char *left = strstr(text, "\nLeft out: "), *name;

		assert_true(lines_of(text) <= most);
		assert_has(text, "\nThe GPU was busy for ");
		assert_has(text, "\nComplete: ");
		if (left) {
			*left = '\0';
			left += strlen("\nLeft out: ");
			left[strcspn(left, ".")] = '\0';
		}
		while ((name = strsep(&left, " "))) {
			char *table;

			name[strcspn(name, ",;")] = '\0';
			if (!strcmp(name, "under") || !strcmp(name, "1") || !strcmp(name, "%:"))
				continue;
			table = page_with(&(struct report_options){.width = 200, .table = name}, 0);
			*strchr(table, '\n') = '\0'; /* the title is left */
			assert_has(whole, table);
			assert_null(strstr(text, table));
			free(table);
			left_out++;
		}
		free(text);
	}
	assert_true(left_out > 5);
	free(whole);
}

/* A page of a table of 10 lines and one of 8, after 2 lines that always stand there. */
static char *page_of_sections(const char *first, size_t most, char **no_room)
{
	static const char *const ids[] = {NULL, "steps", "gpu_lines"};
	static const unsigned lines[] = {2, 10, 8};
	struct sections sections = {.first = first};
	struct sections_left left;
	char *text = NULL;
	size_t size = 0;

	sections.page = open_memstream(&text, &size);
	for (size_t i = 0; i < 3; i++) {
		FILE *out = sections_begin(&sections, ids[i]);

		for (unsigned k = 0; k < lines[i]; k++)
			fprintf(out, "%s\n", ids[i] ? ids[i] : "page");
		fclose(out);
	}
	left = sections_choose(&sections, most);
	sections_put(&sections);
	sections_free(&sections);
	fclose(sections.page);
	free(left.small);
	*no_room = left.no_room;
	return text;
}

static void the_table_that_matters_most_gets_room_before_those_above_it(void **state)
{
	char *left, *page = page_of_sections(NULL, 12, &left);

	assert_has(page, "steps");
	assert_string_equal(left, "gpu_lines");
	free(page);
	free(left);
	page = page_of_sections("gpu_lines", 12, &left);
	assert_has(page, "page\ngpu_lines");
	assert_string_equal(left, "steps");
	free(page);
	free(left);
	page = page_of_sections("gpu_lines", 20, &left);
	assert_has(page, "page\nsteps");
	assert_has(page, "steps\ngpu_lines");
	assert_string_equal(left, "");
	free(page);
	free(left);
	page = page_of_sections("gpu_lines", 9, &left); /* no room for that one either */
	assert_string_equal(page, "page\npage\n");
	free(page);
	free(left);
}

static void a_short_page_has_room_for_what_it_leaves_out_and_how_to_see_it(void **state)
{
	for (unsigned most = 36; most < 80; most++) {
		struct trace *trace = WHOLE_TRACE(model);
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		trace->file = "/a/folder/with/a/long/name/in/which/there/is/a/log/with/a/long/name/too/all.gpt";
		assert_int_equal(report_write(out, trace, &(struct report_options){.width = 80, .lines = most}), 0);
		fclose(out);
		assert_true(lines_of(text) <= most);
		free(text);
	}
}

static void a_table_with_little_of_the_recording_is_left_out_of_a_short_page(void **state)
{
	char *text = page_with(&(struct report_options){.width = 100, .lines = 500}, 0);

	assert_has(text, "\nGPU idle by Python line");
	assert_null(strstr(text, "under 1 %"));
	free(text);
	model->end_ns += 100000 * 1000000ull; /* the gaps are now less than a hundredth of it, GPU time is not judged */
	text = page_with(&(struct report_options){.width = 100, .lines = 500}, 0);
	assert_null(strstr(text, "\nGPU idle by Python line"));
	assert_has(text, "\nGPU time by Python line");
	assert_has(text, "\nLeft out: under 1 %: idle, ");
	free(text);
}

static void one_table_has_all_its_rows(void **state)
{
	char *tables = NULL;
	char *text = page_with(&(struct report_options){.width = 100, .rows = 1, .table = "kernels"}, 0);

	assert_memory_equal(text, "GPU time by kernel", strlen("GPU time by kernel"));
	assert_null(strstr(text, "more kernels"));
	assert_int_equal(lines_of(text), 2 + 2); /* title, columns, two kernels */
	free(text);
	text = page_with(&(struct report_options){.table = "nope", .tables = &tables}, -ENOENT);
	assert_string_equal(text, "");
	assert_has(tables, "gpus, gpu_lines, own_lines, kernels, ");
	free(tables);
	free(text);
}

static void a_gpu_has_one_line_as_long_as_its_name_permits(void **state)
{
	char *text;

	model->devices[0].name = "NVIDIA H100 80GB HBM3 #2";
	text = report_of(model, 100, false);
	assert_has(text, "\nGPU 0  NVIDIA H100 80GB HBM3 #2  busy 26.4 %  kernels 21.4 %  copies 5.0 %  idle 73.6 %  "
			 "60 launches\n");
	free(text);
	text = report_of(model, 80, false);
	assert_has(text, "\nGPU 0  NVIDIA H100 80GB HBM3 #2\n  busy 26.4 %  kernels 21.4 %  copies 5.0 %  idle 73.6 %  "
			 "60 launches\n");
	free(text);
}

static void several_processes_have_one_line_each(void **state)
{
	struct model *two = NULL;
	const char *why;
	int fd = sample_log(2, STEPS);
	char *text;

	assert_int_equal(model_build(fd, &two, &why), 0);
	close(fd);
	text = report_of(two, 100, false);
	assert_has(text, "python3 train.py (pid 41230), 120 calls, 140 GPU operations\n");
	assert_has(text, "python3 train.py (pid 41330), 120 calls, 140 GPU operations\n");
	assert_has(text, "2 processes, 22.0 ms, 4 threads launching, 1 GPU\n");
	assert_has(text, "function       process\n");
	assert_has(text, "Block.forward  several\n");
	free(text);
	model_free(two);
}

/* One table as csv; the caller frees it. */
static char *table_of(const struct model *subject, const char *table)
{
	const struct report_options options = {.format = &table_format_csv, .table = table};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_write(out, WHOLE_TRACE(subject), &options), 0);
	fclose(out);
	return text;
}

/* Kernels of the second process become NCCL's; those of the first run beside them. */
static void what_gpus_did_is_on_the_page_where_they_communicate(void **state)
{
	char *text = report_of(model, 100, false);
	struct model *two = NULL;
	const char *why;
	int fd = sample_log(2, STEPS);

	assert_null(strstr(text, "What GPUs did"));
	free(text);
	assert_int_equal(model_build(fd, &two, &why), 0);
	close(fd);
	for (uint32_t i = 0; i < two->string_count; i++)
		if (!strncmp(two->strings[i], "void gemm", 9))
			two->strings[i] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)";
	text = report_of(two, 120, false);
	assert_has(text, "\nWhat GPUs did   % of the recording; exposed: beside no computation");
	assert_has(text, "\n  GPU  computation %  exposed comm. %  exposed copies %  idle %  overlap %\n");
	assert_has(text, "\nWhat processes did on GPUs ");
	assert_has(text, "\nExposed communication by Python line ");
	assert_has(text, "  all-reduce     model.py:42 ");
	free(text);
	text = table_of(two, "breakdown");
	assert_has(text, "gpu,computation_percent,exposed_communication_percent,exposed_copies_percent,idle_percent,"
			 "overlap_percent,span_ns,computation_ns,exposed_communication_ns,exposed_copies_ns,idle_ns,"
			 "communication_ns,copies_ns,first_to_last_ns\n");
	free(text);
	text = table_of(two, "breakdown_processes");
	assert_has(text, ",python3 41230,41230,\n");
	assert_has(text, ",python3 41330,41330,\n");
	free(text);
	text = table_of(two, "breakdown_lines");
	assert_has(text, ",all-reduce,model.py:42,Block.forward,several,");
	free(text);
	model_free(two);
}

static void idle_time_waits_and_copies_are_of_a_process_where_there_are_several(void **state)
{
	static const char *const tables[] = {"idle", "waits", "copies", "memory"};
	struct model *two = NULL;
	const char *why;
	int fd = sample_log(2, STEPS);
	uint32_t elsewhere = NONE, columns = 0;
	char *text;

	assert_int_equal(model_build(fd, &two, &why), 0);
	close(fd);
	for (uint32_t i = 0; i < two->gpu_count; i++)
		two->gpu[i].device = two->gpu[i].process;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		text = table_of(two, tables[i]);
		assert_has(text, ",several");
		free(text);
	}
	/* the second process copies in the other direction and waits on another line */
	for (uint32_t i = 0; i < two->call_count; i++)
		if (two->threads[two->calls[i].thread].process == 1 && two->calls[i].class == GPT_CLASS_MEMCPY)
			elsewhere = two->calls[i].stack;
	assert_int_not_equal(elsewhere, NONE);
	for (uint32_t i = 0; i < two->call_count; i++)
		if (two->threads[two->calls[i].thread].process == 1 && two->calls[i].class == GPT_CLASS_SYNC)
			two->calls[i].stack = elsewhere;
	for (uint32_t i = 0; i < two->gpu_count; i++)
		if (two->gpu[i].process == 1 && two->gpu[i].kind == MODEL_MEMCPY)
			two->gpu[i].memcpy_kind = 2;
	for (size_t i = 0; i < 3; i++) {
		text = table_of(two, tables[i]);
		assert_has(text, ",python3 41230");
		assert_has(text, ",python3 41330");
		free(text);
	}
	text = report_of(two, 100, false);
	for (const char *at = text; (at = strstr(at, " process\n")); at++)
		columns++;
	assert_int_equal(columns, 6); /* also in GPU time by line, and under lines of the user's own code */
	free(text);
	model_free(two);
}

static void of_one_process_pages_have_no_column_for_it(void **state)
{
	char *text = report_of(model, 100, false), *waits = table_of(model, "waits");

	assert_null(strstr(text, " process\n"));
	assert_has(waits, ",process\n");
	assert_has(waits, ",python3 41230\n");
	free(waits);
	free(text);
}

static void a_report_that_cannot_be_written_is_an_error(void **state)
{
	const struct report_options options = {0};
	FILE *out = fopen("/dev/full", "w");

	assert_non_null(out);
	assert_int_equal(report_write(out, WHOLE_TRACE(model), &options), -ENOSPC);
	fclose(out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_header_says_what_and_how_long),
		TEST(utilisation_counts_overlapping_kernels_once),
		TEST(lines_have_their_own_and_their_total_time),
		TEST(a_recursive_line_counts_a_stack_once),
		TEST(files_of_one_name_are_kept_apart),
		TEST(library_lines_are_not_ones_own_code),
		TEST(kernels_name_the_line_that_launches_most),
		TEST(copies_say_how_fast_and_from_which_memory),
		TEST(idle_time_is_charged_to_who_was_late_and_who_waited),
		TEST(time_in_cuda_calls_names_the_line_that_waits),
		TEST(lines_that_wait_for_the_gpu_say_for_what),
		TEST(memory_names_the_lines_that_held_it_at_the_peak),
		TEST(graphs_are_on_the_lines_that_were_captured),
		TEST(what_was_not_recorded_is_named),
		TEST(what_the_trace_cost_stands_in_its_last_line_and_by_part_in_a_table),
		TEST(what_recording_costs_a_step_is_the_whole_report_of_its_proof),
		TEST(a_cost_that_is_not_seen_is_not_named),
		TEST(steps_that_are_faster_while_recorded_are_said_to_be),
		TEST(what_proves_no_cost_says_why),
		TEST(the_receipt_stands_at_the_end),
		TEST(how_the_recording_began_is_said),
		TEST(nothing_comes_before_a_program_that_gputrace_starts),
		TEST(losses_are_known_by_cause),
		TEST(every_cause_of_loss_has_a_line),
		TEST(one_loss_is_said_in_the_singular),
		TEST(launches_without_gpu_times_have_a_table_of_their_own),
		TEST(busy_and_idle_are_of_the_time_with_gpu_times),
		TEST(a_gpu_whose_last_launches_lack_times_may_have_been_busy),
		TEST(work_after_the_end_is_no_overlap),
		TEST(records_that_went_elsewhere_are_explained),
		TEST(what_came_from_another_profilers_buffers_is_reported),
		TEST(an_agent_that_only_deferred_its_start_says_why),
		TEST(a_truncated_log_says_so_before_the_receipt),
		TEST(failed_calls_are_counted_and_placed),
		TEST(without_gpu_times_it_says_why_and_what_to_do),
		TEST(of_a_process_that_has_ended_no_one_is_sent_to_look_at_it),
		TEST(how_full_the_ring_buffer_was_is_said),
		TEST(without_gpu_times_tables_count_launches),
		TEST(launches_that_failed_are_no_launches_without_a_line),
		TEST(an_empty_trace_is_helped),
		TEST(of_many_processes_without_a_call_none_is_named),
		TEST(a_trace_without_length_divides_by_nothing),
		TEST(long_names_never_break_the_page),
		TEST(names_are_whole_where_no_terminal_is),
		TEST(names_cannot_reach_the_terminal),
		TEST(colour_is_only_used_when_asked_for),
		TEST(rows_beyond_the_limit_are_summed),
		TEST(a_short_page_has_whole_tables_and_names_the_others),
		TEST(the_table_that_matters_most_gets_room_before_those_above_it),
		TEST(a_short_page_has_room_for_what_it_leaves_out_and_how_to_see_it),
		TEST(a_table_with_little_of_the_recording_is_left_out_of_a_short_page),
		TEST(one_table_has_all_its_rows),
		TEST(a_gpu_has_one_line_as_long_as_its_name_permits),
		TEST(several_processes_have_one_line_each),
		TEST(what_gpus_did_is_on_the_page_where_they_communicate),
		TEST(idle_time_waits_and_copies_are_of_a_process_where_there_are_several),
		TEST(of_one_process_pages_have_no_column_for_it),
		TEST(a_report_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
