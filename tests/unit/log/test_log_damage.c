/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Truncated, damaged and hostile segments: a reader returns what is whole, reports what is missing, and never lies. */
#include "log_given.h"

#include <errno.h>

static void a_truncated_log_gives_its_whole_segments(void **state)
{
	struct three three;
	size_t whole, first;

	three_make(&three);
	whole = three.file.bytes.size;
	log_file_finish(&three.file);
	first = three.file.offsets[0];
	for (size_t size = three.file.bytes.size; size-- > first;) {
		unsigned set = 0;
		bool at_end = size == first || size >= whole;

		for (unsigned i = 0; i < THREE; i++) {
			size_t end = i + 1 < THREE ? three.file.offsets[i + 1] : whole;

			set |= (size >= end) << i;
			at_end |= size == end;
		}
		three.file.bytes.size = size;
		assert_three(&three, set, !at_end);
	}
	three_free(&three);
}

static void a_log_truncated_in_its_header_is_refused(void **state)
{
	struct three three;
	size_t first;

	three_make(&three);
	first = three.file.offsets[0];
	for (size_t size = 0; size < first; size++) {
		struct given given;

		three.file.bytes.size = size;
		given = given_by(&three.file, plain);
		assert_int_equal(given.err, -EPROTO);
		assert_string_equal(given.why, size == 0   ? "it is empty"
					       : size < 4  ? "it is neither a gputrace log nor a trace in a form that "
							     "gputrace reads (docs/formats.md, \"Files that are read\")"
					       : size < 24 ? "it is too short to be a gputrace log"
							   : "its header is damaged");
	}
	three_free(&three);
}

/* Whether the reader returned some of the segments, each whole. */
static bool gave_segments(const struct three *three, const struct given *given)
{
	for (unsigned set = 0; set < 1u << THREE; set++)
		if (three_gave(three, given, set))
			return true;
	return false;
}

static void a_flipped_bit_in_a_segment_costs_no_more_than_what_cannot_be_found_after_it(void **state)
{
	struct three three;
	size_t from, to;

	three_make(&three);
	log_file_finish(&three.file);
	from = three.file.offsets[1];
	to = three.file.offsets[2];
	for (size_t bit = from * 8; bit < to * 8; bit++) {
		struct given given;
		size_t at = bit / 8 - from;
		/* the magic, and the sizes that locate the next segment */
		bool is_place = at < 12;

		three.file.bytes.data[bit / 8] ^= 1u << bit % 8;
		given = given_by(&three.file, plain);
		assert_true(three_gave(&three, &given, 5) || (is_place && three_gave(&three, &given, 1)) ||
			    (to * 8 - bit <= 64 && three_gave(&three, &given, 7)));
		assert_true(given.torn || three_gave(&three, &given, 7));
		log_free(&given.records);
		three.file.bytes.data[bit / 8] ^= 1u << bit % 8;
	}
	three_free(&three);
}

static void a_flipped_bit_anywhere_gives_no_record_that_was_not_there(void **state)
{
	struct three three;

	three_make(&three);
	log_file_finish(&three.file);
	for (size_t bit = 0; bit < three.file.bytes.size * 8; bit++) {
		struct given given;

		three.file.bytes.data[bit / 8] ^= 1u << bit % 8;
		given = given_by(&three.file, plain);
		assert_true(given.err || gave_segments(&three, &given));
		log_free(&given.records);
		three.file.bytes.data[bit / 8] ^= 1u << bit % 8;
	}
	three_free(&three);
}

/* Segment 1 with this value in its header and a correct checksum. */
static struct given given_with(struct three *three, size_t at, uint32_t value)
{
	struct log_builder whole = three->file.bytes;
	struct given given;

	memset(&three->file.bytes, 0, sizeof(three->file.bytes));
	log_raw(&three->file.bytes, whole.data, whole.size);
	memcpy(three->file.bytes.data + three->file.offsets[1] + at, &value, sizeof(value));
	if (at >= offsetof(struct gpt_log_segment, packed_bytes) && at != offsetof(struct gpt_log_segment, checksum))
		log_file_sign(&three->file, three->file.offsets[1]);
	given = given_by(&three->file, plain);
	log_free(&three->file.bytes);
	three->file.bytes = whole;
	return given;
}

/* Fields that only the header holds are believed: where to start, and what comes next. */
static bool is_believed(size_t at)
{
	return at == offsetof(struct gpt_log_segment, repeated) || at == offsetof(struct gpt_log_segment, sequence);
}

static void a_header_that_lies_gives_no_record_that_was_not_there(void **state)
{
	const uint32_t values[] = {
		0, 1, 7, 8, 80, 1u << 16, 1u << 26, (1u << 26) + 8, INT32_MAX, UINT32_MAX - 7, UINT32_MAX};
	const size_t count = sizeof(values) / sizeof(values[0]);
	struct three three;

	three_make(&three);
	log_file_finish(&three.file);
	for (size_t at = 0; at < sizeof(struct gpt_log_segment); at += 4) {
		uint32_t before;

		memcpy(&before, three.file.bytes.data + three.file.offsets[1] + at, sizeof(before));
		for (size_t i = 0; i < count + 2; i++) {
			uint32_t value = i < count ? values[i] : i == count ? before + 1 : before - 1;
			struct given given = given_with(&three, at, value);

			assert_true(is_believed(at) || gave_segments(&three, &given));
			/* these are sizes and counts; the times and lists do not describe records */
			if (value != before && at < offsetof(struct gpt_log_segment, repeated))
				assert_true(given.torn);
			log_free(&given.records);
		}
	}
	three_free(&three);
}

/* A segment 1 with this frame as its body is damage; packed_bytes is what its header claims. */
static void assert_frame_is_damage(const void *frame, size_t bytes, uint32_t packed_bytes)
{
	struct log_file file;
	struct log_builder records = {0};
	struct given given;

	log_file_begin(&file, 0, 0);
	log_launch(&records, THREE_PID, THREE_PID, 1, 0, 1);
	log_file_segment(&file, records.data, records.size, 0);
	log_file_put(
		&file,
		(struct gpt_log_segment){.packed_bytes = packed_bytes, .record_bytes = 48, .records = 1, .sequence = 1},
		NULL, frame, bytes);
	given = given_by(&file, plain);
	assert_true(given_is(&given, &records));
	assert_true(given.torn);
	assert_int_equal(given.damaged, 1);
	log_free(&given.records);
	log_free(&records);
	log_file_free(&file);
}

#define FRAME_OF_8 0x28, 0xb5, 0x2f, 0xfd, 0xe0	      /* zstd's magic; one segment, content size in 8 bytes */
#define FRAME_OF_0 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58 /* no content size, window of 2 MB */

static void a_frame_that_claims_terabytes_is_damage(void **state)
{
	const uint8_t frame[] = {FRAME_OF_8, 0, 0, 0, 0, 0, 1, 0, 0, 0x03, 0, 0x10, 'x'};

	assert_frame_is_damage(frame, sizeof(frame), 1u << 20);
}

/* Blocks of four bytes, each of which unpacks to 128 KiB. */
static void a_frame_that_unpacks_to_terabytes_is_damage(void **state)
{
	const uint8_t reported[] = {FRAME_OF_8, 100, 0, 0, 0, 0, 0, 0, 0}, untold[] = {FRAME_OF_0};
	const uint8_t block[] = {0x02, 0, 0x10, 'x'}, last[] = {0x03, 0, 0x10, 'x'};
	struct log_builder frame = {0};

	for (unsigned which = 0; which < 2; which++) {
		frame.size = 0;
		log_raw(&frame, which ? reported : untold, which ? sizeof(reported) : sizeof(untold));
		for (unsigned i = 0; i < 4u << 20; i++)
			log_raw(&frame, block, sizeof(block));
		log_raw(&frame, last, sizeof(last));
		assert_frame_is_damage(frame.data, frame.size, 100);
	}
	log_free(&frame);
}

static void nonsense_in_a_frame_is_damage(void **state)
{
	uint8_t nonsense[400], frame[1000];

	for (unsigned round = 0; round < 2000; round++) {
		size_t bytes = 1 + (size_t)rand() % sizeof(nonsense);

		for (size_t i = 0; i < bytes; i++)
			nonsense[i] = (uint8_t)(rand() % (round % 2 ? 256 : 4));
		assert_frame_is_damage(frame, ZSTD_compress(frame, sizeof(frame), nonsense, bytes, 1), (uint32_t)bytes);
	}
}

static void a_number_that_comes_twice_is_damage(void **state)
{
	struct three three;
	struct given given;

	three_make(&three);
	log_file_header(&three.file, three.file.offsets[1])->sequence = 0;
	log_file_sign(&three.file, three.file.offsets[1]);
	given = given_by(&three.file, plain);
	assert_true(three_gave(&three, &given, 5));
	assert_int_equal(given.damaged, 1);
	assert_true(given.torn);
	log_free(&given.records);
	three_free(&three);
}

static void a_number_that_is_missing_is_reported_and_the_descriptions_are_taken_from_the_next(void **state)
{
	struct three three;
	struct given given;

	three_make(&three);
	memmove(three.file.bytes.data + three.file.offsets[1], three.file.bytes.data + three.file.offsets[2],
		three.file.bytes.size - three.file.offsets[2]);
	three.file.bytes.size -= three.file.offsets[2] - three.file.offsets[1];
	given = given_by(&three.file, plain);
	assert_true(three_gave(&three, &given, 5));
	assert_int_equal(given.damaged, 0);
	assert_true(given.torn);
	log_free(&given.records);
	three_free(&three);
}

static void a_log_that_begins_later_is_read_with_its_descriptions(void **state)
{
	struct three three;
	struct given given;

	three_make(&three);
	memmove(three.file.bytes.data + three.file.offsets[0], three.file.bytes.data + three.file.offsets[1],
		three.file.bytes.size - three.file.offsets[1]);
	three.file.bytes.size -= three.file.offsets[1] - three.file.offsets[0];
	given = given_by(&three.file, plain);
	assert_true(three_gave(&three, &given, 6));
	assert_true(given.torn);
	log_free(&given.records);
	three_free(&three);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_truncated_log_gives_its_whole_segments),
		cmocka_unit_test(a_log_truncated_in_its_header_is_refused),
		cmocka_unit_test(a_flipped_bit_in_a_segment_costs_no_more_than_what_cannot_be_found_after_it),
		cmocka_unit_test(a_flipped_bit_anywhere_gives_no_record_that_was_not_there),
		cmocka_unit_test(a_header_that_lies_gives_no_record_that_was_not_there),
		cmocka_unit_test(a_frame_that_claims_terabytes_is_damage),
		cmocka_unit_test(a_frame_that_unpacks_to_terabytes_is_damage),
		cmocka_unit_test(nonsense_in_a_frame_is_damage),
		cmocka_unit_test(a_number_that_comes_twice_is_damage),
		cmocka_unit_test(a_number_that_is_missing_is_reported_and_the_descriptions_are_taken_from_the_next),
		cmocka_unit_test(a_log_that_begins_later_is_read_with_its_descriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
