/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whole functions: their exits, and the instructions after their calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/monotonic.h"
#include "built_library.h"
#include "elf_builder.h"
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

#define LONG (256u << 10) /* the longest function that is read */
#define STUB (4096 + LONG)
#define TABLE ((uint64_t)24 << 18) /* bytes of relocations */
#define TABLES 16u
#define CPU_MOST_NS 5000000000ull

/* Opens a file with a function of these bytes again and again, a stub of the PLT, and tables of relocations. */
static struct image *open_long(const uint8_t *unit, size_t bytes)
{
	static const uint8_t stub[] = {0xff, 0x25, 0, 0, 0, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
	Elf64_Shdr sections[TABLES] = {{0}};
	AUTO_FREE uint8_t *code = xmalloc(LONG);
	struct image *opened;
	int fd;

	for (unsigned i = 1; i < TABLES; i++)
		sections[i] = (Elf64_Shdr){
			.sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_offset = STUB + 4096, .sh_size = TABLE};
	memset(code, 0x90, LONG);
	for (size_t at = 0; at + bytes <= LONG; at += bytes) {
		memcpy(code + at, unit, bytes);
		if (unit[0] == 0xe8) {
			int32_t distance = (int32_t)(STUB - (4096 + at + bytes));

			memcpy(code + at + 1, &distance, sizeof(distance));
		}
	}
	fd = elf_file(STUB + 4096 + TABLE, sections, TABLES, SHN_UNDEF);
	elf_put(fd, code, LONG, 4096);
	elf_put(fd, stub, sizeof(stub), STUB);
	assert_int_equal(image_open(fd, &opened), 0);
	return opened;
}

/* Root reads it, and probes what is found. */
static void a_function_of_a_hostile_file_takes_neither_long_nor_many_probes(void **state)
{
	static const uint8_t call[5] = {0xe8}, leave[] = {0x58, 0xc3};
	const struct image_symbol function = {.name = "f", .address = 4096, .size = LONG, .function = true};
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), before = resident_bytes();
	struct image *opened = open_long(call, sizeof(call));
	function_sites sites;

	assert_int_equal(function_returns_of(opened, &function, "helper", &sites), -ENOENT);
	assert_true(resident_bytes() < before + TABLES * TABLE / 2);
	image_close(opened);
	opened = open_long(leave, sizeof(leave));
	assert_int_equal(function_rets(opened, &function, &sites), -ENOENT);
	assert_int_equal(sites.count, 0);
	assert_int_equal(function_exits(opened, &function, &sites), -ENOENT);
	assert_int_equal(sites.count, 0);
	image_close(opened);
	assert_true(clock_ns(CLOCK_PROCESS_CPUTIME_ID) < begin_ns + CPU_MOST_NS);
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
		cmocka_unit_test(a_function_of_a_hostile_file_takes_neither_long_nor_many_probes),
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
