/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is read of a log for a slice: segments far from it are skipped, segments that are always needed are read. */
#include "log_given.h"

#include "input/gpt/gpt_slice.h"
#include "input/gpt/gpt_trace.h"

#define SEGMENTS 5
#define APART 600000000000ull /* ten minutes */
#define AT(segment) (1000 + (segment)*APART)
#define LAUNCHES 3

/* Each segment has launches, the last also the end. Makes all segments unreadable that are not in `readable`. */
static void make_log(struct log_file *file, unsigned readable)
{
	memset(file, 0, sizeof(*file));
	log_file_begin(file, 500, 7);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		struct log_builder records = {0};

		for (uint32_t k = 0; k < LAUNCHES; k++)
			log_launch(&records, THREE_PID, THREE_PID, AT(i) + k, 0, 10 * i + k + 1);
		if (i == SEGMENTS - 1)
			log_end(&records, AT(i) + 100);
		log_file_segment(file, records.data, records.size, 0);
		log_free(&records);
	}
	log_file_finish(file);
	for (unsigned i = 0; i < SEGMENTS; i++) {
		const struct gpt_log_segment *header = log_file_header(file, file->offsets[i]);

		if (!(readable >> i & 1))
			memset(file->bytes.data + file->offsets[i] + header->header_size, 0xee, header->body_bytes);
	}
}

static void assert_calls(uint64_t from_ns, uint64_t to_ns, unsigned readable, uint32_t calls)
{
	struct log_restriction wanted;
	struct gpt_span span;
	struct log_file file;
	struct trace *trace;
	const char *why;
	int fd;

	make_log(&file, readable);
	fd = log_file_fd(&file);
	assert_true(gpt_find_span(fd, &span));
	assert_int_equal(span.start_ns, 500);
	assert_int_equal(span.end_ns, AT(SEGMENTS - 1) + 100);
	wanted = gpt_restrict(&span, from_ns, to_ns, NULL, 0);
	assert_int_equal(gpt_trace_open(fd, NULL, &wanted, &trace, &why), 0);
	assert_int_equal(trace_first(trace)->call_count, calls);
	assert_int_equal(trace_first(trace)->note_count, 0);
	assert_int_equal(trace_first(trace)->end_ns, AT(SEGMENTS - 1) + 100);
	gpt_trace_close(trace);
	close(fd);
	log_file_free(&file);
}

static void only_what_is_near_the_slice_is_read_and_the_end(void **state)
{
	assert_calls(AT(2), AT(2) + 100, 0x14, 2 * LAUNCHES);
	assert_calls(AT(1), AT(2) + 100, 0x16, 3 * LAUNCHES);
	assert_calls(0, AT(0) + 100, 0x11, 2 * LAUNCHES);
	assert_calls(0, UINT64_MAX, 0x1f, 5 * LAUNCHES);
}

static void ten_seconds_around_the_slice_are_read_too(void **state)
{
	assert_calls(AT(2) + 9000000000, AT(2) + 10000000000, 0x14, 2 * LAUNCHES);
	assert_calls(AT(2) - 10000000000, AT(2) - 9000000000, 0x14, 2 * LAUNCHES);
	assert_calls(AT(2) - 120000000000, AT(2) - 61000000000, 0x10, LAUNCHES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_near_the_slice_is_read_and_the_end),
		cmocka_unit_test(ten_seconds_around_the_slice_are_read_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
