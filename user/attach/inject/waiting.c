/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tries the names that the agent's socket may have; the kernel tells whether the process is at the other end. */
#include "attach/inject/waiting.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <gputrace/share.h>

#include "target/process.h"

#define ANSWER_S 2

static bool is_of(int connection, pid_t pid)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) && peer.pid == pid;
}

/* Returns a socket, or -1. own: the process's pid in its own pid namespace. */
static int reach(pid_t pid, pid_t own)
{
	struct sockaddr_un address;
	struct timeval patience = {.tv_sec = ANSWER_S};

	for (unsigned i = 0; i < GPUTRACE_WAIT_NAMES; i++) {
		char name[64];
		int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (connection < 0)
			return -1;
		snprintf(name, sizeof(name), GPUTRACE_WAIT_NAME, (unsigned)own, i);
		/* connect() waits for the send time-out if too many connections are pending. */
		if (!setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) &&
		    !setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) &&
		    !connect(connection, (const struct sockaddr *)&address, gpt_share_address(&address, name)) &&
		    is_of(connection, pid))
			return connection;
		close(connection);
	}
	return -1;
}

static int reach_process(pid_t pid)
{
	struct process_info info = {0};
	int connection = process_info_read(pid, &info) ? -1 : reach(pid, info.ns_pid);

	process_info_free(&info);
	return connection;
}

bool waiting_agent_is_there(pid_t pid)
{
	int connection = reach_process(pid);

	if (connection >= 0)
		close(connection);
	return connection >= 0;
}

int waiting_agent_ask(pid_t pid, const char *asked)
{
	int connection = reach_process(pid), error = -EAGAIN;
	size_t bytes = strlen(asked);
	char answer = 0;

	if (connection < 0)
		return -ENOENT;
	if (bytes < GPT_SHARE_ASK_MAX && send(connection, asked, bytes, MSG_NOSIGNAL) == (ssize_t)bytes &&
	    recv(connection, &answer, 1, 0) == 1 && answer == GPT_SHARE_ASKED)
		error = 0;
	else if (answer == GPT_SHARE_AT_WORK)
		error = -EBUSY;
	close(connection);
	return error;
}
