/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The log stays a readable log whatever happens to the disk (a file size limit stands for a full one). */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "log/writer.h"
#include "segments.h"

/* What a walk over a log finds. */
struct contents {
	unsigned segments, records, ends, repeated;
	uint64_t file_bytes, left_over;
	uint32_t reason;    /* of GPT_END */
	uint64_t last_mark; /* time_ns of the last marker */
	bool in_order, indexed;
	struct gpt_log_header header;
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
static struct gpt_code_dead make_marker(uint64_t number)
{
	uint64_t noise = (number ^ 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull; /* does not compress */

	return (struct gpt_code_dead){.hdr = {.size = sizeof(struct gpt_code_dead), .type = GPT_CODE_DEAD},
				      .code = (noise ^ noise >> 32) * 0xbf58476d1ce4e5b9ull,
				      .time_ns = number};
}

static int append_markers(struct log_writer *writer, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		struct gpt_code_dead record = make_marker(i);
		int err = log_writer_append(writer, &record.hdr);

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

static void see_record(struct contents *found, const struct gpt_record *record)
{
	found->records++;
	if (record->type == GPT_CODE_DEAD) {
		uint64_t mark = ((const struct gpt_code_dead *)record)->time_ns;

		found->in_order &= mark == found->last_mark + 1;
		found->last_mark = mark;
	} else if (record->type == GPT_END) {
		found->ends++;
		found->reason = ((const struct gpt_end *)record)->reason;
	}
}

static struct contents read_back(int fd)
{
	struct segments *log = segments_of(fd);
	struct contents found = {.in_order = true,
				 .segments = log->count,
				 .file_bytes = log->bytes,
				 .left_over = log->left_over,
				 .indexed = log->indexed,
				 .header = log->header};

	for (unsigned i = 0; i < log->count; i++) {
		const struct gpt_log_segment *header = &log->items[i].header;
		uint32_t at = 0;

		assert_int_equal(header->sequence, i);
		for (uint32_t number = 0; at < header->record_bytes; number++) {
			const struct gpt_record *record = (const struct gpt_record *)(log->items[i].records + at);

			if (number >= header->repeated)
				see_record(&found, record);
			at += record->size;
		}
		found.repeated += header->repeated;
	}
	segments_free(log);
	return found;
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Bytes of a log before its first segment. */
static rlim_t head_bytes(void)
{
	size_t schema;

	free(schema_text(&schema));
	return sizeof(struct gpt_log_header) + gpt_padded(schema);
}

static void a_log_is_its_header_its_records_in_order_and_an_index(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);
	struct gpt_end *end = make_end();
	struct contents found;

	assert_int_equal(log_writer_set_start(writer, 12345, -7), 0);
	assert_int_equal(append_markers(writer, 1, 1000), 0);
	assert_int_equal(log_writer_finish(writer, end), 0);
	found = read_back(fd);
	assert_int_equal(found.header.start_ns, 12345);
	assert_int_equal(found.header.wall_offset_ns, -7);
	assert_int_equal(found.records, 1001);
	assert_true(found.in_order);
	assert_int_equal(found.reason, GPT_END_DURATION);
	assert_true(found.indexed);
	log_writer_close(writer);
	free(end);
	close(fd);
}

static void a_log_of_nothing_has_an_end(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);
	struct gpt_end *end = make_end();

	assert_int_equal(log_writer_flush(writer), 0);
	assert_int_equal(log_writer_finish(writer, end), 0);
	assert_int_equal(read_back(fd).records, 1);
	assert_true(read_back(fd).indexed);
	log_writer_close(writer);
	free(end);
	close(fd);
}

static void more_than_a_chunk_goes_into_several_segments(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);
	struct gpt_end *end = make_end();
	struct contents found;

	assert_int_equal(append_markers(writer, 1, 2000000), 0);
	assert_int_equal(log_writer_finish(writer, end), 0);
	found = read_back(fd);
	assert_int_equal(found.records, 2000001);
	assert_int_equal(found.segments,
			 1 + (2000000 * sizeof(struct gpt_code_dead) + WRITER_CHUNK_BYTES - 1) / WRITER_CHUNK_BYTES);
	assert_true(found.in_order);
	assert_true(found.indexed);
	log_writer_close(writer);
	free(end);
	close(fd);
}

static void records_of_any_size_up_to_the_largest_fit(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);
	struct gpt_record *record = calloc(1, GPT_RECORD_MAX);
	struct gpt_end *end = make_end();

	record->type = GPT_NOTE;
	for (uint32_t i = 0; i < 40; i++) {
		record->size = GPT_RECORD_MAX - 8 * (i % 3);
		assert_int_equal(log_writer_append(writer, record), 0);
	}
	assert_int_equal(log_writer_finish(writer, end), 0);
	assert_int_equal(read_back(fd).records, 41);
	log_writer_close(writer);
	free(record);
	free(end);
	close(fd);
}

static void a_segment_repeats_what_its_records_refer_to(void **state)
{
	struct gpt_thread thread = {.hdr = {.size = sizeof(thread), .type = GPT_THREAD}, .pid = 7, .tid = 8};
	struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL}, .pid = 7, .tid = 8};
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);
	struct segments *log;

	assert_int_equal(log_writer_append(writer, &thread.hdr), 0);
	assert_int_equal(log_writer_flush(writer), 0);
	assert_int_equal(log_writer_append(writer, &call.hdr), 0);
	assert_int_equal(log_writer_settle(writer), 0);
	log = segments_of(fd);
	assert_int_equal(log->count, 2);
	assert_int_equal(log->items[0].header.repeated, 0);
	assert_int_equal(log->items[1].header.repeated, 1);
	assert_int_equal(log->items[1].header.records, 2);
	assert_memory_equal(log->items[1].records, &thread, sizeof(thread));
	assert_memory_equal(log->items[1].records + sizeof(thread), &call, sizeof(call));
	segments_free(log);
	log_writer_close(writer);
	close(fd);
}

/* ---- when a segment ends ----------------------------------------------------------------------------------------- */

static int64_t seconds_ahead; /* of every clock */

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += seconds_ahead;
	return result;
}

#define FEW 1000u
#define MANY 25000u /* their descriptions are more than 1 MB */

/* A log whose last segment repeats that many threads. */
static struct log_writer *open_with_threads(int fd, uint32_t threads)
{
	struct log_writer *writer = log_writer_open(fd);

	for (uint32_t segment = 0; segment < 2; segment++) {
		for (uint32_t tid = 1; tid <= threads; tid++) {
			struct gpt_thread thread = {
				.hdr = {.size = sizeof(thread), .type = GPT_THREAD}, .pid = 7, .tid = tid};
			struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL}, .pid = 7, .tid = tid};

			assert_int_equal(log_writer_append(writer, segment ? &call.hdr : &thread.hdr), 0);
		}
		assert_int_equal(log_writer_settle(writer), 0);
	}
	return writer;
}

/* Appends `calls` calls, flushes, and appends one more call; returns the number of segments they make. */
static unsigned segments_of_flushed(uint32_t threads, uint32_t calls, int64_t seconds)
{
	struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL}, .pid = 7, .tid = 1};
	int fd = make_file();
	struct log_writer *writer = open_with_threads(fd, threads);
	unsigned segments;

	for (uint32_t i = 0; i < calls; i++)
		assert_int_equal(log_writer_append(writer, &call.hdr), 0);
	seconds_ahead += seconds;
	assert_int_equal(log_writer_flush(writer), 0);
	assert_int_equal(log_writer_append(writer, &call.hdr), 0);
	assert_int_equal(log_writer_settle(writer), 0);
	segments = read_back(fd).segments - 2;
	log_writer_close(writer);
	close(fd);
	return segments;
}

static void a_segment_that_would_repeat_more_than_it_is_worth_goes_on(void **state)
{
	assert_int_equal(segments_of_flushed(MANY, MANY / 2, 0), 1);
}

static void a_segment_that_would_repeat_little_ends_at_a_flush(void **state)
{
	assert_int_equal(segments_of_flushed(FEW, 1, 0), 2);
}

static void a_segment_that_has_twice_what_it_may_repeat_ends_at_a_flush(void **state)
{
	assert_int_equal(segments_of_flushed(MANY, 2 * MANY + 500, 0), 2);
}

static void no_segment_goes_on_for_more_than_ten_seconds(void **state)
{
	assert_int_equal(segments_of_flushed(MANY, MANY / 2, 8), 1);
	assert_int_equal(segments_of_flushed(MANY, MANY / 2, 10), 2);
}

static void the_start_can_be_said_after_the_header_was_written(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);

	assert_int_equal(append_markers(writer, 1, 10), 0);
	assert_int_equal(log_writer_settle(writer), 0);
	assert_int_equal(log_writer_set_start(writer, 99, 5), 0);
	assert_int_equal(append_markers(writer, 11, 10), 0);
	assert_int_equal(log_writer_settle(writer), 0);
	assert_int_equal(read_back(fd).header.start_ns, 99);
	assert_int_equal(read_back(fd).records, 20);
	log_writer_close(writer);
	close(fd);
}

static void a_log_that_never_ended_is_readable_up_to_its_last_flush(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);

	assert_int_equal(append_markers(writer, 1, 100), 0);
	assert_int_equal(log_writer_settle(writer), 0);
	assert_int_equal(append_markers(writer, 101, 100), 0); /* lost, as in a crash */
	assert_int_equal(read_back(fd).records, 100);
	assert_int_equal(read_back(fd).ends, 0);
	assert_int_equal(read_back(fd).left_over, 0);
	log_writer_close(writer);
	close(fd);
}

static void records_of_impossible_size_are_left_out(void **state)
{
	static const uint32_t sizes[] = {0, 4, 12, GPT_RECORD_MAX + 8, UINT32_MAX & ~7u};
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct gpt_record record = {.size = sizes[i], .type = GPT_NOTE};

		assert_int_equal(log_writer_append(writer, &record), -EINVAL);
	}
	assert_int_equal(append_markers(writer, 1, 1), 0);
	assert_int_equal(log_writer_settle(writer), 0);
	assert_int_equal(read_back(fd).records, 1);
	log_writer_close(writer);
	close(fd);
}

/* ---- several threads --------------------------------------------------------------------------------------------- */

#define THREADS 3
#define EACH 200000

struct appender {
	struct log_writer *writer;
	uint32_t number;
};

static void *append_calls(void *context)
{
	const struct appender *appender = context;

	for (uint32_t i = 1; i <= EACH; i++) {
		struct gpt_call call = {
			.hdr = {.size = sizeof(call), .type = GPT_CALL}, .pid = appender->number, .corr = i};

		if (log_writer_append(appender->writer, &call.hdr))
			return context;
	}
	return NULL;
}

static void threads_append_each_in_its_order_while_another_flushes(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);
	struct appender appenders[THREADS];
	pthread_t threads[THREADS];
	uint32_t last[THREADS] = {0};
	struct segments *log;
	void *failed;

	for (uint32_t i = 0; i < THREADS; i++) {
		appenders[i] = (struct appender){.writer = writer, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, append_calls, &appenders[i]), 0);
	}
	for (int i = 0; i < 50; i++)
		assert_int_equal(log_writer_settle(writer), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(log_writer_settle(writer), 0);
	log = segments_of(fd);
	for (unsigned i = 0; i < log->count; i++)
		for (uint32_t at = 0; at < log->items[i].header.record_bytes; at += sizeof(struct gpt_call)) {
			const struct gpt_call *call = (const struct gpt_call *)(log->items[i].records + at);

			assert_int_equal(call->corr, ++last[call->pid]);
		}
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(last[i], EACH);
	segments_free(log);
	log_writer_close(writer);
	close(fd);
}

/* ---- full disks -------------------------------------------------------------------------------------------------- */

/* Writes until the limit refuses, finishes, and checks what holds of every such log. */
static struct contents fill_up(rlim_t limit, uint64_t flush_every)
{
	int fd = make_file(), err = 0;
	struct log_writer *writer = log_writer_open(fd);
	struct gpt_end *end = make_end();
	struct contents found = {0};

	limit_file_size(limit);
	for (uint64_t i = 1; !err && i < 1000000; i += flush_every) {
		err = append_markers(writer, i, flush_every);
		if (!err)
			err = log_writer_flush(writer);
	}
	assert_int_equal(err, -EFBIG);
	assert_int_equal(log_writer_append(writer, &end->hdr), -EFBIG);
	assert_int_equal(log_writer_flush(writer), -EFBIG);
	assert_int_equal(log_writer_settle(writer), -EFBIG);
	assert_int_equal(log_writer_finish(writer, end), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(end->reason, GPT_END_DISK);
	if (lseek(fd, 0, SEEK_END)) {
		found = read_back(fd);
		assert_int_equal(found.left_over, 0);
		assert_true(found.in_order);
	}
	log_writer_close(writer);
	free(end);
	close(fd);
	return found;
}

static void a_full_disk_leaves_whole_segments_and_an_end_that_says_so(void **state)
{
	/* Limits that cut inside a segment's frame, its header, and everywhere else. */
	for (rlim_t limit = 100000; limit < 110000; limit += 101) {
		struct contents found = fill_up(limit, 500);

		assert_int_equal(found.ends, 1);
		assert_int_equal(found.reason, GPT_END_DISK);
		assert_true(found.file_bytes <= limit);
		/* A segment has about 5 KB here: at most one segment, and the one that did not fit, are lost. */
		assert_true(found.file_bytes >= limit - 12000);
		assert_true(found.last_mark > 5000);
	}
}

static void a_disk_that_is_full_after_a_segment_gives_room_for_the_end(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);
	struct gpt_end *end = make_end();
	struct contents found;

	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(append_markers(writer, 1 + 500 * i, 500), 0);
		assert_int_equal(log_writer_settle(writer), 0);
	}
	/* From here on nothing can be written. */
	limit_file_size((rlim_t)lseek(fd, 0, SEEK_END));
	assert_int_equal(append_markers(writer, 1501, 500), 0);
	assert_int_equal(log_writer_settle(writer), -EFBIG);
	assert_int_equal(log_writer_finish(writer, end), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	found = read_back(fd);
	assert_int_equal(found.ends, 1);
	assert_int_equal(found.reason, GPT_END_DISK);
	assert_int_equal(found.last_mark, 1000);
	assert_int_equal(found.left_over, 0);
	log_writer_close(writer);
	free(end);
	close(fd);
}

static void an_index_that_has_no_room_is_left_out_rather_than_a_segment(void **state)
{
	int fd = make_file();
	struct log_writer *writer = log_writer_open(fd);
	struct gpt_end *end = make_end();
	struct contents found;

	for (uint64_t i = 1; i <= 100; i++) {
		assert_int_equal(append_markers(writer, i, 1), 0);
		assert_int_equal(log_writer_settle(writer), 0);
	}
	limit_file_size((rlim_t)lseek(fd, 0, SEEK_END) + 1000);
	assert_int_equal(append_markers(writer, 101, 500), 0);
	assert_int_equal(log_writer_settle(writer), -EFBIG);
	assert_int_equal(log_writer_finish(writer, end), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	found = read_back(fd);
	assert_int_equal(found.ends, 1);
	assert_int_equal(found.last_mark, 100);
	assert_false(found.indexed);
	assert_int_equal(found.left_over, 0);
	log_writer_close(writer);
	free(end);
	close(fd);
}

static void a_disk_with_room_for_an_end_only_has_that(void **state)
{
	struct contents found = fill_up(head_bytes() + 1000, 500);

	assert_int_equal(found.records, 1);
	assert_int_equal(found.ends, 1);
}

static void a_disk_without_room_for_anything_leaves_an_empty_log(void **state)
{
	struct contents found = fill_up(head_bytes() + 8, 500);

	assert_int_equal(found.records, 0);
	assert_int_equal(found.file_bytes, head_bytes());
	found = fill_up(100, 500);
	assert_int_equal(found.file_bytes, 0);
}

static void a_disk_that_fills_at_the_very_end_is_reported(void **state)
{
	/* The limit cuts the records, GPT_END, or the index. */
	for (rlim_t less = 1; less < 3000; less += 37) {
		int fd = make_file(), whole = make_file();
		struct log_writer *writer = log_writer_open(whole);
		struct gpt_end *end = make_end();
		struct contents found;
		rlim_t limit;

		for (int i = 0; i < 2; i++) {
			if (i)
				writer = log_writer_open(fd);
			assert_int_equal(append_markers(writer, 1, 100), 0);
			assert_int_equal(log_writer_flush(writer), 0);
			assert_int_equal(append_markers(writer, 101, 100), 0);
			if (!i)
				assert_int_equal(log_writer_finish(writer, end), 0);
			if (!i)
				log_writer_close(writer);
		}
		limit = (rlim_t)lseek(whole, 0, SEEK_END) - less;
		if (limit < head_bytes() + 1000)
			limit = head_bytes() + 1000;
		limit_file_size(limit);
		assert_int_equal(log_writer_finish(writer, end), -EFBIG);
		limit_file_size(RLIM_INFINITY);
		found = read_back(fd);
		assert_int_equal(found.reason, GPT_END_DISK);
		assert_int_equal(found.ends, 1);
		assert_true(found.in_order);
		assert_int_equal(found.left_over, 0);
		log_writer_close(writer);
		free(end);
		close(fd);
		close(whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_is_its_header_its_records_in_order_and_an_index),
		cmocka_unit_test(a_log_of_nothing_has_an_end),
		cmocka_unit_test(more_than_a_chunk_goes_into_several_segments),
		cmocka_unit_test(records_of_any_size_up_to_the_largest_fit),
		cmocka_unit_test(a_segment_repeats_what_its_records_refer_to),
		cmocka_unit_test(a_segment_that_would_repeat_more_than_it_is_worth_goes_on),
		cmocka_unit_test(a_segment_that_would_repeat_little_ends_at_a_flush),
		cmocka_unit_test(a_segment_that_has_twice_what_it_may_repeat_ends_at_a_flush),
		cmocka_unit_test(no_segment_goes_on_for_more_than_ten_seconds),
		cmocka_unit_test(the_start_can_be_said_after_the_header_was_written),
		cmocka_unit_test(a_log_that_never_ended_is_readable_up_to_its_last_flush),
		cmocka_unit_test(records_of_impossible_size_are_left_out),
		cmocka_unit_test(threads_append_each_in_its_order_while_another_flushes),
		cmocka_unit_test(a_full_disk_leaves_whole_segments_and_an_end_that_says_so),
		cmocka_unit_test(a_disk_that_is_full_after_a_segment_gives_room_for_the_end),
		cmocka_unit_test(an_index_that_has_no_room_is_left_out_rather_than_a_segment),
		cmocka_unit_test(a_disk_with_room_for_an_end_only_has_that),
		cmocka_unit_test(a_disk_without_room_for_anything_leaves_an_empty_log),
		cmocka_unit_test(a_disk_that_fills_at_the_very_end_is_reported),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
