/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NCCL's RAS service (NCCL 2.24 and later): a thread of each process of a job listens at a loopback port, and knows
 * which ranks of the job answer and how far each one is.  Its answer is shown as evidence, not as a finding of
 * gputrace's.
 */
#pragma once

#include <sys/socket.h>

#include "dump/process/look.h"

/* Processes of one job that listen at one address: each of them answers for the whole job. */
struct dump_ras {
	struct arena *arena; /* of the first process's look; holds all texts */
	const char *job;     /* as dump_process.job */
	const char *address; /* "127.0.0.1:28028" */
	const pid_t *pids;   /* at least one */
	unsigned pid_count;
	pid_t accepted;	    /* the process of `pids` that accepted the connection, 0: none */
	const char *why;    /* why the answer is missing or incomplete; NULL: complete, or not asked */
	const char **lines; /* the answer, safe text */
	unsigned line_count;

	struct sockaddr_storage at;
	char network[64]; /* its network namespace, as in /proc/PID/ns/net */
};

typedef ARRAY(struct dump_ras) ras_list;

/* Free with array_free; the looks own processes and texts. */
void ras_find(ras_list *list, const look_list *looks);

/* Asks each service for its status, for a bounded time. */
void ras_ask_all(ras_list *list);

/* Which of the processes has a socket open; 0: none of them. */
pid_t ras_owner(const pid_t *pids, unsigned count, uint64_t inode);
