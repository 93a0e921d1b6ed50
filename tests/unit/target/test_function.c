/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whole functions: their exits, and the instructions after their calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "built_library.h"
#include "target/function.h"
#include "target/python/python_events.h"

#if defined(__x86_64__)

/* Labels mark the expected sites: those of a function are NAME_1, NAME_2 and so on. */
static const char source[] =
	"void helper(void) {}\n"
	"__attribute__((visibility(\"hidden\"))) void own(void) {}\n"
	"__asm__(\n"
	"\"\\t.macro function name\\n\\t.globl \\\\name\\n\\t.type \\\\name, @function\\n\\\\name:\\n\\t.endm\\n\"\n"
	"\"\\t.macro site name\\n\\t.globl \\\\name\\n\\\\name:\\n\\t.endm\\n\"\n"
	/* a call, then the epilogue */
	"\"function simple\\n push %rbp\\n push %rbx\\n sub $0x28, %rsp\\n\"\n"
	"\"site simple_1\\n call own\\n add $0x28, %rsp\\n pop %rbx\\n pop %rbp\\n ret\\n .size simple, . - "
	"simple\\n\"\n"
	/* two ways into one epilogue: a jump, and a move before it */
	"\"function joined\\n sub $0x18, %rsp\\n test %edi, %edi\\n je 1f\\n call own\\n\"\n"
	"\"site joined_2\\n jmp 2f\\n1: call own\\n\"\n"
	"\"site joined_1\\n xor %eax, %eax\\n2: add $0x18, %rsp\\n ret\\n .size joined, . - joined\\n\"\n"
	/* a conditional jump into the epilogue may not be taken, so the site is the return itself */
	"\"function perhaps\\n sub $0x18, %rsp\\n test %edi, %edi\\n je 1f\\n call own\\n1: add $0x18, %rsp\\n\"\n"
	"\"site perhaps_1\\n ret\\n .size perhaps, . - perhaps\\n\"\n"
	/* only returns, two of them */
	"\"function bare\\n test %edi, %edi\\n je 1f\\n\"\n"
	"\"site bare_1\\n ret\\n1: nop\\n\"\n"
	"\"site bare_2\\n ret\\n .size bare, . - bare\\n\"\n"
	/* leaves through another function */
	"\"function leaves\\n test %edi, %edi\\n je simple\\n ret\\n .size leaves, . - leaves\\n\"\n"
	/* has a part elsewhere: that part has one exit of its own, and a jump back into the epilogue here */
	"\"function split\\n sub $0x18, %rsp\\n test %edi, %edi\\n je split.cold\\n\"\n"
	"\"site split_1\\n call own\\n.Lback: add $0x18, %rsp\\n ret\\n .size split, . - split\\n\"\n"
	"\"function away\\n nop\\n nop\\n ret\\n .size away, . - away\\n\"\n"
	"\"\\t.type split.cold, @function\\nsplit.cold:\\n test %esi, %esi\\n je 1f\\n\"\n"
	"\"site split_2\\n jmp .Lback\\n1: call own\\n nop\\n add $0x18, %rsp\\n\"\n"
	"\"site split_3\\n ret\\n .size split.cold, . - split.cold\\n\"\n"
	/* contains bytes that are no instruction */
	"\"function broken\\n nop\\n .byte 0x06\\n ret\\n .size broken, . - broken\\n\"\n"
	/* calls through the PLT beside another call; a direct call */
	"\"function caller\\n sub $8, %rsp\\n call helper@plt\\n\"\n"
	"\"site caller_1\\n nop\\n call own\\n nop\\n call helper@plt\\n\"\n"
	"\"site caller_2\\n add $8, %rsp\\n ret\\n .size caller, . - caller\\n\"\n"
	"\"function near\\n call own\\n\"\n"
	"\"site near_1\\n ret\\n .size near, . - near\\n\"\n"
	");\n";

static struct image *image;

static int build_fixture(void **state)
{
	char *folder = make_folder();
	char *path = build_file(folder, "libfunctions.so", source, NULL, "-O1 -g0 -shared -fPIC -Wl,-z,lazy");
	int err = image_open(open_file(path), &image);

	(void)state;
	free(path);
	remove_folder(folder);
	return err;
}

static int clean_fixture(void **state)
{
	(void)state;
	image_close(image);
	return 0;
}

static struct image_symbol find_symbol(const char *name)
{
	struct image_symbol out;

	if (image_symbol(image, name, &out))
		fail_msg("no symbol %s", name);
	return out;
}

static void assert_exits(const char *name, size_t count, const int32_t *adjusts)
{
	struct image_symbol function = find_symbol(name);
	function_sites sites;

	assert_int_equal(function_exits(image, &function, &sites), 0);
	assert_int_equal(sites.count, count);
	for (size_t i = 0; i < count; i++) {
		char *label = xasprintf("%s_%zu", name, i + 1);

		assert_int_equal(sites.items[i].address, find_symbol(label).address);
		assert_int_equal(sites.items[i].sp_adjust, adjusts[i]);
		free(label);
	}
	array_free(&sites);
}

static void the_call_in_front_of_the_epilogue_is_the_way_out(void **state)
{
	assert_exits("simple", 1, (const int32_t[]){0x28 + 8 + 8 + 8});
}

static void each_way_into_the_epilogue_is_a_way_out(void **state)
{
	assert_exits("joined", 2, (const int32_t[]){0x18 + 8, 0x18 + 8});
}

static void the_return_itself_is_taken_where_a_jump_may_not_be(void **state)
{
	assert_exits("perhaps", 1, (const int32_t[]){8});
}

static void every_return_is_a_way_out(void **state)
{
	assert_exits("bare", 2, (const int32_t[]){8, 8});
}

static void the_cold_part_of_a_function_is_part_of_it(void **state)
{
	assert_exits("split", 3, (const int32_t[]){0x18 + 8, 0x18 + 8, 8});
}

static void a_function_that_goes_on_elsewhere_has_no_certain_ends(void **state)
{
	struct image_symbol function = find_symbol("leaves");
	function_sites sites;

	assert_int_equal(function_exits(image, &function, &sites), -ENOENT);
	assert_int_equal(sites.count, 0);
}

static void a_function_that_cannot_be_decoded_has_no_certain_ends(void **state)
{
	struct image_symbol function = find_symbol("broken");
	function_sites sites;

	assert_int_equal(function_exits(image, &function, &sites), -ENOENT);
	assert_int_equal(function_returns_of(image, &function, "helper", &sites), -ENOENT);
}

static void a_function_without_a_size_has_no_certain_ends(void **state)
{
	struct image_symbol function = find_symbol("simple");
	function_sites sites;

	function.size = 0;
	assert_int_equal(function_exits(image, &function, &sites), -ENOENT);
	function.size = UINT64_MAX;
	assert_int_equal(function_exits(image, &function, &sites), -ENOENT);
}

static void its_own_returns_are_found_wherever_else_it_goes(void **state)
{
	struct image_symbol function = find_symbol("leaves");
	function_sites sites;

	assert_int_equal(function_rets(image, &function, &sites), 0);
	assert_int_equal(sites.count, 1);
	assert_int_equal(sites.items[0].address, function.address + function.size - 1);
	assert_int_equal(sites.items[0].sp_adjust, 8);
	array_free(&sites);
	function = find_symbol("simple");
	assert_int_equal(function_rets(image, &function, &sites), 0);
	assert_int_equal(sites.count, 1);
	assert_int_equal(sites.items[0].address, function.address + function.size - 1);
	array_free(&sites);
	function = find_symbol("broken");
	assert_int_equal(function_rets(image, &function, &sites), -ENOENT);
}

static void calls_through_the_plt_are_found_by_name(void **state)
{
	struct image_symbol function = find_symbol("caller");
	function_sites sites;

	assert_int_equal(function_returns_of(image, &function, "helper", &sites), 0);
	assert_int_equal(sites.count, 2);
	assert_int_equal(sites.items[0].address, find_symbol("caller_1").address);
	assert_int_equal(sites.items[1].address, find_symbol("caller_2").address);
	array_free(&sites);
	assert_int_equal(function_returns_of(image, &function, "simple", &sites), -ENOENT);
}

static void calls_to_the_function_itself_are_found_by_address(void **state)
{
	struct image_symbol function = find_symbol("near");
	function_sites sites;

	assert_int_equal(function_returns_of(image, &function, "own", &sites), 0);
	assert_int_equal(sites.count, 1);
	assert_int_equal(sites.items[0].address, find_symbol("near_1").address);
	array_free(&sites);
}

static void a_file_that_is_no_interpreter_has_no_probe_sites(void **state)
{
	struct python_sites sites;

	python_events_find(image, 3 << 8 | 12, &sites);
	assert_int_equal(sites.list.count, 0);
	assert_false(sites.gc || sites.imports);
	assert_int_equal(python_calls_find(image, 3 << 8 | 10, &sites), -ENOENT);
	assert_int_equal(python_calls_find(image, 3 << 8 | 11, &sites), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_call_in_front_of_the_epilogue_is_the_way_out),
		cmocka_unit_test(each_way_into_the_epilogue_is_a_way_out),
		cmocka_unit_test(the_return_itself_is_taken_where_a_jump_may_not_be),
		cmocka_unit_test(every_return_is_a_way_out),
		cmocka_unit_test(the_cold_part_of_a_function_is_part_of_it),
		cmocka_unit_test(a_function_that_goes_on_elsewhere_has_no_certain_ends),
		cmocka_unit_test(a_function_that_cannot_be_decoded_has_no_certain_ends),
		cmocka_unit_test(a_function_without_a_size_has_no_certain_ends),
		cmocka_unit_test(its_own_returns_are_found_wherever_else_it_goes),
		cmocka_unit_test(calls_through_the_plt_are_found_by_name),
		cmocka_unit_test(calls_to_the_function_itself_are_found_by_address),
		cmocka_unit_test(a_file_that_is_no_interpreter_has_no_probe_sites),
	};

	return cmocka_run_group_tests(tests, build_fixture, clean_fixture);
}

#else

int main(void)
{
	print_message("functions are read on x86-64 only\n");
	return 0;
}

#endif
