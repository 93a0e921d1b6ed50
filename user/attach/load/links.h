/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaching a program to probe sites in a file, whatever the kernel offers: one uprobe.multi link (Linux 6.6), else a
 * perf event for each site, with a link (5.15) or without.  Knows nothing of what the sites mean.
 */
#ifndef GPUTRACE_ATTACH_LOAD_LINKS_H
#define GPUTRACE_ATTACH_LOAD_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

/* Of enum bpf_attach_type, include/uapi/linux/bpf.h */
#define ATTACH_TRACE_UPROBE_MULTI 48   /* Linux 6.6 */
#define ATTACH_TRACE_UPROBE_SESSION 57 /* 6.13 */

struct uprobe {
	uint64_t offset;      /* in the file */
	uint64_t cookie;      /* bpf_get_attach_cookie (5.15), 0: none */
	uint64_t ref_counter; /* file offset of a USDT semaphore, 0 none */
};

/* A program, and the sites of a file on which it stands. */
struct links_group {
	int program_fd;
	size_t count;
	struct uprobe *uprobes;
};

struct links {
	ARRAY(int) fds; /* closing them detaches */
	/* Of probes that stand in some processes alone: what they are, and a descriptor for each group and process. */
	ARRAY(struct links_group) groups;
	ARRAY(struct links_place) places;
};

struct links_place {
	pid_t pid;
	int fd;
};

/* True when the kernel has uprobe.multi, or uprobe.session; `program_fd` is any program loaded with that attach type.
 */
bool links_have_multi(int program_fd, unsigned attach_type);

/*
 * Whether uprobe.multi can be for one process, with all its threads.  Linux 6.6 to 6.9 without a later fix run the
 * program in one thread alone; those take a pid that is not a process's.
 */
bool links_have_processes(int program_fd);

/* Whether anything was attached since the latest links_detach, be it in no process yet. */
bool links_are_attached(const struct links *links);

/* Probes all sites of the file in every process that maps it. 0 or -errno; on failure nothing is attached. */
int links_attach_uprobes(struct links *links, bool multi, int program_fd, int file_fd, const struct uprobe *uprobes,
			 size_t count);

/* The same by uprobe.multi in single processes: what there is, and each process. */
void links_add_group(struct links *links, int program_fd, const struct uprobe *uprobes, size_t count);
/* Puts the groups from the one numbered `first` on into a process, which need not map the file yet. -errno */
int links_attach_process(struct links *links, size_t first, int file_fd, pid_t pid);
/* Hands the descriptors of a process over: closing them detaches. */
void links_leave_process(struct links *links, pid_t pid, struct links *to);
/* From now on the groups stand in every process that maps the file. -errno: they stand where they stood. */
int links_share(struct links *links, int file_fd);

/*
 * Raises the counter uprobe->ref_counter in one process that maps the file, or in it once it does, until links_detach:
 * by a probe that nothing listens to.  pid -1: in every process.
 */
int links_raise_counter(struct links *links, int file_fd, const struct uprobe *uprobe, pid_t pid);

/* A tracepoint by "category/name"; finds its id also where no tracefs is mounted. */
int links_attach_tracepoint(struct links *links, int program_fd, const char *tracepoint);

/* NULL: the program itself says which (tp_btf). */
int links_attach_raw_tracepoint(struct links *links, int program_fd, const char *tracepoint);

/*
 * Runs the program on each CPU whenever period_ns of its time have passed, but not while it is idle.  -errno: the
 * kernel refuses perf events, or so many of them a second.
 */
int links_attach_cpu_clock(struct links *links, int program_fd, uint64_t period_ns);

/* Hands all over that is attached; `from` is left as new. */
void links_move(struct links *from, struct links *to);

/* At once, as far as there is a guard: each waits for a grace period of the kernel, some 30 ms. */
void links_detach(struct links *links);

#endif
