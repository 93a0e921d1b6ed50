/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dumps as files: what was written is read again; anything else is refused or left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump/dump_file.h"
#include "dump/text.h"

static int file_of(const char *text, size_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static char *write_dump(size_t *size)
{
	static const uint64_t members[] = {0, 1};
	struct dump_frame frame = {.function = "step", .file = "/home/\"me\"/train.py", .line = 7};
	struct dump_work works[] = {{.name = "nccl:all_reduce", .number = 1, .state = WORK_COMPLETED, .since_ns = 5},
				    {.name = "nccl:send 0->1",
				     .number = 1,
				     .is_p2p = true,
				     .state = WORK_STARTED,
				     .since_ns = 6,
				     .sizes = "[4]",
				     .frames = &frame,
				     .frame_count = 1}};
	struct dump_group group = {.name = "0",
				   .description = "default_pg",
				   .ranks = members,
				   .rank_count = 2,
				   .works = works,
				   .work_count = 2};
	struct dump_thread thread = {.tid = 12,
				     .frames = &frame,
				     .frame_count = 1,
				     .wait = {.kind = WAIT_CUDA, .text = "waits in cudaStreamSynchronize"}};
	struct dump_process process = {.pid = 12,
				       .parent = 11,
				       .name = "python",
				       .rank = "1",
				       .world_size = "2",
				       .job = "node:1",
				       .moves = true,
				       .forked = true,
				       .has_torch = true,
				       .groups_at_ns = 99,
				       .threads = &thread,
				       .thread_count = 1,
				       .groups = &group,
				       .group_count = 1};
	struct look look = {.process = &process};
	look_list looks = {.items = &look, .count = 1};
	struct graph graph = {0};
	rank_list ranks = {0};
	collective_list collectives = {0};
	ras_list services = {0};
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	dump_print_json(out, &(struct dump_findings){&looks, &graph, &ranks, &collectives, &services});
	fclose(out);
	return text;
}

static void what_was_written_is_read(void **state)
{
	look_list looks = {0};
	const struct dump_process *process;
	const struct dump_group *group;
	char *text, host[256] = "";
	size_t size;
	int fd;

	(void)state;
	text = write_dump(&size);
	fd = file_of(text, size);
	free(text);
	assert_true(dump_file_is_one(fd));
	assert_null(dump_file_read(fd, &looks));
	close(fd);
	gethostname(host, sizeof(host) - 1);
	assert_int_equal(looks.count, 1);
	process = looks.items[0].process;
	assert_string_equal(process->host, host);
	assert_int_equal(process->pid, 12);
	assert_int_equal(process->parent, 11);
	assert_string_equal(process->rank, "1");
	assert_string_equal(process->world_size, "2");
	assert_string_equal(process->job, "node:1");
	assert_true(process->moves && process->forked && process->has_torch && !process->refused);
	assert_int_equal(process->groups_at_ns, 99);
	assert_int_equal(process->thread_count, 1);
	assert_int_equal(process->threads[0].tid, 12);
	assert_int_equal(process->threads[0].wait.kind, WAIT_CUDA);
	assert_string_equal(process->threads[0].wait.text, "waits in cudaStreamSynchronize");
	assert_int_equal(process->threads[0].frame_count, 1);
	assert_string_equal(process->threads[0].frames[0].file, "/home/\"me\"/train.py");
	assert_int_equal(process->threads[0].frames[0].line, 7);
	assert_int_equal(process->group_count, 1);
	group = &process->groups[0];
	assert_string_equal(group->description, "default_pg");
	assert_int_equal(group->rank_count, 2);
	assert_int_equal(group->ranks[1], 1);
	assert_int_equal(group->work_count, 2);
	assert_int_equal(group->works[0].state, WORK_COMPLETED);
	assert_null(group->works[0].frames);
	assert_true(group->works[1].is_p2p);
	assert_int_equal(group->works[1].state, WORK_STARTED);
	assert_int_equal(group->works[1].since_ns, 6);
	assert_string_equal(group->works[1].sizes, "[4]");
	assert_string_equal(group->works[1].frames[0].function, "step");
	looks_free(&looks);
}

static void one_that_ends_anywhere_is_said_to(void **state)
{
	char *text;
	size_t size;

	(void)state;
	text = write_dump(&size);
	for (size_t cut = 0; cut + 2 < size; cut += 7) { /* all but the last bracket and the end of its line */
		look_list looks = {0};
		int fd = file_of(text, cut);
		char *why = dump_file_read(fd, &looks);

		assert_string_equal(why, "ends in the middle, or is damaged");
		free(why);
		looks_free(&looks);
		close(fd);
	}
	free(text);
}

static void what_is_of_another_kind_is_left_out(void **state)
{
	static const char text[] = "{\"schema\": \"gputrace dump\", \"host\": 7, \"host\": \"a\", \"new\": [{}], "
				   "\"processes\": [7, {}, {\"pid\": "
				   "\"x\", \"rank\": 3, \"threads\": {\"tid\": 1}, \"groups\": [null, {\"works\": "
				   "[{\"state\": \"new\"}, 5], "
				   "\"members\": [\"a\", -1, 3]}]}]}";
	look_list looks = {0};
	int fd = file_of(text, sizeof(text) - 1);

	(void)state;
	assert_true(dump_file_is_one(fd));
	assert_null(dump_file_read(fd, &looks));
	assert_int_equal(looks.count, 3);
	assert_string_equal(looks.items[2].process->host, "a");
	assert_int_equal(looks.items[2].process->pid, 0);
	assert_null(looks.items[2].process->rank);
	assert_int_equal(looks.items[2].process->thread_count, 0);
	assert_int_equal(looks.items[2].process->group_count, 2);
	assert_string_equal(looks.items[2].process->groups[1].name, "?");
	assert_int_equal(looks.items[2].process->groups[1].work_count, 2);
	assert_int_equal(looks.items[2].process->groups[1].works[0].state, WORK_UNKNOWN);
	assert_int_equal(looks.items[2].process->groups[1].rank_count, 3);
	looks_free(&looks);
	close(fd);
}

static void a_text_may_begin_with_an_escape(void **state)
{
	static const char text[] = "{\"schema\": \"gputrace dump\", \"host\": \"\\u0061\\tb\", "
				   "\"processes\": [{\"pid\": 7, \"job\": \"\\\"\"}]}";
	look_list looks = {0};
	int fd = file_of(text, sizeof(text) - 1);

	(void)state;
	assert_null(dump_file_read(fd, &looks));
	assert_int_equal(looks.count, 1);
	assert_string_equal(looks.items[0].process->host, "a b");
	assert_string_equal(looks.items[0].process->job, "\"");
	looks_free(&looks);
	close(fd);
}

static void a_trace_is_no_dump(void **state)
{
	static const char text[] = "{\"traceEvents\": []}";
	int fd = file_of(text, sizeof(text) - 1);

	(void)state;
	assert_false(dump_file_is_one(fd));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(one_that_ends_anywhere_is_said_to),
		cmocka_unit_test(what_is_of_another_kind_is_left_out),
		cmocka_unit_test(a_text_may_begin_with_an_escape),
		cmocka_unit_test(a_trace_is_no_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
