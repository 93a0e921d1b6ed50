/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A reader is a process of gputrace's own (gputrace-reader) that reads the memory and the files of a target, and that
 * gputrace can abandon.  A page of a FUSE file or of userfaultfd(2) arrives only when its server sends it, and a
 * process that waits for one cannot even be killed.  So gputrace waits for a reader at most PATIENCE_NS, and reads a
 * target that has blocked a reader again only when that reader is free.  The total time for which one user's processes
 * block readers is bounded, too.
 *
 * Any thread may call this.  A child forked without an exec does the work itself.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define READER_DATA (1u << 20)
#define READER_PATH (PATH_MAX + 64)

/* Memory shared by gputrace and the reader: a job's arguments and results. */
struct reader_area {
	pid_t pid;
	uint64_t address, bytes;
	uint64_t device, inode;
	uid_t uid;  /* whose the file must be */
	bool first; /* the job starts; else it continues where its last run ended */
	bool end;   /* the job is complete: no further run */
	char path[READER_PATH], other_path[READER_PATH];
	int error;
	int fd; /* -1: none; the caller gets it from reader_take_fd */
	struct stat stat;
	bool copied;
	_Atomic uint64_t steps; /* grows while a long job makes progress */
	_Alignas(8) unsigned char data[READER_DATA];
};

/* Runs in the reader, which was forked from a process with threads: no malloc, no stdio, no lock. */
typedef void (*reader_job)(struct reader_area *area);

struct reader;

/* A reader for work on that process; -ETIMEDOUT: the process does not answer, other -errno: there is no reader. */
int reader_share(pid_t pid, struct reader **out);
struct reader_area *reader_area(struct reader *reader);

/*
 * 0: the job has run, area->error is its result.  -ETIMEDOUT: the reader was abandoned; -EMFILE: no room for its fd;
 * -EPERM: a filter of system calls that gputrace runs under kills who does such a job; -EIO: the reader was killed.
 */
int reader_run(struct reader *reader, reader_job job);

/* The descriptor that the job has left in area->fd, now owned by the caller; -1: none. */
int reader_take_fd(struct reader *reader);
void reader_return(struct reader *reader);

/* A process that has blocked a reader, or was not read because other processes of its user had. */
struct reader_silent {
	pid_t pid;
	uid_t uid;
	bool itself; /* false: other processes of its user have */
	char name[16];
};

/* The next one, each process once.  False: none. */
bool reader_next_silent(struct reader_silent *out);

/* Ends the idle readers. */
void readers_end(void);

/* From now on this process does all such work itself: it is a child that its parent can abandon (user/dump/). */
void readers_work_here(void);
