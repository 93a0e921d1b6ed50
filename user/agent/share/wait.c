/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One thread listens. It has its own descriptor table, so that the program can neither close its socket nor pass it to
 * a child. A thread that it starts would share that table, in which CUPTI and the driver do not find their files: so a
 * second thread, which has the program's table, starts the requested session.
 */
#include "agent/share/wait.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <gputrace/share.h>

#include "agent/process/clock.h"
#include "agent/process/fork_gate.h"
#include "agent/process/own_thread.h"
#include "agent/share/filters.h"
#include "agent/share/join.h"

#define SPEAKS_S 1 /* how long to wait for a connected client's message */
#define FAILED_PAUSE_NS 100000000u
#define IDLE_NS 3600000000000u

static struct {
	bool (*start_agent)(const char *asked);
	_Atomic bool waits;
	bool fork_registered;
	_Atomic uint32_t asked; /* futex: 1 when `text` has a request */
	_Atomic uint32_t begun; /* futex: 1 when the request was handled */
	char text[GPT_SHARE_ASK_MAX];
	bool started; /* result of the request */
	int filters;  /* of the listening thread, when it began */
} waiting;

static void starting_thread(void)
{
	prctl(PR_SET_NAME, "gputrace-waits");
	for (;;) {
		fork_gate_wait(&waiting.asked, 0, IDLE_NS);
		if (!atomic_exchange(&waiting.asked, 0))
			continue;
		waiting.started = waiting.start_agent(waiting.text);
		futex_set(&waiting.begun);
	}
}

/*
 * Takes the first free name: processes of several pid namespaces may have the same number, and other users may have
 * taken the names. No one has taken the nanosecond.
 */
static int listen_here(void)
{
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	char name[64];

	for (unsigned i = 0; listener >= 0 && i < 2 * GPUTRACE_WAIT_NAMES; i++) {
		unsigned long long number = i < GPUTRACE_WAIT_NAMES ? i : clock_now_ns();

		snprintf(name, sizeof(name), GPUTRACE_WAIT_NAME, (unsigned)getpid(), number);
		if (!bind(listener, (const struct sockaddr *)&address, gpt_share_address(&address, name)) &&
		    !listen(listener, 1))
			return listener;
	}
	if (listener >= 0)
		close(listener);
	return -1;
}

static bool begin_session(const char *text)
{
	strcpy(waiting.text, text);
	atomic_store(&waiting.begun, 0);
	futex_set(&waiting.asked);
	while (!atomic_load(&waiting.begun))
		futex_wait(&waiting.begun, 0, IDLE_NS);
	return waiting.started;
}

static void serve_request(int connection)
{
	struct timeval patience = {.tv_sec = SPEAKS_S};
	char text[GPT_SHARE_ASK_MAX], answer;
	struct iovec part = {text, sizeof(text) - 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t got;

	if (!share_trusts(connection) || setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)))
		return;
	got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
	if (got <= 0 || message.msg_flags & MSG_TRUNC)
		return;
	text[got] = '\0';
	answer = begin_session(text) ? GPT_SHARE_ASKED : GPT_SHARE_AT_WORK;
	send(connection, &answer, 1, MSG_NOSIGNAL);
}

/* Changes when a first filter of system calls comes, or one beside a container's (own_memory.c). */
static int look_at_filters(void)
{
	return prctl(PR_GET_SECCOMP) << 1 | prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

/* A filter that the program has set may kill the caller of what serves a request: who asks gets no answer. */
static void stay_under_new_filter(void)
{
	static _Atomic uint32_t never;

	while (look_at_filters() != waiting.filters)
		futex_wait(&never, 0, IDLE_NS);
}

static void __attribute__((noreturn)) serve_all(int listener)
{
	int connection;

	for (;;) {
		connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		stay_under_new_filter();
		if (connection >= 0) {
			serve_request(connection);
			close(connection);
		} else if (errno != EINTR) {
			nanosleep(&(struct timespec){.tv_nsec = FAILED_PAUSE_NS}, NULL);
		}
	}
}

static void listening_thread(void)
{
	int listener = -1;

	prctl(PR_SET_NAME, "gputrace-waits");
	waiting.filters = look_at_filters();
	fork_gate_leave();
	if (own_table_begin())
		listener = listen_here();
	if (listener >= 0)
		serve_all(listener);
	fork_gate_enter();
}

/* The child, which may start CUDA itself, does not have these threads. */
static void forget_threads(void)
{
	atomic_store(&waiting.waits, false);
	atomic_store(&waiting.asked, 0);
}

bool share_wait(bool (*start_agent)(const char *asked))
{
	const char *wanted = secure_getenv(GPUTRACE_WAIT);

	if (!wanted || !*wanted)
		return true;
	if (filters_kill(true))
		return false;
	if (atomic_exchange(&waiting.waits, true))
		return true;
	if (!waiting.fork_registered)
		fork_gate_in_child(forget_threads);
	waiting.fork_registered = true;
	waiting.start_agent = start_agent;
	if (own_thread_start(starting_thread))
		own_thread_start(listening_thread);
	return true;
}
