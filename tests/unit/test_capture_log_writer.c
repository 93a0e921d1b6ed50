/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The log stays a readable log whatever happens to the disk (a file size limit stands for a full one). */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/log_writer.h"

/* What a walk over a log finds. */
struct contents {
	unsigned records, ends;
	uint64_t whole_bytes; /* up to the end of the last whole record */
	uint64_t file_bytes;
	uint32_t reason;    /* of GPT_END */
	uint64_t last_mark; /* time_ns of the last marker */
	bool in_order;
	struct gpt_log_1_header header;
};

static int make_file(void)
{
	char name[] = "/tmp/gputrace-test-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	return fd;
}

/* Markers are GPT_CODE_DEAD records, numbered in time_ns. */
static struct gpt_code_dead marker(uint64_t number)
{
	return (struct gpt_code_dead){.hdr = {.size = sizeof(struct gpt_code_dead), .type = GPT_CODE_DEAD},
				      .time_ns = number};
}

static int append_markers(struct old_log *writer, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		struct gpt_code_dead record = marker(i);
		int err = old_log_append(writer, &record.hdr);

		if (err)
			return err;
	}
	return 0;
}

static struct gpt_end *make_end(void)
{
	size_t bytes = sizeof(struct gpt_end) + GPT_COUNTER_COUNT * sizeof(uint64_t);
	struct gpt_end *end = calloc(1, bytes);

	end->hdr = (struct gpt_record){.size = (uint32_t)bytes, .type = GPT_END};
	end->reason = GPT_END_DURATION;
	end->counters_count = GPT_COUNTER_COUNT;
	return end;
}

static struct contents read_back(int fd)
{
	struct contents found = {.in_order = true};
	struct stat stat;
	uint8_t *data;
	uint64_t at;

	assert_int_equal(fstat(fd, &stat), 0);
	found.file_bytes = (uint64_t)stat.st_size;
	assert_true(found.file_bytes >= sizeof(found.header));
	data = mmap(NULL, found.file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	memcpy(&found.header, data, sizeof(found.header));
	for (at = found.header.header_size; at + sizeof(struct gpt_record) <= found.file_bytes;) {
		const struct gpt_record *record = (const struct gpt_record *)(data + at);

		if (record->size < sizeof(*record) || record->size > found.file_bytes - at)
			break;
		found.records++;
		if (record->type == GPT_CODE_DEAD) {
			uint64_t mark = ((const struct gpt_code_dead *)record)->time_ns;

			found.in_order &= mark == found.last_mark + 1;
			found.last_mark = mark;
		} else if (record->type == GPT_END) {
			found.ends++;
			found.reason = ((const struct gpt_end *)record)->reason;
		}
		at += record->size;
	}
	found.whole_bytes = at;
	munmap(data, found.file_bytes);
	return found;
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_log_is_its_header_and_its_records_in_order(void **state)
{
	int fd = make_file();
	struct old_log *writer = old_log_open(fd);
	struct gpt_end *end = make_end();
	struct contents found;

	assert_int_equal(old_log_set_start(writer, 12345, -7), 0);
	assert_int_equal(append_markers(writer, 1, 1000), 0);
	assert_int_equal(old_log_finish(writer, end), 0);
	found = read_back(fd);
	assert_int_equal(found.header.magic, GPT_LOG_1_MAGIC);
	assert_int_equal(found.header.version, GPT_LOG_1_VERSION);
	assert_int_equal(found.header.start_ns, 12345);
	assert_int_equal(found.header.wall_offset_ns, -7);
	assert_int_equal(found.records, 1001);
	assert_true(found.in_order);
	assert_int_equal(found.reason, GPT_END_DURATION);
	assert_int_equal(found.whole_bytes, found.file_bytes);
	assert_int_equal(old_log_bytes(writer), found.file_bytes);
	old_log_close(writer);
	free(end);
	close(fd);
}

static void more_than_the_buffer_goes_through_it(void **state)
{
	int fd = make_file();
	struct old_log *writer = old_log_open(fd);
	struct gpt_end *end = make_end();
	struct contents found;

	assert_int_equal(append_markers(writer, 1, 400000), 0);
	assert_int_equal(old_log_finish(writer, end), 0);
	found = read_back(fd);
	assert_int_equal(found.records, 400001);
	assert_true(found.in_order);
	assert_int_equal(found.whole_bytes, found.file_bytes);
	old_log_close(writer);
	free(end);
	close(fd);
}

static void the_start_can_be_said_after_the_header_was_written(void **state)
{
	int fd = make_file();
	struct old_log *writer = old_log_open(fd);

	assert_int_equal(append_markers(writer, 1, 10), 0);
	assert_int_equal(old_log_flush(writer), 0);
	assert_int_equal(old_log_set_start(writer, 99, 5), 0);
	assert_int_equal(append_markers(writer, 11, 10), 0);
	assert_int_equal(old_log_flush(writer), 0);
	assert_int_equal(read_back(fd).header.start_ns, 99);
	assert_int_equal(read_back(fd).records, 20);
	old_log_close(writer);
	close(fd);
}

static void a_flushed_log_is_readable_although_it_has_no_end(void **state)
{
	int fd = make_file();
	struct old_log *writer = old_log_open(fd);

	assert_int_equal(append_markers(writer, 1, 100), 0);
	assert_int_equal(old_log_flush(writer), 0);
	assert_int_equal(append_markers(writer, 101, 100), 0); /* lost, as in a crash */
	assert_int_equal(read_back(fd).records, 100);
	assert_int_equal(read_back(fd).ends, 0);
	old_log_close(writer);
	close(fd);
}

static void records_of_impossible_size_are_left_out(void **state)
{
	static const uint32_t sizes[] = {0, 4, 12, GPT_RECORD_MAX + 8, UINT32_MAX & ~7u};
	int fd = make_file();
	struct old_log *writer = old_log_open(fd);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct gpt_record record = {.size = sizes[i], .type = GPT_NOTE};

		assert_int_equal(old_log_append(writer, &record), -EINVAL);
	}
	assert_int_equal(append_markers(writer, 1, 1), 0);
	assert_int_equal(old_log_flush(writer), 0);
	assert_int_equal(read_back(fd).records, 1);
	old_log_close(writer);
	close(fd);
}

/* Writes until the limit refuses, finishes, and checks what every such log must have. */
static struct contents fill_up(rlim_t limit, uint64_t flush_every)
{
	int fd = make_file(), err = 0;
	struct old_log *writer = old_log_open(fd);
	struct gpt_end *end = make_end();
	struct contents found;

	limit_file_size(limit);
	for (uint64_t i = 1; !err && i < 300000; i += flush_every) {
		err = append_markers(writer, i, flush_every);
		if (!err)
			err = old_log_flush(writer);
	}
	assert_int_equal(err, -EFBIG);
	assert_int_equal(old_log_append(writer, &end->hdr), -EFBIG);
	assert_int_equal(old_log_flush(writer), -EFBIG);
	assert_int_equal(old_log_finish(writer, end), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	found = read_back(fd);
	assert_int_equal(end->reason, GPT_END_DISK);
	assert_int_equal(found.whole_bytes, found.file_bytes);
	assert_true(found.in_order);
	old_log_close(writer);
	free(end);
	close(fd);
	return found;
}

static void a_full_disk_leaves_whole_records_and_an_end_that_says_so(void **state)
{
	/* Limits that truncate at a record's end, inside a record, and inside its header. */
	static const rlim_t limits[] = {1 << 20, (1 << 20) + 8, (1 << 20) + 24, (1 << 20) + 13, 100000, 4096};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct contents found = fill_up(limits[i], 500);

		assert_int_equal(found.ends, 1);
		assert_int_equal(found.reason, GPT_END_DISK);
		/* At most the room of GPT_END and one record is given up. */
		assert_true(found.file_bytes + sizeof(struct gpt_code_dead) >= limits[i] - 8);
		assert_true(found.file_bytes <= limits[i]);
	}
}

static void a_disk_that_is_full_at_a_flush_gives_room_for_the_end(void **state)
{
	/* Header and 1000 markers fit exactly: the flush after that writes nothing at all. */
	struct contents found = fill_up(sizeof(struct gpt_log_1_header) + 1000 * sizeof(struct gpt_code_dead), 500);

	assert_int_equal(found.ends, 1);
	assert_true(found.last_mark >= 994);
}

static void a_disk_without_room_for_anything_leaves_an_empty_log(void **state)
{
	struct contents found = fill_up(sizeof(struct gpt_log_1_header) + 8, 500);

	assert_int_equal(found.records, 0);
	assert_int_equal(found.file_bytes, sizeof(struct gpt_log_1_header));
}

static void a_disk_that_fills_at_the_very_end_is_told(void **state)
{
	int fd = make_file();
	struct old_log *writer = old_log_open(fd);
	struct gpt_end *end = make_end();
	struct contents found;

	assert_int_equal(append_markers(writer, 1, 100), 0);
	limit_file_size(2000);
	assert_int_equal(old_log_finish(writer, end), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	found = read_back(fd);
	assert_int_equal(found.reason, GPT_END_DISK);
	assert_int_equal(found.ends, 1);
	assert_true(found.in_order && found.last_mark > 50);
	old_log_close(writer);
	free(end);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_is_its_header_and_its_records_in_order),
		cmocka_unit_test(more_than_the_buffer_goes_through_it),
		cmocka_unit_test(the_start_can_be_said_after_the_header_was_written),
		cmocka_unit_test(a_flushed_log_is_readable_although_it_has_no_end),
		cmocka_unit_test(records_of_impossible_size_are_left_out),
		cmocka_unit_test(a_full_disk_leaves_whole_records_and_an_end_that_says_so),
		cmocka_unit_test(a_disk_that_is_full_at_a_flush_gives_room_for_the_end),
		cmocka_unit_test(a_disk_without_room_for_anything_leaves_an_empty_log),
		cmocka_unit_test(a_disk_that_fills_at_the_very_end_is_told),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
