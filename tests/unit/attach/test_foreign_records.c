/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conversion of the copy of another profiler's buffer to batches: names and times come from elsewhere, and a target may
 * write anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "attach/clients/foreign_records.h"
#include "base/monotonic.h"

#define PID 7
#define MEMORY 0x7000000000ull /* the address of the process's memory, as far as it has any */
#define WALL 1790000000000000000ull
#define OFFSET 1789000000000000000ll
#define MONO ((uint64_t)(WALL - OFFSET))
#define TICKS 3000000000000ull

/*
 * Sizes of CUPTI 13.0 (docs of tests/simgpu/cupti/layout.c); 4, 5 and 39 are kinds that the conversion does not take.
 */
static const uint16_t sizes[GPT_AGENT_KINDS] = {
	[1] = 96, [2] = 88, [4] = 40, [5] = 40, [8] = 184, [10] = 216, [17] = 56, [22] = 96, [39] = 24, [49] = 128};

static struct {
	uint8_t memory[1 << 16]; /* the memory of the process */
	unsigned reads;
	uint8_t buffer[1 << 18];
	size_t bytes;
	struct gpt_agent_kernel kernels[4096];
	unsigned kernel_count, memcpys, overheads, memories, batches, others;
	uint16_t flags[64]; /* the flags of each batch */
	uint32_t error_ns;
	struct gpt_agent_stats stats;
	struct gpt_agent_overhead overhead;
	char names[8][64]; /* by number minus 0x80000000 */
	unsigned name_count;
} it;

static struct tsc_clock tsc;
static struct foreign_records *process;
static struct foreign_terms terms;

static int read_memory(pid_t pid, uint64_t address, void *buffer, size_t bytes)
{
	assert_int_equal(pid, PID);
	it.reads++;
	if (address < MEMORY || bytes > sizeof(it.memory) || address - MEMORY > sizeof(it.memory) - bytes)
		return -EFAULT;
	memcpy(buffer, it.memory + (address - MEMORY), bytes);
	return 0;
}

static void see_record(const struct gpt_record *record)
{
	const struct gpt_agent_name *name = (const struct gpt_agent_name *)record;

	switch (record->type) {
	case GPT_AGENT_KERNEL:
		memcpy(&it.kernels[it.kernel_count++ % 4096], record, sizeof(it.kernels[0]));
		break;
	case GPT_AGENT_NAME:
		assert_true(name->id >= 0x80000000u);
		it.name_count++;
		if (name->id - 0x80000000u < 8 && name->bytes < 64)
			memcpy(it.names[name->id - 0x80000000u], name->text, name->bytes);
		break;
	case GPT_AGENT_STATS:
		memcpy(&it.stats, record, sizeof(it.stats));
		break;
	case GPT_AGENT_OVERHEAD:
		memcpy(&it.overhead, record, sizeof(it.overhead));
		it.overheads++;
		break;
	case GPT_AGENT_MEMCPY:
		it.memcpys++;
		break;
	case GPT_AGENT_MEMORY:
		it.memories++;
		break;
	default:
		it.others++;
	}
}

static void take_record(void *context, const struct gpt_record *record)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	size_t at = 0;

	assert_int_equal(record->type, GPT_AGENT_BATCH);
	assert_int_equal(batch->pid, PID);
	assert_int_equal(record->size, sizeof(*batch) + batch->bytes);
	assert_true(batch->bytes && batch->bytes <= GPT_AGENT_BATCH_MAX);
	it.flags[it.batches++ % 64] = record->flags;
	it.error_ns = batch->error_ns;
	while (at < batch->bytes) {
		const struct gpt_record *inner = (const struct gpt_record *)(batch->data + at);

		assert_true(inner->size >= sizeof(*inner) && inner->size % 8 == 0 && inner->size <= batch->bytes - at);
		see_record(inner);
		at += inner->size;
	}
}

static int begin_test(void **state)
{
	memset(&it, 0, sizeof(it));
	tsc_clock_free(&tsc);
	for (uint64_t i = 0; i < 3; i++) /* 3 GHz, beginning a second before now */
		tsc_clock_add(&tsc, (struct tsc_pair){TICKS - (2 - i) * 1500000000, MONO - (2 - i) * 500000000, 30});
	terms = (struct foreign_terms){
		.emit = take_record, .read = read_memory, .clock = &tsc, .since_ns = MONO - 500000000};
	process = foreign_records_new();
	assert_non_null(process);
	foreign_records_sizes(process, sizes);
	return 0;
}

static int end_test(void **state)
{
	foreign_records_free(process);
	tsc_clock_free(&tsc);
	return 0;
}

static uint8_t *add_record(uint32_t kind, size_t bytes)
{
	uint8_t *record = it.buffer + it.bytes;

	memcpy(record, &kind, sizeof(kind));
	it.bytes += bytes;
	return record;
}

static void put_value(uint8_t *record, size_t offset, uint64_t value, size_t bytes)
{
	memcpy(record + offset, &value, bytes);
}

static uint8_t *add_kernel(uint64_t start, uint64_t stop, uint32_t corr, uint64_t name)
{
	uint8_t *record = add_record(CUPTI_KIND_CONCURRENT_KERNEL, 216);

	put_value(record, 16, start, 8);
	put_value(record, 24, stop, 8);
	put_value(record, 92, corr, 4);
	put_value(record, 104, name, 8);
	return record;
}

/* Converts a copy of exactly that length, so that a sanitizer catches a read beyond its end. */
static struct foreign_result convert_copy(void)
{
	struct foreign_buffer buffer = {.pid = PID,
					.tid = 8,
					.time_ns = MONO,
					.wall_ns = WALL,
					.wall_offset_ns = OFFSET,
					.ticks = TICKS,
					.bytes = it.bytes};
	struct foreign_result result;

	buffer.data = malloc(it.bytes ? it.bytes : 1);
	memcpy(buffer.data, it.buffer, it.bytes);
	result = foreign_buffer_convert(process, &terms, &buffer);
	free(buffer.data);
	return result;
}

static uint64_t text_at(size_t offset, const char *text)
{
	strcpy((char *)it.memory + offset, text);
	return MEMORY + offset;
}

/* ---- valid buffers ---------------------------------------------------------------------------------------------- */

static void names_are_read_where_the_record_points_once_each(void **state)
{
	uint64_t gemm = text_at(100, "_Z4gemmPf"), relu = text_at(250, "_Z4reluPf"); /* relu lies across two pieces */
	struct foreign_result result;

	for (uint32_t i = 0; i < 100; i++)
		add_kernel(WALL - 2000, WALL - 1000, i + 1, i % 2 ? relu : gemm);
	result = convert_copy();
	assert_int_equal(result.taken, 100);
	assert_int_equal(result.left, 0);
	assert_int_equal(it.kernel_count, 100);
	assert_int_equal(it.name_count, 2);
	assert_string_equal(it.names[0], "_Z4gemmPf");
	assert_string_equal(it.names[1], "_Z4reluPf");
	assert_int_equal(it.kernels[99].name, 0x80000001u);
	assert_int_equal(it.kernels[99].corr, 100);
	assert_in_range(it.reads, 2, 3);
	/* the next buffer may have another text at that address, and old names keep their numbers */
	text_at(100, "_Z4convPf");
	it.bytes = 0;
	add_kernel(WALL - 2000, WALL - 1000, 101, gemm);
	add_kernel(WALL - 2000, WALL - 1000, 102, relu);
	convert_copy();
	assert_int_equal(it.name_count, 3);
	assert_int_equal(it.kernels[100].name, 0x80000002u);
	assert_int_equal(it.kernels[101].name, 0x80000001u);
}

static void times_of_the_wall_clock_stay_as_they_are(void **state)
{
	add_kernel(WALL - 2000, WALL - 1000, 1, 0);
	convert_copy();
	assert_int_equal(it.flags[0], GPT_BATCH_FOREIGN);
	assert_int_equal(it.kernels[0].start_wall_ns, WALL - 2000);
	assert_int_equal(it.kernels[0].end_wall_ns, WALL - 1000);
}

static void ticks_become_monotonic_time_with_a_bound(void **state)
{
	add_kernel(TICKS - 6000, TICKS - 3000, 1, 0);
	convert_copy();
	assert_int_equal(it.flags[0], GPT_BATCH_FOREIGN | GPT_BATCH_MONOTONIC);
	assert_int_equal(it.kernels[0].start_wall_ns, MONO - 2000);
	assert_int_equal(it.kernels[0].end_wall_ns, MONO - 1000);
	assert_int_equal(it.error_ns, 30);
}

static void a_batch_has_times_of_one_clock(void **state)
{
	add_kernel(WALL - 2000, WALL - 1000, 1, 0);
	add_kernel(TICKS - 6000, TICKS - 3000, 2, 0);
	add_kernel(WALL - 2000, WALL - 1000, 3, 0);
	convert_copy();
	assert_int_equal(it.batches, 3);
	assert_int_equal(it.flags[0], GPT_BATCH_FOREIGN);
	assert_int_equal(it.flags[1], GPT_BATCH_FOREIGN | GPT_BATCH_MONOTONIC);
	assert_int_equal(it.flags[2], GPT_BATCH_FOREIGN);
	assert_int_equal(it.kernels[1].start_wall_ns, MONO - 2000);
}

static void what_ended_before_the_trace_is_left_out(void **state)
{
	add_kernel(WALL - 700000000, WALL - 600000000, 1, 0);
	add_kernel(TICKS - 3 * 700000000ull, TICKS - 3 * 600000000ull, 2, 0);
	add_kernel(TICKS - 3 * 1100000000ull, TICKS - 3000, 3, 0); /* began before the first sample of the clock */
	add_kernel(WALL - 700000000, WALL - 400000000, 4, 0);
	assert_int_equal(convert_copy().taken, 1);
	assert_int_equal(it.kernels[0].corr, 4);
}

static void what_could_not_be_timed_says_so(void **state)
{
	add_kernel(0, 0, 1, 0);
	add_kernel(TICKS - 6000, 0, 2, 0); /* flushed before its end */
	assert_int_equal(convert_copy().taken, 2);
	assert_int_equal(it.kernels[0].start_wall_ns, 0);
	assert_int_equal(it.kernels[1].start_wall_ns, 0);
	assert_int_equal(it.kernels[1].end_wall_ns, 0);
	assert_int_equal(it.stats.untimed, 2);
}

static void kinds_that_no_one_wants_are_stepped_over(void **state)
{
	terms.unwanted = 1ull << CUPTI_KIND_MEMCPY;
	add_record(5, 40);
	add_record(CUPTI_KIND_MEMCPY, 96);
	add_record(39, 24);
	add_kernel(WALL - 2000, WALL - 1000, 1, 0);
	add_record(4, 40);
	assert_int_equal(convert_copy().left, 0);
	assert_int_equal(it.kernel_count, 1);
	assert_int_equal(it.memcpys, 0);
	assert_int_equal(it.others, 0);
}

static void an_instant_has_one_time(void **state)
{
	put_value(add_record(CUPTI_KIND_MEMORY2, 128), 32, TICKS - 3000, 8);
	put_value(add_record(CUPTI_KIND_MEMORY2, 128), 32, TICKS - 3 * 900000000ull, 8);
	assert_int_equal(convert_copy().taken, 1);
	assert_int_equal(it.memories, 1);
}

static void what_another_owns_is_not_freed_and_its_threads_are_not_guessed(void **state)
{
	uint8_t *record = add_record(CUPTI_KIND_OVERHEAD, 56);

	put_value(record, 8, CUPTI_OBJECT_THREAD, 4);
	put_value(record, 16, 0x12345678, 4);
	put_value(record, 24, WALL - 2000, 8);
	put_value(record, 32, WALL - 1000, 8);
	put_value(record, 48, MEMORY + 16, 8); /* a pointer of the target: freeing it would end this test */
	convert_copy();
	assert_int_equal(it.overheads, 1);
	assert_int_equal(it.overhead.tid, 0);
}

/* ---- hostile buffers -------------------------------------------------------------------------------------------- */

static void a_name_that_cannot_be_read_is_none_and_counted(void **state)
{
	memset(it.memory + sizeof(it.memory) - 10, 'x', 10); /* not terminated, and nothing is mapped after it */
	add_kernel(WALL - 2000, WALL - 1000, 1, 0x10);
	add_kernel(WALL - 2000, WALL - 1000, 2, UINT64_MAX);
	add_kernel(WALL - 2000, WALL - 1000, 3, UINT64_MAX - 3);
	add_kernel(WALL - 2000, WALL - 1000, 4, MEMORY + sizeof(it.memory) - 10);
	assert_int_equal(convert_copy().taken, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(it.kernels[i].name, 0);
	assert_int_equal(it.stats.names_dropped, 4);
}

static void a_name_without_an_end_is_truncated_and_counted(void **state)
{
	memset(it.memory, 'y', sizeof(it.memory));
	add_kernel(WALL - 2000, WALL - 1000, 1, MEMORY);
	add_kernel(WALL - 2000, WALL - 1000, 2, MEMORY);
	convert_copy();
	assert_int_equal(it.kernels[0].name, 0x80000000u);
	assert_int_equal(it.kernels[1].name, 0x80000000u);
	assert_int_equal(it.stats.names_dropped, 2);
}

static void a_kind_of_no_known_size_hides_what_follows_and_is_counted_once(void **state)
{
	add_kernel(WALL - 2000, WALL - 1000, 1, 0);
	add_record(63, 40);
	add_kernel(WALL - 2000, WALL - 1000, 2, 0);
	assert_int_equal(convert_copy().left, 40 + 216);
	assert_int_equal(it.kernel_count, 1);
	assert_int_equal(it.stats.malformed, 1);
	it.bytes = 0;
	add_record(UINT32_MAX, 40);
	assert_int_equal(convert_copy().left, 40);
}

static void a_record_truncated_at_the_end_is_not_read(void **state)
{
	for (size_t bytes = 0; bytes < 216; bytes++) {
		it.bytes = 0;
		add_kernel(WALL - 2000, WALL - 1000, 1, 0);
		it.bytes = bytes;
		assert_int_equal(convert_copy().left, bytes);
	}
	assert_int_equal(it.kernel_count, 0);
}

static void sizes_that_cannot_be_are_not_believed(void **state)
{
	uint16_t bad[GPT_AGENT_KINDS];

	memcpy(bad, sizes, sizeof(bad));
	bad[CUPTI_KIND_CONCURRENT_KERNEL] = CUPTI_KERNEL_MIN - 8; /* shorter than it ever was */
	bad[5] = 41;
	bad[4] = UINT16_MAX & ~7u;
	foreign_records_sizes(process, bad);
	add_kernel(WALL - 2000, WALL - 1000, 1, 0);
	assert_int_equal(convert_copy().left, 216);
	it.bytes = 0;
	add_record(5, 41);
	assert_int_equal(convert_copy().left, 41);
	it.bytes = 0;
	add_record(4, UINT16_MAX & ~7u);
	assert_int_equal(convert_copy().left, UINT16_MAX & ~7u);
}

static void times_of_no_clock_that_we_know_are_not_guessed(void **state)
{
	struct foreign_result result;

	add_kernel(WALL / 2, WALL / 2 + 1000, 1, 0);
	add_kernel(UINT64_MAX - 10, UINT64_MAX, 2, 0);
	add_kernel(1, 2, 3, 0);
	result = convert_copy();
	assert_int_equal(result.taken, 0);
	assert_int_equal(result.unknown, 2); /* the third is a counter that has just started: before the trace */
}

static void without_a_clock_for_ticks_they_are_left_out_and_counted(void **state)
{
	struct foreign_result result;

	terms.clock = NULL;
	add_kernel(TICKS - 6000, TICKS - 3000, 1, 0);
	add_kernel(WALL - 2000, WALL - 1000, 2, 0);
	result = convert_copy();
	assert_int_equal(result.taken, 1);
	assert_int_equal(result.unconverted, 1);
}

static void a_full_buffer_goes_out_in_batches_of_the_right_size(void **state)
{
	for (uint32_t i = 0; i < 1000; i++)
		add_kernel(WALL - 2000, WALL - 1000, i + 1, 0);
	assert_int_equal(convert_copy().taken, 1000);
	assert_int_equal(it.kernel_count, 1000);
	assert_in_range(it.batches, 1000 * sizeof(it.kernels[0]) / GPT_AGENT_BATCH_MAX, 5);
}

/* Two words of text without a zero byte, for each number, with one hash where the hash begins with their length. */
static void put_colliding(char text[17], uint64_t number)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t inverse = factor, first = number * 0x10001 + 0x4141414141414141, hash, second;

	for (unsigned i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	hash = (16 ^ first) * factor;
	hash ^= hash >> 32;
	second = 0x1234567812345678 * inverse ^ hash;
	memcpy(text, &first, 8);
	memcpy(text + 8, &second, 8);
	text[16] = '\0';
}

/* The thread that attaches probes converts them. */
static void names_that_a_program_has_chosen_to_collide_take_no_longer(void **state)
{
	enum { AT_ONCE = 1000, NAMES = 60000 };
	uint64_t number = 0, begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	(void)state;
	for (unsigned done = 0; done < NAMES; done += AT_ONCE) {
		it.bytes = 0;
		for (unsigned i = 0; i < AT_ONCE; number++) {
			char text[17];

			put_colliding(text, number);
			if (strlen(text) != 16)
				continue;
			add_kernel(WALL - 2000, WALL - 1000, i + 1, text_at(17ul * i, text));
			i++;
		}
		convert_copy();
	}
	assert_int_equal(it.name_count, NAMES);
	assert_true(clock_ns(CLOCK_PROCESS_CPUTIME_ID) < begin_ns + 2000000000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		TEST(names_are_read_where_the_record_points_once_each),
		TEST(times_of_the_wall_clock_stay_as_they_are),
		TEST(ticks_become_monotonic_time_with_a_bound),
		TEST(a_batch_has_times_of_one_clock),
		TEST(what_ended_before_the_trace_is_left_out),
		TEST(what_could_not_be_timed_says_so),
		TEST(kinds_that_no_one_wants_are_stepped_over),
		TEST(an_instant_has_one_time),
		TEST(what_another_owns_is_not_freed_and_its_threads_are_not_guessed),
		TEST(a_name_that_cannot_be_read_is_none_and_counted),
		TEST(a_name_without_an_end_is_truncated_and_counted),
		TEST(a_kind_of_no_known_size_hides_what_follows_and_is_counted_once),
		TEST(a_record_truncated_at_the_end_is_not_read),
		TEST(sizes_that_cannot_be_are_not_believed),
		TEST(times_of_no_clock_that_we_know_are_not_guessed),
		TEST(without_a_clock_for_ticks_they_are_left_out_and_counted),
		TEST(a_full_buffer_goes_out_in_batches_of_the_right_size),
		TEST(names_that_a_program_has_chosen_to_collide_take_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
