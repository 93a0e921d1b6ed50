/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of a log that is kept in memory the last seconds are written: all of them, once, as a log that needs no other. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <signal.h>
#include <time.h>

#include "base/monotonic.h"
#include "log/lasting.h"
#include "log/reader.h"
#include "log/recent_log.h"
#include "log/writer.h"
#include "log_builder.h"
#include "segments.h"

#define SECOND_NS 1000000000ull
#define MUCH (1ull << 40) /* bytes */
#define PID 41230
#define TID 41231

static int64_t seconds_ahead; /* of every clock */

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += seconds_ahead;
	return result;
}

static int make_file(void)
{
	char name[] = "/tmp/gputrace-test-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	return fd;
}

static void append_all(struct log_writer *writer, struct log_builder *records)
{
	for (size_t at = 0; at < records->size;) {
		const struct gpt_record *record = (const struct gpt_record *)(records->data + at);

		assert_int_equal(log_writer_append(writer, record), 0);
		at += record->size;
	}
	log_free(records);
}

/* A second passes, in which the thread makes so many calls, numbered from first on. */
static void pass_second(struct log_writer *writer, uint32_t first, uint32_t calls)
{
	struct log_builder records = {0};

	for (uint32_t i = 0; i < calls; i++)
		log_launch(&records, PID, TID, monotonic_ns(), 1, first + i);
	append_all(writer, &records);
	assert_int_equal(log_writer_settle(writer), 0);
	seconds_ahead++;
}

/* The thread that makes the calls, and a function in their stack. */
static void describe(struct log_writer *writer)
{
	struct gpt_thread thread = {.hdr = {.size = sizeof(thread), .type = GPT_THREAD}, .pid = PID, .tid = TID};
	struct log_builder records = {0};

	log_function(&records, PID, 0xc0de, "train", "/src/train.py", 10);
	log_stack(&records, PID, 1, 1, (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 6}});
	append_all(writer, &records);
	assert_int_equal(log_writer_append(writer, &thread.hdr), 0);
}

static void append_note(struct log_writer *writer, const char *text)
{
	struct log_builder records = {0};

	log_text(&records, GPT_NOTE, 0, text);
	append_all(writer, &records);
}

/* What a reader has from the log. */
struct contents {
	uint32_t first, last, calls; /* ids of the first and the last call */
	bool in_order;		     /* each call once */
	unsigned threads, codes, notes, ends, nvml;
	char note[64]; /* the last one */
	uint32_t reason;
	bool torn;
	unsigned segments;
	uint64_t start_ns;
};

static void see_record(struct contents *found, const struct gpt_record *record)
{
	const struct gpt_text *note = (const struct gpt_text *)record;
	uint32_t corr;

	switch (record->type) {
	case GPT_CALL:
		corr = ((const struct gpt_call *)record)->corr;
		found->in_order &= !found->calls || corr == found->last + 1;
		found->first = found->calls++ ? found->first : corr;
		found->last = corr;
		break;
	case GPT_NOTE:
		found->notes++;
		snprintf(found->note, sizeof(found->note), "%s", note->text);
		break;
	case GPT_END:
		found->ends++;
		found->reason = ((const struct gpt_end *)record)->reason;
		break;
	default:
		found->threads += record->type == GPT_THREAD;
		found->codes += record->type == GPT_CODE;
		found->nvml += record->type == GPT_NVML;
	}
}

static struct contents read_back(int fd)
{
	struct contents found = {.in_order = true};
	struct segments *whole = segments_of(fd); /* checks each segment and the index */
	const struct gpt_record *record;
	struct log_reader reader;
	const char *why;

	found.segments = whole->count;
	segments_free(whole);
	assert_int_equal(log_reader_open(&reader, fd, &why), 0);
	found.start_ns = reader.header.start_ns;
	while ((record = log_reader_next(&reader)))
		see_record(&found, record);
	found.torn = reader.torn;
	log_reader_close(&reader);
	return found;
}

#define END(ns)                                                                                                        \
	{                                                                                                              \
		.hdr = {.size = sizeof(struct gpt_end), .type = GPT_END}, .time_ns = (ns), .reason = GPT_END_WRITTEN   \
	}

static struct recent_log *take(struct log_writer *writer)
{
	int error;
	struct recent_log *recent = log_writer_take_recent(writer, &error);

	assert_int_equal(error, 0);
	assert_non_null(recent);
	return recent;
}

static struct contents write_recent(const struct recent_log *recent, const struct recent_writing *writing,
				    uint64_t end_ns)
{
	struct gpt_end end = END(end_ns);
	int fd = make_file();
	struct contents found;

	assert_int_equal(recent_log_write(recent, fd, writing, &end), 0);
	found = read_back(fd);
	close(fd);
	return found;
}

static struct contents write_now(struct log_writer *writer)
{
	struct recent_log *recent = take(writer);
	struct contents found =
		write_recent(recent, &(struct recent_writing){.start_ns = recent->since_ns}, monotonic_ns());

	recent_log_free(recent);
	return found;
}

static struct log_writer *open_recent(uint64_t keep_ns, uint64_t bytes)
{
	struct log_writer *writer = log_writer_open(-1); /* nothing is written there */

	log_writer_keep_recent(writer, keep_ns, bytes);
	return writer;
}

/* ----------------------------------------------------------------------------------------------------------------- */

static void a_short_recording_is_written_whole(void **state)
{
	struct log_writer *writer = open_recent(30 * SECOND_NS, MUCH);
	struct contents found;

	describe(writer);
	append_note(writer, "a note");
	for (uint32_t second = 0; second < 5; second++)
		pass_second(writer, 1 + second * 10, 10);
	found = write_now(writer);
	assert_int_equal(found.first, 1);
	assert_int_equal(found.calls, 50);
	assert_true(found.in_order);
	assert_int_equal(found.threads, 1);
	assert_int_equal(found.notes, 1);
	assert_int_equal(found.ends, 1);
	assert_int_equal(found.reason, GPT_END_WRITTEN);
	assert_false(found.torn);
	log_writer_close(writer);
}

/* What the first segment described is in those that refer to it; what a note said is in a segment of its own. */
static void only_the_last_seconds_are_kept_with_all_that_they_refer_to(void **state)
{
	struct log_writer *writer = open_recent(10 * SECOND_NS, MUCH);
	struct log_builder nvml = {0};
	uint64_t since_ns;
	struct recent_log *recent;
	struct contents found;

	describe(writer);
	append_note(writer, "of the first second");
	log_nvml(&nvml, GPT_NVML_READ, "615.71");
	append_all(writer, &nvml);
	for (uint32_t second = 0; second < 100; second++)
		pass_second(writer, 1 + second * 10, 10);
	recent = take(writer);
	since_ns = recent->since_ns;
	found = write_recent(recent, &(struct recent_writing){.start_ns = since_ns, .note = "the last ones"},
			     monotonic_ns());
	assert_true(since_ns > monotonic_ns() - 12 * SECOND_NS);
	assert_true(since_ns < monotonic_ns() - 10 * SECOND_NS);
	assert_int_equal(found.start_ns, since_ns);
	assert_int_equal(found.last, 1000);
	assert_true(found.in_order);
	assert_int_equal(found.calls, 100); /* those of ten segments */
	assert_int_equal(found.threads, 1);
	assert_int_equal(found.codes, 1);
	assert_int_equal(found.notes, 2);
	assert_string_equal(found.note, "the last ones");
	assert_int_equal(found.nvml, 1);
	assert_false(found.torn);
	recent_log_free(recent);
	log_writer_close(writer);
}

static void many_calls_take_no_more_memory_than_is_allowed(void **state)
{
	const uint64_t most = 20000;
	struct log_writer *writer = open_recent(3600 * SECOND_NS, most);
	struct recent_log *recent;
	struct contents found;
	uint64_t bytes = 0;

	for (uint32_t second = 0; second < 200; second++) {
		pass_second(writer, 1 + second * 1000, 1000);
		recent = take(writer);
		assert_true(recent->bytes <= most);
		bytes = recent->bytes > bytes ? recent->bytes : bytes;
		recent_log_free(recent);
	}
	assert_true(bytes > most / 2);
	found = write_now(writer);
	assert_int_equal(found.last, 200000);
	assert_true(found.in_order);
	assert_true(found.calls >= 2000 && found.calls < 190000);
	assert_false(found.torn);
	log_writer_close(writer);
}

static void the_latest_segment_is_kept_even_if_it_is_larger(void **state)
{
	struct log_writer *writer = open_recent(30 * SECOND_NS, 1);
	struct contents found;

	pass_second(writer, 1, 10);
	pass_second(writer, 11, 10);
	found = write_now(writer);
	assert_int_equal(found.first, 11);
	assert_int_equal(found.calls, 10);
	assert_false(found.torn);
	log_writer_close(writer);
}

static void what_was_taken_stays_while_the_recording_goes_on(void **state)
{
	struct log_writer *writer = open_recent(3 * SECOND_NS, MUCH);
	struct recent_log *recent;
	struct contents found;

	describe(writer);
	for (uint32_t second = 0; second < 10; second++)
		pass_second(writer, 1 + second * 10, 10);
	recent = take(writer);
	for (uint32_t second = 10; second < 30; second++)
		pass_second(writer, 1 + second * 10, 10);
	found = write_recent(recent, &(struct recent_writing){.start_ns = recent->since_ns}, monotonic_ns());
	assert_int_equal(found.last, 100);
	assert_true(found.in_order);
	assert_int_equal(write_now(writer).last, 300);
	recent_log_free(recent);
	log_writer_close(writer);
}

/* As cut_at. */
static const struct gpt_record *cut_calls(const struct gpt_record *record, uint64_t end_ns, struct gpt_record *room)
{
	return record->type == GPT_CALL && ((const struct gpt_call *)record)->time_ns >= end_ns ? NULL : record;
}

static void what_comes_after_the_end_is_cut_and_what_it_refers_to_stays(void **state)
{
	struct log_writer *writer = open_recent(10 * SECOND_NS, MUCH);
	struct recent_log *recent;
	struct contents found;
	uint64_t end_ns = 0;

	describe(writer);
	for (uint32_t second = 0; second < 30; second++) {
		end_ns = second == 28 ? monotonic_ns() : end_ns; /* in this and the next segment all is cut */
		pass_second(writer, 1 + second * 10, 10);
	}
	recent = take(writer);
	found = write_recent(recent, &(struct recent_writing){.start_ns = recent->since_ns, .cut = cut_calls}, end_ns);
	assert_int_equal(found.last, 280);
	assert_true(found.in_order);
	assert_int_equal(found.ends, 1);
	assert_int_equal(found.threads, 1);
	assert_false(found.torn);
	recent_log_free(recent);
	log_writer_close(writer);
}

static void what_has_to_last_is_kept_once_and_in_order(void **state)
{
	struct log_writer *writer = open_recent(2 * SECOND_NS, MUCH);
	struct contents found;
	char text[32];

	for (uint32_t second = 0; second < 50; second++) {
		snprintf(text, sizeof(text), "note %u", second);
		append_note(writer, text);
		pass_second(writer, 1 + second, 1);
	}
	found = write_now(writer);
	assert_int_equal(found.notes, 50);
	assert_string_equal(found.note, "note 49");
	log_writer_close(writer);
}

static void a_full_disk_is_reported_and_leaves_whole_segments(void **state)
{
	struct log_writer *writer = open_recent(30 * SECOND_NS, MUCH);
	struct rlimit limit, less;
	struct recent_log *recent;
	struct contents found;
	struct gpt_end end = END(0);
	int fd = make_file(), whole = make_file();

	for (uint32_t second = 0; second < 20; second++)
		pass_second(writer, 1 + second * 500, 500);
	recent = take(writer);
	getrlimit(RLIMIT_FSIZE, &limit);
	less = limit;
	assert_int_equal(recent_log_write(recent, whole, &(struct recent_writing){.start_ns = 1}, &end), 0);
	less.rlim_cur = (rlim_t)lseek(whole, 0, SEEK_END) - recent->bytes / 2;
	close(whole);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	end.time_ns = monotonic_ns();
	assert_int_equal(recent_log_write(recent, fd, &(struct recent_writing){.start_ns = 1}, &end), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	found = read_back(fd);
	assert_int_equal(found.reason, GPT_END_DISK);
	assert_int_equal(found.first, 1);
	assert_true(found.calls > 500 && found.calls < 10000);
	assert_true(found.in_order);
	close(fd);
	found = write_now(writer); /* the recording has lost nothing */
	assert_int_equal(found.calls, 10000);
	recent_log_free(recent);
	log_writer_close(writer);
}

static void a_recording_without_a_record_is_a_log(void **state)
{
	struct log_writer *writer = open_recent(30 * SECOND_NS, MUCH);
	struct contents found = write_now(writer);

	assert_int_equal(found.calls, 0);
	assert_int_equal(found.ends, 1);
	assert_false(found.torn);
	log_writer_close(writer);
}

/* Of what outlives segments. */
static void of_too_many_lasting_records_the_latest_stay_and_code_goes_first(void **state)
{
	const char *const texts[5] = {"", "", "", "", ""};
	struct lasting lasting = {0};
	struct log_builder note = {0}, code = {0};
	const struct gpt_record *first;
	uint64_t all = 1;

	log_text(&note, GPT_NOTE, 0, "the first of all");
	lasting_add(&lasting, note.data, note.size);
	for (; !lasting.left_out; all++) {
		code.size = 0;
		log_generated(&code, (uint32_t)all, 0, texts);
		lasting_add(&lasting, code.data, code.size);
	}
	first = (const struct gpt_record *)lasting.bytes;
	assert_int_equal(first->type, GPT_NOTE);
	assert_memory_equal(lasting.bytes + lasting.count - code.size, code.data, code.size);
	assert_true(lasting.count <= LASTING_MAX && lasting.count > LASTING_MAX / 2);
	assert_int_equal(lasting.left_out + (lasting.count - note.size) / code.size + 1, all);
	lasting_free(&lasting);
	log_free(&note);
	log_free(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_too_many_lasting_records_the_latest_stay_and_code_goes_first),
		cmocka_unit_test(a_short_recording_is_written_whole),
		cmocka_unit_test(only_the_last_seconds_are_kept_with_all_that_they_refer_to),
		cmocka_unit_test(many_calls_take_no_more_memory_than_is_allowed),
		cmocka_unit_test(the_latest_segment_is_kept_even_if_it_is_larger),
		cmocka_unit_test(what_was_taken_stays_while_the_recording_goes_on),
		cmocka_unit_test(what_comes_after_the_end_is_cut_and_what_it_refers_to_stays),
		cmocka_unit_test(what_has_to_last_is_kept_once_and_in_order),
		cmocka_unit_test(a_full_disk_is_reported_and_leaves_whole_segments),
		cmocka_unit_test(a_recording_without_a_record_is_a_log),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
