/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What threads ran and where they waited, from the log to the model. */
#include "model_of.h"

#define A 0x7f0000001000ull
#define OTHER_PID 900
#define OTHER_TID 901

static void begin_log(struct log_builder *log)
{
	log_begin(log, 10, 0);
	log_function(log, PID, A, "tokenize", "/src/serve.py", 80);
	log_stack(log, PID, 5, 1, &(struct gpt_pyframe){.code = A, .lasti = 4});
	log_native_stack(log, PID, 6, 1, (uint64_t[]){0x5000});
	log_native_sym(log, PID, 0x5000, "memcpy", "/lib/libc.so.6");
	/* another process has another stack with the same id */
	log_function(log, OTHER_PID, A, "load", "/src/data.py", 10);
	log_stack(log, OTHER_PID, 5, 1, &(struct gpt_pyframe){.code = A, .lasti = 4});
}

static struct gpt_sample sample_at(uint64_t time_ns)
{
	return (struct gpt_sample){.time_ns = time_ns,
				   .stack_id = 5,
				   .native_id = 6,
				   .pid = PID,
				   .tid = TID,
				   .period_ns = 10101010,
				   .place = GPT_SAMPLE_KERNEL};
}

static struct gpt_wait wait_until(uint64_t end_ns)
{
	return (struct gpt_wait){.time_ns = 100,
				 .woken_ns = 150,
				 .end_ns = end_ns,
				 .stack_id = 5,
				 .waker_stack_id = 5,
				 .arg = 0x1234,
				 .pid = PID,
				 .tid = TID,
				 .waker_pid = OTHER_PID,
				 .waker_tid = OTHER_TID,
				 .syscall = 202,
				 .reason = GPT_WAIT_FUTEX,
				 .waker = GPT_WAKER_THREAD,
				 .waker_comm = "loader"};
}

static void a_sample_has_its_stack_its_native_function_and_its_thread(void **state)
{
	struct log_builder log;
	struct model *model;
	const struct model_sample *sample;

	begin_log(&log);
	log_sample(&log, sample_at(300));
	log_sample(&log, sample_at(200));
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->sample_count, 2);
	sample = &model->samples[0];
	assert_int_equal(sample->time_ns, 200);
	assert_int_equal(model->threads[sample->thread].tid, TID);
	assert_int_equal(sample->period_ns, 10101010);
	assert_int_equal(sample->place, GPT_SAMPLE_KERNEL);
	assert_string_equal(frame_text(model, sample->stack, 0), "tokenize (/src/serve.py:82)");
	assert_string_equal(model->strings[model->native_frames[model->natives[sample->native].first]], "memcpy");
	model_free(model);
}

static void a_sample_says_why_it_has_no_stack(void **state)
{
	struct gpt_sample sample = sample_at(200);
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	sample.stack_id = 0;
	sample.stack_state = GPT_STACK_NO_THREAD;
	log_sample(&log, sample);
	sample.stack_state = GPT_STACK_OK;
	sample.stack_id = 77; /* this stack was lost */
	sample.time_ns = 201;
	log_sample(&log, sample);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->samples[0].stack, NONE);
	assert_int_equal(model->samples[0].stack_state, GPT_STACK_NO_THREAD);
	assert_int_equal(model->samples[1].stack, NONE);
	assert_int_equal(model->samples[1].stack_state, GPT_STACK_LOST);
	model_free(model);
}

static void what_was_outside_of_the_recording_is_left_out(void **state)
{
	struct gpt_wait over = wait_until(150), later = wait_until(2000);
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	over.time_ns = over.woken_ns = 1;
	over.end_ns = 10;
	log_wait(&log, over);
	log_sample(&log, sample_at(9));
	log_sample(&log, sample_at(1000));
	later.time_ns = later.woken_ns = 1000;
	log_wait(&log, later);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->sample_count, 0);
	assert_int_equal(model->wait_count, 0);
	model_free(model);
}

static void a_wait_that_began_before_the_recording_counts_from_its_start(void **state)
{
	struct gpt_wait woken_before = wait_until(2000);
	struct log_builder log;
	struct model *model;

	log_begin(&log, 120, 0);
	log_wait(&log, wait_until(180));
	woken_before.woken_ns = 110;
	log_wait(&log, woken_before);
	log_end(&log, 3000);
	model = model_of(&log);
	assert_int_equal(model->wait_count, 2);
	assert_int_equal(model->waits[0].start_ns, 120);
	assert_int_equal(wait_runnable_ns(&model->waits[0]), 30);
	assert_int_equal(model->waits[1].start_ns, 120);
	assert_int_equal(wait_runnable_ns(&model->waits[1]), 2000 - 120);
	model_free(model);
}

static void a_wait_has_who_woke_it_with_the_stack_of_that_process(void **state)
{
	struct log_builder log;
	struct model *model;
	const struct model_wait *wait;

	begin_log(&log);
	log_wait(&log, wait_until(180));
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->wait_count, 1);
	wait = &model->waits[0];
	assert_int_equal(wait->start_ns, 100);
	assert_int_equal(wait->end_ns, 180);
	assert_int_equal(wait_runnable_ns(wait), 30);
	assert_int_equal(wait->arg, 0x1234);
	assert_string_equal(wait_reason_name((enum gpt_wait_reason)wait->reason), "lock (futex)");
	assert_string_equal(frame_text(model, wait->stack, 0), "tokenize (/src/serve.py:82)");
	assert_string_equal(frame_text(model, wait->waker_stack, 0), "load (/src/data.py:12)");
	assert_int_equal(model->threads[wait->waker].tid, OTHER_TID);
	assert_int_equal(model->processes[model->threads[wait->waker].process].pid, OTHER_PID);
	assert_string_equal(wait->waker_name, "loader");
	assert_int_equal(wait->holder, NONE);
	model_free(model);
}

static const struct model_process *process_of(const struct model *model, uint32_t thread)
{
	assert_in_range(thread, 0, model->thread_count - 1);
	return &model->processes[model->threads[thread].process];
}

#define AWAY 100000000ull

/* Each life of a pid wakes a thread of another process, from a thread of its own; then the pid is forked again. */
static struct model *model_of_lives(uint32_t lives)
{
	struct log_builder log;

	begin_log(&log);
	for (uint32_t i = 1; i <= lives; i++) {
		uint64_t at = AWAY * i;
		struct gpt_wait wait = wait_until(at + 80);
		struct gpt_sample sample = sample_at(at + 90);

		log_process_event(&log, GPT_FORK, OTHER_PID, 1, at, "worker");
		wait.time_ns = at + 10;
		wait.woken_ns = at + 50;
		wait.waker_tid = OTHER_TID + i;
		log_wait(&log, wait);
		sample.pid = OTHER_PID + i;
		sample.tid = sample.pid;
		log_sample(&log, sample);
		log_process_event(&log, GPT_EXIT, OTHER_PID, 1, at + 85, "worker");
	}
	log_process_event(&log, GPT_FORK, OTHER_PID, 1, AWAY * lives + 95, "worker");
	log_end(&log, AWAY * (lives + 1));
	return model_of(&log);
}

/* Where thousands of processes are forked, pids come round before the wait of a thread that one woke is joined. */
static void a_waker_is_the_process_that_had_the_pid_when_it_woke(void **state)
{
	for (uint32_t lives = 1; lives <= 50; lives += 7) {
		struct model *model = model_of_lives(lives);

		assert_int_equal(model->wait_count, lives);
		assert_int_equal(model->thread_count, 1 + 2 * lives);
		for (uint32_t i = 0; i < lives; i++) {
			const struct model_process *waker = process_of(model, model->waits[i].waker);

			assert_int_equal(waker->pid, OTHER_PID);
			assert_int_equal(waker->start_ns, AWAY * (i + 1));
			assert_int_equal(process_of(model, model->samples[i].thread)->pid, OTHER_PID + i + 1);
		}
		model_free(model);
	}
}

/* The waiting thread got no CPU until the pid was another process's, of which nothing is known at that time. */
static void a_waker_whose_pid_is_another_process_s_by_now_is_known_by_name(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_process_event(&log, GPT_FORK, OTHER_PID, 1, 160, "worker");
	log_wait(&log, wait_until(180)); /* woken at 150 */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->wait_count, 1);
	assert_int_equal(model->waits[0].woken_by, GPT_WAKER_OTHER);
	assert_int_equal(model->waits[0].waker, NONE);
	assert_string_equal(model->waits[0].waker_name, "loader");
	model_free(model);
}

/* Only its name is known. */
static void a_waker_that_is_not_followed_makes_no_process(void **state)
{
	struct gpt_wait wait = wait_until(180);
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	wait.waker = GPT_WAKER_OTHER;
	wait.waker_pid = 1;
	memcpy(wait.waker_comm, "kw\x1b\xffrker", 8);
	log_wait(&log, wait);
	wait.end_ns = 190;
	wait.waker = GPT_WAKER_INTERRUPT;
	log_wait(&log, wait);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->process_count, 1);
	assert_int_equal(model->waits[0].waker, NONE);
	assert_int_equal(model->waits[0].waker_pid, 1);
	assert_string_equal(model->waits[0].waker_name, "kw??rker");
	assert_string_equal(model->waits[1].waker_name, "");
	assert_int_equal(model->waits[1].waker_pid, 0);
	model_free(model);
}

/* Waits are reported when they end, so one that began much earlier comes after others. */
static void waits_are_in_the_order_in_which_they_end(void **state)
{
	struct gpt_wait first = wait_until(400), second = wait_until(300);
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	second.tid = second.holder_tid = TID + 1;
	second.reason = GPT_WAIT_GIL;
	log_wait(&log, first);
	log_wait(&log, second);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->waits[0].end_ns, 300);
	assert_int_equal(model->threads[model->waits[0].holder].tid, TID + 1);
	assert_int_equal(model->waits[1].end_ns, 400);
	model_free(model);
}

static void what_makes_no_sense_is_counted(void **state)
{
	struct gpt_wait backwards = wait_until(99), early = wait_until(180), late = wait_until(180);
	struct gpt_wait newer = wait_until(180);
	struct gpt_sample nowhere = sample_at(200);
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	early.woken_ns = 99;
	late.woken_ns = 181;
	nowhere.place = 0;
	newer.reason = 200; /* a reason of a later gputrace: left out */
	log_wait(&log, backwards);
	log_wait(&log, early);
	log_wait(&log, late);
	log_wait(&log, newer);
	log_sample(&log, nowhere);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->wait_count, 0);
	assert_int_equal(model->sample_count, 0);
	assert_int_equal(model_source(model)->receipt.bad_records, 4);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_has_its_stack_its_native_function_and_its_thread),
		cmocka_unit_test(a_sample_says_why_it_has_no_stack),
		cmocka_unit_test(what_was_outside_of_the_recording_is_left_out),
		cmocka_unit_test(a_wait_that_began_before_the_recording_counts_from_its_start),
		cmocka_unit_test(a_wait_has_who_woke_it_with_the_stack_of_that_process),
		cmocka_unit_test(a_waker_is_the_process_that_had_the_pid_when_it_woke),
		cmocka_unit_test(a_waker_whose_pid_is_another_process_s_by_now_is_known_by_name),
		cmocka_unit_test(a_waker_that_is_not_followed_makes_no_process),
		cmocka_unit_test(waits_are_in_the_order_in_which_they_end),
		cmocka_unit_test(what_makes_no_sense_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
