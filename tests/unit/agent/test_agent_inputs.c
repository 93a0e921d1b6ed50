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

static const struct torch_layout *layout_here(void)
{
	return torch_layout(VERSION, false);
}

static void put_member(void *object, unsigned offset, uint64_t value, size_t bytes)
{
	memcpy((char *)object + offset, &value, bytes);
}

static void make_value(uint64_t *value, uint32_t tag, uint64_t payload)
{
	put_member(value, layout_here()->value_payload, payload, 8);
	put_member(value, layout_here()->value_tag, tag, 4);
}

static void add_input(uint32_t tag, uint64_t payload)
{
	make_value(made.values[made.count++], tag, payload);
}

static void add_element(uint32_t tag, uint64_t payload)
{
	make_value(made.elements[made.element_count++], tag, payload);
}

static uint64_t bits_of(double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static int begin_test(void **state)
{
	memset(&made, 0, sizeof(made));
	return 0;
}

static uint64_t add_tensor(unsigned type, uint64_t keys, uint64_t dims, const int64_t *sizes, const int64_t *strides)
{
	void *object = &made.tensors[made.tensor_count++];

	put_member(object, layout_here()->tensor_dims, dims, 8);
	put_member(object, layout_here()->tensor_type, type, 2);
	put_member(object, layout_here()->tensor_keys, keys, 8);
	for (uint64_t i = 0; i < dims; i++) {
		put_member(object, layout_here()->tensor_inline + 8 * i, (uint64_t)sizes[i], 8);
		put_member(object, layout_here()->tensor_inline + 8 * (layout_here()->tensor_inline_dims + i),
			   (uint64_t)strides[i], 8);
	}
	return (uintptr_t)object;
}

static uint64_t add_matrix(int64_t rows, int64_t columns)
{
	return add_tensor(FLOAT, STRIDED_KEYS, 2, (int64_t[]){rows, columns}, (int64_t[]){columns, 1});
}

/* A list of all elements so far. */
static uint64_t add_list(uint32_t kind)
{
	static struct object type;
	void *object = &made.lists[made.list_count++];

	put_member(&type, layout_here()->type_kind, kind, 4);
	put_member(object, layout_here()->list_values, (uintptr_t)made.elements, 8);
	put_member(object, layout_here()->list_values + 8, (uintptr_t)made.elements[made.element_count], 8);
	put_member(object, layout_here()->list_type, (uintptr_t)&type, 8);
	return (uintptr_t)object;
}

static uint32_t take_inputs(uint64_t *words)
{
	put_member(&made.op, layout_here()->op_inputs, (uintptr_t)made.values, 8);
	put_member(&made.op, layout_here()->op_inputs + 8, made.count, 8);
	return op_inputs_take(layout_here(), &made.op, words);
}

static void assert_inputs(const char *expected)
{
	uint64_t words[OP_INPUTS_WORDS];
	char text[4096];
	size_t bytes = op_inputs_write(&types, words, take_inputs(words), text, sizeof(text) - 1);

	text[bytes] = '\0';
	assert_string_equal(text, expected);
}

static void a_tensor_has_dimensions_type_and_strides(void **state)
{
	add_input(layout_here()->tag_tensor, add_matrix(2, 3));
	add_input(layout_here()->tag_tensor, add_tensor(15, STRIDED_KEYS, 0, NULL, NULL));
	assert_inputs("[[2, 3], []] [\"float\", \"c10::BFloat16\"] [[3, 1], []] [\"\", \"\"]");
}

static void more_dimensions_than_stand_in_a_tensor_are_elsewhere(void **state)
{
	static const int64_t elsewhere[] = {1, 2, 3, 4, 5, 6, 720, 360, 120, 30, 6, 1};
	uint64_t object = add_tensor(FLOAT, STRIDED_KEYS, 0, NULL, NULL);

	put_member((void *)(uintptr_t)object, layout_here()->tensor_dims, 6, 8);
	put_member((void *)(uintptr_t)object, layout_here()->tensor_inline, (uintptr_t)elsewhere, 8);
	add_input(layout_here()->tag_tensor, object);
	assert_inputs("[[1, 2, 3, 4, 5, 6]] [\"float\"] [[720, 360, 120, 30, 6, 1]] [\"\"]");
}

static void a_sparse_tensor_has_no_strides(void **state)
{
	uint64_t sparse = layout_here()->keys_unstrided & ~(layout_here()->keys_unstrided - 1);

	add_input(layout_here()->tag_tensor, add_tensor(FLOAT, sparse, 2, (int64_t[]){3, 3}, (int64_t[]){3, 1}));
	assert_inputs("[[3, 3]] [\"float\"] [[]] [\"\"]");
}

static void nothing_is_said_of_undefined_nested_and_symbolic_tensors(void **state)
{
	uint64_t symbolic = add_matrix(2, 2);

	put_member((void *)(uintptr_t)symbolic, layout_here()->tensor_symbolic, layout_here()->symbolic_bit, 1);
	add_input(layout_here()->tag_tensor, symbolic);
	add_input(layout_here()->tag_tensor,
		  add_tensor(layout_here()->type_undefined, STRIDED_KEYS, 1, (int64_t[]){0}, (int64_t[]){1}));
	add_input(layout_here()->tag_tensor,
		  add_tensor(FLOAT, layout_here()->keys_nested | STRIDED_KEYS, 1, (int64_t[]){1}, (int64_t[]){1}));
	add_input(layout_here()->tag_tensor, 0);
	assert_inputs("[[], [], [], []] [\"\", \"\", \"\", \"\"] [[], [], [], []] [\"\", \"\", \"\", \"\"]");
}

static void numbers_are_written_as_pytorch_prints_them(void **state)
{
	static const double numbers[] = {1, -0.0, 0.1, 1e20, 1e10, 9999999999.0, -2.5, 1e-320};

	add_input(layout_here()->tag_int, (uint64_t)-7);
	add_input(layout_here()->tag_bool, 0xaaaaaaaaaaaaaa01);
	add_input(layout_here()->tag_bool, 0xaaaaaaaaaaaaaa00);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		add_input(layout_here()->tag_double, bits_of(numbers[i]));
	add_input(layout_here()->tag_double, 0x7ff0000000000000);
	add_input(layout_here()->tag_double, 0x7ff8000000000000);
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

	put_member(&complex, layout_here()->complex_value, bits_of(1), 8);
	put_member(&complex, layout_here()->complex_value + 8, bits_of(-2.5), 8);
	add_input(layout_here()->tag_complex, (uintptr_t)&complex);
	assert_inputs("[[]] [\"Scalar\"] [[]] [\"1.-2.5j\"]");
}

static void lists_have_their_elements(void **state)
{
	add_element(layout_here()->tag_tensor, add_matrix(2, 3));
	add_element(layout_here()->tag_tensor, add_matrix(4, 1));
	add_input(layout_here()->tag_list, add_list(layout_here()->kind_tensor));
	assert_inputs("[[[2, 3], [4, 1]]] [\"TensorList\"] [[[3, 1], [1, 1]]] [\"\"]");
}

static void a_list_of_numbers_is_a_concrete_value(void **state)
{
	add_element(layout_here()->tag_int, 3);
	add_element(layout_here()->tag_int, (uint64_t)-1);
	add_element(layout_here()->tag_none, 0);
	add_input(layout_here()->tag_list, add_list(layout_here()->kind_tensor + 1));
	assert_inputs("[[]] [\"ScalarList\"] [[]] [\"[3, -1, None]\"]");
}

static void of_an_empty_list_its_type_is_reported(void **state)
{
	add_input(layout_here()->tag_list, add_list(layout_here()->kind_tensor));
	assert_inputs("[[]] [\"TensorList\"] [[]] [\"\"]");
	made.count = 0;
	add_input(layout_here()->tag_list, add_list(layout_here()->kind_tensor + 1));
	assert_inputs("[[]] [\"ScalarList\"] [[]] [\"[]\"]");
}

static void an_undefined_tensor_hides_the_list_it_is_in(void **state)
{
	add_element(layout_here()->tag_tensor, add_matrix(2, 3));
	add_element(layout_here()->tag_tensor,
		    add_tensor(layout_here()->type_undefined, STRIDED_KEYS, 1, (int64_t[]){0}, (int64_t[]){1}));
	add_input(layout_here()->tag_list, add_list(layout_here()->kind_tensor));
	assert_inputs("[[]] [\"\"] [[]] [\"\"]");
}

static void of_long_lists_no_elements_are_reported(void **state)
{
	uint64_t one = add_matrix(2, 3);

	for (unsigned i = 0; i <= OP_INPUTS_LIST; i++)
		add_element(layout_here()->tag_tensor, one);
	add_input(layout_here()->tag_list, add_list(layout_here()->kind_tensor));
	assert_inputs("[[]] [\"TensorList\"] [[]] [\"\"]");
	made.count = made.element_count = 0;
	for (unsigned i = 0; i <= OP_INPUTS_LIST; i++)
		add_element(layout_here()->tag_int, i);
	add_input(layout_here()->tag_list, add_list(layout_here()->kind_tensor + 1));
	assert_inputs("[[]] [\"\"] [[]] [\"\"]");
}

static void nothing_is_said_of_what_is_neither_tensor_nor_number(void **state)
{
	add_input(layout_here()->tag_none, 0);
	add_input(200, 0x1234);
	assert_inputs("[[], []] [\"\", \"\"] [[], []] [\"\", \"\"]");
}

static void what_has_no_room_is_reported_as_such(void **state)
{
	static const int64_t many[400];
	uint64_t words[OP_INPUTS_WORDS], object = add_tensor(FLOAT, STRIDED_KEYS, 0, NULL, NULL);
	uint64_t elsewhere = (uintptr_t)many;

	put_member((void *)(uintptr_t)object, layout_here()->tensor_dims, 200, 8);
	put_member((void *)(uintptr_t)object, layout_here()->tensor_inline, elsewhere, 8);
	for (int i = 0; i < 5; i++)
		add_input(layout_here()->tag_tensor, object);
	assert_true(take_inputs(words) > OP_INPUTS_WORDS);
	made.count = 2;
	assert_int_equal(take_inputs(words), 2 * (1 + 400));
	put_member((void *)(uintptr_t)object, layout_here()->tensor_dims, UINT64_MAX, 8);
	assert_true(take_inputs(words) > OP_INPUTS_WORDS);
}

static void behind_the_room_nothing_is_written(void **state)
{
	static const int64_t many[2 * 511];
	uint64_t words[OP_INPUTS_WORDS + 8], object = add_tensor(FLOAT, STRIDED_KEYS, 0, NULL, NULL);

	memset(words, 0xaa, sizeof(words));
	put_member((void *)(uintptr_t)object, layout_here()->tensor_dims, 511, 8);
	put_member((void *)(uintptr_t)object, layout_here()->tensor_inline, (uintptr_t)many, 8);
	add_input(layout_here()->tag_tensor, object);
	add_input(layout_here()->tag_none, 0);
	assert_int_equal(take_inputs(words), OP_INPUTS_WORDS);
	add_input(layout_here()->tag_tensor, add_matrix(2, 3));
	assert_true(take_inputs(words) > OP_INPUTS_WORDS);
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
		cmocka_unit_test_setup(a_tensor_has_dimensions_type_and_strides, begin_test),
		cmocka_unit_test_setup(more_dimensions_than_stand_in_a_tensor_are_elsewhere, begin_test),
		cmocka_unit_test_setup(a_sparse_tensor_has_no_strides, begin_test),
		cmocka_unit_test_setup(nothing_is_said_of_undefined_nested_and_symbolic_tensors, begin_test),
		cmocka_unit_test_setup(numbers_are_written_as_pytorch_prints_them, begin_test),
		cmocka_unit_test_setup(a_complex_number_has_both_parts, begin_test),
		cmocka_unit_test_setup(lists_have_their_elements, begin_test),
		cmocka_unit_test_setup(a_list_of_numbers_is_a_concrete_value, begin_test),
		cmocka_unit_test_setup(of_an_empty_list_its_type_is_reported, begin_test),
		cmocka_unit_test_setup(an_undefined_tensor_hides_the_list_it_is_in, begin_test),
		cmocka_unit_test_setup(of_long_lists_no_elements_are_reported, begin_test),
		cmocka_unit_test_setup(nothing_is_said_of_what_is_neither_tensor_nor_number, begin_test),
		cmocka_unit_test_setup(what_has_no_room_is_reported_as_such, begin_test),
		cmocka_unit_test_setup(behind_the_room_nothing_is_written, begin_test),
		cmocka_unit_test_setup(words_that_are_no_inputs_and_texts_without_room_are_refused, begin_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
