/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unfinished collectives, by the recorders of several ranks: what each rank did with them, and the words for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump/text_collectives.h"

#define NOW_NS 1000000000000ll
#define OLD_NS (NOW_NS - 2000000000ll)
#define RANKS 6

static struct dump_frame step = {.function = "step", .file = "/home/me/train.py", .line = 7};
static const uint64_t members[RANKS + 1] = {0, 1, 2, 3, 4, 5, 6};

/* Ranks 0 to 5 of one job, and what each has recorded in its one group. */
struct job {
	struct dump_process processes[RANKS];
	struct dump_group groups[RANKS];
	struct dump_work works[RANKS][4];
	struct look looks[RANKS];
	look_list list;
	rank_list ranks;
	collective_list collectives;
};

static void add_work(struct job *job, int rank, uint64_t number, const char *name, enum work_state state)
{
	struct dump_group *group = &job->groups[rank];
	struct dump_work *work = &group->works[group->work_count++];

	*work = (struct dump_work){.name = name, .number = number, .state = state, .since_ns = OLD_NS};
	job->processes[rank].group_count = 1;
	if (state == WORK_SCHEDULED || state == WORK_STARTED) {
		work->frames = &step;
		work->frame_count = 1;
	}
}

static void begin_job(struct job *job)
{
	memset(job, 0, sizeof(*job));
	for (int i = 0; i < RANKS; i++) {
		job->groups[i] = (struct dump_group){.name = "0",
						     .description = "default_pg",
						     .ranks = members,
						     .rank_count = RANKS + 1,
						     .works = job->works[i]};
		job->processes[i] = (struct dump_process){.pid = 100 + i,
							  .parent = 99,
							  .job = "localhost:1",
							  .has_torch = true,
							  .groups = &job->groups[i],
							  .groups_at_ns = NOW_NS};
		job->looks[i].process = &job->processes[i];
		array_push(&job->list, job->looks[i]);
		array_push(&job->ranks, ((struct dump_rank){.process = &job->processes[i], .number = i}));
	}
}

static void end_job(struct job *job)
{
	collectives_free(&job->collectives);
	array_free(&job->ranks);
	array_free(&job->list);
}

static void must_print(const struct job *job, const char *expected)
{
	const struct dump_findings found = {
		.looks = &job->list, .ranks = &job->ranks, .collectives = &job->collectives};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	dump_print_collectives(out, &found);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void each_rank_is_said_to_have_done_what_it_has_recorded(void **state)
{
	struct job job;

	(void)state;
	begin_job(&job);
	add_work(&job, 0, 4, "nccl:all_reduce", WORK_SCHEDULED);
	add_work(&job, 0, 5, "nccl:all_reduce", WORK_SCHEDULED);
	add_work(&job, 1, 4, "nccl:all_reduce", WORK_STARTED);
	add_work(&job, 2, 4, "nccl:all_reduce", WORK_COMPLETED);
	add_work(&job, 2, 5, "nccl:all_reduce", WORK_SCHEDULED);
	add_work(&job, 3, 4, "nccl:all_reduce", WORK_GIVEN_UP);
	add_work(&job, 4, 9, "nccl:all_reduce", WORK_COMPLETED);
	collectives_find(&job.collectives, &job.list, &job.ranks);
	must_print(
		&job,
		"\nnot finished, by PyTorch's Flight Recorder\n"
		"  nccl:all_reduce 4 in group 0 (default_pg) of 7 ranks, job at localhost:1\n"
		"    rank 5 (process 105): not called, nor any other in this group\n"
		"    rank 0 (process 100): nccl:all_reduce 4, called 2.0 s ago, at step (/home/me/train.py:7); 1 more "
		"after it\n"
		"    rank 1 (process 101): nccl:all_reduce 4 has begun, called 2.0 s ago, at step "
		"(/home/me/train.py:7)\n"
		"    rank 2 (process 102): finished\n"
		"    rank 3 (process 103): PyTorch no longer waits for it (a timeout, or an error)\n"
		"    rank 4 (process 104): no longer in the recorder\n"
		"    1 of its ranks was not looked at\n");
	end_job(&job);
}

/* Operations that are called as a group share one number and one event, which the last entry has. */
static void of_operations_that_were_called_as_a_group_the_whole_waits(void **state)
{
	struct job job;

	(void)state;
	begin_job(&job);
	add_work(&job, 0, 4, "nccl:_all_gather_base", WORK_UNKNOWN);
	add_work(&job, 0, 4, "nccl:_all_gather_base", WORK_UNKNOWN);
	add_work(&job, 0, 4, "nccl:coalesced", WORK_SCHEDULED);
	collectives_find(&job.collectives, &job.list, &job.ranks);
	assert_int_equal(job.collectives.count, 1);
	assert_int_equal(job.collectives.items[0].ranks.items[0].part, PART_WAITS);
	assert_string_equal(job.collectives.items[0].name, "nccl:coalesced");
	end_job(&job);
}

static void what_was_called_just_now_is_on_its_way(void **state)
{
	struct job job;

	(void)state;
	begin_job(&job);
	add_work(&job, 0, 1, "nccl:all_reduce", WORK_SCHEDULED);
	job.works[0][0].since_ns = NOW_NS - 100000000;
	collectives_find(&job.collectives, &job.list, &job.ranks);
	must_print(&job, "");
	end_job(&job);
}

static void another_job_s_group_of_the_same_name_is_another_one(void **state)
{
	struct job job;

	(void)state;
	begin_job(&job);
	for (int i = 0; i < 2; i++)
		add_work(&job, i, 4 + (uint64_t)i, "nccl:all_reduce", WORK_SCHEDULED);
	job.processes[1].job = "localhost:2";
	for (int i = 0; i < 2; i++) { /* of a group whose members are not known */
		job.groups[i].rank_count = 0;
		job.groups[i].description = "";
	}
	collectives_find(&job.collectives, &job.list, &job.ranks);
	assert_int_equal(job.collectives.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(job.collectives.items[i].number, 4 + i);
		assert_int_equal(job.collectives.items[i].ranks.count, 1);
	}
	end_job(&job);
}

/* As with a file as init_method: there is no MASTER_ADDR. */
static void what_has_no_address_of_its_job_is_of_one_with_its_parent_s_others(void **state)
{
	struct dump_process processes[] = {
		{.pid = 4, .parent = 9, .rank = "1", .host = "b"}, {.pid = 1, .parent = 9, .rank = "0", .host = "b"},
		{.pid = 2, .parent = 9, .rank = "1", .host = "a"}, {.pid = 3, .parent = 8, .rank = "0", .host = "b"},
		{.pid = 5, .parent = 9, .rank = "0", .host = "a"},
	};
	static const int pids[] = {5, 2, 3, 1, 4};
	static const bool one_job[] = {true, false, false, true};
	look_list looks = {0};
	rank_list ranks;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		array_push(&looks, ((struct look){.process = &processes[i]}));
	ranks_find(&ranks, &looks);
	assert_int_equal(ranks.count, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(ranks.items[i].process->pid, pids[i]);
		if (i < 4)
			assert_int_equal(rank_is_of_job(ranks.items[i].process, ranks.items[i + 1].process),
					 one_job[i]);
	}
	array_free(&ranks);
	array_free(&looks);
}

static void what_a_forked_child_has_of_its_parent_is_not_its_own(void **state)
{
	struct job job;

	(void)state;
	begin_job(&job);
	for (int i = 0; i < 2; i++)
		add_work(&job, i, 4, "nccl:all_reduce", WORK_SCHEDULED);
	job.processes[1].forked = true;
	job.processes[1].parent = job.processes[0].pid;
	job.ranks.items[1].number = -1; /* as ranks_find sets it for a rank's child */
	collectives_find(&job.collectives, &job.list, &job.ranks);
	assert_int_equal(job.collectives.count, 1);
	for (size_t i = 0; i < job.collectives.items[0].ranks.count; i++)
		assert_ptr_not_equal(job.collectives.items[0].ranks.items[i].process, &job.processes[1]);
	end_job(&job);
}

static void ranks_without_a_recorder_are_told_how_to_have_one(void **state)
{
	struct job job;

	(void)state;
	begin_job(&job);
	collectives_find(&job.collectives, &job.list, &job.ranks);
	must_print(&job, "\nPyTorch's Flight Recorder has nothing of these ranks (before PyTorch 2.11 it is off: "
			 "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 turns it on; that of 2.7 and later can be read)\n");
	add_work(&job, 0, 1, "nccl:all_reduce", WORK_COMPLETED);
	must_print(&job, "");
	end_job(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rank_is_said_to_have_done_what_it_has_recorded),
		cmocka_unit_test(of_operations_that_were_called_as_a_group_the_whole_waits),
		cmocka_unit_test(what_was_called_just_now_is_on_its_way),
		cmocka_unit_test(another_job_s_group_of_the_same_name_is_another_one),
		cmocka_unit_test(what_has_no_address_of_its_job_is_of_one_with_its_parent_s_others),
		cmocka_unit_test(what_a_forked_child_has_of_its_parent_is_not_its_own),
		cmocka_unit_test(ranks_without_a_recorder_are_told_how_to_have_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
