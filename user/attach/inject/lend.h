/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens a gputrace file in a process where its path may mean nothing. A small process with the same user and namespaces
 * as the borrower lends it, as /proc/PID/fd/N. Nothing is copied or left behind, and it is the very inode that carries
 * gputrace's probes. A gputrace without any capability, or without those for a lender (root of a container), has none:
 * the path is that of a descriptor in gputrace itself. Only processes that may trace gputrace can follow that path.
 */
#ifndef GPUTRACE_ATTACH_INJECT_LEND_H
#define GPUTRACE_ATTACH_INJECT_LEND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lender {
	pid_t pid; /* of the lender's keeper */
	int socket;
	int own_file;  /* the descriptor in gputrace itself, -1: there is a lender */
	char path[48]; /* for the borrower to open */
};

/*
 * file_fd: preferably from read_only_open; a file that the borrower's user might write to is not lent. 0, or -errno
 * with why. End it with lender_stop, which may be called in any case.
 */
int lender_start(struct lender *lender, pid_t borrower, int file_fd, char *why, size_t why_size);

/* Call before the borrower gets the path: if gputrace dies now, the path is kept until it has been used. */
void lender_use(struct lender *lender);

/* 0, or -EOWNERDEAD if the lender was killed meanwhile, as the borrower's user may do. */
#define LENDER_KILLED "the process that lends it the agent's file was killed"
int lender_stop(struct lender *lender);

/* Replaces lender_stop for a borrower that will open the path at some later time; lend.c decides how long to wait. */
void lender_leave(struct lender *lender);

#define INJECT_LENDER "gputrace-lend" /* argv[0] of the process that lends the agent's file */

/* Runs instead of main()'s work when the program is started by that name. */
int inject_lend_main(int argc, char **argv);

/* ---- between the two sides (lender.c, lend.c) ---------------------------------------------------------
 */

/*
 * The loader takes two libraries of the same name for one. As pids are reused, the descriptor's number makes the names
 * of two gputraces differ.
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
	int32_t step; /* the step that failed: enum lend_step */
	int32_t error;
	int32_t pid; /* of the lender in its pid namespace */
	int32_t number;
};

/*
 * The tracer's messages, a byte each; lend_answer's error answers LEND_END. The first one comes with credentials whose
 * pid is that of init: only a process with CAP_SYS_ADMIN may send that (unix(7)), and init itself has another uid. A
 * gputrace with file capabilities lends nothing for anyone else, as everybody can execute it by that name.
 */
#define LEND_GREETING 'g'
#define LEND_GREETING_PID 1
#define LEND_USED 'u'
#define LEND_END 'e'

#endif
