/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaches a program to probe sites in a file by whatever the kernel offers: one uprobe.multi link (Linux 6.6), else a
 * perf event for each site, with a link (5.15) or without. Does not know what the sites mean.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

/* From enum bpf_attach_type, include/uapi/linux/bpf.h */
#define ATTACH_TRACE_UPROBE_MULTI 48   /* Linux 6.6 */
#define ATTACH_TRACE_UPROBE_SESSION 57 /* 6.13 */

struct uprobe {
	uint64_t offset;      /* in the file */
	uint64_t cookie;      /* bpf_get_attach_cookie (5.15), 0: none */
	uint64_t ref_counter; /* file offset of a USDT semaphore, 0: none */
};

/* A program, and the sites of a file to which it is attached. */
struct links_group {
	int program_fd;
	size_t count;
	struct uprobe *uprobes;
};

struct links {
	ARRAY(int) fds; /* closing them detaches */
	/* For probes in some processes only: the groups, and a descriptor for each group and process. */
	ARRAY(struct links_group) groups;
	ARRAY(struct links_place) places;
};

struct links_place {
	pid_t pid;
	int fd;
};

/* True if the kernel has uprobe.multi, or uprobe.session; `program_fd` is any program loaded with that attach type. */
bool links_have_multi(int program_fd, unsigned attach_type);

/*
 * Whether uprobe.multi works for one process, with all its threads. Linux 6.6 to 6.9 without a later fix run the
 * program in one thread only; they accept a pid that is not a process's.
 */
bool links_have_processes(int program_fd);

/* Whether anything was attached since the last links_detach, even if in no process yet. */
bool links_are_attached(const struct links *links);

/* Probes all sites of the file in every process that maps it. 0 or -errno; on failure nothing is attached. */
int links_attach_uprobes(struct links *links, bool multi, int program_fd, int file_fd, const struct uprobe *uprobes,
			 size_t count);

/* The same by uprobe.multi in single processes: first adds the group, then attaches it to each process. */
void links_add_group(struct links *links, int program_fd, const struct uprobe *uprobes, size_t count);
/* Attaches the groups from index `first` on to a process, which need not map the file yet. 0 or -errno. */
int links_attach_process(struct links *links, size_t first, int file_fd, pid_t pid);
/* Moves the descriptors of a process to `to`: closing them detaches. */
void links_leave_process(struct links *links, pid_t pid, struct links *to);
/* Attaches the groups to every process that maps the file instead. -errno: they stay where they were. */
int links_share(struct links *links, int file_fd);

/*
 * Raises the counter uprobe->ref_counter in one process that maps the file, or will map it, until links_detach: by a
 * probe without a program. pid -1: in every process.
 */
int links_raise_counter(struct links *links, int file_fd, const struct uprobe *uprobe, pid_t pid);

/* Attaches to a tracepoint by "category/name"; finds its id also where no tracefs is mounted. */
int links_attach_tracepoint(struct links *links, int program_fd, const char *tracepoint);

/* `tracepoint` NULL: the program itself names it (tp_btf). */
int links_attach_raw_tracepoint(struct links *links, int program_fd, const char *tracepoint);

/*
 * Runs the program on each CPU after every period_ns of the CPU's time, but not while it is idle. -errno: the kernel
 * refuses perf events, or so many of them a second.
 */
int links_attach_cpu_clock(struct links *links, int program_fd, uint64_t period_ns);

/* Changes the period of the clocks that are attached. -errno: of some it is the old one. */
int links_set_period(const struct links *links, uint64_t period_ns);

/* Moves all that is attached from `from` to `to`; `from` is left empty. */
void links_move(struct links *from, struct links *to);

/* Detaches all, at the same time if there is a guard: each one waits for a grace period of the kernel, some 30 ms. */
void links_detach(struct links *links);
