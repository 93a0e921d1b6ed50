/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The log of a rank of a job: a collective every 100 ms, on a clock that the test chooses. */
#pragma once

#include <math.h>

#include "log_builder.h"

#define MS 1000000ull
#define PERIOD (100 * MS)
#define RANK_PID 100u
#define CODE 0x1000u
#define STACK_COLLECTIVE 1u
#define STACK_BEFORE 2u
#define ROOT_MODULE 0x7f0000010000ull
#define BLOCK_MODULE (ROOT_MODULE + 0x100)
#define SEPARATOR GPT_COLLECTIVE_SEPARATOR

/* A rank as the test defines it: how its clock differs from rank 0's, and when it is late. */
struct rank {
	uint32_t number;
	uint32_t pid;	      /* 0: RANK_PID */
	uint32_t world;	      /* 0: 2 */
	uint32_t collectives; /* 0: 100 */
	uint32_t first;	      /* sequence number */
	uint32_t late_every;  /* every N-th collective is late; 0: none */
	uint32_t late_from;   /* of these only from that one on; 0: all */
	uint32_t late_also;   /* and that one; 0: none */
	uint32_t late_ms;
	uint32_t jitter_us; /* of ends; pseudo-random, so that no line fits them */
	const char *boot, *host;
	const char *slept; /* ns that its machine has slept, as text; NULL: an older log */
	int64_t offset_ns;
	double drift;
	bool wall_as_first;	      /* its wall clock is ahead of rank 0's as far as its own clock is */
	bool silent;		      /* no op identifies the kernel */
	bool is_cut;		      /* its log has no end */
	uint64_t exits_at;	      /* when its process ends; 0: after the log */
	uint64_t waits_ms;	      /* its log goes on for so long */
	bool has_steps;		      /* a step ends 70 ms after each collective was due */
	uint32_t slow_every, slow_ms; /* every N-th step ends later; 0: none */
	uint32_t compute_us;	      /* what the launch before each collective runs; 0: nothing is known of it */
	bool has_modules;	      /* that launch is made in Net's blocks.0 */
	const char *master, *run_id;  /* of its environment; NULL: not set */
};

LOG_FN uint32_t rank_pid_of(const struct rank *rank)
{
	return rank->pid ? rank->pid : RANK_PID;
}

/* CLOCK_REALTIME minus the rank's own clock: unless wall_as_first, all ranks have rank 0's wall clock. */
LOG_FN int64_t rank_wall_of(const struct rank *rank)
{
	return rank->wall_as_first ? 0 : -rank->offset_ns;
}

LOG_FN uint32_t rank_collectives_of(const struct rank *rank)
{
	return rank->collectives ? rank->collectives : 100;
}

LOG_FN uint64_t rank_shows(const struct rank *rank, uint64_t time_ns)
{
	return (uint64_t)((int64_t)time_ns + rank->offset_ns) +
	       (uint64_t)(int64_t)llround(rank->drift * (double)time_ns);
}

LOG_FN void rank_put_session(struct log_builder *log, const struct rank *rank)
{
	char text[256];
	int length = snprintf(text, sizeof(text), "0.1%c%s%c6.18%call%c0%cauto%c%s", 0,
			      rank->host ? rank->host : "node", 0, 0, 0, 0, 0, rank->boot);
	struct gpt_session session = {.cpus = 1};

	if (rank->slept)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "%c%s", 0, rank->slept);
	session.bytes = (uint32_t)length + 1;

	log_put(log, GPT_SESSION, &session, sizeof(session), text, (size_t)length + 1);
}

LOG_FN void rank_put_names(struct log_builder *log, const struct rank *rank)
{
	char params[512];

	snprintf(params, sizeof(params),
		 "all_reduce" SEPARATOR "0" SEPARATOR "default_pg" SEPARATOR "[0, 1, 2]" SEPARATOR "[]" SEPARATOR
		 "[]" SEPARATOR "8" SEPARATOR "8" SEPARATOR "6" SEPARATOR "%u" SEPARATOR "%u" SEPARATOR "0" SEPARATOR
		 "1" SEPARATOR "-1" SEPARATOR "0" SEPARATOR "1",
		 rank->number, rank->world ? rank->world : 2);
	log_agent_name(log, 1, "ncclDevKernel_AllReduce");
	log_agent_op_name(log, 7, "record_param_comms");
	log_agent_op_name(log, 8, params);
	log_agent_op_name(log, 9, "Optimizer.step#SGD.step");
	log_agent_name(log, 2, "gemm");
}

#define CORR_COMPUTED 100000u

/* What runs before a collective, and what ends the step. */
LOG_FN void rank_put_step(struct log_builder *log, const struct rank *rank, uint32_t i)
{
	uint64_t at_ns = 1000 * MS + i * PERIOD, end_ns = at_ns + 70 * MS;

	if (rank->compute_us)
		log_agent_kernel(log,
				 (struct gpt_agent_kernel){
					 .start_wall_ns = rank_shows(rank, at_ns - MS) + (uint64_t)rank_wall_of(rank),
					 .end_wall_ns = rank_shows(rank, at_ns - MS + rank->compute_us * 1000ull) +
							(uint64_t)rank_wall_of(rank),
					 .corr = CORR_COMPUTED + i,
					 .name = 2});
	if (rank->slow_every && i % rank->slow_every == 0)
		end_ns += rank->slow_ms * MS;
	if (!rank->has_steps)
		return;
	log_batch(log, rank_pid_of(rank), rank_pid_of(rank), rank_shows(rank, at_ns + 90 * MS));
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = rank_shows(rank, end_ns - MS),
						 .end_ns = rank_shows(rank, end_ns),
						 .tid = rank_pid_of(rank),
						 .name = 9,
						 .scope = GPT_AGENT_OP_USER_SCOPE,
						 .sequence = -1});
}

/*
 * Launches something else 2 ms before, then the collective: its kernel begins when the rank arrives and ends for all
 * ranks at once.
 */
LOG_FN void rank_put_collective(struct log_builder *log, const struct rank *rank, uint32_t i)
{
	uint64_t at_ns = 1000 * MS + i * PERIOD, came_ns = at_ns, end_ns;
	uint64_t spread = rank->jitter_us ? ((i * 2 + rank->number) * 2654435761u >> 7) % rank->jitter_us : 0;

	if (rank->late_every && i % rank->late_every == 0 &&
	    (i >= rank->late_from || (rank->late_also && i == rank->late_also)))
		came_ns += rank->late_ms * MS;
	end_ns = at_ns + 60 * MS + spread * 1000;
	log_launch(log, rank_pid_of(rank), rank_pid_of(rank), rank_shows(rank, at_ns - 2 * MS), STACK_BEFORE,
		   rank->compute_us ? CORR_COMPUTED + i : 0);
	log_launch(log, rank_pid_of(rank), rank_pid_of(rank), rank_shows(rank, came_ns), STACK_COLLECTIVE, i + 1);
	log_batch(log, rank_pid_of(rank), rank_pid_of(rank), rank_shows(rank, end_ns));
	if (!rank->silent)
		log_agent_op(log, &(struct gpt_agent_op){.start_ns = rank_shows(rank, came_ns) - 1000,
							 .end_ns = rank_shows(rank, came_ns) + 10000,
							 .tid = rank_pid_of(rank),
							 .name = 7,
							 .sequence = -1,
							 .collective = 8,
							 .collective_sequence = (int64_t)rank->first + i});
	log_agent_kernel(log, (struct gpt_agent_kernel){
				      .start_wall_ns = rank_shows(rank, came_ns + 20000) + (uint64_t)rank_wall_of(rank),
				      .end_wall_ns = rank_shows(rank, end_ns) + (uint64_t)rank_wall_of(rank),
				      .corr = i + 1,
				      .name = 1});
	rank_put_step(log, rank, i);
}

LOG_FN void rank_put_job(struct log_builder *log, const struct rank *rank)
{
	const char *texts[14] = {"python3", "", "", "", "", "", "", "", "", "", "", "", rank->master, rank->run_id};
	struct gpt_process record = {.time_ns = 21, .start_ns = 15, .pid = rank_pid_of(rank), .parent = 1};
	char text[512];

	for (size_t i = 12; i < 14; i++)
		texts[i] = texts[i] ? texts[i] : "";
	record.bytes = (uint32_t)log_join(text, sizeof(text), 14, texts);
	log_put(log, GPT_PROCESS, &record, sizeof(record), text, record.bytes);
}

/* The program, its two stacks, and names; opens a batch of its agent. */
LOG_FN void rank_put_program(struct log_builder *log, const struct rank *rank)
{
	const struct gpt_pyframe collective = {.code = CODE, .lasti = 6}, before = {.code = CODE, .lasti = 2};

	log_process(log, rank_pid_of(rank), 1, 20, 15, 0x30c, "python3", "", "", "");
	if (rank->master || rank->run_id)
		rank_put_job(log, rank);
	log_function(log, rank_pid_of(rank), CODE, "train", "/src/train.py", 10);
	log_stack(log, rank_pid_of(rank), STACK_COLLECTIVE, 1, &collective);
	if (rank->has_modules) {
		log_module(log,
			   &(struct gpt_module){.module = BLOCK_MODULE,
						.root = ROOT_MODULE,
						.pid = rank_pid_of(rank),
						.root_number = 1,
						.names = 1},
			   "blocks.0\0Block\0Net\0", 20);
		log_stack_of_modules(log, rank_pid_of(rank), STACK_BEFORE, 1, &before, 1,
				     &(struct gpt_stack_module){.module = BLOCK_MODULE});
	} else {
		log_stack(log, rank_pid_of(rank), STACK_BEFORE, 1, &before);
	}
	log_batch(log, rank_pid_of(rank), rank_pid_of(rank), rank_shows(rank, 500 * MS));
	rank_put_names(log, rank);
}

/* Several ranks in one log, on one clock, with as many collectives each. */
LOG_FN void log_ranks(struct log_builder *log, const struct rank *ranks, size_t count)
{
	const struct rank *rank = ranks;

	log_begin(log, rank_shows(rank, 500 * MS) + rank->number, rank_wall_of(rank));
	rank_put_session(log, rank);
	for (size_t k = 0; k < count; k++)
		rank_put_program(log, &ranks[k]);
	for (uint32_t i = 0; i < rank_collectives_of(rank); i++)
		for (size_t k = 0; k < count; k++)
			rank_put_collective(log, &ranks[k], i);
	if (rank->exits_at)
		log_process_event(log, GPT_EXIT, rank_pid_of(rank), 0, rank_shows(rank, rank->exits_at), "python3");
	if (!rank->is_cut)
		log_end(log, rank_shows(rank, (1100 + rank->waits_ms) * MS + rank_collectives_of(rank) * PERIOD));
}

LOG_FN void log_rank(struct log_builder *log, const struct rank *rank)
{
	log_ranks(log, rank, 1);
}

#define RANK(number_, boot_, ...)                                                                                      \
	(struct rank)                                                                                                  \
	{                                                                                                              \
		.number = number_, .boot = boot_, __VA_ARGS__                                                          \
	}
