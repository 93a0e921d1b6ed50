/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Valid and invalid segments: a reader returns what is whole, reports what is missing, and never lies. */
#include "log_given.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

static void what_was_packed_comes_out_byte_for_byte(void **state)
{
	struct three three;

	three_make(&three);
	log_file_finish(&three.file);
	assert_three(&three, 7, false);
	three_free(&three);
}

static void a_log_without_an_index_is_whole(void **state)
{
	struct three three;

	three_make(&three);
	assert_three(&three, 7, false);
	three_free(&three);
}

/* Pseudo-random records of known and unknown types with hostile content: the reader does not look into a segment. */
static void make_random(struct log_builder *log, uint32_t count, uint64_t seed)
{
	static const uint16_t types[] = {GPT_CALL, GPT_CALL_ARGS, GPT_PYSTACK, GPT_AGENT_BATCH, 77, GPT_END, 4000};

	for (uint32_t i = 0; i < count; i++) {
		uint64_t fields[40];

		for (size_t k = 0; k < 40; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			fields[k] = seed >> (seed >> 60) >> 8;
		}
		log_put(log, types[fields[39] % 7], fields, 8 + fields[38] % 38 * 8, NULL, 0);
	}
}

static void threads_change_nothing(void **state)
{
	struct log_builder all = {0};
	struct log_file file;

	log_file_begin(&file, 0, 0);
	for (uint32_t i = 0; i < 60; i++) {
		struct log_builder records = {0};

		make_random(&records, i * i % 997, i);
		log_file_segment(&file, records.data, records.size, 0);
		log_raw(&all, records.data, records.size);
		log_free(&records);
	}
	log_file_finish(&file);
	for (unsigned threads = 0; threads <= 5; threads++) {
		struct given given = given_by(&file, (struct given_options){.threads = threads});

		assert_true(given_is(&given, &all));
		assert_int_equal(given.read, 60);
		assert_false(given.torn);
		log_free(&given.records);
	}
	log_free(&all);
	log_file_free(&file);
}

static void a_log_may_end_before_all_was_read(void **state)
{
	struct three three;
	struct log_reader reader;
	const char *why;
	int fd;

	three_make(&three);
	fd = log_file_fd(&three.file);
	assert_int_equal(log_reader_open(&reader, fd, &why), 0);
	decode_ahead_use(&reader.ahead, 4);
	assert_non_null(log_reader_next(&reader));
	log_reader_close(&reader);
	close(fd);
	three_free(&three);
}

/* ---- reading again ---------------------------------------------------------------------------------------------- */

/* The records that the reader returns from here on, each preceded by the number of its segment. */
static struct log_builder number_records(struct log_reader *reader)
{
	const struct gpt_record *record;
	struct log_builder out = {0};

	while ((record = log_reader_next(reader))) {
		uint64_t number = (uint64_t)reader->sequence;

		log_raw(&out, &number, sizeof(number));
		log_raw(&out, record, record->size);
	}
	return out;
}

static void assert_same(struct log_builder *one, struct log_builder *other)
{
	assert_int_equal(one->size, other->size);
	assert_memory_equal(one->data, other->data, one->size);
	log_free(one);
	log_free(other);
}

/* Reads repeatedly with this many threads; before each second reading, `skipped` records are read and discarded. */
static void assert_again(int fd, unsigned threads, unsigned skipped, bool torn, uint32_t damaged)
{
	struct log_reader reader;
	const char *why;

	assert_int_equal(log_reader_open(&reader, fd, &why), 0);
	decode_ahead_use(&reader.ahead, threads);
	for (unsigned round = 0; round < 3; round++) {
		struct log_builder first = number_records(&reader), second;

		assert_int_equal(reader.torn, torn);
		assert_int_equal(reader.damaged, damaged);
		assert_int_equal(log_reader_again(&reader), 0);
		for (unsigned i = 0; i < skipped; i++)
			assert_non_null(log_reader_next(&reader));
		assert_int_equal(log_reader_again(&reader), 0);
		second = number_records(&reader);
		assert_same(&first, &second);
		assert_int_equal(reader.torn, torn);
		assert_int_equal(reader.damaged, damaged);
		assert_int_equal(log_reader_again(&reader), 0);
	}
	log_reader_close(&reader);
}

static void a_log_is_read_again_from_its_beginning(void **state)
{
	struct three three;
	int fd;

	three_make(&three);
	log_file_finish(&three.file);
	fd = log_file_fd(&three.file);
	for (unsigned threads = 1; threads <= 4; threads++)
		for (unsigned skipped = 0; skipped < 8; skipped++)
			assert_again(fd, threads, skipped, false, 0);
	close(fd);
	three_free(&three);
}

static void a_damaged_log_is_read_again_as_it_was(void **state)
{
	struct three three;
	int fd;

	three_make(&three);
	three.file.bytes.data[three.file.offsets[2] - 9] ^= 1;
	three.file.bytes.data[three.file.offsets[1] + 100] ^= 1;
	log_file_finish(&three.file);
	fd = log_file_fd(&three.file);
	assert_again(fd, 4, 3, true, 1);
	close(fd);
	three_free(&three);
}

static void segments_have_their_number_whether_others_are_read_or_not(void **state)
{
	struct log_restriction last = {.from_ns = 2501, .to_ns = 9000};
	struct three three;
	struct log_reader reader;
	const char *why;
	int fd;

	three_make(&three);
	three.file.bytes.data[three.file.offsets[1] + 100] ^= 1;
	for (unsigned indexed = 0; indexed < 2; indexed++) {
		struct log_builder all, some;

		if (indexed)
			log_file_finish(&three.file);
		fd = log_file_fd(&three.file);
		assert_int_equal(log_reader_open(&reader, fd, &why), 0);
		all = number_records(&reader);
		assert_int_equal(log_reader_again(&reader), 0);
		log_reader_restrict(&reader, &last);
		some = number_records(&reader);
		assert_int_equal(*(const uint64_t *)all.data, 0);
		assert_int_equal(*(const uint64_t *)some.data, THREE - 1);
		assert_true(some.size < all.size);
		assert_memory_equal(all.data + all.size - some.size, some.data, some.size);
		log_free(&some);
		assert_int_equal(log_reader_again(&reader), 0);
		log_reader_restrict(&reader, NULL);
		some = number_records(&reader);
		assert_same(&all, &some);
		log_reader_close(&reader);
		close(fd);
	}
	three_free(&three);
}

static void a_pipe_is_read_once(void **state)
{
	struct three three;
	struct log_reader reader;
	const char *why;
	int ends[2];

	three_make(&three);
	log_file_finish(&three.file);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], three.file.bytes.data, three.file.bytes.size), three.file.bytes.size);
	close(ends[1]);
	assert_int_equal(log_reader_open(&reader, ends[0], &why), 0);
	assert_false(log_reader_can_again(&reader));
	assert_non_null(log_reader_next(&reader));
	assert_int_equal(log_reader_again(&reader), -ESPIPE);
	assert_non_null(log_reader_next(&reader));
	log_reader_close(&reader);
	close(ends[0]);
	three_free(&three);
}

static void no_more_is_given_than_the_bound(void **state)
{
	struct three three;
	struct log_reader reader;
	const char *why;
	uint64_t bytes = 0, all;
	int fd;

	three_make(&three);
	log_file_finish(&three.file);
	all = three.own[0].size + three.own[1].size + three.own[2].size;
	fd = log_file_fd(&three.file);
	assert_int_equal(log_reader_open(&reader, fd, &why), 0);
	for (uint64_t bound = 0; bound <= all; bound += 8) {
		const struct gpt_record *record;

		log_reader_bound(&reader, bound);
		for (bytes = 0; (record = log_reader_next(&reader));)
			bytes += record->size;
		assert_true(bytes <= bound);
		assert_int_equal(reader.too_long, bytes < all);
		assert_int_equal(reader.torn, bytes < all);
		assert_int_equal(log_reader_again(&reader), 0);
	}
	assert_int_equal(bytes, all);
	log_reader_close(&reader);
	close(fd);
	three_free(&three);
}

/* ---- versions, pipes -------------------------------------------------------------------------------------------- */

static void other_versions_are_refused_in_one_line(void **state)
{
	struct three three;
	struct given given;
	struct gpt_log_header *header;

	three_make(&three);
	header = (struct gpt_log_header *)three.file.bytes.data;
	header->version = 1;
	header->header_size = 24;
	given = given_by(&three.file, plain);
	assert_int_equal(given.err, -EMEDIUMTYPE);
	assert_string_equal(given.why, "it was written by an older gputrace (log version 1): report it with that one, "
				       "or record again");
	three.file.bytes.size = 24; /* the log of an older gputrace that recorded nothing */
	given = given_by(&three.file, plain);
	assert_int_equal(given.err, -EMEDIUMTYPE);
	header->version = 3;
	given = given_by(&three.file, plain);
	assert_int_equal(given.err, -EMEDIUMTYPE);
	assert_string_equal(given.why, "it was written by another version of gputrace: report it with that one");
	three_free(&three);
}

static void what_a_longer_header_has_more_is_passed_over(void **state)
{
	struct three three;
	struct log_builder longer = {0}, before;
	const size_t size = sizeof(struct gpt_log_header);

	three_make(&three);
	before = three.file.bytes;
	log_raw(&longer, before.data, size);
	log_raw(&longer, "newfield", 8);
	log_raw(&longer, before.data + size, before.size - size);
	((struct gpt_log_header *)longer.data)->header_size = size + 8;
	three.file.bytes = longer;
	assert_three(&three, 7, false);
	log_free(&longer);
	three.file.bytes = before;
	three_free(&three);
}

struct feed {
	const struct log_builder *log;
	int fd;
};

static void *feed_pipe(void *context)
{
	struct feed *feed = context;

	for (size_t at = 0; at < feed->log->size;) {
		size_t piece = feed->log->size - at < 1013 ? feed->log->size - at : 1013;
		ssize_t wrote = write(feed->fd, feed->log->data + at, piece);

		if (wrote <= 0)
			break;
		at += (size_t)wrote;
	}
	close(feed->fd);
	return NULL;
}

static struct given given_by_pipe(const struct log_file *file, struct given_options options)
{
	struct feed feed = {.log = &file->bytes};
	struct given given;
	pthread_t thread;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	feed.fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &feed), 0);
	given = given_by_fd(ends[0], options);
	pthread_join(thread, NULL);
	close(ends[0]);
	return given;
}

static void a_log_can_come_through_a_pipe(void **state)
{
	struct log_builder all = {0};
	struct log_file file;

	log_file_begin(&file, 0, 0);
	for (uint32_t i = 0; i < 8; i++) {
		struct log_builder records = {0};

		make_random(&records, 5000, i);
		log_file_segment(&file, records.data, records.size, 0);
		log_raw(&all, records.data, records.size);
		log_free(&records);
	}
	log_file_finish(&file);
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		struct given given = given_by_pipe(&file, (struct given_options){.threads = threads});

		assert_true(given_is(&given, &all));
		assert_false(given.torn);
		log_free(&given.records);
	}
	log_free(&all);
	log_file_free(&file);
}

static void reading_leaves_the_file_offset_alone(void **state)
{
	struct three three;
	struct given given;
	int fd;

	three_make(&three);
	fd = log_file_fd(&three.file);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	given = given_by_fd(fd, plain);
	assert_true(three_gave(&three, &given, 7));
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
	log_free(&given.records);
	close(fd);
	three_free(&three);
}

static void a_descriptor_that_cannot_be_read_gives_its_error(void **state)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY);
	struct given given = given_by_fd(fd, plain);

	assert_int_equal(given.err, -EISDIR);
	assert_null(given.why);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_packed_comes_out_byte_for_byte),
		cmocka_unit_test(a_log_without_an_index_is_whole),
		cmocka_unit_test(threads_change_nothing),
		cmocka_unit_test(a_log_may_end_before_all_was_read),
		cmocka_unit_test(other_versions_are_refused_in_one_line),
		cmocka_unit_test(what_a_longer_header_has_more_is_passed_over),
		cmocka_unit_test(a_log_can_come_through_a_pipe),
		cmocka_unit_test(reading_leaves_the_file_offset_alone),
		cmocka_unit_test(a_descriptor_that_cannot_be_read_gives_its_error),
		cmocka_unit_test(a_log_is_read_again_from_its_beginning),
		cmocka_unit_test(a_damaged_log_is_read_again_as_it_was),
		cmocka_unit_test(segments_have_their_number_whether_others_are_read_or_not),
		cmocka_unit_test(a_pipe_is_read_once),
		cmocka_unit_test(no_more_is_given_than_the_bound),
	};

	workers_use(WORKERS_MAX);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
