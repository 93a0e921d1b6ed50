/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An agent that connects and answers late: what it then says is taken for no other answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <gputrace/agent.h>
#include <gputrace/share.h>

#include "attach/share/shares.h"
#include "target/process.h"

#define RING_BYTES (64u << 10)
#define OLD 11u

static int late[2], sent[2]; /* a byte in these pipes: it answers now, it has answered */

static void refuse_reads(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

static void *agent_main(void *name)
{
	struct gpt_share_hello hello = {.bytes = sizeof(hello), .abi = GPT_SHARE_ABI, .agent_abi = GPT_AGENT_ABI};
	struct gpt_share_message question;
	const uint32_t value = OLD;
	char answer[sizeof(struct gpt_share_answer) + sizeof(value)] = {0};
	struct sockaddr_un address;
	int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char go;

	assert_int_equal(connect(connection, (struct sockaddr *)&address, gpt_share_address(&address, name)), 0);
	assert_int_equal(send(connection, &hello, sizeof(hello), 0), sizeof(hello));
	assert_int_equal(recv(connection, &question, sizeof(question), 0), sizeof(question));
	assert_int_equal(read(late[0], &go, 1), 1);
	memcpy(answer, &(const struct gpt_share_answer){.bytes = sizeof(value)}, sizeof(struct gpt_share_answer));
	memcpy(answer + sizeof(struct gpt_share_answer), &value, sizeof(value));
	assert_int_equal(send(connection, answer, sizeof(answer), MSG_NOSIGNAL), sizeof(answer));
	assert_int_equal(write(sent[1], &go, 1), 1);
	while (recv(connection, &question, sizeof(question), 0) > 0)
		continue;
	close(connection);
	return NULL;
}

static void a_late_answer_is_not_taken_for_the_next_one(void **state)
{
	char *name = share_door_name();
	struct shares *shares;
	uint32_t value = 0;
	pthread_t thread;
	pid_t pid = 0;
	char byte = 0;

	refuse_reads();
	assert_int_equal(pipe(late) | pipe(sent), 0);
	assert_int_equal(shares_open(name, getuid(), RING_BYTES, &shares), 0);
	assert_int_equal(pthread_create(&thread, NULL, agent_main, name), 0);
	while (!pid)
		pid = share_door_next(shares_door(shares));
	assert_int_equal(pid, getpid());
	assert_int_equal(shares_let_in(shares), 0);
	assert_false(shares_door(shares)->silent);
	assert_true(process_read_memory(pid, 0x1000, &value, sizeof(value)) < 0);
	assert_true(shares_door(shares)->silent);
	assert_int_equal(write(late[1], &byte, 1), 1);
	assert_int_equal(read(sent[0], &byte, 1), 1);
	assert_true(process_read_memory(pid, 0x2000, &value, sizeof(value)) < 0);
	assert_int_equal(value, 0);
	share_door_refuse(shares_door(shares));
	pthread_join(thread, NULL);
	shares_close(shares);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_answer_is_not_taken_for_the_next_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
