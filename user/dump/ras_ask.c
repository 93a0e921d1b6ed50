/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A conversation with one RAS service, in lines of text: "CLIENT PROTOCOL 2" is answered by "SERVER PROTOCOL 2",
 * "TIMEOUT SECONDS" by "OK", and "STATUS" by text up to the end of the connection (docs.nvidia.com, NCCL user guide,
 * RAS; the client of NCCL 2.24.3 to 2.30.7).  The other side may be silent, send without end, or be another service.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "dump/peers.h"
#include "dump/ras.h"

#define MS 1000000ull
#define SERVICES_ASKED 4	/* the others are reported as not asked */
#define PATIENCE_NS (5000 * MS) /* for one service in all */
#define ACCEPT_NS (300 * MS)	/* until it has accepted a connection */
#define TRIES 64		/* ports are shared (SO_REUSEPORT): another process may get a connection */
#define ANSWER_BYTES (1u << 20)
#define ANSWER_LINES 8192
#define GREETING "SERVER PROTOCOL "
/* Seconds for which the service waits for other processes of its job: less than PATIENCE_NS. */
#define WAITS_FOR_OTHERS "2"

struct conversation {
	struct dump_ras *ras;
	int fd;
	uint64_t until_ns;
	size_t bytes; /* received, of ANSWER_BYTES */
	char *received;
};

/* ---- connecting to the right process --------------------------------------------------------------------------- */

/* Replaces the wildcard address by the loopback address; false: the service cannot be reached by loopback. */
static bool make_loopback(struct sockaddr_storage *at)
{
	struct sockaddr_in *four = (struct sockaddr_in *)at;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)at;

	if (at->ss_family == AF_INET) {
		if (four->sin_addr.s_addr == htonl(INADDR_ANY))
			four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	if (IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
		six->sin6_addr = in6addr_loopback;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

/* A socket in the service's network namespace, in which it must be made.  -errno */
static int make_socket(const struct dump_ras *ras, int family)
{
	char path[64], own[64] = "";
	int fd, here = -1, there = -1;

	if (readlink("/proc/self/ns/net", own, sizeof(own) - 1) > 0 && strcmp(own, ras->network) != 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)ras->pids[0]);
		here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		there = open(path, O_RDONLY | O_CLOEXEC);
		if (here < 0 || there < 0 || setns(there, CLONE_NEWNET)) {
			fd = -errno;
			goto cleanup;
		}
	}
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	fd = fd < 0 ? -errno : fd;
	if (there >= 0 && setns(here, CLONE_NEWNET) && fd >= 0) {
		close(fd);
		fd = -EPERM;
	}
cleanup:
	if (here >= 0)
		close(here);
	if (there >= 0)
		close(there);
	return fd;
}

static int wait_for(const struct conversation *talk, short events)
{
	struct pollfd ready = {.fd = talk->fd, .events = events};
	uint64_t now_ns = monotonic_ns();

	if (now_ns >= talk->until_ns)
		return 0;
	return poll(&ready, 1, (int)((talk->until_ns - now_ns + MS - 1) / MS));
}

/* Whether a process of this service has accepted the connection; `why`: the reason if not. */
static bool is_accepted(struct conversation *talk, const char **why)
{
	uint64_t until_ns = monotonic_ns() + ACCEPT_NS, inode = 0;
	struct stat own;

	if (fstat(talk->fd, &own))
		return false;
	*why = "has not accepted a connection";
	while (!(inode = peers_tcp_peer(talk->ras->pids[0], own.st_ino))) {
		if (monotonic_ns() > until_ns || monotonic_ns() > talk->until_ns)
			return false;
		poll(NULL, 0, 2);
	}
	talk->ras->accepted = ras_owner(talk->ras->pids, talk->ras->pid_count, inode);
	*why = "was not asked: another process, which was not looked at, answers at its port";
	return talk->ras->accepted != 0;
}

/* False: it cannot be reached, and `why` is set. */
static bool is_connected(struct conversation *talk, const struct sockaddr_storage *at, const char **why)
{
	socklen_t length = at->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int error = 0;

	*why = "has not accepted a connection";
	if (connect(talk->fd, (const struct sockaddr *)at, length) && errno != EINPROGRESS)
		return false;
	length = sizeof(error);
	return wait_for(talk, POLLOUT) > 0 && !getsockopt(talk->fd, SOL_SOCKET, SO_ERROR, &error, &length) && !error;
}

/* Connects until a process of this service has accepted. */
static bool reach_service(struct conversation *talk)
{
	struct dump_ras *ras = talk->ras;
	struct sockaddr_storage at = ras->at;

	if (!make_loopback(&at)) {
		ras->why = "was not asked: it does not listen at a loopback address";
		return false;
	}
	for (int i = 0; i < TRIES && monotonic_ns() < talk->until_ns; i++) {
		talk->fd = make_socket(ras, at.ss_family);
		if (talk->fd < 0) {
			ras->why = arena_text(ras->arena,
					      "cannot be reached: its network namespace may not be entered (%s)",
					      strerror(-talk->fd));
			return false;
		}
		if (is_connected(talk, &at, &ras->why) && is_accepted(talk, &ras->why)) {
			ras->why = NULL;
			return true;
		}
		close(talk->fd);
		talk->fd = -1;
	}
	return false;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static bool send_line(const struct conversation *talk, const char *line)
{
	size_t left = strlen(line);

	while (left) {
		ssize_t wrote = send(talk->fd, line, left, MSG_NOSIGNAL);

		if (wrote > 0) {
			line += wrote;
			left -= (size_t)wrote;
		} else if (wrote == 0 || (errno != EAGAIN && errno != EINTR) || wait_for(talk, POLLOUT) <= 0) {
			return false;
		}
	}
	return true;
}

/* 1: more may follow; 0: end of the answer; -ETIME, -ENOSPC, other -errno */
static int receive_answer(struct conversation *talk)
{
	ssize_t got;

	if (talk->bytes == ANSWER_BYTES)
		return -ENOSPC;
	for (;;) {
		if (wait_for(talk, POLLIN) <= 0)
			return -ETIME;
		got = recv(talk->fd, talk->received + talk->bytes, ANSWER_BYTES - talk->bytes, 0);
		if (got >= 0)
			break;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	talk->bytes += (size_t)got;
	return got > 0;
}

/* Sends a line, consumes the line that answers it, and returns whether that begins with `answer`. */
static bool is_answered(struct conversation *talk, const char *line, const char *answer)
{
	const char *end = NULL;
	bool right;
	size_t size;

	if (!send_line(talk, line))
		return false;
	while (!(end = memchr(talk->received, '\n', talk->bytes)))
		if (receive_answer(talk) <= 0)
			return false;
	size = (size_t)(end - talk->received) + 1;
	right = size > strlen(answer) && !strncasecmp(talk->received, answer, strlen(answer));
	talk->bytes -= size;
	memmove(talk->received, talk->received + size, talk->bytes);
	return right;
}

/* ---- its answer ------------------------------------------------------------------------------------------------- */

static void keep_lines(struct conversation *talk)
{
	struct dump_ras *ras = talk->ras;
	const char *at = talk->received, *end = talk->received + talk->bytes;

	for (size_t i = 0; i < talk->bytes; i++)
		if (!talk->received[i])
			talk->received[i] = '\1'; /* safe text makes it visible */
	ras->lines = arena_take(ras->arena, ANSWER_LINES * sizeof(*ras->lines));
	while (ras->lines && at < end && ras->line_count < ANSWER_LINES) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((stop ? stop : end) - at);

		ras->lines[ras->line_count++] = arena_text(ras->arena, "%.*s", (int)size, at);
		at += size + 1;
	}
	if (at < end)
		ras->why = "said more, which was left out";
}

static void ask_status(struct conversation *talk)
{
	struct dump_ras *ras = talk->ras;
	int more = 1;

	if (!is_answered(talk, "CLIENT PROTOCOL 2\n", GREETING)) {
		ras->why = monotonic_ns() < talk->until_ns ? "does not answer as NCCL's RAS service does"
							   : "has not answered within 5 s";
		return;
	}
	/* A version that does not know TIMEOUT answers with an error, and waits for its default time. */
	is_answered(talk, "TIMEOUT " WAITS_FOR_OTHERS "\n", "OK");
	if (!send_line(talk, "STATUS\n"))
		more = -EPIPE;
	while (more > 0)
		more = receive_answer(talk);
	if (more == -ENOSPC)
		ras->why = "said more than 1 MB: the rest was left out";
	else if (more == -ETIME)
		ras->why = talk->bytes ? "had not said all within 5 s" : "has not answered within 5 s";
	else if (more < 0 || !talk->bytes)
		ras->why = "has ended the conversation without a status";
	if (talk->bytes)
		keep_lines(talk);
}

static void ask_service(struct dump_ras *ras)
{
	struct conversation talk = {.ras = ras, .fd = -1, .until_ns = monotonic_ns() + PATIENCE_NS};

	if (!ras->pid_count)
		return;
	talk.received = xmalloc(ANSWER_BYTES);
	if (reach_service(&talk))
		ask_status(&talk);
	if (talk.fd >= 0)
		close(talk.fd);
	free(talk.received);
}

void ras_ask_all(ras_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (i < SERVICES_ASKED)
			ask_service(&list->items[i]);
		else
			list->items[i].why = "was not asked: four others were";
}
