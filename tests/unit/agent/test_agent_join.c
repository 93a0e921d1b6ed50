/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the agent joins a collector that does not wait for all of its answers. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/agent.h>
#include <gputrace/share.h>

#include "agent/share/join.h"
#include "agent/share/share.h"
#include "agent_points.h"

#define QUESTIONS 8 /* their answers are more than a socket holds, the questions fewer than it queues */
#define RING_BYTES (64u << 10)

static char memory[GPT_SHARE_READ_MAX];
static char name[64];
static int listener;

static int memory_of(size_t bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	return fd;
}

static void send_with(int connection, const struct gpt_share_message *text, const int *descriptors)
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr header;
	} control = {0};
	struct iovec part = {(void *)text, sizeof(*text)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (descriptors) {
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), descriptors, 2 * sizeof(int));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	assert_int_equal(sendmsg(connection, &message, 0), sizeof(*text));
}

/* Asks, lets the agent in and leaves, without a look at any answer. */
static void *let_agent_in(void *lets_in)
{
	struct gpt_share_message question = {
		.what = GPT_SHARE_READ, .bytes = sizeof(memory), .address = (uintptr_t)memory, .by_call = 1};
	struct gpt_share_message last = {.what = lets_in ? GPT_SHARE_JOIN : GPT_SHARE_REFUSE, .by_call = 1};
	int connection = accept(listener, NULL, NULL);
	int descriptors[] = {memory_of(sizeof(struct gpt_share_control)),
			     memory_of(sizeof(struct gpt_share_ring) + RING_BYTES)};
	uint32_t bytes = sizeof(struct gpt_share_control);
	struct gpt_share_hello hello;

	assert_int_equal(recv(connection, &hello, sizeof(hello), 0), sizeof(hello));
	assert_int_equal(pwrite(descriptors[0], &bytes, sizeof(bytes), offsetof(struct gpt_share_control, bytes)),
			 sizeof(bytes));
	for (int i = 0; i < QUESTIONS; i++)
		send_with(connection, &question, NULL);
	send_with(connection, &last, lets_in ? descriptors : NULL);
	close(connection);
	close(descriptors[0]);
	close(descriptors[1]);
	return NULL;
}

static bool agent_joins(bool let_in)
{
	struct joined joined;
	struct sockaddr_un address;
	pthread_t collector;
	bool in;

	snprintf(name, sizeof(name), "gputrace-test-join-%d", (int)getpid());
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, gpt_share_address(&address, name)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(pthread_create(&collector, NULL, let_agent_in, let_in ? memory : NULL), 0);
	in = join(name, true, &joined);
	pthread_join(collector, NULL);
	close(listener);
	assert_int_equal(in, joined.ring != NULL);
	return in;
}

static void who_lets_it_in_need_not_wait_for_its_answers(void **state)
{
	assert_true(agent_joins(true));
}

static void who_refuses_it_neither(void **state)
{
	assert_false(agent_joins(false));
}

/* ---- filters of system calls ------------------------------------------------------------------------------------ */

/* In a child, as it stays: a filter that kills for connect(2), then what the environment asks for. */
static int join_under_filter(const char *counted)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	pid_t child = fork();
	int status = 0;

	if (!child) {
		setenv(GPUTRACE_SHARE, "gputrace-test-nobody", 1);
		setenv(GPUTRACE_FILTERS, counted, 1);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(9);
		_exit(share_join(NULL));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void a_filter_that_came_after_gputrace_is_not_tried(void **state)
{
	int status = join_under_filter("0");

	assert_true(WIFEXITED(status));
	assert_false(WEXITSTATUS(status));
}

/* The control. */
static void a_filter_that_gputrace_has_too_is_no_reason_to_stay_away(void **state)
{
	int status = join_under_filter("1000");

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_lets_it_in_need_not_wait_for_its_answers),
		cmocka_unit_test(who_refuses_it_neither),
		cmocka_unit_test(a_filter_that_came_after_gputrace_is_not_tried),
		cmocka_unit_test(a_filter_that_gputrace_has_too_is_no_reason_to_stay_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
