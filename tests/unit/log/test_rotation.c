/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log in several files has each record in the file of its time, and counts what a full disk did not take. */
#include <signal.h>
#include <sys/resource.h>

#include "log/lasting.h"
#include "log/reader.h"
#include "rotation_files.h"
#include "segments.h"

/* A second with so many calls, of which the last one arrives in the next second. */
static void pass_second(struct log_writer *writer, uint32_t first, uint32_t calls)
{
	static uint64_t late_ns;
	struct log_builder records = {0};

	if (first > 1)
		log_launch(&records, PID, TID, late_ns, 0, first - 1);
	for (uint32_t i = 0; i + 1 < calls; i++)
		log_launch(&records, PID, TID, monotonic_ns(), 0, first + i);
	late_ns = monotonic_ns();
	append_all(writer, &records);
	assert_int_equal(log_writer_settle(writer), 0);
	seconds_ahead++;
}

/* ---- what is in the files -----------------------------------------------------------------------------------------
 */

struct contents {
	uint64_t start_ns, end_ns;
	uint32_t reason, calls, first, last, of_its_time;
	unsigned threads, notes;
	char note[160]; /* the last one */
	bool torn, in_order;
};

static void see_call(struct contents *found, const struct gpt_call *call)
{
	if (call->time_ns < found->start_ns)
		return; /* readers leave it out */
	found->in_order &= !found->calls || call->corr == found->last + 1;
	found->first = found->calls++ ? found->first : call->corr;
	found->last = call->corr;
}

static struct contents read_file(unsigned index)
{
	struct segments *whole = segments_of(files[index].fd);
	struct contents found = {.in_order = true};
	const struct gpt_record *record;
	struct log_reader reader;
	const char *why;

	segments_free(whole);
	assert_int_equal(log_reader_open(&reader, files[index].fd, &why), 0);
	found.start_ns = reader.header.start_ns;
	while ((record = log_reader_next(&reader))) {
		if (record->type == GPT_CALL)
			see_call(&found, (const struct gpt_call *)record);
		found.threads += record->type == GPT_THREAD;
		found.notes += record->type == GPT_NOTE;
		if (record->type == GPT_NOTE)
			snprintf(found.note, sizeof(found.note), "%s", ((const struct gpt_text *)record)->text);
		if (record->type == GPT_END) {
			found.end_ns = ((const struct gpt_end *)record)->time_ns;
			found.reason = ((const struct gpt_end *)record)->reason;
		}
	}
	found.torn = reader.torn;
	log_reader_close(&reader);
	return found;
}

/* Each file is a log by itself, begins where the one before ended, and has the calls after those of that one. */
static void assert_files_follow(unsigned count, uint32_t calls)
{
	struct contents before = {0};

	assert_int_equal(opened, count);
	for (unsigned i = 0; i < count; i++) {
		struct contents found = read_file(i);

		assert_true(files[i].is_closed && files[i].has_segments);
		assert_false(found.torn);
		assert_true(found.in_order);
		assert_int_equal(found.threads, 1);
		assert_int_equal(found.notes, 1);
		assert_int_equal(found.first, before.last + 1);
		assert_int_equal(found.reason, i + 1 < count ? GPT_END_WRITTEN : GPT_END_INTERRUPTED);
		assert_true(!i || found.start_ns == before.end_ns);
		before = found;
	}
	assert_int_equal(before.last, calls);
	assert_int_equal(subtracted_ns, before.start_ns);
}

static void each_record_is_in_the_file_of_its_time_and_in_no_other(void **state)
{
	struct log_writer *writer = begin(0, 10 * SECOND_NS);

	describe(writer);
	for (uint32_t second = 0; second < 95; second++)
		pass_second(writer, 1 + second * 10, 10);
	assert_int_equal(finish(writer), 0);
	/* the last call of the last second has not arrived */
	assert_files_follow(10, 949);
}

static void a_file_ends_at_its_size(void **state)
{
	struct log_writer *writer = begin(30000, 0);
	uint32_t second = 0;

	describe(writer);
	for (; opened < 5; second++)
		pass_second(writer, 1 + second * 1000, 1000);
	assert_int_equal(finish(writer), 0);
	assert_files_follow(5, second * 1000 - 1);
	for (unsigned i = 0; i < opened; i++)
		assert_true(lseek(files[i].fd, 0, SEEK_END) < 50000);
}

/* Each segment is larger than the size. */
static void a_file_waits_for_late_calls_however_soon_the_next_one_is_full(void **state)
{
	struct log_writer *writer = begin(1, 0);
	struct log_builder late = {0};
	struct contents first;
	uint64_t late_ns;

	describe(writer);
	late_ns = monotonic_ns();
	for (uint32_t i = 0; i < 4; i++) {
		struct log_builder records = {0};

		log_launch(&records, PID, TID, monotonic_ns(), 0, 1 + i);
		append_all(writer, &records);
		assert_int_equal(log_writer_settle(writer), 0);
	}
	log_launch(&late, PID, TID, late_ns, 0, 99);
	append_all(writer, &late);
	assert_int_equal(log_writer_settle(writer), 0);
	assert_int_equal(finish(writer), 0);
	first = read_file(0);
	assert_in_range(late_ns, first.start_ns, first.end_ns - 1);
	assert_int_equal(first.last, 99);
	assert_int_equal(first.calls, 2);
}

static void a_recording_that_is_shorter_is_one_file_with_its_start(void **state)
{
	struct log_writer *writer = begin(0, 60 * SECOND_NS);
	uint64_t start_ns;

	describe(writer);
	pass_second(writer, 1, 10);
	start_ns = monotonic_ns();
	assert_int_equal(log_writer_set_start(writer, start_ns, -5), 0);
	pass_second(writer, 11, 10);
	assert_int_equal(finish(writer), 0);
	assert_int_equal(opened, 1);
	assert_int_equal(read_file(0).start_ns, start_ns);
	assert_int_equal(read_file(0).reason, GPT_END_INTERRUPTED);
}

/* Set-up takes longer than a file is long; during some of it the disk is full. */
static void a_file_with_the_set_up_goes_on_until_the_recording_begins(void **state)
{
	struct log_writer *writer = begin(0, 5 * SECOND_NS);
	uint64_t start_ns;

	recording_begun = false;
	describe(writer);
	open_error = -ENOSPC;
	pass_second(writer, 1, 10);
	open_error = 0;
	for (uint32_t second = 1; second < 20; second++)
		pass_second(writer, 1 + second * 10, 10);
	assert_int_equal(opened, 1);
	assert_true(gap.to_ns >= gap.from_ns);
	start_ns = monotonic_ns();
	assert_int_equal(log_writer_set_start(writer, start_ns, -5), 0);
	recording_begun = true;
	for (uint32_t second = 20; second < 27; second++)
		pass_second(writer, 1 + second * 10, 10);
	assert_int_equal(finish(writer), 0);
	assert_int_equal(opened, 2);
	assert_int_equal(read_file(0).start_ns, start_ns);
	assert_int_equal(read_file(1).start_ns, read_file(0).end_ns);
}

/* More than a log repeats; some more than must are dropped at once. */
static void notes_that_a_later_file_lacks_are_counted_in_it(void **state)
{
	struct log_writer *writer = begin(0, 5 * SECOND_NS);
	char text[30000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t bytes = 0; bytes < LASTING_MAX + 3 * sizeof(text); bytes += sizeof(text)) {
		struct log_builder records = {0};

		log_text(&records, GPT_NOTE, 0, text);
		append_all(writer, &records);
	}
	for (uint32_t second = 0; second < 9; second++)
		pass_second(writer, 1 + second * 10, 10);
	assert_int_equal(finish(writer), 0);
	assert_int_equal(opened, 2);
	assert_string_equal(read_file(1).note,
			    "36 notes and lines from before this log are missing: there are too many");
}

static void a_recording_that_never_began_leaves_no_file(void **state)
{
	struct log_writer *writer = begin(0, 60 * SECOND_NS);

	describe(writer);
	pass_second(writer, 1, 10);
	log_writer_close(writer);
	assert_int_equal(opened, 1);
	assert_true(files[0].is_closed);
	assert_false(files[0].has_segments);
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The first file holds some of the first 40 seconds, the second one what came when there was room again. */
static void a_full_disk_ends_a_file_and_what_it_did_not_take_is_counted(void **state)
{
	struct log_writer *writer = begin(0, 3600 * SECOND_NS);
	struct contents first, second;

	for (uint32_t i = 0; i < 10; i++)
		pass_second(writer, 1 + i * 500, 500);
	limit_file_size((rlim_t)lseek(files[0].fd, 0, SEEK_END) + 8);
	for (uint32_t i = 10; i < 40; i++) {
		open_error = -ENOSPC;
		pass_second(writer, 1 + i * 500, 500);
	}
	assert_int_equal(said_full, 1);
	assert_int_equal(said_room, 0);
	limit_file_size(RLIM_INFINITY);
	open_error = 0;
	for (uint32_t i = 40; i < 50; i++)
		pass_second(writer, 1 + i * 500, 500);
	assert_int_equal(finish(writer), 0);
	assert_int_equal(said_full, 1);
	assert_int_equal(said_room, 1);
	assert_int_equal(opened, 2);
	first = read_file(0);
	second = read_file(1);
	assert_int_equal(first.reason, GPT_END_DISK);
	assert_int_equal(first.first, 1);
	assert_true(first.calls >= 4000 && first.in_order);
	assert_true(second.in_order && !second.torn);
	assert_int_equal(second.last, 24999);
	assert_int_equal(second.start_ns, gap.to_ns);
	assert_true(gap.to_ns - gap.from_ns >= 28 * SECOND_NS);
	/* a call that was late for the second file's start is in it, and not of its time */
	assert_in_range(first.calls + gap.records + second.calls, 24998, 24999);
	assert_non_null(strstr(second.note, "before this log nothing could be written for "));
}

static void a_disk_that_stays_full_ends_the_recording_with_its_error(void **state)
{
	struct log_writer *writer = begin(0, 5 * SECOND_NS);

	for (uint32_t i = 0; i < 5; i++)
		pass_second(writer, 1 + i * 10, 10);
	open_error = -ENOSPC;
	for (uint32_t i = 5; i < 20; i++)
		pass_second(writer, 1 + i * 10, 10);
	assert_int_equal(said_full, 1);
	assert_int_equal(finish(writer), -ENOSPC);
	assert_int_equal(opened, 1);
	assert_true(files[0].is_closed);
	assert_false(read_file(0).torn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_is_in_the_file_of_its_time_and_in_no_other),
		cmocka_unit_test(a_file_ends_at_its_size),
		cmocka_unit_test(a_file_waits_for_late_calls_however_soon_the_next_one_is_full),
		cmocka_unit_test(a_recording_that_is_shorter_is_one_file_with_its_start),
		cmocka_unit_test(a_file_with_the_set_up_goes_on_until_the_recording_begins),
		cmocka_unit_test(notes_that_a_later_file_lacks_are_counted_in_it),
		cmocka_unit_test(a_recording_that_never_began_leaves_no_file),
		cmocka_unit_test(a_full_disk_ends_a_file_and_what_it_did_not_take_is_counted),
		cmocka_unit_test(a_disk_that_stays_full_ends_the_recording_with_its_error),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
