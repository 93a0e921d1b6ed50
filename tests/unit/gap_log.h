/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of what a gap is charged to by samples and waits: a log with one gap, from FROM to TO, and its rows. */
#pragma once

#include "analyzed.h"
#include "report/report.h"

#define GAP_FN __attribute__((unused)) static

#define MS 1000000ull
#define US 1000ull
#define PERIOD (10 * MS)
#define FROM (10 * MS) /* the gap */
#define TO (100 * MS)
#define LAUNCHED (TO - 10 * US)

#define HELPER (TID + 1)   /* another thread of the process */
#define WORKER (PID + 100) /* another process, of one thread */

enum { TRAIN = 1, LOAD, WAITS, LAUNCH, HOLDS, WORKS, LOADER }; /* stacks */

GAP_FN void begin(struct log_builder *log)
{
	static const struct {
		uint32_t pid, lasti; /* train.py:30 + lasti / 2; of WORKS data.py:16 + lasti / 2 */
	} lines[] = {[TRAIN] = {PID, 2},  [LOAD] = {PID, 4},   [WAITS] = {PID, 6},
		     [LAUNCH] = {PID, 8}, [HOLDS] = {PID, 10}, [WORKS] = {WORKER, 2}};

	log_begin(log, 1000, 0);
	log_process(log, WORKER, PID, 1100, 1050, 0x30c, "worker", "", "", "");
	log_thread(log, PID, HELPER, 1200, "helper");
	log_thread(log, WORKER, WORKER, 1200, "worker");
	log_function(log, PID, 0xc0de, "train", "/src/train.py", 30);
	log_function(log, WORKER, 0xc0de, "__getitem__", "/src/data.py", 16);
	log_function(log, PID, 0xc0df, "__next__", "/x/site-packages/torch/utils/data/dataloader.py", 700);
	for (uint32_t i = TRAIN; i <= WORKS; i++)
		log_stack(log, lines[i].pid, i, 1, (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = lines[i].lasti}});
	log_stack(log, PID, LOADER, 2,
		  (struct gpt_pyframe[]){{.code = 0xc0df, .lasti = 2}, {.code = 0xc0de, .lasti = 4}});
	log_batch(log, PID, TID, 1500);
	log_agent_ready(log, "kernels,cuda,sync");
	log_agent_name(log, 1, "_Z4gemmPf");
}

GAP_FN void kernel(struct log_builder *log, uint32_t corr, uint64_t launch_ns, uint64_t start_ns, uint64_t end_ns)
{
	log_launch(log, PID, TID, launch_ns, corr == 1 ? TRAIN : LAUNCH, corr);
	log_batch(log, PID, TID, end_ns);
	log_agent_kernel(log, (struct gpt_agent_kernel){
				      .start_wall_ns = start_ns, .end_wall_ns = end_ns, .corr = corr, .name = 1});
}

GAP_FN void call_that_waits(struct log_builder *log, uint64_t from_ns, uint64_t to_ns)
{
	log_call(log, (struct gpt_call){.time_ns = from_ns,
					.pid = PID,
					.tid = TID,
					.stack_id = WAITS,
					.corr = 9,
					.api = GPT_API(GPT_DOMAIN_RUNTIME, 131),
					.origin = GPT_ORIGIN_AGENT,
					.stack_state = GPT_STACK_OK});
	log_batch(log, PID, TID, to_ns);
	log_agent_api(log, (struct gpt_agent_api){.start_ns = from_ns,
						  .end_ns = to_ns,
						  .corr = 9,
						  .tid = TID,
						  .api = GPT_API(GPT_DOMAIN_RUNTIME, 131)});
}

GAP_FN void sample(struct log_builder *log, uint32_t pid, uint32_t tid, uint64_t time_ns, uint64_t stack)
{
	log_sample(log, (struct gpt_sample){.time_ns = time_ns,
					    .stack_id = stack,
					    .pid = pid,
					    .tid = tid,
					    .period_ns = PERIOD,
					    .stack_state = stack ? GPT_STACK_OK : GPT_STACK_NO_PYTHON,
					    .place = GPT_SAMPLE_USER});
}

/* Samples of one thread at its line, one in every period. */
GAP_FN void runs(struct log_builder *log, uint32_t pid, uint32_t tid, uint64_t stack, uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t at = from_ns + PERIOD / 2; at < to_ns; at += PERIOD)
		sample(log, pid, tid, at, stack);
}

GAP_FN struct gpt_wait waits(enum gpt_wait_reason reason, uint64_t stack, uint64_t from_ns, uint64_t to_ns)
{
	return (struct gpt_wait){.time_ns = from_ns,
				 .woken_ns = to_ns,
				 .end_ns = to_ns,
				 .stack_id = stack,
				 .pid = PID,
				 .tid = TID,
				 .syscall = -1,
				 .reason = reason,
				 .waker = GPT_WAKER_INTERRUPT};
}

GAP_FN struct gpt_wait of(struct gpt_wait wait, uint32_t pid, uint32_t tid)
{
	wait.pid = pid;
	wait.tid = tid;
	return wait;
}

GAP_FN struct gpt_wait woken_by(struct gpt_wait wait, uint32_t pid, uint32_t tid, uint64_t stack)
{
	wait.waker = GPT_WAKER_THREAD;
	wait.waker_pid = pid;
	wait.waker_tid = tid;
	wait.waker_stack_id = stack;
	return wait;
}

struct gap {
	struct log_builder log;
	struct analyses all;
	struct model *model;
};

GAP_FN void begin_gap(struct gap *gap)
{
	begin(&gap->log);
	kernel(&gap->log, 1, FROM - 20 * US, FROM - 10 * US, FROM);
}

GAP_FN void end_gap(struct gap *gap)
{
	kernel(&gap->log, 2, LAUNCHED, TO, TO + MS);
	log_end(&gap->log, 10000 * MS);
	gap->model = model_of(&gap->log);
	analyze_model(&gap->all, gap->model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_IDLE));
	assert_int_equal(gap->all.idle.sum, TO - FROM);
}

/*
 * Checks the sums and frees the gap.  asked_ns: the sum of all rows that the test asked for; it must be the whole gap.
 */
GAP_FN void free_gap(struct gap *gap, uint64_t asked_ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < gap->all.idle.count; i++)
		sum += idle_is_edge(gap->all.idle.rows[i].cause) ? 0 : gap->all.idle.rows[i].ns;
	assert_int_equal(sum, TO - FROM);
	assert_int_equal(asked_ns, sum);
	assert_int_equal(gap->all.why.idle_ns, sum);
	analyses_free(&gap->all);
	model_free(gap->model);
}

/* The time on a line with this cause and this inner cause. */
GAP_FN uint64_t ns_of(const struct gap *gap, const char *line, enum why_cause cause, enum why_cause inner)
{
	for (size_t i = 0; i < gap->all.idle.count; i++) {
		const struct idle_row *row = &gap->all.idle.rows[i];

		if (row->cause == cause && row->inner == inner && is_line(&gap->all, row->line, line))
			return row->ns;
	}
	fail_msg("nothing on %s", line);
	return 0;
}

GAP_FN uint64_t own(const struct gap *gap, const char *line, enum why_cause cause)
{
	return ns_of(gap, line, cause, cause);
}

/* The time from the launch to its kernel. */
GAP_FN uint64_t begun(const struct gap *gap)
{
	uint64_t ns = own(gap, "train.py:34 train", WHY_GPU);

	assert_int_equal(ns, TO - LAUNCHED);
	return ns;
}

#define LINE_TRAIN "train.py:31 train"
#define LINE_LOAD "train.py:32 train"
#define LINE_WAITS "train.py:33 train"
#define LINE_LAUNCH "train.py:34 train"
#define LINE_HOLDS "train.py:35 train"
#define LINE_WORKS "data.py:17 __getitem__"

/* ---- in words ---------------------------------------------------------------------------------------------------- */

GAP_FN char *written(const struct model *model, int (*write)(FILE *, struct trace *, const struct report_options *))
{
	const struct report_options options = {.width = 200};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write(out, WHOLE_TRACE(model), &options), 0);
	fclose(out);
	return text;
}

GAP_FN void assert_says(const struct model *model, const char *const *words, size_t count,
			int (*write)(FILE *, struct trace *, const struct report_options *))
{
	char *text = written(model, write);

	for (size_t i = 0; i < count; i++)
		if (!strstr(text, words[i]))
			fail_msg("'%s' is not in:\n%s", words[i], text);
	free(text);
}

#define SAYS(gap, write, ...)                                                                                          \
	assert_says((gap)->model, (const char *const[]){__VA_ARGS__},                                                  \
		    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), write)

GAP_FN void end_words(struct gap *gap)
{
	analyses_free(&gap->all);
	model_free(gap->model);
}
