/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of native frames: files of programs that are gone make room for those of later ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/emit/symbols.h"

#define FILES 512u /* symbols.c */

static int64_t seconds_ahead; /* of every clock */

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += seconds_ahead;
	return result;
}

static char latest[256]; /* the file of the latest address */

static void on_emit(void *context, const struct gpt_record *record)
{
	const struct gpt_native_sym *symbol = (const struct gpt_native_sym *)record;

	assert_int_equal(record->type, GPT_NATIVE_SYM);
	snprintf(latest, sizeof(latest), "%s", symbol->text + strlen(symbol->text) + 1);
}

/* Maps a file with code of that number, and asks for an address in it; it stays mapped. */
static const char *name_of_new_file(struct symbols *symbols, unsigned number)
{
	union {
		struct gpt_native_stack stack;
		uint8_t bytes[sizeof(struct gpt_native_stack) + sizeof(uint64_t)];
	} one = {.stack = {.hdr = {.size = sizeof(one), .type = GPT_NATIVE_STACK},
			   .pid = (uint32_t)getpid(),
			   .depth = 1}};
	char path[64];
	FILE *file;
	void *code;

	snprintf(path, sizeof(path), "/tmp/test-symbols-%d-%u", (int)getpid(), number);
	file = fopen(path, "w+e");
	assert_non_null(file);
	fputs("no program", file);
	fflush(file);
	code = mmap(NULL, 10, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	one.stack.ip[0] = (uint64_t)(uintptr_t)code;
	latest[0] = '\0';
	symbols_add_stack(symbols, &one.stack);
	fclose(file);
	unlink(path);
	return latest;
}

static void files_that_are_used_no_more_make_room(void **state)
{
	struct symbols *symbols = symbols_new(on_emit, NULL);
	unsigned number = 0;

	for (; number < FILES; number++)
		assert_memory_equal(name_of_new_file(symbols, number), "test-symbols-", 13);
	assert_string_equal(name_of_new_file(symbols, ++number), ""); /* all were used within a minute */
	seconds_ahead = 61;
	for (unsigned i = 0; i < FILES; i++)
		assert_memory_equal(name_of_new_file(symbols, ++number), "test-symbols-", 13);
	assert_string_equal(name_of_new_file(symbols, ++number), "");
	symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_used_no_more_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
