/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The flight recorder: what is written when it is asked for, what its end says, and how often it writes by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/monotonic.h"
#include "capture/flight.h"
#include "log/reader.h"

#define SECOND_NS 1000000000ull
#define SPAN_NS (5 * SECOND_NS)
#define MUCH (1ull << 40)

static _Atomic int64_t seconds_ahead; /* of every clock */

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += seconds_ahead;
	return result;
}

/* ---- what was written -------------------------------------------------------------------------------------------- */

#define FILES_MAX 32

static struct written {
	char why[FLIGHT_WHY_MAX];
	uint64_t start_ns, end_ns, counters[GPT_COUNTER_COUNT];
	uint32_t reason, first, last, calls;
	bool torn;
	char note[512]; /* "": none */
} files[FILES_MAX];

static atomic_uint written;

static void see_record(struct written *file, const struct gpt_record *record)
{
	const struct gpt_end *end = (const struct gpt_end *)record;
	uint32_t corr;

	if (record->type == GPT_CALL) {
		corr = ((const struct gpt_call *)record)->corr;
		file->first = file->calls++ ? file->first : corr;
		file->last = corr;
	} else if (record->type == GPT_NOTE) {
		snprintf(file->note, sizeof(file->note), "%s", ((const struct gpt_text *)record)->text);
	} else if (record->type == GPT_END) {
		file->end_ns = end->time_ns;
		file->reason = end->reason;
		memcpy(file->counters, end->counters, sizeof(file->counters));
	}
}

static void read_log(int fd, struct written *file)
{
	const struct gpt_record *record;
	struct log_reader reader;
	const char *why;

	*file = (struct written){0};
	assert_int_equal(log_reader_open(&reader, fd, &why), 0);
	file->start_ns = reader.header.start_ns;
	while ((record = log_reader_next(&reader)))
		see_record(file, record);
	file->torn = reader.torn;
	log_reader_close(&reader);
}

static atomic_int nice_of_writer;
static atomic_bool is_held; /* a file that is being written waits */

static void on_write(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		     struct gpt_end *end, const char *why)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	nice_of_writer = getpriority(PRIO_PROCESS, 0);
	while (is_held)
		usleep(1000);
	assert_true(written < FILES_MAX);
	assert_int_equal(recent_log_write(recent, fd, writing, end), 0);
	read_log(fd, &files[written]);
	snprintf(files[written].why, FLIGHT_WHY_MAX, "%s", why);
	close(fd);
	written++;
}

/* ---- a recording ------------------------------------------------------------------------------------------------- */

static struct log_writer *writer;
static struct flight *flight;
static uint64_t begin_ns;
static uint32_t calls; /* made so far, numbered from 1 */

static void begin_with(uint64_t bytes)
{
	struct flight_options options = {.span_ns = SPAN_NS, .write = on_write};
	struct history_counts counts = {.at_ns = monotonic_ns(), .wall_offset_ns = 7};

	written = calls = 0;
	writer = log_writer_open(-1);
	log_writer_keep_recent(writer, SPAN_NS + FLIGHT_SPARE_NS, bytes);
	flight = flight_new(writer, &options);
	begin_ns = counts.at_ns;
	flight_begin(flight, begin_ns);
	flight_note_counts(flight, &counts);
}

static const enum gpt_counter states[] = {GPT_COUNTER_FILES_UNPROBED, GPT_COUNTER_PROCESSES_FULL,
					  GPT_COUNTER_PROCESSES_SILENT, GPT_COUNTER_PROCESSES_UNSEEN,
					  GPT_COUNTER_PROCESSES_UNENTERED};
#define STATES (sizeof(states) / sizeof(states[0]))

/* Since the beginning three files or processes of each kind are not seen. */
static void set_states(uint64_t *counters)
{
	for (size_t i = 0; i < STATES; i++)
		counters[states[i]] = 3;
}

/* So many seconds pass, with ten calls and a loss in each. */
static void pass(unsigned seconds)
{
	while (seconds--) {
		struct history_counts counts = {.at_ns = monotonic_ns(), .wall_offset_ns = 7};
		uint64_t now_ns = counts.at_ns;

		for (unsigned i = 0; i < 10; i++) {
			struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL},
						.time_ns = now_ns,
						.pid = 1,
						.tid = 1,
						.corr = ++calls};

			assert_int_equal(log_writer_append(writer, &call.hdr), 0);
		}
		counts.counters[GPT_COUNTER_CALLS_LOST] = calls / 10;
		set_states(counts.counters);
		flight_note_counts(flight, &counts);
		assert_int_equal(log_writer_settle(writer), 0);
		seconds_ahead++;
	}
}

static struct gpt_end *make_end(uint64_t time_ns)
{
	size_t bytes = sizeof(struct gpt_end) + GPT_COUNTER_COUNT * sizeof(uint64_t);
	struct gpt_end *end = calloc(1, bytes);
	uint64_t counters[GPT_COUNTER_COUNT] = {0};

	end->hdr = (struct gpt_record){.size = (uint32_t)bytes, .type = GPT_END};
	end->time_ns = time_ns;
	end->reason = GPT_END_INTERRUPTED;
	end->counters_count = GPT_COUNTER_COUNT;
	counters[GPT_COUNTER_CALLS_LOST] = calls / 10;
	set_states(counters);
	memcpy(end->counters, counters, sizeof(counters));
	return end;
}

static void write_due(void)
{
	struct gpt_end *end = make_end(0);

	flight_write_due(flight, monotonic_ns(), end);
	free(end);
	while (!flight_is_idle(flight))
		usleep(1000);
	flight_print(flight);
}

/* Ends the recording; returns its log. */
static struct written finish(void)
{
	struct gpt_end *end = make_end(monotonic_ns());
	int fd = memfd_create("log", MFD_CLOEXEC);
	struct written file;

	flight_write_last(flight, end);
	while (!flight_is_idle(flight))
		usleep(1000);
	assert_int_equal(flight_finish(flight, fd, end), 0);
	read_log(fd, &file);
	close(fd);
	free(end);
	flight_free(flight);
	log_writer_close(writer);
	return file;
}

/* ----------------------------------------------------------------------------------------------------------------- */

static const struct flight_event crash = {.why = "pid 7 (python) ended by SIGSEGV"};

static void what_is_asked_for_is_the_span_before_it_when_its_gpu_work_has_come(void **state)
{
	uint64_t asked_ns;
	char note[256];

	begin_with(MUCH);
	pass(20);
	asked_ns = monotonic_ns();
	flight_ask(flight, asked_ns, "SIGUSR1");
	assert_false(flight_is_due(flight, asked_ns));
	pass(1);
	assert_true(flight_is_due(flight, monotonic_ns()));
	write_due();
	assert_int_equal(written, 1);
	assert_string_equal(files[0].why, "SIGUSR1");
	assert_int_equal(files[0].end_ns, asked_ns);
	assert_int_equal(files[0].start_ns, asked_ns - SPAN_NS);
	assert_int_equal(files[0].reason, GPT_END_WRITTEN);
	assert_int_equal(files[0].last, 200); /* not those made while it waited */
	assert_true(files[0].first <= 151);
	assert_int_equal(files[0].calls, 201 - files[0].first);
	assert_false(files[0].torn);
	snprintf(note, sizeof(note),
		 "flight recorder: the last 5.0 s are here; the %.1f s before that were recorded, and dropped on "
		 "purpose",
		 (double)(files[0].start_ns - begin_ns) / 1e9);
	assert_non_null(strstr(files[0].note, note));
	finish();
}

static void the_end_counts_what_was_lost_in_that_time(void **state)
{
	struct written end;

	begin_with(MUCH);
	pass(20);
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	pass(1);
	write_due();
	assert_in_range(files[0].counters[GPT_COUNTER_CALLS_LOST], 4, 7);
	end = finish();
	assert_in_range(end.counters[GPT_COUNTER_CALLS_LOST], 4, 6);
	assert_int_equal(end.reason, GPT_END_INTERRUPTED);
}

static void the_end_says_what_has_gone_unseen_since_before_that_time(void **state)
{
	struct written end;

	begin_with(MUCH);
	pass(20);
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	pass(1);
	write_due();
	end = finish();
	for (size_t i = 0; i < STATES; i++) {
		assert_int_equal(files[0].counters[states[i]], 3);
		assert_int_equal(end.counters[states[i]], 3);
	}
}

static void a_recording_that_is_shorter_than_the_span_is_whole_and_has_no_note(void **state)
{
	struct written end;

	begin_with(MUCH);
	pass(4);
	end = finish();
	assert_int_equal(written, 0);
	assert_int_equal(end.first, 1);
	assert_int_equal(end.calls, 40);
	assert_int_equal(end.counters[GPT_COUNTER_CALLS_LOST], 4);
	assert_string_equal(end.note, "");
}

static void a_span_that_needs_more_memory_is_shorter_and_says_so(void **state)
{
	struct written end;

	begin_with(500);
	pass(20);
	end = finish();
	assert_true(end.end_ns - end.start_ns < SPAN_NS);
	assert_non_null(strstr(end.note, ": its memory has no room for more"));
	assert_false(end.torn);
}

static void two_requests_at_once_are_one_and_later_ones_have_files_of_their_own(void **state)
{
	begin_with(MUCH);
	pass(10);
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	pass(1);
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	pass(1);
	write_due();
	assert_int_equal(written, 2);
	assert_int_equal(files[1].end_ns - files[0].end_ns > SECOND_NS / 2, true);
	finish();
}

static void a_request_that_waits_at_the_end_is_written(void **state)
{
	begin_with(MUCH);
	pass(10);
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	finish();
	assert_int_equal(written, 1);
	assert_int_equal(files[0].last, 100);
}

/* The recording's own log has it. */
static void what_happened_just_before_the_end_has_no_file_of_its_own(void **state)
{
	begin_with(MUCH);
	pass(10);
	flight_ask_by_itself(flight, monotonic_ns(), &crash);
	finish();
	assert_int_equal(written, 0);
}

static void what_happens_often_is_written_ten_times_an_hour_and_the_rest_is_counted(void **state)
{
	struct written end;

	begin_with(MUCH);
	for (unsigned i = 0; i < 13; i++) {
		pass(60);
		flight_ask_by_itself(flight, monotonic_ns(), &crash);
		pass(2);
		write_due();
	}
	assert_int_equal(written, 10);
	seconds_ahead += 3600;
	flight_ask_by_itself(flight, monotonic_ns(), &crash);
	pass(2);
	write_due();
	assert_int_equal(written, 11);
	assert_non_null(strstr(files[10].note, "3 files that no one asked for were not written: 10 an hour are"));
	end = finish();
	assert_false(end.torn);
	assert_null(strstr(end.note, "were not written")); /* the log before it has said so */
}

/* The recording's thread has a higher priority than they have. */
static void files_are_written_after_what_the_programs_do(void **state)
{
	begin_with(MUCH);
	pass(10);
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	pass(2);
	write_due();
	assert_int_equal(written, 1);
	assert_true(nice_of_writer >= 10);
	finish();
}

static void a_file_that_waits_for_another_one_is_whole(void **state)
{
	struct gpt_end *end;
	uint64_t asked_ns;

	begin_with(MUCH);
	pass(20);
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	pass(1);
	asked_ns = monotonic_ns();
	flight_ask(flight, asked_ns, "SIGUSR1");
	pass(2);
	end = make_end(0);
	is_held = true;
	flight_write_due(flight, monotonic_ns(), end);
	free(end);
	pass(20);
	is_held = false;
	while (!flight_is_idle(flight))
		usleep(1000);
	assert_int_equal(written, 2);
	assert_int_equal(files[1].end_ns, asked_ns);
	assert_int_equal(files[1].start_ns, asked_ns - SPAN_NS);
	assert_int_equal(files[1].last, 210);
	assert_true(files[1].first <= 171);
	assert_null(strstr(files[1].note, "no room for more"));
	/* What they needed is dropped then. */
	pass(2);
	assert_in_range(finish().calls, 50, 100);
}

/* All ranks of a job are killed at once, and that happens twice. */
static void what_shares_a_file_counts_once_an_hour(void **state)
{
	struct written end;

	begin_with(MUCH);
	for (unsigned times = 0; times < 2; times++) {
		uint64_t at_ns;

		pass(10);
		at_ns = monotonic_ns();
		for (unsigned rank = 0; rank < 8; rank++)
			flight_ask_by_itself(flight, at_ns + rank, &crash);
		pass(2);
		write_due();
	}
	assert_int_equal(written, 2);
	end = finish();
	assert_null(strstr(end.note, "files that no one asked for were not written"));
}

static void an_event_has_as_much_before_and_after_it_as_was_asked_for(void **state)
{
	struct flight_event event = {.why = "idle"};
	uint64_t at_ns;

	begin_with(MUCH);
	pass(20);
	at_ns = monotonic_ns();
	event.start_ns = at_ns - 2 * SECOND_NS;
	event.end_ns = at_ns + SECOND_NS;
	flight_ask_by_itself(flight, at_ns, &event);
	pass(1);
	assert_false(flight_is_due(flight, at_ns + SECOND_NS));
	flight_ask(flight, at_ns + SECOND_NS / 2, "SIGUSR1"); /* is due before it */
	pass(1);
	write_due();
	assert_int_equal(written, 2);
	assert_string_equal(files[0].why, "SIGUSR1");
	assert_int_equal(files[0].end_ns - files[0].start_ns, SPAN_NS);
	assert_string_equal(files[1].why, "idle");
	assert_int_equal(files[1].end_ns, at_ns + SECOND_NS);
	assert_int_equal(files[1].start_ns, at_ns - 2 * SECOND_NS);
	assert_int_equal(files[1].last, 210);
	finish();
}

/* A gap and a step of one moment: the file has both whole, and is not put off for ever by what goes on. */
static void what_joins_a_file_is_whole_in_it(void **state)
{
	uint64_t at_ns, last_ns = 0;

	begin_with(MUCH);
	pass(20);
	at_ns = monotonic_ns();
	for (uint64_t i = 0; i < 10; i++) {
		struct flight_event event = {.why = "step", .start_ns = at_ns - (3 - i / 4) * SECOND_NS};

		last_ns = event.end_ns = at_ns + i * 50 * 1000000;
		flight_ask_by_itself(flight, event.end_ns, &event);
	}
	pass(2);
	write_due();
	assert_int_equal(written, 3); /* 0 to 150 ms, 200 to 350, 400 to 450 */
	assert_int_equal(files[0].start_ns, at_ns - 3 * SECOND_NS);
	assert_int_equal(files[0].end_ns, at_ns + 150 * 1000000);
	assert_int_equal(files[2].end_ns, last_ns);
	finish();
}

/* The latter half of the one file would be the first half of the other. */
static void what_happens_before_the_end_of_a_file_is_in_it(void **state)
{
	struct flight_event first = {.why = "idle"}, second = {.why = "compile"}, third = {.why = "step"};
	uint64_t at_ns;

	begin_with(MUCH);
	pass(30);
	at_ns = monotonic_ns();
	first.start_ns = at_ns - SECOND_NS;
	first.end_ns = at_ns + 2 * SECOND_NS;
	flight_ask_by_itself(flight, at_ns, &first);
	pass(1);
	second.start_ns = at_ns;
	second.end_ns = at_ns + 4 * SECOND_NS;
	flight_ask_by_itself(flight, at_ns + SECOND_NS, &second);
	pass(2); /* that is after the end which the first one asked for */
	write_due();
	assert_int_equal(written, 0);
	third.start_ns = at_ns + 3 * SECOND_NS;
	third.end_ns = at_ns + 5 * SECOND_NS;
	flight_ask_by_itself(flight, at_ns + 3 * SECOND_NS, &third);
	pass(4);
	write_due();
	assert_int_equal(written, 2);
	assert_string_equal(files[0].why, "idle; compile");
	assert_int_equal(files[0].start_ns, at_ns - SECOND_NS);
	assert_int_equal(files[0].end_ns, at_ns + 4 * SECOND_NS);
	assert_string_equal(files[1].why, "step");
	finish();
}

static void what_would_not_be_whole_in_a_file_has_one_of_its_own(void **state)
{
	struct flight_event first = {.why = "idle"}, second = {.why = "compile"};
	uint64_t at_ns;

	begin_with(MUCH);
	pass(30);
	at_ns = monotonic_ns();
	first.start_ns = at_ns - 5 * SECOND_NS / 2;
	first.end_ns = at_ns + 2 * SECOND_NS;
	flight_ask_by_itself(flight, at_ns, &first);
	second.start_ns = at_ns;
	second.end_ns = at_ns + 3 * SECOND_NS;
	flight_ask_by_itself(flight, at_ns + SECOND_NS, &second);
	pass(6);
	write_due();
	assert_int_equal(written, 2);
	assert_int_equal(files[0].start_ns, first.start_ns);
	assert_int_equal(files[1].start_ns, second.start_ns);
	finish();
}

/* Where it begins was asked for by none: it begins as early as it can. */
static void a_file_of_the_full_length_goes_on_for_what_happens_in_it(void **state)
{
	struct flight_event first = {.why = "idle"}, second = {.why = "compile"};
	uint64_t at_ns;

	begin_with(MUCH);
	pass(30);
	at_ns = monotonic_ns();
	first.end_ns = at_ns + 2 * SECOND_NS;
	flight_ask_by_itself(flight, at_ns, &first);
	second.end_ns = at_ns + 3 * SECOND_NS;
	flight_ask_by_itself(flight, at_ns + SECOND_NS, &second);
	pass(5);
	write_due();
	assert_int_equal(written, 1);
	assert_int_equal(files[0].end_ns, second.end_ns);
	assert_int_equal(files[0].start_ns, second.end_ns - SPAN_NS);
	finish();
}

/* What is asked for before the recording has begun is what there is when it begins. */
static void a_request_before_the_start_is_of_the_start(void **state)
{
	struct flight_options options = {.span_ns = SPAN_NS, .write = on_write};
	struct history_counts counts = {0};

	written = calls = 0;
	writer = log_writer_open(-1);
	log_writer_keep_recent(writer, SPAN_NS + FLIGHT_SPARE_NS, MUCH);
	flight = flight_new(writer, &options);
	flight_ask(flight, monotonic_ns(), "SIGUSR1");
	seconds_ahead += 10;
	counts.at_ns = monotonic_ns();
	flight_begin(flight, counts.at_ns);
	flight_note_counts(flight, &counts);
	pass(2);
	write_due();
	assert_int_equal(written, 1);
	assert_int_equal(files[0].start_ns, counts.at_ns);
	assert_int_equal(files[0].end_ns, counts.at_ns);
	finish();
}

/* Each window, without what its log has around it. */
static void on_window(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		      struct gpt_end *end)
{
	on_write(context, recent, writing, end, "window");
}

static void begin_windows(uint64_t length_ns)
{
	struct flight_options options = {
		.span_ns = SPAN_NS, .write = on_write, .windows = {{.length_ns = length_ns, .take = on_window}}};
	struct history_counts counts = {.at_ns = monotonic_ns(), .wall_offset_ns = 7};

	written = calls = 0;
	writer = log_writer_open(-1);
	log_writer_keep_recent(writer, SPAN_NS + 2 * FLIGHT_SPARE_NS, MUCH);
	flight = flight_new(writer, &options);
	flight_begin(flight, counts.at_ns);
	flight_note_counts(flight, &counts);
}

static void windows_follow_each_other_without_a_gap(void **state)
{
	uint64_t began_ns;

	begin_windows(4 * SECOND_NS);
	began_ns = monotonic_ns();
	pass(5);
	assert_false(flight_is_due(flight, monotonic_ns()));
	for (unsigned i = 0; i < 12; i++) {
		pass(1);
		if (flight_is_due(flight, monotonic_ns()))
			write_due();
	}
	assert_int_equal(written, 3);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t to_ns = files[i].end_ns - FLIGHT_AROUND_NS;

		assert_in_range(to_ns, began_ns + (4 * i + 4) * SECOND_NS - SECOND_NS / 10,
				began_ns + (4 * i + 4) * SECOND_NS + SECOND_NS / 10);
		assert_int_equal(files[i].start_ns, i ? files[i - 1].end_ns - 2 * FLIGHT_AROUND_NS : files[i].start_ns);
		assert_string_equal(files[i].note, "");
		assert_false(files[i].torn);
		assert_in_range(files[i].calls, 50, 80); /* a second has ten: not all that is kept */
	}
	finish();
}

static void a_window_takes_no_file_and_no_file_of_an_hour(void **state)
{
	begin_windows(4 * SECOND_NS);
	pass(4);
	flight_ask(flight, monotonic_ns(), FLIGHT_BY_SIGNAL);
	pass(2);
	write_due();
	assert_int_equal(written, 2);
	assert_string_equal(files[0].why, FLIGHT_BY_SIGNAL);
	assert_string_equal(files[1].why, "window");
	finish();
	assert_int_equal(written, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_is_the_span_before_it_when_its_gpu_work_has_come),
		cmocka_unit_test(the_end_counts_what_was_lost_in_that_time),
		cmocka_unit_test(the_end_says_what_has_gone_unseen_since_before_that_time),
		cmocka_unit_test(a_recording_that_is_shorter_than_the_span_is_whole_and_has_no_note),
		cmocka_unit_test(a_span_that_needs_more_memory_is_shorter_and_says_so),
		cmocka_unit_test(two_requests_at_once_are_one_and_later_ones_have_files_of_their_own),
		cmocka_unit_test(a_request_that_waits_at_the_end_is_written),
		cmocka_unit_test(what_happened_just_before_the_end_has_no_file_of_its_own),
		cmocka_unit_test(what_happens_often_is_written_ten_times_an_hour_and_the_rest_is_counted),
		cmocka_unit_test(files_are_written_after_what_the_programs_do),
		cmocka_unit_test(a_file_that_waits_for_another_one_is_whole),
		cmocka_unit_test(what_shares_a_file_counts_once_an_hour),
		cmocka_unit_test(an_event_has_as_much_before_and_after_it_as_was_asked_for),
		cmocka_unit_test(what_joins_a_file_is_whole_in_it),
		cmocka_unit_test(what_happens_before_the_end_of_a_file_is_in_it),
		cmocka_unit_test(what_would_not_be_whole_in_a_file_has_one_of_its_own),
		cmocka_unit_test(a_file_of_the_full_length_goes_on_for_what_happens_in_it),
		cmocka_unit_test(a_request_before_the_start_is_of_the_start),
		cmocka_unit_test(windows_follow_each_other_without_a_gap),
		cmocka_unit_test(a_window_takes_no_file_and_no_file_of_an_hour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
