/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where Kineto keeps the flag that it records: code as in PyTorch, and code that must not be mistaken for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/kineto.h"

/* clang-format off */
#define ENTRY /* of pushCorrelationID, PyTorch 2.14.1 and 2.15.0 */ \
	0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x55, 0x89, 0xfd, 0x53, 0x89, 0xf3, 0x48, 0x81, 0xec, 0x00, 0x02, 0x00, 0x00
#define CALL 0xe8, 0x98, 0x6b, 0xe4, 0xf7
#define REST 0x48, 0x81, 0xc4, 0x00, 0x02, 0x00, 0x00, 0x5b, 0x5d, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0xc3

struct code {
	const char *what;
	uint8_t code[64];
	int offset; /* -1: not understood */
};

static const struct code pushes[] = {
	{"that of PyTorch 2.15.0", {ENTRY, CALL, 0x0f, 0xb6, 0x80, 0xe8, 0, 0, 0, 0x84, 0xc0, 0x75, 0x15, REST}, 0xe8},
	{"a near offset", {ENTRY, CALL, 0x0f, 0xb6, 0x40, 0x78, 0x84, 0xc0, 0x75, 0x15, REST}, 0x78},
	{"a comparison", {ENTRY, CALL, 0x80, 0xb8, 0xe8, 0, 0, 0, 0, 0x0f, 0x85, 0x10, 0x01, 0, 0, REST}, 0xe8},
	{"a comparison at a near offset", {ENTRY, CALL, 0x80, 0x78, 0x10, 0, 0x74, 0x15, REST}, 0x10},
	{"another register", {ENTRY, CALL, 0x0f, 0xb6, 0x83, 0xe8, 0, 0, 0, 0x84, 0xc0, 0x75, 0x15, REST}, -1},
	{"a negative offset", {ENTRY, CALL, 0x0f, 0xb6, 0x40, 0xf8, 0x84, 0xc0, 0x75, 0x15, REST}, -1},
	{"an offset beyond anything", {ENTRY, CALL, 0x0f, 0xb6, 0x80, 0, 0, 0x10, 0, 0x84, 0xc0, 0x75, 0x15, REST}, -1},
	{"a comparison with 1", {ENTRY, CALL, 0x80, 0x78, 0x10, 1, 0x74, 0x15, REST}, -1},
	{"nothing decided", {ENTRY, CALL, 0x0f, 0xb6, 0x80, 0xe8, 0, 0, 0, 0x84, 0xc0, REST}, -1},
	{"nothing looked at", {ENTRY, CALL, REST}, -1},
	{"a jump before the call", {ENTRY, 0x75, 0x05, CALL, 0x0f, 0xb6, 0x40, 0x78, 0x84, 0xc0, 0x75, 0x15, REST}, -1},
	{"no call", {ENTRY, REST}, -1},
	{"zeros", {0}, -1},
};

/* singleton(): from a pointer, as in PyTorch 2.15.0; the variable itself; after endbr64 */
#define GUARD 0x0f, 0xb6, 0x05, 0xb1, 0x92, 0xec, 0x0b, 0x84, 0xc0, 0x74, 0x0d
static const uint8_t by_pointer[64] = {GUARD, 0x48, 0x8b, 0x05, 0xae, 0x92, 0xec, 0x0b, 0xc3};
static const uint8_t itself[64] = {GUARD, 0x48, 0x8d, 0x05, 0xae, 0x92, 0xec, 0x0b, 0xc3};
static const uint8_t marked[64] = {0xf3, 0x0f, 0x1e, 0xfa, GUARD, 0x48, 0x8b, 0x05, 0xae, 0x92, 0xec, 0x0b, 0xc3};
static const uint8_t goes_on[64] = {GUARD, 0x48, 0x8b, 0x05, 0xae, 0x92, 0xec, 0x0b, 0x90};
/* clang-format on */

static void the_flag_is_the_byte_that_decides_after_the_first_call(void **state)
{
	for (size_t i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
		uint32_t offset = 0;
		bool found = kineto_flag_in(pushes[i].code, sizeof(pushes[i].code), &offset);

		if (found != (pushes[i].offset >= 0) || (found && offset != (uint32_t)pushes[i].offset))
			fail_msg("%s: %d, offset %#x", pushes[i].what, found, offset);
	}
}

static void code_that_ends_early_is_not_understood(void **state)
{
	uint32_t offset;

	for (size_t bytes = 0; bytes < 35; bytes++) {
		uint8_t *code = test_malloc(bytes ? bytes : 1); /* a sanitizer sees a read beyond it */

		memcpy(code, pushes[0].code, bytes);
		assert_false(kineto_flag_in(code, bytes, &offset));
		test_free(code);
	}
}

static void the_instance_is_where_the_function_finds_it(void **state)
{
	struct kineto_flag flag;

	assert_true(kineto_instance_in(by_pointer, sizeof(by_pointer), 0x9164160, &flag));
	assert_int_equal(flag.guard, 0x1502d418);
	assert_int_equal(flag.instance, 0x1502d420);
	assert_true(flag.by_pointer);
	assert_true(kineto_instance_in(itself, sizeof(itself), 0x9164160, &flag));
	assert_false(flag.by_pointer);
	assert_true(kineto_instance_in(marked, sizeof(marked), 0x9164160 - 4, &flag));
	assert_int_equal(flag.instance, 0x1502d420);
	assert_false(kineto_instance_in(goes_on, sizeof(goes_on), 0x9164160, &flag));
	assert_false(kineto_instance_in(by_pointer, 20, 0x9164160, &flag));
}

/* The test's own memory stands in for another process's. */
static struct {
	uint8_t guard, filler[15], flag;
} memory;
static const void *pointer = &memory;

static void memory_says_whether_it_records(void **state)
{
	struct kineto_flag flag = {
		.guard = (uintptr_t)&memory.guard, .instance = (uintptr_t)&pointer, .by_pointer = true, .offset = 16};

	memory.flag = 1;
	assert_int_equal(kineto_records(getpid(), 0, &flag), 0); /* there is no instance yet */
	memory.guard = 1;
	assert_int_equal(kineto_records(getpid(), 0, &flag), 1);
	memory.flag = 0;
	assert_int_equal(kineto_records(getpid(), 0, &flag), 0);
	memory.flag = 0x40;
	assert_true(kineto_records(getpid(), 0, &flag) < 0);
	pointer = (void *)8;
	assert_true(kineto_records(getpid(), 0, &flag) < 0);
	flag = (struct kineto_flag){
		.guard = (uintptr_t)&memory.guard - 4096, .instance = (uintptr_t)&memory - 4096, .offset = 16};
	memory.flag = 1;
	assert_int_equal(kineto_records(getpid(), 4096, &flag), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_flag_is_the_byte_that_decides_after_the_first_call),
		cmocka_unit_test(code_that_ends_early_is_not_understood),
		cmocka_unit_test(the_instance_is_where_the_function_finds_it),
		cmocka_unit_test(memory_says_whether_it_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
