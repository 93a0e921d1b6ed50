/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What /proc says of a process: names, parent, start; and the files it has mapped. */
#ifndef GPUTRACE_PROCESS_H
#define GPUTRACE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <gputrace/values.h>

#include "base/array.h"

#define PROCESS_RANK_MAX 8 /* digits and a NUL: more ranks than that has no job */

struct process_info {
	pid_t pid, parent;
	pid_t ns_pid;	      /* in its own pid namespace */
	uint64_t start_ns;    /* CLOCK_MONOTONIC, good to a clock tick (10 ms) */
	uint64_t start_ticks; /* as process_start_ticks */
	uid_t uid;
	int seccomp; /* 0 off, 1 strict, 2 filter (proc(5)) */
	unsigned threads;
	bool zombie; /* all its threads have ended */
	enum gpt_mounts mounts;
	bool kernel_thread;
	bool forked; /* and has executed nothing since */
	char comm[16];
	char *exe;     /* readlink of /proc/PID/exe, "" when not readable */
	char *cmdline; /* process_cmdline, where the caller has asked for it; else NULL */
	/* RANK and LOCAL_RANK that its program was started with, digits; "" it was not, or process_read_ranks not
	 * called */
	char rank[PROCESS_RANK_MAX], local_rank[PROCESS_RANK_MAX];
};

/* 0, -ESRCH no such process, other -errno. Free with process_info_free. */
int process_info_read(pid_t pid, struct process_info *out);
void process_info_free(struct process_info *info);

/*
 * When the process was started, in clock ticks since the machine was: with the pid it says which process is meant.
 * Good to one tick where we are in a time namespace. -ESRCH, other -errno
 */
int process_start_ticks(pid_t pid, uint64_t *ticks);

/*
 * The thread by whose number /proc and system calls find what threads of a process share: the first one, or another one
 * where that has ended and others run on, as it has no memory and no files any more.
 */
pid_t process_thread(pid_t pid);

/* Its arguments joined by blanks, control characters replaced by '?', at most 4096 bytes. Free with free(). */
char *process_cmdline(pid_t pid);

/* A variable of the environment that its program was started with, NULL when it has none. Free with free(). */
char *process_variable(pid_t pid, const char *name);

/* Fills in info->rank and local_rank from its environment, which torchrun and others set. */
void process_read_ranks(struct process_info *info);

struct process_owner {
	uid_t uid;	/* the real one: whose process it is */
	uid_t file_uid; /* and what file systems know it by */
	gid_t file_gid;
};

/* -ESRCH, other -errno */
int process_owner(pid_t pid, struct process_owner *out);

/* What the kernel calls it, without control characters; "" when it has ended. */
void process_name(pid_t pid, char *out, size_t size);

/* Replaces ASCII controls, and the C1 controls that UTF-8 writes as C2 80 .. C2 9F, by '?': terminals act on both. */
void process_clean_controls(char *text, size_t bytes);

/* State letter of proc(5), 0 when there is no such process. */
char process_state(pid_t pid);

/*
 * /proc/PID/name from byte `at` on, at most that many bytes of it and a NUL: by a reader, as all that stands in the
 * process's memory or waits for its lock.  How many, or -errno.  Free with free().
 */
ssize_t process_read_text(pid_t pid, const char *name, uint64_t at, size_t most, char **out);

/* stat(2) of a path that leads into the process's files (/proc/PID/root/...), by a reader. */
int process_stat(pid_t pid, const char *path, struct stat *out);

/* Calls fn for every process of the machine (kernel threads left out); stops when it returns non-zero. */
int process_each(int (*fn)(pid_t pid, void *context), void *context);

/* True when we are in the initial pid namespace (PROC_PID_INIT_INO 0xEFFFFFFC, include/linux/proc_ns.h). */
bool process_in_initial_pid_namespace(void);

struct mapping {
	uint64_t start, end, offset; /* offset: of start in the file */
	uint64_t inode;
	dev_t device;
	bool readable, writable, executable;
	bool deleted;
	bool first_stack; /* the one that the kernel gave the first thread */
	const char *path; /* as in the target's mount namespace, "" anonymous; owned by struct mappings */
};

struct mappings {
	ARRAY(struct mapping) list; /* by address */
	char *text;
};

int mappings_read(pid_t pid, struct mappings *out);
void mappings_free(struct mappings *mappings);

/* The first one of a file, by its numbers as maps gives them; NULL none. */
const struct mapping *mappings_of_file(const struct mappings *mappings, dev_t device, uint64_t inode);

/* The one that holds the address, NULL none. */
const struct mapping *mappings_at(const struct mappings *mappings, uint64_t address);

struct opened_file {
	int fd;		  /* -1: it is too large to be copied */
	bool copied;	  /* fd is a copy in memory: the server of the file could keep its readers waiting */
	struct stat stat; /* of the file itself */
};

/*
 * Opens the very file that is mapped, also one that was deleted or lies in another mount namespace: through
 * /proc/PID/map_files, else /proc/PID/root + path with device and inode checked; where we may not, as the process
 * itself would.  A file that a process of a user serves (FUSE) comes as a copy of up to 64 MB.  -errno
 */
int mapping_open_file(pid_t pid, const struct mapping *mapping, struct opened_file *out);

/* The same for who wants only the content: a fd or -errno (-EFBIG: too large to be copied). */
int mapping_open(pid_t pid, const struct mapping *mapping);

/* Whether it has code of this very file mapped. */
bool process_maps_file(pid_t pid, int file_fd);

/* Of that very file, without opening it. -errno */
int mapping_stat(pid_t pid, const struct mapping *mapping, struct stat *out);

/*
 * Opens for reading a file by the name that the process has for it: within its root, also through links.  Only what it
 * may read itself: its own, or what everybody may.  -EACCES: another's; -ENOEXEC: no regular file; other -errno.
 */
int process_open_file(pid_t pid, const char *path);

/* Copies from the process's memory, and to it; 0 or -errno (-EFAULT also where not all is there, -ETIMEDOUT). */
int process_read_memory(pid_t pid, uint64_t address, void *buffer, size_t bytes);

/*
 * From now on this process's memory is read by `read` (0 or -errno) on the calling thread, as where it reads it itself
 * for us; pid 0: none is.
 */
void process_read_by(pid_t pid, int (*read)(void *context, uint64_t address, void *buffer, size_t bytes),
		     void *context);
int process_write_memory(pid_t pid, uint64_t address, const void *data, size_t bytes);

#endif
