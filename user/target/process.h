/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts about a process from /proc: names, parent, start; and the files it has mapped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <gputrace/values.h>

#include "base/array.h"

#define PROCESS_RANK_MAX 8 /* digits and a NUL: no job has more ranks */
#define PROCESS_JOB_MAX 256

struct process_info {
	pid_t pid, parent;
	pid_t ns_pid;	      /* in its own pid namespace */
	uint64_t start_ns;    /* CLOCK_MONOTONIC, accurate to a clock tick (10 ms) */
	uint64_t start_ticks; /* as process_start_ticks */
	uid_t uid;
	int seccomp; /* 0 off, 1 strict, 2 filter (proc(5)) */
	unsigned threads;
	bool zombie; /* all its threads have ended */
	enum gpt_mounts mounts;
	bool kernel_thread;
	bool forked; /* it has not called exec since its fork */
	char comm[16];
	char *exe;     /* readlink of /proc/PID/exe, "" when not readable */
	char *cmdline; /* process_cmdline, if the caller has stored it; else NULL */
	/* RANK and LOCAL_RANK of the environment at exec, digits; "": not set, or process_read_ranks was not called */
	char rank[PROCESS_RANK_MAX], local_rank[PROCESS_RANK_MAX];
	/* likewise MASTER_ADDR:MASTER_PORT, and TORCHELASTIC_RUN_ID, if it identifies a job */
	char master[PROCESS_JOB_MAX], run_id[PROCESS_JOB_MAX];
};

/* 0: not known, or none. */
pid_t process_parent(pid_t pid);

/* The number of its first thread's seccomp filters (Linux 5.9), -1: unknown. A child has its parent's. */
int process_filters(pid_t pid);

/* 0, -ESRCH no such process, other -errno. Free with process_info_free. */
int process_info_read(pid_t pid, struct process_info *out);
void process_info_free(struct process_info *info);

/*
 * The process's start in clock ticks since boot: together with the pid it identifies the process.  Accurate to one tick
 * when gputrace is in a time namespace.  -ESRCH, other -errno
 */
int process_start_ticks(pid_t pid, uint64_t *ticks);

/*
 * A thread through whose id /proc and system calls reach what the threads of a process share (memory, files).  It is
 * the first thread, or, when that has ended while others run on, another one: an ended thread has neither any more.
 */
pid_t process_thread(pid_t pid);

/* Its arguments joined by blanks, control characters replaced by '?', at most 4096 bytes. Free with free(). */
char *process_cmdline(pid_t pid);

/* A variable of the environment at exec, NULL when it is not set.  Free with free(). */
char *process_variable(pid_t pid, const char *name);

/* Fills in rank, local_rank, master and run_id from its environment, which torchrun and others set. */
void process_read_ranks(struct process_info *info);

struct process_owner {
	uid_t uid;	/* the real user id */
	uid_t file_uid; /* the ids that file systems check */
	gid_t file_gid;
	uint64_t effective, permitted; /* capabilities, bit by bit */
};

/* -ESRCH, other -errno */
int process_owner(pid_t pid, struct process_owner *out);

/* Why gputrace may not look into a process whose files in /proc were refused (-EACCES, -EPERM). */
const char *process_explain_refused(pid_t pid);

/* Its name in the kernel (comm), without control characters; "" when it has ended. */
void process_name(pid_t pid, char *out, size_t size);

/* Replaces ASCII and C1 controls (in UTF-8 C2 80 .. C2 9F) by '?': terminals act on both. */
void process_clean_controls(char *text, size_t bytes);

/* Whether all of its threads are on their way out, or it has ended: its memory may be locked until it is gone. */
bool process_is_exiting(pid_t pid);

/* State letter of proc(5), 0 when there is no such process. */
char process_state(pid_t pid);

/*
 * Reads /proc/PID/name from byte `at` on: at most `most` bytes, and appends a NUL.  A reader reads it, as all files
 * that come from the process's memory or wait for its lock.  Returns the number of bytes or -errno.  Free with free().
 */
ssize_t process_read_text(pid_t pid, const char *name, uint64_t at, size_t most, char **out);

/*
 * Reads /proc/PID/name into a NUL-terminated buffer; returns the number of bytes or -errno.  Only for files that the
 * kernel fills from its own data, without the process's memory or its lock.
 */
ssize_t process_read_file(pid_t pid, const char *name, char *buffer, size_t size);

/* stat(2) by a reader, of a path that leads into the process's files (/proc/PID/root/...). */
int process_stat(pid_t pid, const char *path, struct stat *out);

/* Calls fn for every process of the machine (kernel threads left out); stops when it returns non-zero. */
int process_each(int (*fn)(pid_t pid, void *context), void *context);

/* Whether gputrace is in the initial pid namespace (PROC_PID_INIT_INO 0xEFFFFFFC, include/linux/proc_ns.h). */
bool process_in_initial_pid_namespace(void);

/* The same of user namespaces: only there a capability holds for what belongs to no namespace, such as BPF. */
bool process_in_initial_user_namespace(void);

struct mapping {
	uint64_t start, end, offset; /* offset: in the file, of `start` */
	uint64_t inode;
	dev_t device;
	bool readable, writable, executable;
	bool deleted;
	bool first_stack; /* the first thread's stack, made by the kernel */
	const char *path; /* as in the target's mount namespace, "" anonymous; owned by struct mappings */
};

struct mappings {
	ARRAY(struct mapping) list; /* by address */
	char *text;
};

int mappings_read(pid_t pid, struct mappings *out);

/*
 * Whether the process can execute a mapped file that is wanted by its path: who only reads a library, as a debugger
 * does, does not use it. False, too, where its mappings cannot be read.
 */
bool mappings_have(pid_t pid, bool (*wanted)(const char *path));
void mappings_free(struct mappings *mappings);

/* The first mapping of a file, by device and inode as in /proc/PID/maps; NULL: none. */
const struct mapping *mappings_of_file(const struct mappings *mappings, dev_t device, uint64_t inode);

/* The mapping that holds the address; NULL: none. */
const struct mapping *mappings_at(const struct mappings *mappings, uint64_t address);

struct opened_file {
	int fd;		  /* -1: it is too large to be copied */
	bool copied;	  /* fd is a copy in memory: the file's server could block its readers */
	struct stat stat; /* of the file itself */
};

/*
 * Whether a line of /proc/self/mountinfo (proc(5)) is of that device, and of a file system that root serves, or the
 * host of a virtual machine (virtiofs, which only root mounts).
 */
bool mount_is_served_by_root(const char *line, dev_t device);

/*
 * Opens the very file that is mapped, even if it was deleted or lies in another mount namespace: through
 * /proc/PID/map_files, else by /proc/PID/root + path with device and inode checked; if gputrace may not, with the ids
 * of the process.  A file that a user's process serves (FUSE) is copied, up to 64 MB.  -errno
 */
int mapping_open_file(pid_t pid, const struct mapping *mapping, struct opened_file *out);

/* The same, for the content alone: a fd or -errno (-EFBIG: too large to be copied). */
int mapping_open(pid_t pid, const struct mapping *mapping);

/* Whether the process has code of this very file mapped. */
bool process_maps_file(pid_t pid, int file_fd);

/* stat(2) of the very file that is mapped, without opening it.  -errno */
int mapping_stat(pid_t pid, const struct mapping *mapping, struct stat *out);

/*
 * Opens a file for reading by its path within the process's root, also through links.  Only files that the process
 * itself may read: its user's own, or those readable by everybody.  -EACCES: not such a file; -ENOEXEC: not a regular
 * file; other -errno.
 */
int process_open_file(pid_t pid, const char *path);

/*
 * The same of a user's own file by its path in gputrace's root.  pid: the process because of which it is read, which
 * is not read for a while if the file does not answer.
 */
int user_open_file(pid_t pid, uid_t uid, const char *path);

/* Copies from the process's memory; process_write_memory copies to it.  0 or -errno (-EFAULT also when a part is not
 * mapped, -ETIMEDOUT). */
int process_read_memory(pid_t pid, uint64_t address, void *buffer, size_t bytes);

/* A piece of memory: bytes, 0 when it cannot be read. */
struct process_piece {
	uint64_t address;
	uint32_t bytes; /* PROCESS_PIECE_MAX at most */
};

#define PROCESS_PIECE_MAX 65536u

/*
 * Copies many pieces with few system calls, one behind the other into the buffer, which has room for all their bytes.
 * 0, and a piece that cannot be read has 0 bytes then, and its place in the buffer is undefined; or -errno as of
 * process_read_memory.
 */
int process_read_pieces(pid_t pid, struct process_piece *pieces, size_t count, void *buffer);

/*
 * From now on the calling thread reads this process's memory by `read` (0 or -errno), e.g. when the process itself
 * sends its memory to gputrace.  pid 0: back to reading all memory directly.
 */
void process_read_by(pid_t pid, int (*read)(void *context, uint64_t address, void *buffer, size_t bytes),
		     void *context);
int process_write_memory(pid_t pid, uint64_t address, const void *data, size_t bytes);
