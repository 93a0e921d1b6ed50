/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* USDT notes: their content, and the result for notes that lie about their lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "target/usdt.h"

struct section {
	uint8_t bytes[1024];
	size_t used;
};

static void put_bytes(struct section *section, const void *bytes, size_t count)
{
	memcpy(section->bytes + section->used, bytes, count);
	section->used += count;
}

static void put_note(struct section *section, const char *owner, uint32_t type, const char *text, size_t text_bytes,
		     uint64_t address)
{
	uint64_t addresses[3] = {address, 0x1000, address + 1};
	Elf64_Nhdr header = {.n_namesz = (uint32_t)strlen(owner) + 1,
			     .n_descsz = (uint32_t)(sizeof(addresses) + text_bytes),
			     .n_type = type};
	const uint8_t zeros[4] = {0};

	put_bytes(section, &header, sizeof(header));
	put_bytes(section, owner, header.n_namesz);
	put_bytes(section, zeros, -header.n_namesz & 3);
	put_bytes(section, addresses, sizeof(addresses));
	put_bytes(section, text, text_bytes);
	put_bytes(section, zeros, -text_bytes & 3);
}

struct seen {
	unsigned count;
	struct usdt_note last;
};

static int see_note(const struct usdt_note *note, void *context)
{
	struct seen *seen = context;

	seen->count++;
	seen->last = *note;
	return 0;
}

#define GC "python\0gc__start\0-4@112(%rsp)"

static void a_note_says_who_where_and_with_which_arguments(void **state)
{
	struct section section = {.used = 0};
	struct seen seen = {0};

	put_note(&section, "stapsdt", 3, GC, sizeof(GC), 0x4287f3);
	assert_int_equal(usdt_each(section.bytes, section.used, see_note, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.last.provider, "python");
	assert_string_equal(seen.last.name, "gc__start");
	assert_string_equal(seen.last.arguments, "-4@112(%rsp)");
	assert_int_equal(seen.last.address, 0x4287f3);
	assert_int_equal(seen.last.base, 0x1000);
	assert_int_equal(seen.last.semaphore, 0x4287f4);
}

static void notes_of_others_are_passed_over(void **state)
{
	struct section section = {.used = 0};
	struct seen seen = {0};

	put_note(&section, "GNU", 3, GC, sizeof(GC), 1);
	put_note(&section, "stapsdt", 1, GC, sizeof(GC), 2);
	put_note(&section, "stapsdt", 3, GC, sizeof(GC), 3);
	usdt_each(section.bytes, section.used, see_note, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.last.address, 3);
}

/* A section truncated anywhere gives its whole notes and nothing else; a sanitizer sees any read beyond it. */
static void a_section_may_end_anywhere(void **state)
{
	struct section section = {.used = 0};
	size_t one;

	put_note(&section, "stapsdt", 3, GC, sizeof(GC), 1);
	one = section.used;
	put_note(&section, "stapsdt", 3, GC, sizeof(GC), 2);
	for (size_t bytes = 0; bytes <= section.used; bytes++) {
		struct seen seen = {0};
		uint8_t *copy = malloc(bytes + 1);

		memcpy(copy, section.bytes, bytes);
		usdt_each(copy, bytes, see_note, &seen);
		assert_int_equal(seen.count, (bytes >= one) + (bytes == section.used));
		free(copy);
	}
}

static void texts_that_do_not_end_in_the_note_are_none(void **state)
{
	static const char *const open[] = {"python", "python\0gc__start", "python\0gc__start\0-4@%eax"};
	static const size_t bytes[] = {6, 16, 24};

	for (size_t i = 0; i < 3; i++) {
		struct section section = {.used = 0};
		struct seen seen = {0};

		put_note(&section, "stapsdt", 3, open[i], bytes[i], 1);
		put_note(&section, "stapsdt", 3, GC, sizeof(GC), 2);
		usdt_each(section.bytes, section.used, see_note, &seen);
		assert_int_equal(seen.count, 1);
		assert_int_equal(seen.last.address, 2);
	}
}

static void sizes_beyond_the_section_end_it(void **state)
{
	static const uint32_t sizes[] = {0x1000, UINT32_MAX, UINT32_MAX - 3};

	for (size_t i = 0; i < 3; i++) {
		struct section section = {.used = 0};
		struct seen seen = {0};
		Elf64_Nhdr header = {.n_namesz = i & 1 ? 8 : sizes[i], .n_descsz = sizes[i], .n_type = 3};

		put_bytes(&section, &header, sizeof(header));
		put_note(&section, "stapsdt", 3, GC, sizeof(GC), 2);
		usdt_each(section.bytes, section.used, see_note, &seen);
		assert_int_equal(seen.count, 0);
	}
}

#if defined(__x86_64__)
static void an_argument_is_a_register_memory_or_a_constant(void **state)
{
	static const char text[] = "8@%rax -4@112(%rsp) 1@$-7 -4@-228(%rbp) 8@(%r15) -4@%r9d";
	static const struct gpt_py_arg expected[] = {
		{.kind = GPT_PY_ARG_REGISTER, .regs_at = 80, .bytes = 8},
		{.kind = GPT_PY_ARG_MEMORY, .regs_at = 152, .bytes = -4, .displacement = 112},
		{.kind = GPT_PY_ARG_CONSTANT, .bytes = 1, .displacement = -7},
		{.kind = GPT_PY_ARG_MEMORY, .regs_at = 32, .bytes = -4, .displacement = -228},
		{.kind = GPT_PY_ARG_MEMORY, .regs_at = 0, .bytes = 8},
		{.kind = GPT_PY_ARG_REGISTER, .regs_at = 64, .bytes = -4},
	};
	struct gpt_py_arg arg;

	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_int_equal(usdt_argument(text, i, &arg), 0);
		assert_memory_equal(&arg, &expected[i], sizeof(arg));
	}
	assert_int_equal(usdt_argument(text, 6, &arg), -ENOENT);
}
#endif

static void an_argument_in_another_form_is_not_guessed(void **state)
{
	static const char *const forms[] = {
		"",	   "3@%rax",  "8%rax",	       "8@rax",	     "8@%xmm0",	       "8@%",
		"8@%rax,", "8@(%rax", "8@(%rax,%rbx)", "8@12(%rip)", "8@symbol(%rip)", "8@99999999999(%rsp)",
		"8@$",	   "@%rax",   "-@%rax",	       "8@%raxx",    "16@%rax",	       "8@12",
	};
	struct gpt_py_arg arg;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (usdt_argument(forms[i], 0, &arg) == 0)
			fail_msg("'%s' was taken for an argument", forms[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_says_who_where_and_with_which_arguments),
		cmocka_unit_test(notes_of_others_are_passed_over),
		cmocka_unit_test(a_section_may_end_anywhere),
		cmocka_unit_test(texts_that_do_not_end_in_the_note_are_none),
		cmocka_unit_test(sizes_beyond_the_section_end_it),
#if defined(__x86_64__)
		cmocka_unit_test(an_argument_is_a_register_memory_or_a_constant),
#endif
		cmocka_unit_test(an_argument_in_another_form_is_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
