/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/share/shares.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "attach/share/share_control.h"
#include "base/array.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "target/process.h"

#define BACKLOG 64
#define SHARES_MAX 1024		  /* maximum of processes with a ring at a time */
#define HELLO_US 200000		  /* an agent says hello at once */
#define ANSWER_S 1		  /* it answers in microseconds, if its process gets a processor */
#define PATIENCE_NS 1000000000ull /* total for one agent */
#define STATUS_MAX 8192		  /* bytes of /proc/PID/status */
#define READER_ROOM GPT_RECORD_MAX

struct share {
	pid_t pid;
	struct share_ring ring;
	bool over;  /* the process has ended */
	bool empty; /* and the drain has found no more records since */
};

struct shares {
	struct share_control control;
	int listener;
	uid_t uid;
	uint64_t bytes;
	bool by_call; /* gputrace's own filters allow process_vm_readv(2) */
	int filters;  /* number of gputrace's own seccomp filters; -1: unknown */
	bool waiting_by_call;
	int waiting; /* connection to the agent from shares_next, -1: none */
	pid_t waiting_pid;
	uint64_t waiting_until_ns;
	bool waiting_silent;  /* it has left a question unanswered: its next answer may be to that one */
	pthread_mutex_t lock; /* protects the members below */
	ARRAY(struct share *) list;
	unsigned count;
	uint64_t counters[GPT_COUNTER_COUNT]; /* of processes that are gone, or were refused as there was no room */
	uint64_t bytes_max, malformed;	      /* the same */
	_Alignas(8) uint8_t room[READER_ROOM];
};

char *shares_name(void)
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

/* The number of a process's seccomp filters (Linux 5.9), -1: unknown. A child has its parent's. */
static int count_filters(pid_t pid)
{
	const char *line;
	char *status;
	int filters = -1;

	if (process_read_text(pid, "status", 0, STATUS_MAX, &status) < 0)
		return -1;
	line = strstr(status, "\nSeccomp_filters:");
	if (line)
		filters = atoi(line + strlen("\nSeccomp_filters:"));
	free(status);
	return filters;
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

int shares_open(const char *name, uid_t uid, uint64_t bytes, struct shares **out)
{
	struct shares *shares = xcalloc(1, sizeof(*shares));
	int error;

	shares->uid = uid;
	shares->bytes = bytes;
	shares->waiting = -1;
	shares->control.fd = -1;
	pthread_mutex_init(&shares->lock, NULL);
	shares->by_call = may_call();
	shares->filters = count_filters(getpid());
	shares->listener = listen_as(name);
	error = shares->listener < 0 ? shares->listener : share_control_open(&shares->control);
	if (error) {
		shares_close(shares);
		return error;
	}
	*out = shares;
	return 0;
}

void shares_close(struct shares *shares)
{
	if (!shares)
		return;
	shares_refuse(shares);
	share_control_close(&shares->control);
	if (shares->listener >= 0)
		close(shares->listener);
	for (size_t i = 0; i < shares->list.count; i++) {
		share_ring_close(&shares->list.items[i]->ring);
		free(shares->list.items[i]);
	}
	array_free(&shares->list);
	pthread_mutex_destroy(&shares->lock);
	free(shares);
}

struct gpt_share_control *shares_control(struct shares *shares)
{
	return shares->control.shared;
}

int shares_fd(const struct shares *shares)
{
	return shares->listener;
}

/* ---- letting an agent in -------------------------------------------------------------------------------------- */

static bool ask_agent(struct shares *shares, struct gpt_share_message *message)
{
	message->by_call = shares->waiting_by_call;
	return !shares->waiting_silent && monotonic_ns() < shares->waiting_until_ns &&
	       send(shares->waiting, message, sizeof(*message), MSG_NOSIGNAL) == (ssize_t)sizeof(*message);
}

/* Asks the process to read its own memory: this needs no right to trace it. */
static int read_part(struct shares *shares, uint64_t address, void *buffer, size_t bytes)
{
	struct gpt_share_message question = {.what = GPT_SHARE_READ, .bytes = (uint32_t)bytes, .address = address};
	struct gpt_share_answer head;
	struct iovec parts[] = {{&head, sizeof(head)}, {buffer, bytes}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t got;

	got = ask_agent(shares, &question) ? recvmsg(shares->waiting, &message, 0) : -1;
	shares->waiting_silent = got < (ssize_t)sizeof(head);
	if (shares->waiting_silent)
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

static bool is_welcome(struct shares *shares, int connection, struct ucred *peer)
{
	socklen_t bytes = sizeof(*peer);

	return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, peer, &bytes) && peer->pid > 0 &&
	       peer->uid == shares->uid;
}

static bool says_hello(int connection, pid_t pid)
{
	struct timeval patience = {.tv_usec = HELLO_US}, longer = {.tv_sec = ANSWER_S};
	struct gpt_share_hello hello = {0};

	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (recv(connection, &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello))
		return false;
	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &longer, sizeof(longer));
	if (hello.abi == GPT_SHARE_ABI && hello.agent_abi == GPT_AGENT_ABI)
		return true;
	msg_warn("pid %d: its agent is of another version of gputrace: it is left alone", (int)pid);
	return false;
}

/* Address 0 cannot be read: the kernel returns EFAULT for it only to a process that may read the target. */
static bool may_read(const struct shares *shares, pid_t pid)
{
	struct iovec here = {&(char){0}, 1}, there = {NULL, 1};

	return shares->by_call && process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 && errno == EFAULT;
}

pid_t shares_next(struct shares *shares)
{
	struct ucred peer;
	int connection;

	shares_refuse(shares);
	while ((connection = accept4(shares->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (is_welcome(shares, connection, &peer) && says_hello(connection, peer.pid)) {
			shares->waiting = connection;
			shares->waiting_pid = peer.pid;
			shares->waiting_silent = false;
			shares->waiting_until_ns = monotonic_ns() + PATIENCE_NS;
			shares->waiting_by_call =
				shares->by_call && shares->filters >= 0 && count_filters(peer.pid) == shares->filters;
			if (!may_read(shares, peer.pid))
				process_read_by(peer.pid, read_memory, shares);
			return peer.pid;
		}
		close(connection);
	}
	return 0;
}

static void say_goodbye(struct shares *shares)
{
	process_read_by(0, NULL, NULL);
	close(shares->waiting);
	shares->waiting = -1;
}

void shares_refuse(struct shares *shares)
{
	struct gpt_share_message message = {.what = GPT_SHARE_REFUSE};

	if (shares->waiting < 0)
		return;
	ask_agent(shares, &message);
	say_goodbye(shares);
}

static int send_descriptors(struct shares *shares, const struct share_ring *ring)
{
	struct gpt_share_message text = {.what = GPT_SHARE_JOIN, .by_call = shares->waiting_by_call};
	int descriptors[] = {shares->control.fd, ring->fd};
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
	return sendmsg(shares->waiting, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(text) ? 0 : -EPIPE;
}

static struct share *find_share(struct shares *shares, pid_t pid)
{
	for (size_t i = 0; i < shares->list.count; i++)
		if (shares->list.items[i]->pid == pid && !shares->list.items[i]->over)
			return shares->list.items[i];
	return NULL;
}

int shares_let_in(struct shares *shares)
{
	struct share *share = xcalloc(1, sizeof(*share));
	int error = -ENOSPC;

	share->pid = shares->waiting_pid;
	share->ring.fd = -1;
	if (shares->list.count < SHARES_MAX)
		error = share_ring_open(shares->bytes, &share->ring);
	if (!error) {
		share->ring.shared->reader.python_state = GPT_STACK_UNKNOWN_LAYOUT;
		share->ring.shared->reader.pid = (uint32_t)share->pid;
		pthread_mutex_lock(&shares->lock);
		array_push(&shares->list, share);
		shares->count++;
		pthread_mutex_unlock(&shares->lock);
		return 0;
	}
	shares->counters[GPT_COUNTER_PROCESSES_FULL]++;
	shares_refuse(shares);
	free(share);
	return error;
}

bool shares_is_silent(const struct shares *shares)
{
	return shares->waiting_silent;
}

int shares_finish(struct shares *shares)
{
	struct share *share = find_share(shares, shares->waiting_pid);
	int error = share ? send_descriptors(shares, &share->ring) : -ESRCH;

	say_goodbye(shares);
	return error;
}

/* ---- state of a process ----------------------------------------------------------------------------------------- */

uint32_t shares_state(struct shares *shares, pid_t pid)
{
	struct share *share = find_share(shares, pid);

	return share ? __atomic_load_n(&share->ring.shared->writer.state, __ATOMIC_ACQUIRE) : 0;
}

uint32_t shares_given_way(struct shares *shares, pid_t pid)
{
	struct share *share = find_share(shares, pid);

	return share ? __atomic_load_n(&share->ring.shared->writer.given_way, __ATOMIC_ACQUIRE) : 0;
}

void shares_let_resume(struct shares *shares, pid_t pid, uint32_t given_way)
{
	struct share *share = find_share(shares, pid);

	if (share)
		__atomic_store_n(&share->ring.shared->reader.resume, given_way, __ATOMIC_RELEASE);
}

bool shares_has_left(struct shares *shares, pid_t pid)
{
	struct share *share = shares_state(shares, pid) ? find_share(shares, pid) : NULL;
	struct mappings mappings = {};
	struct stat ring;
	bool left = share && !fstat(share->ring.fd, &ring) && !mappings_read(pid, &mappings) && mappings.list.count;

	/* A process that ends has no mappings any more. */
	for (size_t i = 0; left && i < mappings.list.count; i++)
		left = mappings.list.items[i].inode != ring.st_ino || mappings.list.items[i].device != ring.st_dev;
	mappings_free(&mappings);
	return left;
}

/* What stores between these two change is seen whole by the agent. */
static void begin_update(struct gpt_share_reader *reader)
{
	(void)__atomic_exchange_n(&reader->updates, (reader->updates & ~1u) + 1, __ATOMIC_ACQ_REL);
}

static void end_update(struct gpt_share_reader *reader)
{
	__atomic_store_n(&reader->updates, reader->updates + 1, __ATOMIC_RELEASE);
}

void shares_set_python(struct shares *shares, pid_t pid, uint32_t python_state, const struct gpt_python *python,
		       bool several)
{
	struct share *share = find_share(shares, pid);
	struct gpt_share_reader *reader = share ? &share->ring.shared->reader : NULL;

	if (!reader)
		return;
	begin_update(reader);
	reader->python_state = python_state;
	reader->several |= several;
	if (python)
		reader->python = *python;
	end_update(reader);
}

void shares_set_modules(struct shares *shares, pid_t pid, uint64_t code, uint32_t generation)
{
	struct share *share = find_share(shares, pid);
	struct gpt_share_reader *reader = share ? &share->ring.shared->reader : NULL;

	if (!reader)
		return;
	begin_update(reader);
	reader->module_code = code;
	reader->module_generation = generation;
	end_update(reader);
}

static void add_counters(const struct share *share, uint64_t counters[GPT_COUNTER_COUNT])
{
	for (unsigned i = 0; i < GPT_COUNTER_COUNT; i++)
		counters[i] += __atomic_load_n(&share->ring.shared->writer.counters[i], __ATOMIC_RELAXED);
}

static void forget_share(struct shares *shares, struct share *share)
{
	add_counters(share, shares->counters);
	shares->malformed += share->ring.malformed;
	if (share->ring.bytes_max > shares->bytes_max)
		shares->bytes_max = share->ring.bytes_max;
	share_ring_close(&share->ring);
	free(share);
}

bool shares_end(struct shares *shares, pid_t pid)
{
	bool ended = true;

	pthread_mutex_lock(&shares->lock);
	for (size_t i = shares->list.count; i-- > 0;) {
		struct share *share = shares->list.items[i];

		if (share->pid != pid)
			continue;
		share->over = true;
		if (share->empty) {
			forget_share(shares, share);
			shares->list.items[i] = shares->list.items[--shares->list.count];
		} else {
			ended = false;
		}
	}
	pthread_mutex_unlock(&shares->lock);
	return ended;
}

void shares_add_counters(struct shares *shares, uint64_t counters[GPT_COUNTER_COUNT])
{
	for (unsigned i = 0; i < GPT_COUNTER_COUNT; i++)
		counters[i] += shares->counters[i];
	for (size_t i = 0; i < shares->list.count; i++)
		add_counters(shares->list.items[i], counters);
}

unsigned shares_count(struct shares *shares)
{
	return shares->count;
}

/* ---- the drain ------------------------------------------------------------------------------------------------ */

int64_t shares_consume(struct shares *shares, share_record record, void *context, uint64_t *most)
{
	uint64_t bytes = 0, one;

	*most = 0;
	pthread_mutex_lock(&shares->lock);
	for (size_t i = 0; i < shares->list.count; i++) {
		struct share *share = shares->list.items[i];

		one = share_ring_consume(&share->ring, (uint32_t)share->pid, share->over, shares->room, record,
					 context);
		share->empty = share->over && !one;
		bytes += one;
		*most = one > *most ? one : *most;
	}
	pthread_mutex_unlock(&shares->lock);
	return (int64_t)bytes;
}

uint64_t shares_bytes(const struct shares *shares)
{
	return shares->bytes;
}

uint64_t shares_bytes_max(struct shares *shares)
{
	uint64_t most = shares->bytes_max;

	for (size_t i = 0; i < shares->list.count; i++)
		if (shares->list.items[i]->ring.bytes_max > most)
			most = shares->list.items[i]->ring.bytes_max;
	return most;
}

uint64_t shares_malformed(struct shares *shares)
{
	uint64_t malformed = shares->malformed;

	for (size_t i = 0; i < shares->list.count; i++)
		malformed += shares->list.items[i]->ring.malformed;
	return malformed;
}
