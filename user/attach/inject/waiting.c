/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tries the names that the agent's socket may have; the kernel says whether the process is at the other end. */
#include "attach/inject/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <gputrace/share.h>

#include "target/process.h"

#define ANSWER_S 2
#define PAUSE_NS 20000000L
#define BUSY_LOOKS 100 /* an agent answers others for 2 s at most */

static bool is_of(int connection, pid_t pid)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) && peer.pid == pid;
}

struct search {
	pid_t pid, own; /* own: in its own pid namespace */
	int connection; /* -1: not found yet */
	bool busy;	/* a name was met on which others wait for an answer */
};

/* Does not wait: other users may have taken any number of names, and answer on none. */
static void try_name(struct search *search, unsigned long long number)
{
	struct timeval patience = {.tv_sec = ANSWER_S};
	struct sockaddr_un address;
	char name[64];
	int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (connection < 0)
		return;
	snprintf(name, sizeof(name), GPUTRACE_WAIT_NAME, (unsigned)search->own, number);
	if (connect(connection, (const struct sockaddr *)&address, gpt_share_address(&address, name))) {
		search->busy |= errno == EAGAIN;
	} else if (is_of(connection, search->pid) && !fcntl(connection, F_SETFL, 0) &&
		   !setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) &&
		   !setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))) {
		search->connection = connection;
		return;
	}
	close(connection);
}

/* The names that no one can foresee. */
static void try_listed(struct search *search)
{
	FILE *sockets = fopen("/proc/net/unix", "re");
	char line[512], prefix[64];
	size_t length = (size_t)snprintf(prefix, sizeof(prefix), " @" GPUTRACE_WAIT_PREFIX, (unsigned)search->own);

	while (sockets && search->connection < 0 && fgets(line, sizeof(line), sockets)) {
		const char *name = strstr(line, prefix);
		unsigned long long number = name ? strtoull(name + length, NULL, 10) : 0;

		if (number >= GPUTRACE_WAIT_NAMES)
			try_name(search, number);
	}
	if (sockets)
		fclose(sockets);
}

/* Returns a socket, or -1. own: the process's pid in its own pid namespace. */
static int reach_agent(pid_t pid, pid_t own)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct search search = {.pid = pid, .own = own, .connection = -1};

	for (int looks = 0; looks < BUSY_LOOKS; looks++) {
		search.busy = false;
		for (unsigned i = 0; i < GPUTRACE_WAIT_NAMES && search.connection < 0; i++)
			try_name(&search, i);
		if (search.connection < 0)
			try_listed(&search);
		if (search.connection >= 0 || !search.busy)
			break;
		nanosleep(&pause, NULL);
	}
	return search.connection;
}

static int reach_process(pid_t pid)
{
	struct process_info info = {0};
	int connection = process_info_read(pid, &info) ? -1 : reach_agent(pid, info.ns_pid);

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
