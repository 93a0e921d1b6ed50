/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/share/share_door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/agent.h>
#include <gputrace/share.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "target/process.h"

#define BACKLOG 64
#define HELLO_US 200000		  /* an agent says hello at once */
#define ANSWER_S 1		  /* it answers in microseconds, if its process gets a processor */
#define PATIENCE_NS 1000000000ull /* total for one agent */

char *share_door_name(void)
{
	uint64_t words[2] = {0};
	uint8_t *bytes = (uint8_t *)words;
	size_t have = 0;

	while (have < sizeof(words)) {
		ssize_t got = getrandom(bytes + have, sizeof(words) - have, 0);

		if (got < 0 && errno != EINTR)
			return NULL;
		have += got > 0 ? (size_t)got : 0;
	}
	return xasprintf("gputrace-%016llx%016llx", (unsigned long long)words[0], (unsigned long long)words[1]);
}

static int listen_as(const char *name)
{
	struct sockaddr_un address;
	socklen_t length = gpt_share_address(&address, name);
	int fd;

	if (!length)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address, length) || listen(fd, BACKLOG)) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

/* A filter may kill the caller, so a child tries the call. */
static bool may_call(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		char from = 1, to = 0;
		struct iovec here = {&to, 1}, there = {&from, 1};

		_exit(process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

int share_door_open(struct share_door *door, const char *name, uid_t uid)
{
	*door = (struct share_door){.agent = -1,
				    .uid = uid,
				    .by_call = may_call(),
				    .filters = process_filters(getpid()),
				    .listener = listen_as(name)};
	return door->listener < 0 ? door->listener : 0;
}

void share_door_close(struct share_door *door)
{
	share_door_refuse(door);
	if (door->listener >= 0)
		close(door->listener);
}

/* ---- the agent that waits --------------------------------------------------------------------------------------- */

static bool ask_agent(struct share_door *door, struct gpt_share_message *message)
{
	message->by_call = door->agent_by_call;
	return !door->silent && monotonic_ns() < door->until_ns &&
	       send(door->agent, message, sizeof(*message), MSG_NOSIGNAL) == (ssize_t)sizeof(*message);
}

/* Asks the process to read its own memory: this needs no right to trace it. */
static int read_part(struct share_door *door, uint64_t address, void *buffer, size_t bytes)
{
	struct gpt_share_message question = {.what = GPT_SHARE_READ, .bytes = (uint32_t)bytes, .address = address};
	struct gpt_share_answer head;
	struct iovec parts[] = {{&head, sizeof(head)}, {buffer, bytes}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t got;

	got = ask_agent(door, &question) ? recvmsg(door->agent, &message, 0) : -1;
	door->silent = got < (ssize_t)sizeof(head);
	if (door->silent)
		return -ETIMEDOUT;
	return head.bytes == bytes && got == (ssize_t)(sizeof(head) + bytes) ? 0 : -EFAULT;
}

static int read_memory(void *context, uint64_t address, void *buffer, size_t bytes)
{
	int error = 0;

	for (size_t done = 0; done < bytes && !error; done += GPT_SHARE_READ_MAX) {
		size_t part = bytes - done < GPT_SHARE_READ_MAX ? bytes - done : GPT_SHARE_READ_MAX;

		error = read_part(context, address + done, (uint8_t *)buffer + done, part);
	}
	return error;
}

static bool is_welcome(struct share_door *door, int connection, struct ucred *peer)
{
	socklen_t bytes = sizeof(*peer);

	return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, peer, &bytes) && peer->pid > 0 &&
	       peer->uid == door->uid;
}

static bool says_hello(struct share_door *door, int connection, pid_t pid)
{
	struct timeval patience = {.tv_usec = HELLO_US}, longer = {.tv_sec = ANSWER_S};
	struct gpt_share_hello hello = {0};

	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	door->other_version = recv(connection, &hello, sizeof(hello), 0) == (ssize_t)sizeof(hello);
	if (!door->other_version)
		return false;
	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &longer, sizeof(longer));
	if (hello.abi == GPT_SHARE_ABI && hello.agent_abi == GPT_AGENT_ABI)
		return true;
	msg_warn("pid %d: its agent is of another version of gputrace: it is left alone", (int)pid);
	return false;
}

/* Address 0 cannot be read: the kernel returns EFAULT for it only to a process that may read the target. */
static bool may_read(const struct share_door *door, pid_t pid)
{
	struct iovec here = {&(char){0}, 1}, there = {NULL, 1};

	return door->by_call && process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 && errno == EFAULT;
}

pid_t share_door_next(struct share_door *door)
{
	struct ucred peer;
	int connection;

	share_door_refuse(door);
	while (!door->turned_away && (connection = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		bool is_expected = is_welcome(door, connection, &peer);

		if (is_expected && says_hello(door, connection, peer.pid)) {
			door->agent = connection;
			door->pid = peer.pid;
			door->silent = false;
			door->until_ns = monotonic_ns() + PATIENCE_NS;
			door->agent_by_call =
				door->by_call && door->filters >= 0 && process_filters(peer.pid) == door->filters;
			if (!may_read(door, peer.pid))
				process_read_by(peer.pid, read_memory, door);
			return peer.pid;
		}
		close(connection);
		if (is_expected)
			door->turned_away = peer.pid;
	}
	return 0;
}

void share_door_dismiss(struct share_door *door)
{
	process_read_by(0, NULL, NULL);
	close(door->agent);
	door->agent = -1;
}

void share_door_refuse(struct share_door *door)
{
	struct gpt_share_message message = {.what = GPT_SHARE_REFUSE};

	if (door->agent < 0)
		return;
	ask_agent(door, &message);
	share_door_dismiss(door);
}

int share_door_let_in(struct share_door *door, int control_fd, int ring_fd)
{
	struct gpt_share_message text = {.what = GPT_SHARE_JOIN, .by_call = door->agent_by_call};
	int descriptors[] = {control_fd, ring_fd};
	bool sent;
	union {
		char bytes[CMSG_SPACE(sizeof(descriptors))];
		struct cmsghdr header;
	} control = {0};
	struct iovec part = {&text, sizeof(text)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(descriptors)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.header), descriptors, sizeof(descriptors));
	sent = sendmsg(door->agent, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(text);
	share_door_dismiss(door);
	return sent ? 0 : -EPIPE;
}
