/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of native frames: files of programs that are gone make room for those of later ones. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* Maps a file with code of that number; it stays mapped. */
static void *map_new_file(unsigned number)
{
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
	fclose(file);
	unlink(path);
	return code;
}

static const char *name_of(struct symbols *symbols, pid_t pid, void *code)
{
	union {
		struct gpt_native_stack stack;
		uint8_t bytes[sizeof(struct gpt_native_stack) + sizeof(uint64_t)];
	} one = {.stack = {.hdr = {.size = sizeof(one), .type = GPT_NATIVE_STACK}, .pid = (uint32_t)pid, .depth = 1}};

	one.stack.ip[0] = (uint64_t)(uintptr_t)code;
	latest[0] = '\0';
	symbols_add_stack(symbols, &one.stack);
	return latest;
}

static const char *name_of_new_file(struct symbols *symbols, unsigned number)
{
	return name_of(symbols, getpid(), map_new_file(number));
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

/* A process of that user which has mapped so many files; `codes` gets where. */
static pid_t start_user(uid_t uid, unsigned files, void **codes)
{
	void **there = mmap(NULL, FILES * sizeof(*there), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2];
	pid_t child;
	char byte;

	assert_ptr_not_equal(there, MAP_FAILED);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		if (setresuid(uid, uid, uid) || prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(1);
		for (unsigned i = 0; i < files; i++)
			there[i] = map_new_file(uid * FILES + i);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	memcpy(codes, there, files * sizeof(*codes));
	munmap(there, FILES * sizeof(*there));
	close(ready[0]);
	close(ready[1]);
	return child;
}

static unsigned count_names(struct symbols *symbols, pid_t pid, void **codes, unsigned count)
{
	unsigned named = 0;

	for (unsigned i = 0; i < count; i++)
		named += *name_of(symbols, pid, codes[i]) != '\0';
	return named;
}

static void no_user_s_files_take_the_room_that_another_s_need(void **state)
{
	struct symbols *symbols = symbols_new(on_emit, NULL);
	void *many[FILES], *few[20];
	pid_t one, other;

	if (getuid())
		skip();
	one = start_user(12345, FILES, many);
	other = start_user(12346, 20, few);
	assert_int_equal(count_names(symbols, one, many, FILES), FILES);
	assert_int_equal(count_names(symbols, other, few, 20), 20);
	kill(one, SIGKILL);
	kill(other, SIGKILL);
	waitpid(one, NULL, 0);
	waitpid(other, NULL, 0);
	symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_used_no_more_make_room),
		cmocka_unit_test(no_user_s_files_take_the_room_that_another_s_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
