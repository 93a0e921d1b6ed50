/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `gputrace serve status|write|stop`: a request is one packet, a word, over a Unix socket; so is the answer.  The
 * socket answers its own user and root, whoever else may reach it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* An answer's packet is at most so long: "good\n" or "failed\n", then lines of text. */
#define CONTROL_ANSWER_MAX 8192u
#define CONTROL_GOOD "good\n"
#define CONTROL_FAILED "failed\n"

enum control_request {
	CONTROL_NONE, /* no request, or none that is known */
	CONTROL_STATUS,
	CONTROL_WRITE,
	CONTROL_STOP,
};

enum control_request control_request_of(const char *word, size_t length);

/* Whether a socket of `own` answers that user. */
bool control_answers(uid_t own, uid_t peer);

/* The uid at the other end of a connection, (uid_t)-1: not known. */
uid_t control_peer(int fd);

/*
 * Where the user's socket is: serve.sock in /run/gputrace for root, else in $XDG_RUNTIME_DIR/gputrace or
 * /run/user/UID/gputrace.  The caller frees it.  NULL: there is no such folder.
 */
char *control_usual_path(void);

#define CONTROL_WHY_MAX 256

/* A socket that was bound, so that no other one of its name is removed. */
struct control_socket {
	dev_t device;
	ino_t inode;
};

/*
 * Listens there; makes the folder if it is missing.  The socket of a gputrace that has ended is replaced (*replaced);
 * what is no socket, another user's, or in use is left.  Returns the descriptor, or -errno and why.
 */
int control_listen(const char *path, struct control_socket *bound, bool *replaced, char why[CONTROL_WHY_MAX]);
void control_remove(const char *path, const struct control_socket *bound);

/*
 * Asks, and returns the answer's size, with a NUL after it, or -errno and why.  It waits for the answer.  A process of
 * another user is asked by root alone, and may answer anything.
 */
int control_ask(const char *path, const char *word, char answer[CONTROL_ANSWER_MAX + 1], char why[CONTROL_WHY_MAX]);
