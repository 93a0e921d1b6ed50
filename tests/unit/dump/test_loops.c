/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process that reads asyncio's tasks while a recording runs: which files it keeps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dump/process/loops.h"

#define LAST_FD 9 /* the highest descriptor that a reader here has at its start: it is the last one to be closed */

static int move_descriptor(int fd, int lowest)
{
	int moved = fcntl(fd, F_DUPFD, lowest);

	if (moved < 0)
		_exit(1);
	close(fd);
	return moved;
}

/* Starts the reader with its socket at this number and nothing at the numbers from 3 to it. */
static void __attribute__((noreturn)) become_reader(struct loops_shared *shared, int socket, int number, int witness)
{
	socket = move_descriptor(socket, LAST_FD + 1);
	witness = move_descriptor(witness, LAST_FD + 1);
	dup2(witness, LAST_FD);
	dup2(socket, number);
	syscall(SYS_close_range, LAST_FD + 1, ~0U, 0);
	for (int fd = 3; fd < LAST_FD; fd++)
		if (fd != number)
			close(fd);
	loops_serve(shared, getppid(), number);
}

static const char *file_of(pid_t pid, const char *fd, char target[256])
{
	char path[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, fd);
	length = readlink(path, target, 255);
	target[length > 0 ? length : 0] = '\0';
	return target;
}

/* Whoever reads gputrace's output must not wait for the reader, and nothing but answers may come through its socket. */
static void check_files(int number)
{
	static const char *const standard[] = {"0", "1", "2"};
	struct loops_shared *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int sockets[2], witness[2];
	char target[256], byte;
	pid_t reader;

	assert_ptr_not_equal(shared, MAP_FAILED);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
	assert_int_equal(pipe(witness), 0);
	reader = fork();
	assert_true(reader >= 0);
	if (!reader)
		become_reader(shared, sockets[1], number, witness[1]);
	close(sockets[1]);
	close(witness[1]);
	assert_int_equal(read(witness[0], &byte, 1), 0); /* until it has closed what is not its own */
	for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
		assert_string_equal(file_of(reader, standard[i], target), "/dev/null");
	assert_int_equal(recv(sockets[0], &byte, 1, MSG_DONTWAIT), -1); /* the socket is open, and empty */
	kill(reader, SIGKILL);
	assert_int_equal(waitpid(reader, NULL, 0), reader);
	assert_int_equal(recv(sockets[0], &byte, 1, 0), 0);
	close(sockets[0]);
	close(witness[0]);
	munmap(shared, sizeof(*shared));
}

static void the_reader_keeps_its_socket_and_no_other_file(void **state)
{
	(void)state;
	check_files(5);
	check_files(3);
}

/* gputrace may have been started without standard streams. */
static void the_socket_may_have_the_number_of_a_standard_stream(void **state)
{
	(void)state;
	for (int number = 0; number < 3; number++)
		check_files(number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reader_keeps_its_socket_and_no_other_file),
		cmocka_unit_test(the_socket_may_have_the_number_of_a_standard_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
