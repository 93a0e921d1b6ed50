/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time of collectives' kernels, split: most ranks are made by hand, as collective_kernels.c leaves them. */
#include <gputrace/nccl.h>

#include "model_of.h"

#include "analyze/analyze.h"
#include "analyze/ranks/collective_split.h"

#define RANKS 4
#define US 1000ull

/* Ranks, each in a log of its own; logs of one machine share a clock. */
struct job {
	struct ranks ranks;
	struct collective_kernels logs[RANKS];
	struct collective_split split;
};

static void begin(struct job *job, size_t ranks, int64_t world)
{
	*job = (struct job){.ranks = {.world = world}};
	array_push(&job->ranks.clocks, (struct rank_clock){0});
	for (size_t i = 0; i < ranks; i++) {
		struct rank_log log = {.name = "log"};

		array_push(&log.arrivals.ranks.list, ((struct arriving_rank){.rank = (int64_t)i}));
		array_push(&job->ranks.logs, log);
		array_push(&job->logs[i].processes.list, ((struct kernels_of_process){.device = NONE}));
		array_push(&job->logs[i].texts.list, NULL);
	}
}

/* Adds a kernel that was launched 10 us before it began. */
static uint32_t add(struct job *job, size_t rank, uint64_t start_ns, uint64_t end_ns, enum collective_basis basis)
{
	struct kernels_of_process *of = &job->logs[rank].processes.list.items[0];
	struct collective_kernel kernel = {.start_ns = start_ns,
					   .end_ns = end_ns,
					   .launch_ns = start_ns - 10 * US,
					   .line = NONE,
					   .communicator = NONE,
					   .basis = (uint8_t)basis};

	array_push(&of->kernels.list, kernel);
	return (uint32_t)of->kernels.list.count - 1;
}

static void take_part(struct job *job, size_t rank, uint32_t kernel, uint64_t key, int64_t members)
{
	array_push(&job->logs[rank].processes.list.items[0].parts.list,
		   ((struct collective_part){.key = key, .kernel = kernel, .members = members}));
}

static void add_numbered(struct job *job, size_t rank, uint64_t start_ns, uint64_t end_ns, uint64_t key,
			 int64_t members)
{
	take_part(job, rank, add(job, rank, start_ns, end_ns, COLLECTIVE_BY_NUMBER), key, members);
}

static void add_named(struct job *job, size_t rank, uint64_t start_ns, uint64_t end_ns)
{
	take_part(job, rank, add(job, rank, start_ns, end_ns, COLLECTIVE_BY_NAME), 77, 0);
}

/* Each part of each rank is there once: the sums hold for whatever a test makes. */
static void make(struct job *job)
{
	uint64_t ns = 0, rows_ns = 0;

	collective_split_make(&job->split, &job->ranks, job->logs);
	for (size_t i = 0; i < job->split.ranks.count; i++) {
		const struct split_rank *rank = &job->split.ranks.items[i];

		ns += rank->sum.ns;
		assert_int_equal(rank->sum.waiting_ns + rank->sum.transfer_ns + rank->sum.unknown_ns, rank->sum.ns);
		for (size_t k = 0; k < rank->of->kernels.list.count; k++)
			if (rank->splits[k].lack == SPLIT_KNOWN)
				assert_int_equal(rank->splits[k].waiting_ns + rank->splits[k].transfer_ns,
						 kernel_duration(&rank->of->kernels.list.items[k]));
	}
	for (size_t i = 0; i < job->split.rows.count; i++)
		rows_ns += job->split.rows.items[i].sum.ns;
	assert_int_equal(rows_ns, ns);
}

static void end(struct job *job)
{
	collective_split_free(&job->split);
	for (size_t i = 0; i < job->ranks.logs.count; i++) {
		array_free(&job->ranks.logs.items[i].arrivals.ranks.list);
		collective_kernels_free(&job->logs[i]);
	}
	array_free(&job->ranks.logs);
	array_free(&job->ranks.clocks);
}

static const struct kernel_split *split_at(const struct job *job, size_t rank, size_t kernel)
{
	return &job->split.ranks.items[rank].splits[kernel];
}

static void assert_split(const struct job *job, size_t rank, size_t kernel, uint64_t waiting_ns, uint64_t transfer_ns)
{
	assert_int_equal(split_at(job, rank, kernel)->lack, SPLIT_KNOWN);
	assert_int_equal(split_at(job, rank, kernel)->waiting_ns, waiting_ns);
	assert_int_equal(split_at(job, rank, kernel)->transfer_ns, transfer_ns);
}

static void assert_lack(const struct job *job, size_t rank, size_t kernel, enum split_lack lack)
{
	assert_int_equal(split_at(job, rank, kernel)->lack, lack);
	assert_int_equal(split_at(job, rank, kernel)->waiting_ns + split_at(job, rank, kernel)->transfer_ns, 0);
}

static void each_rank_waits_until_the_last_has_begun(void **state)
{
	struct job job;

	begin(&job, 3, 3);
	add_numbered(&job, 0, 1000 * US, 1300 * US, 5, 3);
	add_numbered(&job, 1, 1200 * US, 1301 * US, 5, 3);
	add_numbered(&job, 2, 1050 * US, 1299 * US, 5, 3);
	make(&job);
	assert_split(&job, 0, 0, 200 * US, 100 * US);
	assert_split(&job, 1, 0, 0, 101 * US);
	assert_split(&job, 2, 0, 150 * US, 99 * US);
	assert_int_equal(split_at(&job, 0, 0)->last, 1);
	assert_int_equal(job.split.ranks.items[1].sum.last, 1);
	assert_int_equal(job.split.ranks.items[0].sum.dispatch_ns, 10 * US);
	assert_int_equal(job.split.lasts.count, 1);
	assert_int_equal(job.split.lasts.items[0].ns, 150 * US); /* after the median */
	assert_int_equal(job.split.lasts.items[0].queued_ns, 10 * US);
	end(&job);
}

/* What the gap before it is charged to counts from when the median rank had begun; beyond what is kept, it is unknown.
 */
static void why_a_rank_began_last_is_what_most_of_that_time_is_charged_to(void **state)
{
	static const struct {
		uint64_t until_ns, part_ends_ns;
		uint32_t cause;
	} cases[] = {{UINT64_MAX, 1190 * US, WHY_PYTHON},
		     {UINT64_MAX, 1120 * US, WHY_SYNC},
		     {0, 0, NONE},
		     {1201 * US, 0, WHY_CAUSES}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job job;
		struct collective_kernel *late;

		begin(&job, 2, 2);
		add_numbered(&job, 0, 1100 * US, 1300 * US, 5, 2);
		add_numbered(&job, 1, 1200 * US, 1300 * US, 5, 2);
		job.logs[1].causes_until_ns = cases[i].until_ns;
		late = &job.logs[1].processes.list.items[0].kernels.list.items[0];
		if (cases[i].part_ends_ns) {
			array_push(&job.logs[1].causes.list,
				   ((struct collective_cause){cases[i].part_ends_ns, 1200 * US, WHY_SYNC, NONE}));
			array_push(&job.logs[1].causes.list,
				   ((struct collective_cause){0, cases[i].part_ends_ns, WHY_PYTHON, NONE}));
			late->causes = 2;
		}
		make(&job);
		assert_int_equal(job.split.lasts.count, 1);
		assert_int_equal(job.split.lasts.items[0].cause, cases[i].cause);
		end(&job);
	}
}

static void without_all_ranks_it_cannot_be_known(void **state)
{
	struct job job;

	begin(&job, 2, 3);
	add_numbered(&job, 0, 1000 * US, 1300 * US, 5, 3);
	add_numbered(&job, 1, 1200 * US, 1301 * US, 5, 3);
	add_named(&job, 0, 2000 * US, 2300 * US); /* by its name alone: the job has three ranks */
	add_named(&job, 1, 2200 * US, 2301 * US);
	make(&job);
	for (size_t rank = 0; rank < 2; rank++) {
		assert_lack(&job, rank, 0, SPLIT_RANKS_MISSING);
		assert_lack(&job, rank, 1, SPLIT_RANKS_MISSING);
		assert_int_equal(job.split.ranks.items[rank].sum.unknown_ns, job.split.ranks.items[rank].sum.ns);
	}
	end(&job);
}

static void a_number_that_a_rank_has_twice_is_no_number(void **state)
{
	struct job job;

	begin(&job, 2, 2);
	add_numbered(&job, 0, 1000 * US, 1300 * US, 5, 2);
	add_numbered(&job, 0, 2000 * US, 2300 * US, 5, 2);
	add_numbered(&job, 1, 1200 * US, 1300 * US, 5, 2);
	add_numbered(&job, 1, 1400 * US, 1500 * US, 6, 2);
	add_numbered(&job, 0, 3000 * US, 3300 * US, 7, 2);
	add_numbered(&job, 1, 3100 * US, 3300 * US, 7, 2);
	make(&job);
	assert_lack(&job, 0, 0, SPLIT_TWICE);
	assert_lack(&job, 0, 1, SPLIT_TWICE);
	assert_lack(&job, 1, 0, SPLIT_TWICE);
	assert_lack(&job, 1, 1, SPLIT_RANKS_MISSING);
	assert_split(&job, 0, 2, 100 * US, 200 * US);
	end(&job);
}

static void a_rank_that_dies_leaves_the_rest_unknown(void **state)
{
	struct job job;

	begin(&job, 3, 3);
	for (uint64_t i = 0; i < 4; i++)
		for (size_t rank = 0; rank < 3; rank++)
			if (rank != 2 || i < 2)
				add_numbered(&job, rank, (1000 * i + 100 * rank) * US + 100 * US, (1000 * i + 500) * US,
					     i, 3);
	make(&job);
	for (size_t i = 0; i < 2; i++)
		assert_split(&job, 0, i, 200 * US, 200 * US);
	for (size_t i = 2; i < 4; i++)
		assert_lack(&job, 1, i, SPLIT_RANKS_MISSING);
	end(&job);
}

static void kernels_that_ran_at_other_times_are_no_counterparts(void **state)
{
	struct job job;

	begin(&job, 2, 2);
	add_numbered(&job, 0, 1000 * US, 1300 * US, 5, 2);
	add_numbered(&job, 1, 1400 * US, 1500 * US, 5, 2);
	make(&job);
	assert_lack(&job, 0, 0, SPLIT_APART);
	assert_lack(&job, 1, 0, SPLIT_APART);
	end(&job);
}

/* Its root may be done before another rank begins: it has not waited for that one. */
static void a_broadcast_s_root_waits_for_no_one_who_comes_after_it(void **state)
{
	struct job job;

	begin(&job, 2, 2);
	add_numbered(&job, 0, 1000 * US, 1300 * US, 5, 2);
	add_numbered(&job, 1, 1400 * US, 1500 * US, 5, 2);
	for (size_t rank = 0; rank < 2; rank++)
		job.logs[rank].processes.list.items[0].parts.list.items[0].is_one_way = true;
	make(&job);
	assert_split(&job, 0, 0, 0, 300 * US);
	assert_split(&job, 1, 0, 0, 100 * US);
	end(&job);
}

static void a_kernel_that_sends_and_receives_waits_for_the_later_of_both(void **state)
{
	struct job job;
	const uint64_t starts[] = {1000, 1100, 1400};

	begin(&job, 3, 3);
	for (size_t rank = 0; rank < 3; rank++) {
		uint32_t kernel = add(&job, rank, starts[rank] * US, 1500 * US, COLLECTIVE_BY_PAIR);

		take_part(&job, rank, kernel, 10 + rank, 2);	       /* to the next rank */
		take_part(&job, rank, kernel, 10 + (rank + 2) % 3, 2); /* from the one before */
	}
	add_numbered(&job, 0, 2000 * US, 2100 * US, 1, 2);
	add_numbered(&job, 1, 2050 * US, 2100 * US, 1, 2);
	make(&job);
	assert_split(&job, 0, 0, 400 * US, 100 * US);
	assert_split(&job, 1, 0, 300 * US, 100 * US);
	assert_split(&job, 2, 0, 0, 100 * US);
	assert_int_equal(split_at(&job, 0, 0)->last, 2);
	assert_split(&job, 0, 1, 50 * US, 50 * US);
	end(&job);
}

static void one_unknown_peer_makes_the_whole_kernel_unknown(void **state)
{
	struct job job;
	uint32_t kernel;

	begin(&job, 2, 3);
	kernel = add(&job, 0, 1000 * US, 1500 * US, COLLECTIVE_BY_PAIR);
	take_part(&job, 0, kernel, 10, 2);
	take_part(&job, 0, kernel, 12, 2); /* to rank 2, which is in no log */
	take_part(&job, 1, add(&job, 1, 1200 * US, 1500 * US, COLLECTIVE_BY_PAIR), 10, 2);
	make(&job);
	assert_lack(&job, 0, 0, SPLIT_RANKS_MISSING);
	assert_split(&job, 1, 0, 0, 300 * US);
	end(&job);
}

/* A log that begins two kernels later than the other, and a rank with one more at its end. */
static void kernels_of_one_name_are_matched_where_they_ran_together(void **state)
{
	struct job job;

	begin(&job, 2, 2);
	for (uint64_t i = 0; i < 6; i++) {
		if (i < 5)
			add_named(&job, 0, (1000 * i + 100) * US, (1000 * i + 500) * US);
		if (i >= 2)
			add_named(&job, 1, (1000 * i + 300) * US, (1000 * i + 502) * US);
	}
	make(&job);
	for (size_t i = 0; i < 2; i++)
		assert_lack(&job, 0, i, SPLIT_APART);
	for (size_t i = 2; i < 5; i++)
		assert_split(&job, 0, i, 200 * US, 200 * US);
	assert_split(&job, 1, 0, 0, 202 * US);
	assert_lack(&job, 1, 3, SPLIT_RANKS_MISSING);
	end(&job);
}

/* They overlap by chance, but one ends long before the other. */
static void by_name_kernels_that_end_apart_are_not_matched(void **state)
{
	struct job job;

	begin(&job, 2, 2);
	add_named(&job, 0, 1000 * US, 1300 * US);
	add_named(&job, 1, 1290 * US, 1700 * US);
	make(&job);
	assert_lack(&job, 0, 0, SPLIT_APART);
	end(&job);
}

static void what_clocks_do_not_know_is_said_with_it(void **state)
{
	struct job job;

	begin(&job, 2, 2);
	array_push(&job.ranks.clocks,
		   ((struct rank_clock){.kind = RANK_CLOCK_FITTED, .log = 1, .fit = {.error_most_ns = 7 * US}}));
	job.ranks.logs.items[1].clock = 1;
	add_numbered(&job, 0, 1000 * US, 1300 * US, 5, 2);
	add_numbered(&job, 1, 1200 * US, 1300 * US, 5, 2);
	add_numbered(&job, 0, 2000 * US, 2100 * US, 6, 2);
	add_numbered(&job, 1, 2105 * US, 2200 * US, 6, 2); /* apart by less than the error */
	make(&job);
	assert_split(&job, 0, 0, 200 * US, 100 * US);
	assert_int_equal(split_at(&job, 0, 0)->error_ns, 7 * US);
	assert_split(&job, 0, 1, 100 * US, 0);
	end(&job);
}

static void by_wall_clocks_nothing_is_split(void **state)
{
	struct job job;

	begin(&job, 2, 2);
	array_push(&job.ranks.clocks, ((struct rank_clock){.kind = RANK_CLOCK_WALL, .log = 1}));
	job.ranks.logs.items[1].clock = 1;
	add_numbered(&job, 0, 1000 * US, 1300 * US, 5, 2);
	add_numbered(&job, 1, 1200 * US, 1300 * US, 5, 2);
	make(&job);
	assert_lack(&job, 0, 0, SPLIT_CLOCK);
	end(&job);
}

static void ranks_with_other_steps_share_those_that_both_have(void **state)
{
	struct job job;

	begin(&job, 2, 2);
	for (uint64_t i = 0; i < 10; i++) {
		if (i < 7)
			add_numbered(&job, 0, (1000 * i + 100) * US, (1000 * i + 500) * US, i, 2);
		if (i >= 4)
			add_numbered(&job, 1, (1000 * i + 150) * US, (1000 * i + 500) * US, i, 2);
	}
	make(&job);
	assert_int_equal(job.split.ranks.items[0].sum.lacking[SPLIT_KNOWN], 3);
	assert_int_equal(job.split.ranks.items[0].sum.lacking[SPLIT_RANKS_MISSING], 4);
	assert_int_equal(job.split.ranks.items[0].sum.waiting_ns, 3 * 50 * US);
	end(&job);
}

/* A kernel that NCCL launches for the calls of a group, on that communicator; 0: on several. */
static enum collective_basis basis_of_group(uint64_t comm)
{
	struct log_builder log = {0};
	struct analyses all;
	struct trace *trace;
	const char *why;
	enum collective_basis basis;
	int fd;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&log, PID, TID, 900000);
	log_agent_name(&log, 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	log_nccl(&log, (struct gpt_nccl){.time_ns = 100,
					 .comm = comm,
					 .comm_id = comm,
					 .count = 1000,
					 .sequence = comm ? 3 : -1,
					 .pid = PID,
					 .tid = TID,
					 .calls = 2,
					 .rank = comm ? 1 : -1,
					 .ranks = 4,
					 .function = GPT_NCCL_ALL_REDUCE,
					 .dtype = 7});
	log_launch(&log, PID, TID, 100, 0, 1);
	log_batch(&log, PID, TID, 900000);
	log_agent_kernel(&log,
			 (struct gpt_agent_kernel){.start_wall_ns = 200, .end_wall_ns = 300, .corr = 1, .name = 1});
	log_end(&log, 1000000);
	fd = log_fd(&log);
	log_free(&log);
	assert_int_equal(gpt_trace_open(fd, NULL, NULL, &trace, &why), 0);
	assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_COLLECTIVE_KERNELS), NULL), 0);
	assert_int_equal(all.collective_kernels.processes.list.count, 1);
	basis = all.collective_kernels.processes.list.items[0].kernels.list.items[0].basis;
	analyses_free(&all);
	gpt_trace_close(trace);
	close(fd);
	return basis;
}

/* By its name it could be mistaken for one of the other communicator. */
static void a_kernel_of_one_of_several_communicators_is_not_found_by_its_name(void **state)
{
	assert_int_equal(basis_of_group(0x5000), COLLECTIVE_BY_NUMBER);
	assert_int_equal(basis_of_group(0), COLLECTIVE_BY_NOTHING);
}

/* One thread that drives two GPUs: a rank of one communicator each, in one group. */
static void kernels_of_two_gpus_are_of_two_ranks_with_one_number(void **state)
{
	struct log_builder log = {0};
	const struct kernels_of_process *of;
	struct analyses all;
	struct trace *trace;
	uint64_t keys[2];
	const char *why;
	int fd;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(&log, PID, TID, 900000);
	log_agent_name(&log, 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	for (uint32_t i = 0; i < 2; i++) {
		log_nccl(&log, (struct gpt_nccl){.time_ns = 100 + i,
						 .comm = 0x5000 + i,
						 .comm_id = 0x1234,
						 .count = 1000,
						 .sequence = 3,
						 .pid = PID,
						 .tid = TID,
						 .calls = 1,
						 .rank = (int32_t)i,
						 .ranks = 2,
						 .function = GPT_NCCL_ALL_REDUCE,
						 .dtype = 7});
		log_launch(&log, PID, TID, 100 + i, 0, 1 + i);
	}
	log_batch(&log, PID, TID, 900000);
	for (uint32_t i = 0; i < 2; i++)
		log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = 200 + i,
								 .end_wall_ns = 300 + i,
								 .corr = 1 + i,
								 .device = i,
								 .name = 1});
	log_end(&log, 1000000);
	fd = log_fd(&log);
	log_free(&log);
	assert_int_equal(gpt_trace_open(fd, NULL, NULL, &trace, &why), 0);
	assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_COLLECTIVE_KERNELS), NULL), 0);
	assert_int_equal(all.collective_kernels.processes.list.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		of = &all.collective_kernels.processes.list.items[i];
		assert_int_equal(of->device, i);
		assert_int_equal(of->rank, i);
		assert_int_equal(of->kernels.list.count, 1);
		assert_int_equal(of->kernels.list.items[0].bytes, 4000);
		assert_int_equal(of->parts.list.count, 1);
		assert_int_equal(of->parts.list.items[0].kernel, 0);
		keys[i] = of->parts.list.items[0].key;
	}
	assert_int_equal(keys[0], keys[1]);
	analyses_free(&all);
	gpt_trace_close(trace);
	close(fd);
}

static void assert_kind(const char *name, enum comm_kind kind)
{
	assert_int_equal(comm_kind_of(NULL, name), kind);
}

static void kernels_of_known_libraries_are_known_by_their_names(void **state)
{
	assert_kind("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", COMM_OF_ALL);
	assert_kind("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", COMM_OF_ALL);
	assert_kind("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(ncclSymkDevWorkArgs4K)", COMM_OF_ALL);
	assert_kind("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", COMM_OF_SOME);
	assert_kind("ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", COMM_OF_SOME);
	assert_kind("void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*)", COMM_OF_ALL);
	assert_kind("void vllm::cross_device_all_gather<8>(vllm::RankData*)", COMM_OF_ALL);
	assert_kind("void (anonymous namespace)::all_reduce_one_shot_push_kernel<__half, 8u, true>(int)", COMM_OF_ALL);
	assert_kind("void (anonymous namespace)::multimem_one_shot_reduce_kernel<float, 16>(float*)", COMM_OF_ALL);
	assert_kind("c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)",
		    COMM_OF_ALL);
	assert_kind("my::barrier_kernel(unsigned int**)", COMM_NONE);
	assert_kind("c10d::nccl_extension::all_to_all_lsa_kernel(ncclWindow_vidmem*)", COMM_OF_SOME);
	assert_kind("void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>()", COMM_OF_ALL);
	assert_kind("void tensorrt_llm::kernels::oneShotAllReduceKernel<float, 4>(AllReduceParams)", COMM_OF_ALL);
	assert_kind("void cross_device_reduce_2stage_naive(RankData*)", COMM_NONE);
	assert_kind("my_one_shot_all_reduce_kernel(float*)", COMM_NONE);
	assert_kind("", COMM_NONE);
}

static void a_user_s_pattern_adds_names(void **state)
{
	struct comm_kernels own = {0};
	char *why;

	assert_null(comm_kernels_add(&own, "^my_(ring|tree)_"));
	assert_int_equal(comm_kind_of(&own, "my_ring_exchange(float*)"), COMM_OF_ALL);
	assert_int_equal(comm_kind_of(&own, "not_my_ring_exchange(float*)"), COMM_NONE);
	why = comm_kernels_add(&own, "a(");
	assert_non_null(why);
	free(why);
	assert_int_equal(own.own.count, 1);
	comm_kernels_free(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rank_waits_until_the_last_has_begun),
		cmocka_unit_test(why_a_rank_began_last_is_what_most_of_that_time_is_charged_to),
		cmocka_unit_test(without_all_ranks_it_cannot_be_known),
		cmocka_unit_test(a_number_that_a_rank_has_twice_is_no_number),
		cmocka_unit_test(a_rank_that_dies_leaves_the_rest_unknown),
		cmocka_unit_test(kernels_that_ran_at_other_times_are_no_counterparts),
		cmocka_unit_test(a_broadcast_s_root_waits_for_no_one_who_comes_after_it),
		cmocka_unit_test(a_kernel_that_sends_and_receives_waits_for_the_later_of_both),
		cmocka_unit_test(one_unknown_peer_makes_the_whole_kernel_unknown),
		cmocka_unit_test(kernels_of_one_name_are_matched_where_they_ran_together),
		cmocka_unit_test(by_name_kernels_that_end_apart_are_not_matched),
		cmocka_unit_test(what_clocks_do_not_know_is_said_with_it),
		cmocka_unit_test(by_wall_clocks_nothing_is_split),
		cmocka_unit_test(ranks_with_other_steps_share_those_that_both_have),
		cmocka_unit_test(a_kernel_of_one_of_several_communicators_is_not_found_by_its_name),
		cmocka_unit_test(kernels_of_two_gpus_are_of_two_ranks_with_one_number),
		cmocka_unit_test(kernels_of_known_libraries_are_known_by_their_names),
		cmocka_unit_test(a_user_s_pattern_adds_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
