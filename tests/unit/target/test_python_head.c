/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPython 3.6's list of interpreters: found by its name, else in the code of the function that returns it, else not at
 * all.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "built_library.h"
#include "target/python/python_internal.h"

/* As in Python/pystate.c of 3.6. */
static const char source[] = "static void *interp_head;\n"
			     "void *PyInterpreterState_Head(void) { return interp_head; }\n"
			     "void add(void *head) { interp_head = head; }\n";

/* The flags that distributions, conda and people compile it with. */
static const char *const flags[] = {
	"-shared -fPIC -O0",
	"-shared -fPIC -O2",
	"-shared -fPIC -O3 -fcf-protection=full",
	"-shared -fPIC -O0 -fcf-protection=full",
	"-shared -fPIC -O2 -fno-omit-frame-pointer",
	"-shared -fPIC -Os",
	"-shared -fPIC -Og",
	"-shared -fPIC -O2 -fstack-protector-strong",
};

static int find_in(const char *path, uint64_t *head)
{
	struct image *image;
	int err;

	assert_int_equal(image_open(open_file(path), &image), 0);
	err = python_head_find(image, head);
	image_close(image);
	return err;
}

static void a_stripped_file_has_it_where_its_symbol_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		char *path = build_file(tests_folder, "libpython3.6m.so.1.0", source, NULL, flags[i]);
		char *strip = xasprintf("strip -s '%s'", path);
		uint64_t named = 0, decoded = 1;

		assert_int_equal(find_in(path, &named), 0);
		assert_int_equal(system(strip), 0);
		if (find_in(path, &decoded) || decoded != named)
			fail_msg("%s: %#llx, named %#llx", flags[i], (unsigned long long)decoded,
				 (unsigned long long)named);
		free(strip);
		unlink(path);
		free(path);
	}
}

static void a_file_without_either_has_none(void **state)
{
	static const char *const sources[] = {
		"long PyInterpreterState_Tail;", "long PyInterpreterState_Head;",     /* no code */
		"int a, b; int PyInterpreterState_Head(int c) { return c ? a : b; }", /* does more than that */
	};
	uint64_t head;

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		char *path = build_file(tests_folder, "libpython3.6m.so.1.0", sources[i], NULL, "-shared -fPIC -O2");

		assert_int_equal(find_in(path, &head), -ENOENT);
		unlink(path);
		free(path);
	}
}

static const struct {
	const char *what;
	uint8_t code[24];
	size_t bytes;
	uint64_t head; /* for code linked at 0x1000; 0: refused */
} codes[] = {
	{"a load and a return", {0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3}, 8, 0x1017},
	{"a variable before the code", {0x48, 0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff, 0xc3}, 8, 0xff7},
	{"a return with a prefix", {0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xf3, 0xc3}, 9, 0x1017},
	{"a marked entry", {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3}, 12, 0x101b},
	{"a frame", {0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0x5d, 0xc3}, 13, 0x101b},
	{"a load that is truncated", {0x48, 0x8b, 0x05, 0x10, 0, 0}, 6, 0},
	{"a load at the very end", {0x48, 0x8b, 0x05, 0x10, 0, 0, 0}, 7, 0},
	{"more after the load", {0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0x48, 0x8b, 0x00, 0xc3}, 11, 0},
	{"another register", {0x48, 0x8b, 0x0d, 0x10, 0, 0, 0, 0xc3}, 8, 0},
	{"an address, not what is there", {0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0xc3}, 8, 0},
	{"half a word", {0x8b, 0x05, 0x10, 0, 0, 0, 0xc3}, 7, 0},
	{"a frame that is not left", {0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0xc3}, 12, 0},
	{"nothing", {0}, 0, 0},
};

static void only_a_function_that_loads_and_returns_a_word_is_believed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		uint64_t head = 0;
		bool found = python_head_decode(codes[i].code, codes[i].bytes, 0x1000, &head);

		if (found != (codes[i].head != 0) || head != codes[i].head)
			fail_msg("%s: %d, %#llx", codes[i].what, found, (unsigned long long)head);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stripped_file_has_it_where_its_symbol_was),
		cmocka_unit_test(a_file_without_either_has_none),
		cmocka_unit_test(only_a_function_that_loads_and_returns_a_word_is_believed),
	};

	return cmocka_run_group_tests_name("target/python_head", tests, make_tests_folder, remove_tests_folder);
}
