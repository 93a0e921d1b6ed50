/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the logs of the ranks of a job, for bench-merge:  rank_logs FOLDER LAUNCHES RANKS
 * 0.gpt, 1.gpt and so on are of machines of two ranks each, whose clocks differ; two ranks are of a machine each.  Each
 * has LAUNCHES launches with their kernels, in steps of 100 whose last launch is a collective.  Rank 1 is late at every
 * fourth collective.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank_log.h"

#define LAUNCHES_PER_STEP 100u
#define LAUNCH_NS 300000u /* from one launch to the next */
#define KERNEL_NS 200000u
#define KERNELS 40u /* number of kernel names */
#define FIRST_NAME 100u

/* A pseudo-random number, so that times are as irregular as in a program's log. */
static uint32_t random_below(uint32_t number, uint32_t below)
{
	return (uint32_t)((number * 2654435761u ^ number * 2246822519u >> 13) % below);
}

/* Moves the built records to the log. */
static void drain_records(struct log_builder *log, struct log_writer *writer)
{
	log_batch_end(log);
	for (size_t at = 0; at < log->size;) {
		const struct gpt_record *record = (const struct gpt_record *)(log->data + at);

		at += record->size;
		if (log_writer_append(writer, record))
			abort();
	}
	log->size = 0;
}

static void put_begin(struct log_builder *log, const struct rank *rank)
{
	char name[64];

	rank_put_program(log, rank);
	for (uint32_t i = 0; i < KERNELS; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		log_agent_name(log, FIRST_NAME + i, name);
	}
}

static void put_kernel(struct log_builder *log, const struct rank *rank, uint64_t from_ns, uint64_t to_ns,
		       uint32_t corr, uint32_t name)
{
	log_agent_kernel(log, (struct gpt_agent_kernel){
				      .start_wall_ns = rank_shows(rank, from_ns) + (uint64_t)rank_wall_of(rank),
				      .end_wall_ns = rank_shows(rank, to_ns) + (uint64_t)rank_wall_of(rank),
				      .corr = corr,
				      .name = name});
}

/* 99 kernels, then the collective, which ends on all ranks at the same time. */
static void put_step(struct log_builder *log, const struct rank *rank, uint32_t step)
{
	uint64_t begin_ns = 1000 * MS + step * PERIOD, came_ns = begin_ns + 50 * MS, end_ns = begin_ns + 90 * MS;
	uint32_t first = step * LAUNCHES_PER_STEP + 1, last = first + LAUNCHES_PER_STEP - 1;

	if (rank->late_every && step % rank->late_every == 0)
		came_ns += rank->late_ms * MS;
	for (uint32_t corr = first; corr < last; corr++)
		log_launch(log, RANK_PID, RANK_PID,
			   rank_shows(rank, begin_ns + (corr - first) * LAUNCH_NS + random_below(corr, 9000)),
			   STACK_BEFORE, corr);
	log_launch(log, RANK_PID, RANK_PID, rank_shows(rank, came_ns), STACK_COLLECTIVE, last);
	log_batch(log, RANK_PID, RANK_PID, rank_shows(rank, end_ns));
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = rank_shows(rank, came_ns) - 1000,
						 .end_ns = rank_shows(rank, came_ns) + 10000,
						 .tid = RANK_PID,
						 .name = 7,
						 .sequence = -1,
						 .collective = 8,
						 .collective_sequence = (int64_t)step + 1});
	for (uint32_t corr = first; corr < last; corr++) {
		uint64_t from_ns = begin_ns + (corr - first) * LAUNCH_NS + 20000 + random_below(corr + 7, 30000);

		put_kernel(log, rank, from_ns, from_ns + KERNEL_NS + random_below(corr + 11, 40000), corr,
			   FIRST_NAME + random_below(corr % 3000, KERNELS));
	}
	put_kernel(log, rank, came_ns + 20000, end_ns, last, 1);
}

static void write_log(const char *folder, const struct rank *rank, uint32_t steps)
{
	struct log_builder log = {0};
	struct log_writer *writer;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%u.gpt", folder, rank->number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	writer = log_writer_open(fd);
	if (log_writer_set_start(writer, rank_shows(rank, 500 * MS) + rank->number, rank_wall_of(rank)))
		abort();
	put_begin(&log, rank);
	for (uint32_t i = 0; i < steps; i++) {
		put_step(&log, rank, i);
		drain_records(&log, writer);
	}
	if (log_writer_finish(writer, &(struct gpt_end){.hdr = {.size = sizeof(struct gpt_end), .type = GPT_END},
							.time_ns = rank_shows(rank, 1100 * MS + steps * PERIOD),
							.reason = GPT_END_TARGETS_GONE}))
		abort();
	log_writer_close(writer);
	log_free(&log);
	close(fd);
}

/* A rank of that many, with the boot and host of its machine. */
static struct rank rank_of(uint32_t number, uint32_t world, char *boot, char *host, size_t size)
{
	uint32_t machine = world > 2 ? number / 2 : number;

	snprintf(boot, size, "boot-%u", machine);
	snprintf(host, size, "node-%u", machine);
	return (struct rank){.number = number,
			     .world = world,
			     .boot = boot,
			     .host = host,
			     .late_every = number == 1 ? 4 : 0,
			     .late_ms = 20,
			     .offset_ns = (int64_t)machine * 300000000000123,
			     .drift = machine * 1e-6};
}

int main(int argc, char **argv)
{
	char boot[32], host[32];
	uint32_t ranks;

	if (argc != 4)
		return 2;
	ranks = (uint32_t)strtoul(argv[3], NULL, 0);
	for (uint32_t i = 0; i < ranks; i++) {
		const struct rank rank = rank_of(i, ranks, boot, host, sizeof(boot));

		write_log(argv[1], &rank, (uint32_t)(strtoul(argv[2], NULL, 0) / LAUNCHES_PER_STEP));
	}
	return 0;
}
