/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the agent joins a collector that does not wait for all of its answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gputrace/agent.h>
#include <gputrace/share.h>

#include "agent/share/join.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_lets_it_in_need_not_wait_for_its_answers),
		cmocka_unit_test(who_refuses_it_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
