/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where libnccl keeps a number of a communicator: code as in NCCL, and code that must not be mistaken for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "target/nccl.h"

/* clang-format off */
#define ENTRY 0x41, 0x56, 0x49, 0x89, 0xf6, 0x41, 0x55, 0x49, 0x89, 0xfd, 0x53 /* to r14 and r13, as in NCCL 2.30 */
#define LOAD 0x41, 0x8b, 0x85, 0xf4, 0x06, 0x12, 0x00 /* mov 0x1206f4(%r13), %eax */
#define CLEAR 0x31, 0xdb			      /* xor %ebx, %ebx */
#define STORE 0x41, 0x89, 0x06			      /* mov %eax, (%r14) */
#define REST 0x5b, 0x41, 0x5d, 0x41, 0x5e, 0xc3

static const struct code {
	const char *what;
	uint8_t code[64];
	size_t bytes;
	int offset; /* -1: not understood */
} codes[] = {
	{"that of NCCL 2.30", {ENTRY, LOAD, CLEAR, STORE, REST}, 29, 0x1206f4},
	{"a near offset", {0x8b, 0x47, 0x08, 0x89, 0x06, 0xc3}, 6, 8}, /* mov 8(%rdi), %eax; mov %eax, (%rsi) */
	{"another load between", {ENTRY, LOAD, 0x8b, 0x47, 0x08, STORE, REST}, 30, 8},
	{"the same twice", {ENTRY, LOAD, STORE, LOAD, STORE, REST}, 37, 0x1206f4},
	{"two of them", {ENTRY, LOAD, STORE, 0x8b, 0x47, 0x08, STORE, REST}, 33, -1},
	{"another register stored", {0x8b, 0x47, 0x08, 0x89, 0x0e, 0xc3}, 6, -1},
	{"stored elsewhere than at the pointer", {0x8b, 0x47, 0x08, 0x89, 0x46, 0x04, 0xc3}, 7, -1},
	{"stored on the stack", {0x8b, 0x47, 0x08, 0x89, 0x04, 0x24, 0xc3}, 7, -1},
	{"64 bits", {0x48, 0x8b, 0x47, 0x08, 0x48, 0x89, 0x06, 0xc3}, 8, -1},
	{"a negative offset", {0x8b, 0x47, 0xf8, 0x89, 0x06, 0xc3}, 6, -1},
	{"an offset beyond anything", {0x8b, 0x87, 0, 0, 0, 0x10, 0x89, 0x06, 0xc3}, 9, -1},
	{"far apart", {0x8b, 0x47, 0x08, 0x90, 0x90, 0x90, 0x89, 0x06, 0xc3}, 9, -1},
	{"no instruction", {0x8b, 0x47, 0x08, 0x06, 0x89, 0x06, 0xc3}, 7, -1},
	{"nothing", {0xc3}, 1, -1},
};
/* clang-format on */

static void a_number_is_what_the_function_loads_and_stores(void **state)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		uint32_t offset = 0;
		bool found = nccl_member_in(codes[i].code, codes[i].bytes, &offset);

		if (found != (codes[i].offset >= 0) || (found && offset != (uint32_t)codes[i].offset))
			fail_msg("%s: %d, offset %#x", codes[i].what, found, offset);
	}
}

static void code_that_is_cut_is_not_understood(void **state)
{
	uint32_t offset;

	for (size_t bytes = 0; bytes < 23; bytes++)
		assert_false(nccl_member_in(codes[0].code, bytes, &offset));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_what_the_function_loads_and_stores),
		cmocka_unit_test(code_that_is_cut_is_not_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
