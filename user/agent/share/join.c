/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/share/join.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "agent/process/clock.h"
#include "agent/process/own_thread.h"
#include "agent/share/control.h"
#include "agent/share/own_memory.h"

#define ANSWER_S 1u /* for one message */
#define PATIENT_S 3u
#define PATIENCE 3u /* limit for all messages, in units of one answer's limit */

/* A user namespace shows all users without a mapping by this number: kernel.overflowuid. */
#define OVERFLOW_UID 65534u

const volatile struct gpt_share_control *volatile share_control;

enum { CONTROL, RING, DESCRIPTORS };

/* The initial user namespace maps all numbers: user_namespaces(7). */
static bool has_every_user(void)
{
	int map = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	char text[64] = "";

	if (map < 0)
		return false;
	if (read(map, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(map);
	return strstr(text, "4294967295") != NULL;
}

bool share_trusts(int connection)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) || (peer.uid && peer.uid != geteuid()))
		return false;
	return peer.uid != OVERFLOW_UID || has_every_user();
}

static int reach_collector(const char *name, unsigned answer_s)
{
	struct timeval patience = {.tv_sec = answer_s};
	struct sockaddr_un address;
	socklen_t length = gpt_share_address(&address, name);
	int connection;

	if (!length)
		return -1;
	connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (connection < 0)
		return -1;
	if (!setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) &&
	    !setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) &&
	    !connect(connection, (const struct sockaddr *)&address, length) && share_trusts(connection))
		return connection;
	close(connection);
	return -1;
}

static bool send_bytes(int connection, const void *data, size_t bytes)
{
	ssize_t sent;

	do
		sent = send(connection, data, bytes, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)bytes;
}

/* Receives the next message; the caller owns its descriptors, if it has any. */
static bool receive_answer(int connection, struct gpt_share_message *message, int descriptors[DESCRIPTORS])
{
	union {
		char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
		struct cmsghdr aligned;
	} room;
	struct iovec into = {.iov_base = message, .iov_len = sizeof(*message)};
	struct msghdr header = {
		.msg_iov = &into, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
	struct cmsghdr *control;
	ssize_t got;

	/* A collector that has closed without reading an answer is reported first, once; its last messages follow. */
	do
		got = recvmsg(connection, &header, MSG_CMSG_CLOEXEC);
	while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	control = got >= 0 ? CMSG_FIRSTHDR(&header) : NULL;
	if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
	    control->cmsg_len == CMSG_LEN(DESCRIPTORS * sizeof(int)))
		memcpy(descriptors, CMSG_DATA(control), DESCRIPTORS * sizeof(int));
	return got == (ssize_t)sizeof(*message);
}

/*
 * Answers with a range of the process's own memory. A collector that no longer waits for the answer may have let the
 * agent in all the same: its next message says so.
 */
static void answer_read(int connection, const struct gpt_share_message *question)
{
	const size_t most = sizeof(struct gpt_share_answer) + GPT_SHARE_READ_MAX;
	struct gpt_share_answer *reply = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (reply == MAP_FAILED)
		return;
	if (question->bytes && question->bytes <= GPT_SHARE_READ_MAX &&
	    !own_memory_read(reply->data, question->bytes, question->address))
		reply->bytes = question->bytes;
	send_bytes(connection, reply, sizeof(*reply) + reply->bytes);
	munmap(reply, most);
}

static bool talk_to_collector(int connection, unsigned answer_s, int descriptors[DESCRIPTORS])
{
	struct gpt_share_hello hello = {.bytes = sizeof(hello), .abi = GPT_SHARE_ABI, .agent_abi = GPT_AGENT_ABI};
	struct gpt_share_message message = {0};
	uint64_t end_ns = clock_now_ns() + PATIENCE * answer_s * 1000000000ull;

	if (!send_bytes(connection, &hello, sizeof(hello)))
		return false;
	while (clock_now_ns() < end_ns && receive_answer(connection, &message, descriptors)) {
		own_memory_begin(message.by_call);
		if (message.what != GPT_SHARE_READ)
			return message.what == GPT_SHARE_JOIN && descriptors[RING] >= 0;
		answer_read(connection, &message);
	}
	return false;
}

static bool map_control(int descriptor, struct joined *out)
{
	off_t bytes = lseek(descriptor, 0, SEEK_END);
	void *memory;

	if (bytes < (off_t)sizeof(struct gpt_share_control))
		return false;
	memory = mmap(NULL, sizeof(struct gpt_share_control), PROT_READ, MAP_SHARED, descriptor, 0);
	if (memory == MAP_FAILED)
		return false;
	out->control = memory;
	return out->control->bytes >= sizeof(struct gpt_share_control);
}

static bool map_at(void *address, uint64_t bytes, int descriptor, off_t offset)
{
	int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	return mmap(address, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, descriptor, offset) != MAP_FAILED;
}

static bool map_ring(int descriptor, struct joined *out)
{
	off_t whole = lseek(descriptor, 0, SEEK_END);
	struct own_ring *ring;
	uint64_t bytes;

	if (whole <= (off_t)sizeof(struct gpt_share_ring))
		return false;
	bytes = (uint64_t)whole - sizeof(struct gpt_share_ring);
	if (bytes > GPT_SHARE_BYTES_MAX || bytes & (bytes - 1) || bytes % (uint64_t)sysconf(_SC_PAGESIZE))
		return false;
	ring = mmap(NULL, sizeof(*ring) + 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring == MAP_FAILED)
		return false;
	if (!map_at(ring, GPT_SHARE_PAGE, -1, 0) || !map_at(&ring->shared, (uint64_t)whole, descriptor, 0) ||
	    !map_at(ring->shared.data + bytes, bytes, descriptor, sizeof(struct gpt_share_ring))) {
		munmap(ring, sizeof(*ring) + 2 * bytes);
		return false;
	}
	ring->bytes = bytes;
	out->ring = ring;
	return true;
}

struct joining {
	const char *name;
	unsigned answer_s;
	struct joined *out;
	bool joined;
};

static void join_here(void *context)
{
	struct joining *joining = context;
	struct joined *out = joining->out;
	int connection = reach_collector(joining->name, joining->answer_s), descriptors[DESCRIPTORS] = {-1, -1}, i;

	if (connection < 0)
		return;
	joining->joined = talk_to_collector(connection, joining->answer_s, descriptors) &&
			  map_control(descriptors[CONTROL], out) && map_ring(descriptors[RING], out);
	if (!joining->joined && out->control)
		munmap((void *)out->control, sizeof(*out->control));
	for (i = 0; i < DESCRIPTORS; i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	close(connection);
}

bool join(const char *name, bool patient, struct joined *out)
{
	struct joining joining = {.name = name, .answer_s = patient ? PATIENT_S : ANSWER_S, .out = out};

	*out = (struct joined){0};
	own_table_run(join_here, &joining);
	return joining.joined;
}
