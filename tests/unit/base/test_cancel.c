/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes to a reader that may not read: complete, in order, and given up at once when they are cancelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/threads/cancel.h"

#define MUCH (3u << 20) /* far more than a pipe holds */

static atomic_int flag;
static struct cancel cancel = {.flag = &flag};
static int ends[2];
static char *much;

static int begin_test(void **state)
{
	flag = 0;
	cancel.fd = eventfd(0, EFD_CLOEXEC);
	much = malloc(MUCH);
	for (size_t i = 0; i < MUCH; i++)
		much[i] = (char)(i * 7 + i / 4096);
	return cancel.fd < 0 || pipe(ends) || !much;
}

static int end_test(void **state)
{
	close(cancel.fd);
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	free(much);
	return 0;
}

static void cancel_now(void)
{
	uint64_t one = 1;

	flag = 1;
	assert_int_equal(write(cancel.fd, &one, sizeof(one)), sizeof(one));
}

/* Cancels when the pipe is full: its writer then blocks, or is about to. */
static void *cancel_when_full(void *unused)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int held = 0;

	while (held < fcntl(ends[1], F_GETPIPE_SZ)) {
		nanosleep(&pause, NULL);
		ioctl(ends[0], FIONREAD, &held);
	}
	cancel_now();
	return NULL;
}

static void *read_all(void *out)
{
	size_t done = 0;

	while (done < MUCH) {
		ssize_t bytes = read(ends[0], (char *)out + done, 3000);

		if (bytes <= 0)
			break;
		done += (size_t)bytes;
	}
	return NULL;
}

static void a_slow_reader_gets_all_of_it(void **state)
{
	char *got = calloc(1, MUCH);
	pthread_t reader;

	pthread_create(&reader, NULL, read_all, got);
	assert_int_equal(write_unless(ends[1], much, MUCH, &cancel), 0);
	pthread_join(reader, NULL);
	assert_memory_equal(got, much, MUCH);
	free(got);
}

static void a_pipe_that_no_one_reads_is_left_when_it_is_cancelled(void **state)
{
	pthread_t other;

	pthread_create(&other, NULL, cancel_when_full, NULL);
	assert_int_equal(write_unless(ends[1], much, MUCH, &cancel), -ECANCELED);
	pthread_join(other, NULL);
	/* The thread that writes has its own descriptor, and ends with the last reader. */
	close(ends[1]);
	ends[1] = -1;
	close(ends[0]);
	ends[0] = -1;
}

static void what_was_cancelled_before_writes_nothing(void **state)
{
	char byte;

	cancel_now();
	assert_int_equal(write_unless(ends[1], much, MUCH, &cancel), -ECANCELED);
	close(ends[1]);
	ends[1] = -1;
	assert_int_equal(read(ends[0], &byte, 1), 0);
}

static void a_reader_that_is_gone_is_an_error(void **state)
{
	close(ends[0]);
	ends[0] = -1;
	assert_int_equal(write_unless(ends[1], much, MUCH, &cancel), -EPIPE);
	assert_int_equal(write_unless(ends[1], much, MUCH, NULL), -EPIPE);
}

static void a_regular_file_holds_all_of_it(void **state)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	char *got = malloc(MUCH);

	assert_int_equal(write_unless(fd, much, MUCH, &cancel), 0);
	assert_int_equal(pread(fd, got, MUCH, 0), MUCH);
	assert_memory_equal(got, much, MUCH);
	free(got);
	close(fd);
}

#define behaviour(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		behaviour(a_slow_reader_gets_all_of_it),
		behaviour(a_pipe_that_no_one_reads_is_left_when_it_is_cancelled),
		behaviour(what_was_cancelled_before_writes_nothing),
		behaviour(a_reader_that_is_gone_is_an_error),
		behaviour(a_regular_file_holds_all_of_it),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
