/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A gputrace file, opened in a process where its name may mean nothing: lent by a small process that has the same
 * user and namespaces as the borrower, as /proc/PID/fd/N.  No copy, nothing left behind, and the very inode that
 * carries our probes.  A gputrace without any capability has no lender: the path is that of a descriptor in gputrace
 * itself.  Only processes of its own user can follow it, and these may trace gputrace anyway.
 */
#ifndef GPUTRACE_ATTACH_INJECT_LEND_H
#define GPUTRACE_ATTACH_INJECT_LEND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lender {
	pid_t pid; /* of its keeper */
	int socket;
	int own_file;  /* the descriptor in gputrace itself, -1: there is a lender */
	char path[48]; /* for the borrower to open */
};

/*
 * file_fd: best of read_only_open; one that the borrower's user might write to is not lent.  0 or -errno with why; end
 * it with lender_stop, which may be called in any case.
 */
int lender_start(struct lender *lender, pid_t borrower, int file_fd, char *why, size_t why_size);

/* To be called before the borrower gets the path: should we die now, the path is kept until it has been used. */
void lender_use(struct lender *lender);

/* 0, or -EOWNERDEAD when someone, as the borrower's user may, has killed it meanwhile. */
#define LENDER_KILLED "the process that lends it the agent's file was killed"
int lender_stop(struct lender *lender);

/* Instead, for a borrower that will open the path at some time; what is waited for then is lend.c's. */
void lender_leave(struct lender *lender);

#define INJECT_LENDER "gputrace-lend" /* argv[0] of the process that lends the agent's file */

/* What main() does when it is started by that name. */
int inject_lend_main(int argc, char **argv);

/* ---- between the two sides (lender.c, lend.c) ---------------------------------------------------------
 */

/*
 * The loader takes two libraries of the same name for one: pids come round again, so the descriptor's number
 * distinguishes two gputraces apart.
 */
#define LEND_NUMBER_FIRST 16
int lend_number(void);

enum lend_descriptor {
	LEND_SOCKET = 3,  /* SOCK_SEQPACKET to the tracer */
	LEND_FILE = 4,	  /* the agent's */
	LEND_NOWHERE = 5, /* read_only_nowhere() */
	LEND_DESCRIPTORS
};

enum lend_step {
	LEND_OK,
	LEND_PROCESS,
	LEND_NAMESPACE,
	LEND_USER,
	LEND_OPEN,
	LEND_WRITABLE,
	LEND_HIDE,
	LEND_PATH,
};

struct lend_answer {
	int32_t step; /* the one that failed: enum lend_step */
	int32_t error;
	int32_t pid; /* of the lender in its pid namespace */
	int32_t number;
};

/*
 * What the tracer says, a byte each; lend_answer's error answers LEND_END.  The first comes with credentials in which
 * the pid is that of init: only who has CAP_SYS_ADMIN may say so (unix(7)), and init itself has another uid.  A
 * gputrace with capabilities of its file lends nothing for anyone else, as everybody can execute it by that name.
 */
#define LEND_GREETING 'g'
#define LEND_GREETING_PID 1
#define LEND_USED 'u'
#define LEND_END 'e'

#endif
