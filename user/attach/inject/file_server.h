/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens a gputrace file in a process where its path may mean nothing. A small process with the same user and namespaces
 * as the target serves it, as /proc/PID/fd/N. Nothing is copied or left behind, and it is the very inode that carries
 * gputrace's probes. A gputrace without any capability, or without those for a file server (root of a container), has
 * none: the path is that of a descriptor in gputrace itself. Only processes that may trace gputrace can follow that
 * path.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct file_server {
	pid_t pid; /* of the file server's parent */
	int socket;
	int own_file;  /* the descriptor in gputrace itself, -1: there is a file server */
	char path[48]; /* for the target to open */
};

/*
 * file_fd: preferably from read_only_open; a file that the target's user might write to is not served. 0, or -errno
 * with why. End it with file_server_stop, which may be called in any case.
 */
int file_server_start(struct file_server *file_server, pid_t target, int file_fd, char *why, size_t why_size);

/* Call before the target gets the path: if gputrace dies now, the path is kept until it has been used. */
void file_server_use(struct file_server *file_server);

/* 0, or -EOWNERDEAD if the file server was killed meanwhile, as the target's user may do. */
#define FILE_SERVER_KILLED "the process that serves it the agent's file was killed"
int file_server_stop(struct file_server *file_server);

/* Replaces file_server_stop for a target that will open the path at some later time; file_server.c decides how long to
 * wait. */
void file_server_leave(struct file_server *file_server);

#define INJECT_FILE_SERVER "gputrace-files" /* argv[0] of the process that serves the agent's file */

/* Runs instead of main()'s work when the program is started by that name. */
int inject_file_server_main(int argc, char **argv);

/* ---- between the two sides (file_server_start.c, file_server.c)
 * ---------------------------------------------------------
 */

/*
 * The loader takes two libraries of the same name for one. As pids are reused, the descriptor's number makes the names
 * of two gputraces differ.
 */
#define SERVE_NUMBER_FIRST 16
int file_server_number(void);

enum file_server_descriptor {
	SERVE_SOCKET = 3,  /* SOCK_SEQPACKET to the tracer */
	SERVE_FILE = 4,	   /* the agent's */
	SERVE_NOWHERE = 5, /* read_only_nowhere() */
	SERVE_DESCRIPTORS
};

enum file_server_step {
	SERVE_OK,
	SERVE_PROCESS,
	SERVE_NAMESPACE,
	SERVE_USER,
	SERVE_OPEN,
	SERVE_WRITABLE,
	SERVE_HIDE,
	SERVE_PATH,
};

struct file_server_answer {
	int32_t step; /* the step that failed: enum file_server_step */
	int32_t error;
	int32_t pid; /* of the file server in its pid namespace */
	int32_t number;
};

/*
 * The tracer's messages, a byte each; file_server_answer's error answers SERVE_END. The first one comes with
 * credentials whose pid is that of init: only a process with CAP_SYS_ADMIN may send that (unix(7)), and init itself has
 * another uid. A gputrace with file capabilities serves nothing for anyone else, as everybody can execute it by that
 * name.
 */
#define SERVE_GREETING 'g'
#define SERVE_GREETING_PID 1
#define SERVE_USED 'u'
#define SERVE_END 'e'
