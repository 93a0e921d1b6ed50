/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Segments outside a span of time, or of other processes, are not read; an index only saves looking at them. */
#include "log_given.h"

/* No restriction; tests narrow it. */
#define ALL                                                                                                            \
	{                                                                                                              \
		.to_ns = UINT64_MAX, .to_wall_ns = UINT64_MAX                                                          \
	}

/* Makes the segments outside `set` unreadable first, so a reader that reads them finds damage. */
static void assert_gives(const struct log_restriction *restriction, unsigned set, bool index)
{
	struct three three;
	struct given given;
	unsigned wanted = 0;

	three_make(&three);
	if (index)
		log_file_finish(&three.file);
	for (unsigned i = 0; i < THREE; i++) {
		const struct gpt_log_segment *header = log_file_header(&three.file, three.file.offsets[i]);

		wanted += set >> i & 1;
		if (!(set >> i & 1))
			memset(three.file.bytes.data + three.file.offsets[i] + header->header_size, 0xee,
			       header->body_bytes);
	}
	given = given_by(&three.file, (struct given_options){.restriction = restriction});
	assert_true(three_gave(&three, &given, set));
	assert_int_equal(given.damaged, 0);
	assert_false(given.torn);
	assert_int_equal(given.read, wanted);
	assert_int_equal(given.unwanted, THREE - wanted);
	log_free(&given.records);
	three_free(&three);
}

static void assert_gives_either_way(const struct log_restriction *restriction, unsigned set)
{
	assert_gives(restriction, set, true);
	assert_gives(restriction, set, false);
}

static void without_bounds_everything_is_given(void **state)
{
	assert_gives_either_way(&(struct log_restriction)ALL, 7);
}

static void segments_outside_of_the_span_are_not_read(void **state)
{
	struct log_restriction first = {.to_ns = 1600}, middle = {.from_ns = 1600, .to_ns = 2000};
	struct log_restriction last = {.from_ns = 2501, .to_ns = 9000}, none = {.from_ns = 1600, .to_ns = 1900};
	struct log_restriction ends = {.from_ns = 1500, .to_ns = 2000};

	assert_gives_either_way(&first, 1);
	assert_gives_either_way(&middle, 2);
	assert_gives_either_way(&last, 4);
	assert_gives_either_way(&none, 0);
	assert_gives_either_way(&ends, 3);
}

static void a_segment_with_gpu_work_of_the_span_is_read(void **state)
{
	struct log_restriction wall = {.from_wall_ns = 2000050, .to_wall_ns = 2900000, .to_ns = 1};

	assert_gives_either_way(&wall, 2);
}

static void segments_without_the_process_are_not_read(void **state)
{
	uint32_t pids[] = {THREE_PID + 2, THREE_PID}, no_one = 1;
	struct log_restriction two = {.to_ns = UINT64_MAX, .pids = pids, .pid_count = 2};
	struct log_restriction none = {.to_ns = UINT64_MAX, .pids = &no_one, .pid_count = 1};

	assert_gives_either_way(&two, 5);
	assert_gives_either_way(&none, 0);
}

static void a_segment_with_a_type_that_is_always_wanted_is_read(void **state)
{
	uint16_t type = GPT_END;
	struct log_restriction span = {.to_ns = 1600, .always = &type, .always_count = 1};

	assert_gives_either_way(&span, 5);
}

/* ---- descriptions from a gap ------------------------------------------------------------------------------------- */

/*
 * Four segments, of which each repeats what it refers to: the first describes `train` and `eval`, the second refers to
 * `train`, the third to `train` and `eval`, the fourth to both again and to a third one that the third describes.
 */
struct functions {
	struct log_file file;
	struct log_builder train, eval, late, own[4];
};

static void functions_put(struct functions *functions, unsigned number, const struct log_builder *repeated[],
			  size_t count)
{
	struct log_builder all = {0};

	for (size_t i = 0; i < count; i++)
		log_raw(&all, repeated[i]->data, repeated[i]->size);
	log_raw(&all, functions->own[number].data, functions->own[number].size);
	log_file_segment(&functions->file, all.data, all.size, (uint32_t)(2 * count)); /* a function is two records */
	log_free(&all);
}

static void functions_make(struct functions *functions)
{
	const struct log_builder *train = &functions->train, *eval = &functions->eval, *late = &functions->late;

	memset(functions, 0, sizeof(*functions));
	log_file_begin(&functions->file, 500, 7);
	log_function(&functions->train, THREE_PID, 0xc0de, "train", "/src/train.py", 10);
	log_function(&functions->eval, THREE_PID, 0xe0a1, "eval", "/src/eval.py", 20);
	log_function(&functions->late, THREE_PID, 0x1a7e, "late", "/src/late.py", 30);
	log_raw(&functions->own[0], train->data, train->size);
	log_raw(&functions->own[0], eval->data, eval->size);
	log_raw(&functions->own[2], late->data, late->size);
	for (uint32_t i = 0; i < 4; i++)
		log_launch(&functions->own[i], THREE_PID, THREE_PID, 1000 * (i + 1), 1, i + 1);
	functions_put(functions, 0, NULL, 0);
	functions_put(functions, 1, (const struct log_builder *[]){train}, 1);
	functions_put(functions, 2, (const struct log_builder *[]){train, eval}, 2);
	functions_put(functions, 3, (const struct log_builder *[]){train, eval, late}, 3);
}

static void functions_free(struct functions *functions)
{
	log_file_free(&functions->file);
	log_free(&functions->train);
	log_free(&functions->eval);
	log_free(&functions->late);
	for (unsigned i = 0; i < 4; i++)
		log_free(&functions->own[i]);
}

/* The second segment does not need `eval`, so a reader of the last three has it only from what the third repeats. */
static void what_only_a_gap_described_is_returned_when_it_is_repeated(struct functions *functions,
								      const struct log_restriction *restriction)
{
	struct given given = given_by(&functions->file, (struct given_options){.restriction = restriction});
	struct log_builder expected = {0};

	log_raw(&expected, functions->train.data, functions->train.size);
	log_raw(&expected, functions->own[1].data, functions->own[1].size);
	log_raw(&expected, functions->eval.data, functions->eval.size);
	log_raw(&expected, functions->own[2].data, functions->own[2].size);
	log_raw(&expected, functions->own[3].data, functions->own[3].size);
	assert_true(given_is(&given, &expected));
	log_free(&expected);
	log_free(&given.records);
}

static void a_span_has_what_only_segments_before_it_described(void **state)
{
	struct log_restriction span = {.from_ns = 1600, .to_ns = 9000};
	struct functions functions;

	functions_make(&functions);
	what_only_a_gap_described_is_returned_when_it_is_repeated(&functions, &span);
	functions_free(&functions);
}

static void what_a_damaged_segment_described_is_returned_when_it_is_repeated(void **state)
{
	struct functions functions;

	functions_make(&functions);
	functions.file.bytes.data[functions.file.offsets[1] - 9] ^= 1;
	what_only_a_gap_described_is_returned_when_it_is_repeated(&functions, NULL);
	functions_free(&functions);
}

/* A code object of such a segment may be described in any earlier segment. */
static void those_before_a_segment_that_forgot_are_read(void **state)
{
	struct log_restriction middle = {.from_ns = 1600, .to_ns = 2000}, first = {.to_ns = 1600};

	for (unsigned indexed = 0; indexed < 2; indexed++) {
		struct three three;
		struct given given;

		three_make(&three);
		log_file_header(&three.file, three.file.offsets[1])->flags = GPT_LOG_SEGMENT_FORGOT;
		log_file_sign(&three.file, three.file.offsets[1]);
		if (indexed)
			log_file_finish(&three.file);
		given = given_by(&three.file, (struct given_options){.restriction = &middle});
		assert_true(three_gave(&three, &given, 3));
		assert_int_equal(given.unwanted, 1);
		log_free(&given.records);
		given = given_by(&three.file, (struct given_options){.restriction = &first});
		assert_true(three_gave(&three, &given, 1));
		log_free(&given.records);
		three_free(&three);
	}
}

static void a_pipe_is_given_whole(void **state)
{
	struct log_restriction middle = {.from_ns = 1600, .to_ns = 2000};
	struct three three;
	struct given given;
	int ends[2];

	three_make(&three);
	log_file_finish(&three.file);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], three.file.bytes.data, three.file.bytes.size), three.file.bytes.size);
	close(ends[1]);
	given = given_by_fd(ends[0], (struct given_options){.restriction = &middle});
	assert_true(three_gave(&three, &given, 7));
	assert_false(given.torn);
	log_free(&given.records);
	close(ends[0]);
	three_free(&three);
}

static void a_segment_that_does_not_list_its_processes_is_read(void **state)
{
	uint32_t pid = 1;
	struct log_restriction no_one = {.to_ns = UINT64_MAX, .pids = &pid, .pid_count = 1};
	struct three three;
	struct given given;

	three_make(&three);
	log_file_header(&three.file, three.file.offsets[1])->processes = GPT_LOG_ANY_PROCESS;
	log_file_sign(&three.file, three.file.offsets[1]);
	given = given_by(&three.file, (struct given_options){.restriction = &no_one});
	assert_true(three_gave(&three, &given, 2));
	log_free(&given.records);
	three_free(&three);
}

static void a_truncation_that_was_passed_over_is_noticed(void **state)
{
	struct log_restriction first = {.to_ns = 1600};
	struct three three;
	struct given given;

	three_make(&three);
	three.file.bytes.size -= 16;
	given = given_by(&three.file, (struct given_options){.restriction = &first});
	assert_true(three_gave(&three, &given, 1));
	assert_true(given.torn);
	log_free(&given.records);
	three_free(&three);
}

/* ---- an index that lies ----------------------------------------------------------------------------------------- */

static bool gave_segments(const struct three *three, const struct given *given)
{
	for (unsigned set = 0; set < 1u << THREE; set++)
		if (three_gave(three, given, set))
			return true;
	return false;
}

static void sign_index(struct log_builder *bytes, size_t at, size_t size)
{
	struct gpt_log_index *index = (struct gpt_log_index *)(bytes->data + at);

	index->checksum = 0;
	index->checksum = (uint32_t)crc32_z(0, bytes->data + at, size);
}

/* Makes each word of index and trailer wrong, with a correct checksum and without. */
static void an_index_that_lies_gives_no_record_that_was_not_there(void **state)
{
	const uint32_t values[] = {0, 1, 8, 80, 1000, 1u << 16, 1u << 31, UINT32_MAX - 7, UINT32_MAX};
	struct log_restriction last = {.from_ns = 2501, .to_ns = 9000};
	struct three three;
	size_t begin, end;

	three_make(&three);
	begin = three.file.bytes.size;
	log_file_finish(&three.file);
	end = three.file.bytes.size;
	for (size_t at = begin; at < end; at += 4) {
		for (size_t i = 0; i < 2 * sizeof(values) / sizeof(values[0]); i++) {
			uint32_t *field = (uint32_t *)(three.file.bytes.data + at), before = *field;
			struct given given;

			*field = values[i / 2];
			if (i % 2)
				sign_index(&three.file.bytes, begin, end - sizeof(struct gpt_log_trailer) - begin);
			given = given_by(&three.file, (struct given_options){.restriction = &last});
			assert_true(gave_segments(&three, &given));
			log_free(&given.records);
			*(uint32_t *)(three.file.bytes.data + at) = before;
			sign_index(&three.file.bytes, begin, end - sizeof(struct gpt_log_trailer) - begin);
		}
	}
	three_free(&three);
}

static void a_damaged_index_changes_nothing(void **state)
{
	struct log_restriction last = {.from_ns = 2501, .to_ns = 9000};
	struct three three;
	size_t begin;

	three_make(&three);
	begin = three.file.bytes.size;
	log_file_finish(&three.file);
	for (size_t bit = begin * 8; bit < three.file.bytes.size * 8; bit++) {
		struct given given;

		three.file.bytes.data[bit / 8] ^= 1u << bit % 8;
		given = given_by(&three.file, (struct given_options){.restriction = &last});
		assert_true(three_gave(&three, &given, 4));
		log_free(&given.records);
		three.file.bytes.data[bit / 8] ^= 1u << bit % 8;
	}
	three_free(&three);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_bounds_everything_is_given),
		cmocka_unit_test(segments_outside_of_the_span_are_not_read),
		cmocka_unit_test(a_segment_with_gpu_work_of_the_span_is_read),
		cmocka_unit_test(segments_without_the_process_are_not_read),
		cmocka_unit_test(a_segment_with_a_type_that_is_always_wanted_is_read),
		cmocka_unit_test(those_before_a_segment_that_forgot_are_read),
		cmocka_unit_test(a_span_has_what_only_segments_before_it_described),
		cmocka_unit_test(what_a_damaged_segment_described_is_returned_when_it_is_repeated),
		cmocka_unit_test(a_pipe_is_given_whole),
		cmocka_unit_test(a_segment_that_does_not_list_its_processes_is_read),
		cmocka_unit_test(a_truncation_that_was_passed_over_is_noticed),
		cmocka_unit_test(an_index_that_lies_gives_no_record_that_was_not_there),
		cmocka_unit_test(a_damaged_index_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
