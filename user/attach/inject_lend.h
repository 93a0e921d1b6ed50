/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file of ours, opened in a process where its name may mean nothing: lent by a small process that has the same
 * user and namespaces as the borrower, as /proc/PID/fd/N.  No copy, nothing left behind, and the very inode that
 * carries our probes.
 */
#ifndef GPUTRACE_ATTACH_INJECT_LEND_H
#define GPUTRACE_ATTACH_INJECT_LEND_H

#include <stddef.h>
#include <sys/types.h>

struct lender {
	pid_t pid;
	int socket;
	char path[48]; /* for the borrower to open */
};

/* 0 or -errno with why; end it with lender_stop, which may be called in any case. */
int lender_start(struct lender *lender, pid_t borrower, int file_fd, char *why, size_t why_size);
void lender_stop(struct lender *lender);

#endif
