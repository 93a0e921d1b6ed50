/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Source places of kernels: what a cubin says about its kernels, and which kernel a launch refers to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/kernels/cubin.h"
#include "agent/kernels/kernel_places.h"
#include "agent_points.h"
#include "cubin_builder.h"

/* CUpti_driver_api_trace_cbid */
enum {
	LOAD = 19,
	UNLOAD = 22,
	GET_FUNCTION = 23,
	LAUNCH = 307,
	LAUNCH_EX = 652,
	LIBRARY_LOAD = 678,
	GET_KERNEL = 681,
	KERNEL_GET_FUNCTION = 683
};

static int begin_test(void **state)
{
	kernel_places_reset();
	return 0;
}

static bool text_is(struct cubin_text text, const char *expected)
{
	return text.size == strlen(expected) && !memcmp(text.bytes, expected, text.size);
}

static void each_kernel_has_the_file_and_line_of_its_first_instruction(void **state)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	uint64_t left_out = 0;
	struct cubin_bytes cubin;

	for (uint8_t version = 2; version <= 4; version++) {
		cubin_of(&cubin, version, 12);
		assert_int_equal(cubin_kernels(cubin.data, cubin.size, kernels, &left_out), 2);
		assert_true(text_is(kernels[0].name, "first") && text_is(kernels[0].folder, "/models"));
		assert_true(text_is(kernels[0].file, "kernels.py"));
		assert_int_equal(kernels[0].line, 12);
		assert_true(text_is(kernels[1].name, "second") && text_is(kernels[1].file, "other.py"));
		assert_int_equal(kernels[1].line, 22);
	}
}

static void lines_of_inlined_functions_further_on_are_not_the_kernels(void **state)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	uint64_t left_out = 0;
	struct cubin_bytes cubin, lines = {.size = 0};
	size_t at[2];

	cubin_begin_unit(&lines, 2);
	at[0] = cubin_row(&lines, 1, 30);
	CUBIN_PUT(&lines, 2, 16, 3, 0x80 - 20, 1); /* 16 bytes further, at line 10 */
	CUBIN_PUT(&lines, 2, 16, 0, 1, 1);
	at[1] = cubin_row(&lines, 1, 50);
	cubin_end_sequence(&lines);
	cubin_end_unit(&lines);
	cubin_build(&cubin, &lines, at);
	assert_int_equal(cubin_kernels(cubin.data, cubin.size, kernels, &left_out), 2);
	assert_int_equal(kernels[0].line, 30);
}

static void a_table_of_a_form_that_is_not_known_says_nothing(void **state)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	uint64_t left_out = 0;
	struct cubin_bytes cubin;

	cubin_of(&cubin, 5, 12);
	assert_int_equal(cubin_kernels(cubin.data, cubin.size, kernels, &left_out), 0);
	assert_int_equal(cubin_kernels("//", 2, kernels, &left_out), 0);
}

static void kernels_beyond_those_that_are_kept_are_counted(void **state)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	struct cubin_bytes cubin;
	Elf64_Sym functions[CUBIN_KERNELS_MAX + 6];
	Elf64_Ehdr header;
	Elf64_Shdr symbols;
	uint8_t *at;
	uint64_t left_out = 0;

	cubin_of(&cubin, 2, 12);
	memcpy(&header, cubin.data, sizeof(header));
	at = cubin.data + header.e_shoff + CUBIN_SYMBOLS * sizeof(symbols);
	memcpy(&symbols, at, sizeof(symbols));
	memcpy(functions, cubin.data + symbols.sh_offset, symbols.sh_size); /* the first five: two are kernels */
	for (unsigned i = 5; i < CUBIN_KERNELS_MAX + 6; i++)
		functions[i] = functions[3];
	symbols.sh_offset = cubin_put(&cubin, functions, sizeof(functions));
	symbols.sh_size = sizeof(functions);
	memcpy(at, &symbols, sizeof(symbols));
	assert_int_equal(cubin_kernels(cubin.data, cubin.size, kernels, &left_out), CUBIN_KERNELS_MAX);
	assert_int_equal(left_out, 3);
}

/* ---- a large module ---- */

#define FUNCTIONS 60000u
#define SEQUENCE_BYTES (3 + 8 + 5 + 5)

struct large {
	Elf64_Ehdr header;
	Elf64_Shdr sections[CUBIN_SECTIONS];
	Elf64_Rela relocations[FUNCTIONS];
	Elf64_Sym symbols[FUNCTIONS + 1];
	char names[96];
	uint8_t head[128]; /* the line table begins at the end of this array and continues in `lines` */
	uint8_t lines[FUNCTIONS * SEQUENCE_BYTES];
};

/*
 * Puts all functions into one section, 16 bytes each, at line 7 of the first file; first_at: the offset of the first
 * sequence.
 */
static size_t put_functions(struct large *large, size_t first_at)
{
	struct cubin_bytes sequence;

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		sequence.size = 0;
		cubin_row(&sequence, 1, 7);
		cubin_end_sequence(&sequence);
		assert_int_equal(sequence.size, SEQUENCE_BYTES);
		memcpy(large->lines + (size_t)i * SEQUENCE_BYTES, sequence.data, SEQUENCE_BYTES);
		large->relocations[i] = (Elf64_Rela){.r_offset = first_at + (size_t)i * SEQUENCE_BYTES + 3,
						     .r_info = ELF64_R_INFO((uint64_t)i + 1, 2)};
		large->symbols[i + 1] = (Elf64_Sym){.st_name = sizeof(CUBIN_NAMES),
						    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
						    .st_shndx = CUBIN_FIRST,
						    .st_value = (uint64_t)i * 16,
						    .st_size = 16};
	}
	return FUNCTIONS * SEQUENCE_BYTES;
}

static struct large *large_module(void)
{
	struct large *large = calloc(1, sizeof(*large));
	struct cubin_bytes lines = {.size = 0};
	uint32_t length;
	size_t bytes;

	assert_non_null(large);
	cubin_begin_unit(&lines, 2);
	bytes = put_functions(large, lines.size);
	length = (uint32_t)(lines.size + bytes - 4);
	memcpy(lines.data, &length, sizeof(length));
	assert_in_range(lines.size, 1, sizeof(large->head));
	memcpy(large->head + sizeof(large->head) - lines.size, lines.data, lines.size);
	memcpy(large->names, CUBIN_NAMES "\0first", sizeof(CUBIN_NAMES "\0first"));
	large->header = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
				     .e_shoff = offsetof(struct large, sections),
				     .e_shentsize = sizeof(Elf64_Shdr),
				     .e_shnum = CUBIN_SECTIONS,
				     .e_shstrndx = CUBIN_STRINGS};
	large->sections[CUBIN_FIRST] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_PROGBITS};
	large->sections[CUBIN_LINES] = (Elf64_Shdr){.sh_name = 26,
						    .sh_type = SHT_PROGBITS,
						    .sh_offset = offsetof(struct large, lines) - lines.size,
						    .sh_size = lines.size + bytes};
	large->sections[CUBIN_RELOCATIONS] = (Elf64_Shdr){.sh_name = 38,
							  .sh_type = SHT_RELA,
							  .sh_info = CUBIN_LINES,
							  .sh_offset = offsetof(struct large, relocations),
							  .sh_size = sizeof(large->relocations)};
	large->sections[CUBIN_SYMBOLS] = (Elf64_Shdr){.sh_name = 55,
						      .sh_type = SHT_SYMTAB,
						      .sh_link = CUBIN_STRINGS,
						      .sh_offset = offsetof(struct large, symbols),
						      .sh_size = sizeof(large->symbols)};
	large->sections[CUBIN_STRINGS] = (Elf64_Shdr){.sh_name = 63,
						      .sh_type = SHT_STRTAB,
						      .sh_offset = offsetof(struct large, names),
						      .sh_size = sizeof(large->names)};
	return large;
}

static void all_functions_of_a_large_module_have_a_place_or_are_counted(void **state)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	struct large *large = large_module();
	uint64_t left_out = 0;

	assert_int_equal(cubin_kernels(large, sizeof(*large), kernels, &left_out), CUBIN_KERNELS_MAX);
	assert_int_equal(kernels[CUBIN_KERNELS_MAX - 1].line, 7);
	assert_int_equal(left_out, FUNCTIONS - CUBIN_KERNELS_MAX);
	free(large);
}

/*
 * Each function needs a search through nearly all relocations, which would take the thread that loads the module
 * seconds.
 */
static void functions_whose_relocations_take_too_long_to_find_are_counted(void **state)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	struct large *large = large_module();
	uint64_t left_out = 0;
	unsigned found;

	for (uint32_t i = 0; i < FUNCTIONS / 2; i++) {
		Elf64_Rela kept = large->relocations[i];

		large->relocations[i] = large->relocations[FUNCTIONS - 1 - i];
		large->relocations[FUNCTIONS - 1 - i] = kept;
	}
	found = cubin_kernels(large, sizeof(*large), kernels, &left_out);
	assert_in_range(found, 1, CUBIN_KERNELS_MAX - 1);
	assert_int_equal(found + left_out, FUNCTIONS);
	free(large);
}

/* Under AddressSanitizer a read beyond the end is an error. */
static void a_cubin_that_ends_anywhere_is_read_within_its_bytes(void **state)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	uint64_t left_out = 0;
	struct cubin_bytes cubin;

	cubin_of(&cubin, 2, 12);
	for (size_t size = 0; size < cubin.size; size++) {
		uint8_t *part = malloc(size + 1);

		memcpy(part, cubin.data, size);
		part = realloc(part, size ? size : 1);
		assert_int_equal(cubin_kernels(part, size, kernels, &left_out), 0); /* the section table is its end */
		free(part);
	}
}

/* ---- launches ---- */

static void *load_module(uint32_t cbid, uint64_t module, uint8_t line)
{
	static struct cubin_bytes cubin;
	uint64_t written = module;
	const void *params[] = {&written, cubin.data};

	cubin_of(&cubin, 2, line);
	kernel_places_module(cubin.data, cubin.size);
	kernel_places_return(cbid, params, 0);
	return NULL;
}

static void get_function(uint32_t cbid, uint64_t function, uint64_t module, const char *name)
{
	uint64_t written = function;
	const uint64_t params[] = {(uint64_t)(uintptr_t)&written, module, (uint64_t)(uintptr_t)name};

	kernel_places_return(cbid, params, 0);
}

static const char *place_of_launch(uint64_t function, uint32_t corr)
{
	const uint64_t params[] = {function, 0};

	kernel_places_launch(LAUNCH, params, corr);
	return kernel_places_find(corr, 0);
}

static void kernels_of_one_name_in_two_modules_are_kept_apart(void **state)
{
	load_module(LOAD, 0x100, 12);
	load_module(LOAD, 0x200, 40);
	get_function(GET_FUNCTION, 0x1010, 0x100, "first");
	get_function(GET_FUNCTION, 0x2010, 0x200, "first");
	get_function(GET_FUNCTION, 0x2020, 0x200, "second");
	assert_string_equal(place_of_launch(0x1010, 1), "/models/kernels.py:12");
	assert_string_equal(place_of_launch(0x2010, 2), "/models/kernels.py:40");
	assert_string_equal(place_of_launch(0x2020, 3), "/models/other.py:50");
	assert_string_equal(kernel_places_find(1, 0), "/models/kernels.py:12");
}

static void a_launch_by_a_configuration_names_its_function_second(void **state)
{
	const uint64_t params[] = {0, 0x1010};

	load_module(LOAD, 0x100, 12);
	get_function(GET_FUNCTION, 0x1010, 0x100, "first");
	kernel_places_launch(LAUNCH_EX, params, 7);
	assert_string_equal(kernel_places_find(7, 0), "/models/kernels.py:12");
}

static void a_kernel_of_a_library_is_known_by_its_function_too(void **state)
{
	uint64_t function = 0x3020;
	const uint64_t params[] = {(uint64_t)(uintptr_t)&function, 0x3010};

	load_module(LIBRARY_LOAD, 0x300, 12);
	get_function(GET_KERNEL, 0x3010, 0x300, "second");
	kernel_places_return(KERNEL_GET_FUNCTION, params, 0);
	assert_string_equal(place_of_launch(0x3010, 1), "/models/other.py:22");
	assert_string_equal(place_of_launch(0x3020, 2), "/models/other.py:22");
}

static void what_is_not_known_has_no_place(void **state)
{
	assert_null(place_of_launch(0x1010, 1));
	load_module(LOAD, 0x100, 12);
	get_function(GET_FUNCTION, 0x1010, 0x100, "third");
	get_function(GET_FUNCTION, 0x1020, 0x999, "first");
	assert_null(place_of_launch(0x1010, 1));
	assert_null(place_of_launch(0x1020, 2));
	assert_null(kernel_places_find(3, 0));
}

static void a_handle_that_another_module_gets_later_has_the_new_place(void **state)
{
	const uint64_t unload[] = {0x100};

	load_module(LOAD, 0x100, 12);
	get_function(GET_FUNCTION, 0x1010, 0x100, "first");
	kernel_places_enter(UNLOAD, unload);
	assert_null(place_of_launch(0x1010, 1));
	load_module(LOAD, 0x100, 60);
	get_function(GET_FUNCTION, 0x1010, 0x100, "first");
	assert_string_equal(place_of_launch(0x1010, 2), "/models/kernels.py:60");
	get_function(GET_FUNCTION, 0x1010, 0x200, "of a module without lines");
	assert_null(place_of_launch(0x1010, 3));
}

static void code_that_failed_to_load_is_no_ones(void **state)
{
	struct cubin_bytes cubin;
	uint64_t written = 0x100;
	const void *params[] = {&written, NULL};

	cubin_of(&cubin, 2, 12);
	kernel_places_module(cubin.data, cubin.size);
	kernel_places_return(LOAD, params, 1);
	load_module(LOAD, 0x200, 40);
	get_function(GET_FUNCTION, 0x1010, 0x100, "first");
	get_function(GET_FUNCTION, 0x2010, 0x200, "first");
	assert_null(place_of_launch(0x1010, 1));
	assert_string_equal(place_of_launch(0x2010, 2), "/models/kernels.py:40");
}

static void nodes_of_graphs_and_their_clones_keep_the_place_of_the_captured_launch(void **state)
{
	load_module(LOAD, 0x100, 12);
	get_function(GET_FUNCTION, 0x1010, 0x100, "first");
	place_of_launch(0x1010, 1);
	kernel_places_node(501, 1);
	kernel_places_node(502, 2);
	kernel_places_clone(601, 501);
	kernel_places_clone(602, 502);
	assert_string_equal(kernel_places_find(9, 601), "/models/kernels.py:12");
	assert_null(kernel_places_find(1, 602));
}

static void many_kernels_never_have_anothers_place(void **state)
{
	char expected[64];

	for (unsigned i = 0; i < 9000; i++)
		load_module(LOAD, 0x100000 + i * 16, (uint8_t)(i % 50 + 1));
	for (unsigned i = 0; i < 9000; i++)
		get_function(GET_FUNCTION, 0x900000 + i * 16, 0x100000 + i * 16, "first");
	for (unsigned i = 0; i < 9000; i++) {
		const char *place = place_of_launch(0x900000 + i * 16, i + 1);

		snprintf(expected, sizeof(expected), "/models/kernels.py:%u", i % 50 + 1);
		if (place)
			assert_string_equal(place, expected);
		else
			assert_true(i > 8000);
	}
	assert_true(kernel_places_lost() >= 2 * 9000 - 16384); /* two kernels per module */
}

static void a_function_of_code_loaded_before_is_counted_once(void **state)
{
	const uint64_t params[] = {0x3020, 0};

	assert_null(place_of_launch(0x1010, 1));
	assert_null(place_of_launch(0x1010, 2));
	assert_null(place_of_launch(0x2020, 3));
	kernel_places_launch(LAUNCH, params, 4);
	assert_int_equal(kernel_places_before(), 3);
	kernel_places_reset();
	assert_int_equal(kernel_places_before(), 0);
}

static void a_function_that_was_seen_to_be_taken_is_none_of_code_loaded_before(void **state)
{
	get_function(GET_FUNCTION, 0x1010, 0x999, "of a module without lines");
	assert_null(place_of_launch(0x1010, 1));
	load_module(LOAD, 0x100, 12);
	get_function(GET_FUNCTION, 0x1020, 0x100, "first");
	assert_non_null(place_of_launch(0x1020, 2));
	assert_int_equal(kernel_places_before(), 0);
	assert_int_equal(kernel_places_lost(), 0);
}

static void launch_again(uint32_t from, uint32_t count)
{
	const uint64_t params[] = {0x1010, 0};

	for (uint32_t i = 0; i < count; i++)
		kernel_places_launch(LAUNCH, params, from + i);
}

static void launches_that_had_to_be_forgotten_are_counted(void **state)
{
	load_module(LOAD, 0x100, 12);
	get_function(GET_FUNCTION, 0x1010, 0x100, "first");
	launch_again(1, 65536);
	assert_non_null(kernel_places_find(1, 0)); /* its kernel was recorded */
	kernel_places_node(501, 2);		   /* it became a node */
	kernel_places_failed(3);
	launch_again(65537, 5);
	assert_int_equal(kernel_places_lost(), 2); /* correlation ids 4 and 5 */
	assert_null(kernel_places_find(4, 0));
	assert_string_equal(kernel_places_find(65540, 0), "/models/kernels.py:12");
}

static void launches_are_not_missed_where_no_kernels_are_recorded(void **state)
{
	load_module(LOAD, 0x100, 12);
	get_function(GET_FUNCTION, 0x1010, 0x100, "first");
	launch_again(1, 70000);
	assert_int_equal(kernel_places_lost(), 0);
}

static void a_place_that_is_longer_than_allowed_is_counted(void **state)
{
	char folder[KERNEL_PLACES_TEXT_MAX];
	struct cubin_bytes cubin, lines = {.size = 0};
	size_t at[2];

	memset(folder, 'a', sizeof(folder));
	folder[0] = '/';
	folder[sizeof(folder) - 1] = 0;
	cubin_begin_unit_in(&lines, 2, folder);
	at[0] = cubin_row(&lines, 1, 12);
	cubin_end_sequence(&lines);
	at[1] = cubin_row(&lines, 2, 22);
	cubin_end_sequence(&lines);
	cubin_end_unit(&lines);
	cubin_build(&cubin, &lines, at);
	kernel_places_module(cubin.data, cubin.size);
	assert_int_equal(kernel_places_lost(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kernel_has_the_file_and_line_of_its_first_instruction),
		cmocka_unit_test(lines_of_inlined_functions_further_on_are_not_the_kernels),
		cmocka_unit_test(a_table_of_a_form_that_is_not_known_says_nothing),
		cmocka_unit_test(a_cubin_that_ends_anywhere_is_read_within_its_bytes),
		cmocka_unit_test(kernels_beyond_those_that_are_kept_are_counted),
		cmocka_unit_test(all_functions_of_a_large_module_have_a_place_or_are_counted),
		cmocka_unit_test(functions_whose_relocations_take_too_long_to_find_are_counted),
		cmocka_unit_test_setup(kernels_of_one_name_in_two_modules_are_kept_apart, begin_test),
		cmocka_unit_test_setup(a_launch_by_a_configuration_names_its_function_second, begin_test),
		cmocka_unit_test_setup(a_kernel_of_a_library_is_known_by_its_function_too, begin_test),
		cmocka_unit_test_setup(what_is_not_known_has_no_place, begin_test),
		cmocka_unit_test_setup(a_handle_that_another_module_gets_later_has_the_new_place, begin_test),
		cmocka_unit_test_setup(code_that_failed_to_load_is_no_ones, begin_test),
		cmocka_unit_test_setup(nodes_of_graphs_and_their_clones_keep_the_place_of_the_captured_launch,
				       begin_test),
		cmocka_unit_test_setup(many_kernels_never_have_anothers_place, begin_test),
		cmocka_unit_test_setup(a_function_of_code_loaded_before_is_counted_once, begin_test),
		cmocka_unit_test_setup(a_function_that_was_seen_to_be_taken_is_none_of_code_loaded_before, begin_test),
		cmocka_unit_test_setup(launches_that_had_to_be_forgotten_are_counted, begin_test),
		cmocka_unit_test_setup(launches_are_not_missed_where_no_kernels_are_recorded, begin_test),
		cmocka_unit_test_setup(a_place_that_is_longer_than_allowed_is_counted, begin_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
