/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inputs of PyTorch's ops: objects in the layout of PyTorch 2.14 become the text that Kineto writes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/torch/op_inputs.h"
#include "agent_points.h"

#define VERSION (2 << 16 | 14 << 8)
#define FLOAT 6
#define STRIDED_KEYS 1
#define INPUTS_MAX 64

static const struct op_input_types types = {.name = {[FLOAT] = {"float", 5}, [15] = {"c10::BFloat16", 13}}};

struct object {
	uint64_t word[64];
};

static struct {
	struct object op, tensors[INPUTS_MAX], lists[4];
	uint64_t values[INPUTS_MAX][2];
	uint64_t elements[INPUTS_MAX][2];
	uint64_t count, element_count, tensor_count, list_count;
} made;

static const struct torch_layout *layout(void)
{
	return torch_layout(VERSION, false);
}

static void put(void *object, unsigned offset, uint64_t value, size_t bytes)
{
	memcpy((char *)object + offset, &value, bytes);
}

static void make_value(uint64_t *value, uint32_t tag, uint64_t payload)
{
	put(value, layout()->value_payload, payload, 8);
	put(value, layout()->value_tag, tag, 4);
}

static void input(uint32_t tag, uint64_t payload)
{
	make_value(made.values[made.count++], tag, payload);
}

static void element(uint32_t tag, uint64_t payload)
{
	make_value(made.elements[made.element_count++], tag, payload);
}

static uint64_t bits(double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static int begin(void **state)
{
	memset(&made, 0, sizeof(made));
	return 0;
}

static uint64_t tensor(unsigned type, uint64_t keys, uint64_t dims, const int64_t *sizes, const int64_t *strides)
{
	void *object = &made.tensors[made.tensor_count++];

	put(object, layout()->tensor_dims, dims, 8);
	put(object, layout()->tensor_type, type, 2);
	put(object, layout()->tensor_keys, keys, 8);
	for (uint64_t i = 0; i < dims; i++) {
		put(object, layout()->tensor_inline + 8 * i, (uint64_t)sizes[i], 8);
		put(object, layout()->tensor_inline + 8 * (layout()->tensor_inline_dims + i), (uint64_t)strides[i], 8);
	}
	return (uintptr_t)object;
}

static uint64_t matrix(int64_t rows, int64_t columns)
{
	return tensor(FLOAT, STRIDED_KEYS, 2, (int64_t[]){rows, columns}, (int64_t[]){columns, 1});
}

/* A list of all elements so far. */
static uint64_t list(uint32_t kind)
{
	static struct object type;
	void *object = &made.lists[made.list_count++];

	put(&type, layout()->type_kind, kind, 4);
	put(object, layout()->list_values, (uintptr_t)made.elements, 8);
	put(object, layout()->list_values + 8, (uintptr_t)made.elements[made.element_count], 8);
	put(object, layout()->list_type, (uintptr_t)&type, 8);
	return (uintptr_t)object;
}

static uint32_t take(uint64_t *words)
{
	put(&made.op, layout()->op_inputs, (uintptr_t)made.values, 8);
	put(&made.op, layout()->op_inputs + 8, made.count, 8);
	return op_inputs_take(layout(), &made.op, words);
}

static void assert_inputs(const char *expected)
{
	uint64_t words[OP_INPUTS_WORDS];
	char text[4096];
	size_t bytes = op_inputs_write(&types, words, take(words), text, sizeof(text) - 1);

	text[bytes] = '\0';
	assert_string_equal(text, expected);
}

static void a_tensor_has_dimensions_type_and_strides(void **state)
{
	input(layout()->tag_tensor, matrix(2, 3));
	input(layout()->tag_tensor, tensor(15, STRIDED_KEYS, 0, NULL, NULL));
	assert_inputs("[[2, 3], []] [\"float\", \"c10::BFloat16\"] [[3, 1], []] [\"\", \"\"]");
}

static void more_dimensions_than_stand_in_a_tensor_are_elsewhere(void **state)
{
	static const int64_t elsewhere[] = {1, 2, 3, 4, 5, 6, 720, 360, 120, 30, 6, 1};
	uint64_t object = tensor(FLOAT, STRIDED_KEYS, 0, NULL, NULL);

	put((void *)(uintptr_t)object, layout()->tensor_dims, 6, 8);
	put((void *)(uintptr_t)object, layout()->tensor_inline, (uintptr_t)elsewhere, 8);
	input(layout()->tag_tensor, object);
	assert_inputs("[[1, 2, 3, 4, 5, 6]] [\"float\"] [[720, 360, 120, 30, 6, 1]] [\"\"]");
}

static void a_sparse_tensor_has_no_strides(void **state)
{
	uint64_t sparse = layout()->keys_unstrided & ~(layout()->keys_unstrided - 1);

	input(layout()->tag_tensor, tensor(FLOAT, sparse, 2, (int64_t[]){3, 3}, (int64_t[]){3, 1}));
	assert_inputs("[[3, 3]] [\"float\"] [[]] [\"\"]");
}

static void nothing_is_said_of_undefined_nested_and_symbolic_tensors(void **state)
{
	uint64_t symbolic = matrix(2, 2);

	put((void *)(uintptr_t)symbolic, layout()->tensor_symbolic, layout()->symbolic_bit, 1);
	input(layout()->tag_tensor, symbolic);
	input(layout()->tag_tensor, tensor(layout()->type_undefined, STRIDED_KEYS, 1, (int64_t[]){0}, (int64_t[]){1}));
	input(layout()->tag_tensor,
	      tensor(FLOAT, layout()->keys_nested | STRIDED_KEYS, 1, (int64_t[]){1}, (int64_t[]){1}));
	input(layout()->tag_tensor, 0);
	assert_inputs("[[], [], [], []] [\"\", \"\", \"\", \"\"] [[], [], [], []] [\"\", \"\", \"\", \"\"]");
}

static void numbers_are_written_as_pytorch_prints_them(void **state)
{
	static const double numbers[] = {1, -0.0, 0.1, 1e20, 1e10, 9999999999.0, -2.5, 1e-320};

	input(layout()->tag_int, (uint64_t)-7);
	input(layout()->tag_bool, 0xaaaaaaaaaaaaaa01);
	input(layout()->tag_bool, 0xaaaaaaaaaaaaaa00);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		input(layout()->tag_double, bits(numbers[i]));
	input(layout()->tag_double, 0x7ff0000000000000);
	input(layout()->tag_double, 0x7ff8000000000000);
	assert_inputs(
		"[[], [], [], [], [], [], [], [], [], [], [], [], []] "
		"[\"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", "
		"\"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"] "
		"[[], [], [], [], [], [], [], [], [], [], [], [], []] "
		"[\"-7\", \"True\", \"False\", \"1.\", \"0.\", \"0.10000000000000001\", \"1e+20\", \"10000000000.\", "
		"\"9999999999.\", \"-2.5\", \"9.9998886718268301e-321\", \"inf\", \"nan\"]");
}

static void a_complex_number_has_both_parts(void **state)
{
	struct object complex;

	put(&complex, layout()->complex_value, bits(1), 8);
	put(&complex, layout()->complex_value + 8, bits(-2.5), 8);
	input(layout()->tag_complex, (uintptr_t)&complex);
	assert_inputs("[[]] [\"Scalar\"] [[]] [\"1.-2.5j\"]");
}

static void lists_have_their_elements(void **state)
{
	element(layout()->tag_tensor, matrix(2, 3));
	element(layout()->tag_tensor, matrix(4, 1));
	input(layout()->tag_list, list(layout()->kind_tensor));
	assert_inputs("[[[2, 3], [4, 1]]] [\"TensorList\"] [[[3, 1], [1, 1]]] [\"\"]");
}

static void a_list_of_numbers_is_a_concrete_value(void **state)
{
	element(layout()->tag_int, 3);
	element(layout()->tag_int, (uint64_t)-1);
	element(layout()->tag_none, 0);
	input(layout()->tag_list, list(layout()->kind_tensor + 1));
	assert_inputs("[[]] [\"ScalarList\"] [[]] [\"[3, -1, None]\"]");
}

static void of_an_empty_list_its_type_is_reported(void **state)
{
	input(layout()->tag_list, list(layout()->kind_tensor));
	assert_inputs("[[]] [\"TensorList\"] [[]] [\"\"]");
	made.count = 0;
	input(layout()->tag_list, list(layout()->kind_tensor + 1));
	assert_inputs("[[]] [\"ScalarList\"] [[]] [\"[]\"]");
}

static void an_undefined_tensor_hides_the_list_it_is_in(void **state)
{
	element(layout()->tag_tensor, matrix(2, 3));
	element(layout()->tag_tensor,
		tensor(layout()->type_undefined, STRIDED_KEYS, 1, (int64_t[]){0}, (int64_t[]){1}));
	input(layout()->tag_list, list(layout()->kind_tensor));
	assert_inputs("[[]] [\"\"] [[]] [\"\"]");
}

static void of_long_lists_no_elements_are_reported(void **state)
{
	uint64_t one = matrix(2, 3);

	for (unsigned i = 0; i <= OP_INPUTS_LIST; i++)
		element(layout()->tag_tensor, one);
	input(layout()->tag_list, list(layout()->kind_tensor));
	assert_inputs("[[]] [\"TensorList\"] [[]] [\"\"]");
	made.count = made.element_count = 0;
	for (unsigned i = 0; i <= OP_INPUTS_LIST; i++)
		element(layout()->tag_int, i);
	input(layout()->tag_list, list(layout()->kind_tensor + 1));
	assert_inputs("[[]] [\"\"] [[]] [\"\"]");
}

static void nothing_is_said_of_what_is_neither_tensor_nor_number(void **state)
{
	input(layout()->tag_none, 0);
	input(200, 0x1234);
	assert_inputs("[[], []] [\"\", \"\"] [[], []] [\"\", \"\"]");
}

static void what_has_no_room_is_reported_as_such(void **state)
{
	static const int64_t many[400];
	uint64_t words[OP_INPUTS_WORDS], object = tensor(FLOAT, STRIDED_KEYS, 0, NULL, NULL);
	uint64_t elsewhere = (uintptr_t)many;

	put((void *)(uintptr_t)object, layout()->tensor_dims, 200, 8);
	put((void *)(uintptr_t)object, layout()->tensor_inline, elsewhere, 8);
	for (int i = 0; i < 5; i++)
		input(layout()->tag_tensor, object);
	assert_true(take(words) > OP_INPUTS_WORDS);
	made.count = 2;
	assert_int_equal(take(words), 2 * (1 + 400));
	put((void *)(uintptr_t)object, layout()->tensor_dims, UINT64_MAX, 8);
	assert_true(take(words) > OP_INPUTS_WORDS);
}

static void behind_the_room_nothing_is_written(void **state)
{
	static const int64_t many[2 * 511];
	uint64_t words[OP_INPUTS_WORDS + 8], object = tensor(FLOAT, STRIDED_KEYS, 0, NULL, NULL);

	memset(words, 0xaa, sizeof(words));
	put((void *)(uintptr_t)object, layout()->tensor_dims, 511, 8);
	put((void *)(uintptr_t)object, layout()->tensor_inline, (uintptr_t)many, 8);
	input(layout()->tag_tensor, object);
	input(layout()->tag_none, 0);
	assert_int_equal(take(words), OP_INPUTS_WORDS);
	input(layout()->tag_tensor, matrix(2, 3));
	assert_true(take(words) > OP_INPUTS_WORDS);
	for (unsigned i = OP_INPUTS_WORDS; i < OP_INPUTS_WORDS + 8; i++)
		assert_int_equal(words[i], 0xaaaaaaaaaaaaaaaa);
}

static void words_that_are_no_inputs_and_texts_without_room_are_refused(void **state)
{
	static const uint64_t cut[] = {OP_INPUT_TENSOR | 3ull << 32, 1, 2}, unknown[] = {99};
	static const uint64_t good[] = {OP_INPUT_TENSOR | 3ull << 32, 1, 2, 3};
	char text[64];

	assert_int_equal(op_inputs_write(&types, cut, 3, text, sizeof(text)), 0);
	assert_int_equal(op_inputs_write(&types, unknown, 1, text, sizeof(text)), 0);
	assert_int_equal(op_inputs_write(&types, good, 4, text, 8), 0);
	assert_true(op_inputs_write(&types, good, 4, text, sizeof(text)) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_tensor_has_dimensions_type_and_strides, begin),
		cmocka_unit_test_setup(more_dimensions_than_stand_in_a_tensor_are_elsewhere, begin),
		cmocka_unit_test_setup(a_sparse_tensor_has_no_strides, begin),
		cmocka_unit_test_setup(nothing_is_said_of_undefined_nested_and_symbolic_tensors, begin),
		cmocka_unit_test_setup(numbers_are_written_as_pytorch_prints_them, begin),
		cmocka_unit_test_setup(a_complex_number_has_both_parts, begin),
		cmocka_unit_test_setup(lists_have_their_elements, begin),
		cmocka_unit_test_setup(a_list_of_numbers_is_a_concrete_value, begin),
		cmocka_unit_test_setup(of_an_empty_list_its_type_is_reported, begin),
		cmocka_unit_test_setup(an_undefined_tensor_hides_the_list_it_is_in, begin),
		cmocka_unit_test_setup(of_long_lists_no_elements_are_reported, begin),
		cmocka_unit_test_setup(nothing_is_said_of_what_is_neither_tensor_nor_number, begin),
		cmocka_unit_test_setup(what_has_no_room_is_reported_as_such, begin),
		cmocka_unit_test_setup(behind_the_room_nothing_is_written, begin),
		cmocka_unit_test_setup(words_that_are_no_inputs_and_texts_without_room_are_refused, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
