/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes, threads, devices: identities when numbers are reused. */
#include "model_of.h"

#define SECOND 1000000000ull

static void a_process_is_what_was_said_about_it(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process(&log, PID, 77, 5 * SECOND, 2 * SECOND, 0x030c, "python3", "/usr/bin/python3.12", "python3 train.py",
		    "/usr/lib/libpython3.12.so.1.0");
	log_thread(&log, PID, TID, 6 * SECOND, "worker");
	model = model_of(&log);
	assert_int_equal(model->process_count, 1);
	assert_int_equal(model->processes[0].parent, 77);
	assert_int_equal(model->processes[0].python, 0x030c);
	assert_int_equal(model->processes[0].start_ns, 2 * SECOND);
	assert_string_equal(model->processes[0].name, "python3");
	assert_string_equal(model->processes[0].exe, "/usr/bin/python3.12");
	assert_string_equal(model->processes[0].cmdline, "python3 train.py");
	assert_string_equal(model->processes[0].python_path, "/usr/lib/libpython3.12.so.1.0");
	assert_string_equal(model->threads[0].name, "worker");
	assert_int_equal(model->threads[0].process, 0);
	model_free(model);
}

static void later_knowledge_adds_to_earlier(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process(&log, PID, 77, 5 * SECOND, 2 * SECOND, 0, "python3", "/usr/bin/python3", "python3 x.py", "");
	log_process(&log, PID, 0, 6 * SECOND, 2 * SECOND, 0x030b, "", "", "", "/usr/bin/python3");
	model = model_of(&log);
	assert_int_equal(model->process_count, 1);
	assert_int_equal(model->processes[0].parent, 77);
	assert_int_equal(model->processes[0].python, 0x030b);
	assert_string_equal(model->processes[0].cmdline, "python3 x.py");
	model_free(model);
}

static void a_fork_inherits_until_it_execs(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process(&log, 1, 0, SECOND, SECOND / 2, 0x030c, "python3", "/usr/bin/python3", "python3 x.py",
		    "/usr/bin/python3");
	log_process_event(&log, GPT_FORK, 2, 1, 2 * SECOND, "python3");
	log_process_event(&log, GPT_FORK, 3, 1, 2 * SECOND, "python3");
	log_process_event(&log, GPT_EXEC, 3, 0, 3 * SECOND, "nvidia-smi");
	model = model_of(&log);
	assert_int_equal(model->process_count, 3);
	assert_int_equal(model->processes[1].parent, 1);
	assert_int_equal(model->processes[1].python, 0x030c);
	assert_string_equal(model->processes[1].cmdline, "python3 x.py");
	assert_string_equal(model->processes[2].name, "nvidia-smi");
	assert_string_equal(model->processes[2].cmdline, "");
	assert_int_equal(model->processes[2].python, 0);
	model_free(model);
}

static void a_description_from_before_the_exec_that_comes_after_it_is_left_out(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process_event(&log, GPT_FORK, 2, 1, 2 * SECOND, "bash");
	log_process_event(&log, GPT_EXEC, 2, 0, 4 * SECOND, "nvidia-smi");
	log_process(&log, 2, 1, 3 * SECOND, 2 * SECOND, 0x030c, "python3", "/usr/bin/python3", "python3 x.py", "");
	model = model_of(&log);
	assert_int_equal(model->process_count, 1);
	assert_string_equal(model->processes[0].name, "nvidia-smi");
	assert_string_equal(model->processes[0].cmdline, "");
	assert_int_equal(model->processes[0].python, 0);
	model_free(model);
}

static void a_description_that_overtook_the_exec_is_not_forgotten(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process_event(&log, GPT_FORK, 2, 1, 2 * SECOND, "bash");
	log_process(&log, 2, 1, 4 * SECOND, 2 * SECOND, 0x030c, "python3", "/usr/bin/python3", "python3 x.py", "");
	log_process_event(&log, GPT_EXEC, 2, 0, 3 * SECOND, "python3");
	model = model_of(&log);
	assert_int_equal(model->process_count, 1);
	assert_string_equal(model->processes[0].cmdline, "python3 x.py");
	assert_int_equal(model->processes[0].python, 0x030c);
	model_free(model);
}

static void a_reused_pid_is_another_process(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process_event(&log, GPT_FORK, 2, 1, 1 * SECOND, "first");
	log_launch(&log, 2, 2, 2 * SECOND, 0, 1);
	log_process_event(&log, GPT_EXIT, 2, 0, 3 * SECOND, "first");
	log_process_event(&log, GPT_FORK, 2, 1, 4 * SECOND, "second");
	log_launch(&log, 2, 2, 5 * SECOND, 0, 1);
	model = model_of(&log);
	assert_int_equal(model->process_count, 2);
	assert_int_equal(model->processes[0].exit_ns, 3 * SECOND);
	assert_int_equal(model->processes[0].calls, 1);
	assert_int_equal(model->processes[1].exit_ns, 0);
	assert_int_equal(model->processes[1].calls, 1);
	assert_int_equal(model->threads[model->calls[1].thread].process, 1);
	model_free(model);
}

static void a_reused_pid_is_noticed_when_the_exit_was_lost(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process(&log, 2, 1, 1 * SECOND, SECOND, 0, "first", "", "", "");
	log_process(&log, 2, 1, 5 * SECOND, 4 * SECOND, 0, "second", "", "", "");
	model = model_of(&log);
	assert_int_equal(model->process_count, 2);
	assert_int_equal(model->processes[0].exit_ns, 4 * SECOND);
	assert_string_equal(model->processes[1].name, "second");
	model_free(model);
}

static void a_pid_that_comes_again_within_a_millisecond_is_another_process(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process_event(&log, GPT_FORK, 2, 1, 2 * SECOND, "python3");
	log_thread(&log, 2, 2, 2 * SECOND, "one");
	log_process_event(&log, GPT_EXIT, 2, 0, 2 * SECOND + 1000, "python3");
	log_process_event(&log, GPT_FORK, 2, 1, 2 * SECOND + 2000, "python3");
	log_thread(&log, 2, 2, 2 * SECOND + 3000, "two");
	/* The end of the second is lost. */
	log_process_event(&log, GPT_FORK, 2, 1, 2 * SECOND + 5000, "python3");
	log_thread(&log, 2, 2, 2 * SECOND + 6000, "three");
	model = model_of(&log);
	assert_int_equal(model->process_count, 3);
	assert_int_equal(model->thread_count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(model->threads[i].process, i);
	assert_int_equal(model->processes[1].exit_ns, 2 * SECOND + 5000);
	model_free(model);
}

static void a_fork_that_comes_after_the_description_is_the_same_process(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_process(&log, 2, 1, 5 * SECOND, 4 * SECOND, 0, "python3", "", "", ""); /* start in ticks of 10 ms */
	log_process_event(&log, GPT_FORK, 2, 1, 4 * SECOND + 7654321, "python3");
	model = model_of(&log);
	assert_int_equal(model->process_count, 1);
	assert_int_equal(model->processes[0].parent, 1);
	model_free(model);
}

static void those_no_one_named_have_a_name_all_the_same(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_launch(&log, 5, 6, 100, 0, 1);
	log_thread(&log, 7, 7, 100, "trainer");
	log_launch(&log, 7, 8, 100, 0, 1);
	model = model_of(&log);
	assert_string_equal(model->processes[0].name, "?");
	assert_string_equal(model->processes[1].name, "trainer");
	assert_string_equal(model->threads[2].name, "trainer");
	model_free(model);
}

static void names_of_full_length_need_no_terminator(void **state)
{
	struct gpt_thread thread = {.pid = PID, .tid = TID};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	memcpy(thread.comm, "0123456789abcdef", sizeof(thread.comm));
	log_thread_record(&log, thread);
	model = model_of(&log);
	assert_string_equal(model->threads[0].name, "0123456789abcdef");
	model_free(model);
}

static void the_agents_last_word_is_kept(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 100);
	log_agent_hello(&log, GPT_AGENT_READY, GPT_AGENT_OK, 28, "/usr/lib/libcupti.so.13", "");
	log_agent_stats(&log, (struct gpt_agent_stats){.malformed = 1});
	log_batch(&log, PID, TID, 200);
	log_agent_stats(&log, (struct gpt_agent_stats){.malformed = 5});
	log_agent_hello(&log, GPT_AGENT_STOPPED, GPT_AGENT_OCCUPIED, 28, "", "another tool");
	log_agent_hello(&log, 99, GPT_AGENT_OK, 28, "", "nonsense");
	model = model_of(&log);
	assert_int_equal(model->processes[0].agent_state, GPT_AGENT_STOPPED);
	assert_int_equal(model->processes[0].agent_failure, GPT_AGENT_OCCUPIED);
	assert_int_equal(model->processes[0].agent_ready_ns, 100);
	assert_int_equal(model->processes[0].agent_losses.malformed, 5);
	assert_string_equal(model->processes[0].cupti_path, "/usr/lib/libcupti.so.13");
	assert_string_equal(model->processes[0].agent_detail, "another tool");
	assert_int_equal(model->processes[0].driver_version, 13000);
	assert_int_equal(model_source(model)->receipt.bad_records, 1);
	model_free(model);
}

static void kernel_on(struct log_builder *log, uint32_t pid, uint32_t device)
{
	log_batch(log, pid, pid, 200);
	log_agent_kernel(log,
			 (struct gpt_agent_kernel){.start_wall_ns = 100 + pid, .end_wall_ns = 150, .device = device});
}

static void a_device_is_its_uuid_whatever_number_a_process_gives_it(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, 1, 1, 100);
	log_agent_device(&log, &(struct gpt_agent_device){.id = 0, .uuid = "aaaaaaaaaaaaaaa", .multiprocessors = 132},
			 "GPU A");
	log_agent_device(&log, &(struct gpt_agent_device){.id = 1, .uuid = "bbbbbbbbbbbbbbb"}, "GPU B");
	log_batch(&log, 2, 2, 100); /* CUDA_VISIBLE_DEVICES=1 */
	log_agent_device(&log, &(struct gpt_agent_device){.id = 0, .uuid = "bbbbbbbbbbbbbbb"}, "GPU B");
	log_batch(&log, 3, 3, 100); /* another device that this process calls 1 */
	log_agent_device(&log, &(struct gpt_agent_device){.id = 1, .uuid = "ccccccccccccccc"}, "GPU C");
	kernel_on(&log, 1, 0);
	kernel_on(&log, 2, 0);
	kernel_on(&log, 3, 1);
	model = model_of(&log);
	assert_int_equal(model->device_count, 3);
	assert_string_equal(model->devices[0].name, "GPU A");
	assert_int_equal(model->devices[0].multiprocessors, 132);
	assert_string_equal(model->devices[1].name, "GPU B");
	assert_string_equal(model->devices[2].name, "GPU C");
	assert_int_equal(model->devices[2].id, 2);
	assert_int_equal(model->gpu[0].device, 0);
	assert_int_equal(model->gpu[1].device, 1);
	assert_int_equal(model->gpu[2].device, 2);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_what_was_said_about_it),
		cmocka_unit_test(later_knowledge_adds_to_earlier),
		cmocka_unit_test(a_fork_inherits_until_it_execs),
		cmocka_unit_test(a_description_from_before_the_exec_that_comes_after_it_is_left_out),
		cmocka_unit_test(a_description_that_overtook_the_exec_is_not_forgotten),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(a_reused_pid_is_noticed_when_the_exit_was_lost),
		cmocka_unit_test(a_pid_that_comes_again_within_a_millisecond_is_another_process),
		cmocka_unit_test(a_fork_that_comes_after_the_description_is_the_same_process),
		cmocka_unit_test(those_no_one_named_have_a_name_all_the_same),
		cmocka_unit_test(names_of_full_length_need_no_terminator),
		cmocka_unit_test(the_agents_last_word_is_kept),
		cmocka_unit_test(a_device_is_its_uuid_whatever_number_a_process_gives_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
