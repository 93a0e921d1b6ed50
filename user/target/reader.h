/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work on the memory and the files of a process, done by a process of gputrace's own that can be given up
 * (gputrace-reader).  A page of a FUSE file or of userfaultfd(2) comes when its server likes; a reader that
 * waits for one cannot even be killed.  So no one waits for a reader longer than PATIENCE_NS, and a process that has
 * kept one waiting is not read again before that one is free.  What processes of one user keep readers waiting in all
 * is bounded, too.
 *
 * Any thread may call this.  A child that was forked without an exec does the work itself.
 */
#ifndef GPUTRACE_TARGET_READER_H
#define GPUTRACE_TARGET_READER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define READER_DATA (1u << 20)
#define READER_PATH (PATH_MAX + 64)

/* Memory that both see: what a job is to do, and what came of it. */
struct reader_area {
	pid_t pid;
	uint64_t address, bytes;
	uint64_t device, inode;
	bool first; /* the job begins; else it goes on where its last run ended */
	bool end;   /* nothing is left for a further run */
	char path[READER_PATH], other_path[READER_PATH];
	int error;
	int fd; /* -1: none; it comes to the caller as reader_take_fd */
	struct stat stat;
	bool copied;
	_Atomic uint64_t steps; /* grows while a long job gets on */
	_Alignas(8) unsigned char data[READER_DATA];
};

/* Runs in the reader, which was forked beside other threads: no malloc, no stdio, no lock. */
typedef void (*reader_job)(struct reader_area *area);

struct reader;

/* For work on that process; -ETIMEDOUT: it does not answer, other -errno: there is no reader. */
int reader_borrow(pid_t pid, struct reader **out);
struct reader_area *reader_area(struct reader *reader);

/* 0: it has run, area->error says with what result.  -ETIMEDOUT: it was given up; -EMFILE: its fd has no room here. */
int reader_run(struct reader *reader, reader_job job);

/* The descriptor that the job has left in area->fd, the caller's now; -1 none. */
int reader_take_fd(struct reader *reader);
void reader_return(struct reader *reader);

/* A process that has kept a reader waiting, or was not read as others of its user had. */
struct reader_silent {
	pid_t pid;
	uid_t uid;
	char name[16];
};

/* The next one that was not asked for yet: each process once.  False: none. */
bool reader_next_silent(struct reader_silent *out);

/* Ends those that are idle. */
void readers_end(void);

/* From here on this process does all such work itself: for one that its parent gives up (user/dump/). */
void readers_work_here(void);

#endif
