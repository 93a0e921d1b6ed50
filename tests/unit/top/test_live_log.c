/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log that is still being written, as `gputrace top` follows it. */
#include <sys/stat.h>
#include <unistd.h>

#include "log/writer.h"
#include "segments.h"
#include "top/live_log.h"

#define SECOND_NS 1000000000ull
#define START_NS (100 * SECOND_NS)

static int make_file(void)
{
	char name[] = "/var/tmp/gputrace-test-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	return fd;
}

/* Writes a segment with records of one moment: about 100 KB that do not compress. */
static void write_second(struct log_writer *writer, uint64_t second)
{
	for (uint64_t i = 0; i < 8000; i++) {
		uint64_t noise = (i + 8000 * second) * 0xd6e8feb86659fd93ull;
		struct gpt_code_dead record = {.hdr = {.size = sizeof(record), .type = GPT_CODE_DEAD},
					       .code = (noise ^ noise >> 29) * 0xbf58476d1ce4e5b9ull,
					       .time_ns = START_NS + second * SECOND_NS,
					       .pid = (uint32_t)noise};

		assert_int_equal(log_writer_append(writer, &record.hdr), 0);
	}
	assert_int_equal(log_writer_settle(writer), 0);
}

static struct log_writer *begin_log(int fd)
{
	struct log_writer *writer = log_writer_open(fd);

	assert_int_equal(log_writer_set_start(writer, START_NS, 7), 0);
	return writer;
}

static void what_is_flushed_is_seen(void **state)
{
	int fd = make_file();
	struct log_writer *writer = begin_log(fd);
	struct live_log live;
	uint64_t from_ns, to_ns;

	live_log_open(&live, fd);
	assert_false(live_log_update(&live));
	assert_false(live_log_span(&live, 2 * SECOND_NS, &from_ns, &to_ns));
	write_second(writer, 0);
	assert_true(live_log_update(&live));
	assert_false(live_log_span(&live, 2 * SECOND_NS, &from_ns, &to_ns));
	write_second(writer, 2);
	write_second(writer, 9);
	assert_true(live_log_update(&live));
	assert_false(live_log_update(&live));
	assert_true(live_log_span(&live, 2 * SECOND_NS, &from_ns, &to_ns));
	assert_int_equal(to_ns, START_NS + 8 * SECOND_NS);
	assert_int_equal(from_ns, START_NS + 6 * SECOND_NS);
	assert_true(live_log_span(&live, 60 * SECOND_NS, &from_ns, &to_ns));
	assert_int_equal(from_ns, START_NS);
	log_writer_close(writer);
	close(fd);
}

static uint64_t disk_bytes(int fd)
{
	struct stat stat;

	assert_int_equal(fstat(fd, &stat), 0);
	return (uint64_t)stat.st_blocks * 512;
}

static void the_disk_gets_back_what_is_old_and_the_last_seconds_can_be_read(void **state)
{
	int fd = make_file();
	struct log_writer *writer = begin_log(fd);
	struct kept_tables tables;
	struct live_log live;
	uint64_t before, from_ns, to_ns;
	const struct kept_table *receipt;

	live_log_open(&live, fd);
	for (uint64_t second = 0; second < 200; second++)
		write_second(writer, second);
	before = disk_bytes(fd);
	assert_true(live_log_update(&live));
	live_log_free_old(&live);
	assert_in_range(disk_bytes(fd), before / 10, before / 3);
	assert_true(live_log_span(&live, 2 * SECOND_NS, &from_ns, &to_ns));
	assert_int_equal(live_log_tables(&live, from_ns, to_ns, 80, &tables), 0);
	receipt = kept_table(&tables, "receipt");
	assert_non_null(receipt);
	kept_tables_free(&tables);
	before = disk_bytes(fd);
	live_log_free_old(&live);
	assert_int_equal(disk_bytes(fd), before);
	log_writer_close(writer);
	close(fd);
}

static void a_file_that_is_no_log_yet_is_waited_for(void **state)
{
	int fd = make_file();
	struct live_log live;

	live_log_open(&live, fd);
	assert_false(live_log_update(&live));
	assert_int_equal(write(fd, "GPT", 3), 3);
	assert_false(live_log_update(&live));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_flushed_is_seen),
		cmocka_unit_test(the_disk_gets_back_what_is_old_and_the_last_seconds_can_be_read),
		cmocka_unit_test(a_file_that_is_no_log_yet_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
