/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that PyTorch's compiler wrote: one user's do not use up what is read of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <signal.h>

#include "attach/emit/generated_files.h"

#define LARGE (16l << 20)
#define LARGE_FILES 32 /* more than is read of all */

static const char small[] = "# kernel path: /cache/rt/crt.py\n"
			    "# Topologically Sorted Source Nodes: [y], Original ATen: [aten.sin]\n"
			    "# Source node to ATen node mapping:\n"
			    "triton_0 = async_compile.triton('triton_0', '''\n"
			    "import triton\n"
			    "@triton.jit\n"
			    "def triton_0(in_ptr0):\n"
			    "    tmp0 = 1\n"
			    "''', device_str='cuda')\n"
			    "def call(args):\n"
			    "    # Topologically Sorted Source Nodes: [y], Original ATen: [aten.sin]\n"
			    "    raw_stream0 = get_raw_stream(0)\n"
			    "    triton_0.run(arg0_1, buf0, 64, stream=raw_stream0)\n";

static unsigned lines, notes;

static void on_emit(void *context, const struct gpt_record *record)
{
	lines += record->type == GPT_GENERATED;
	notes += record->type == GPT_NOTE;
}

/* A process of that user. */
static pid_t start_user(uid_t uid)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		if (setresuid(uid, uid, uid) || prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(1);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

/* The process has run code of a file of that many bytes, which begins with `small`. */
static void add_file(struct generated_files *files, pid_t pid, unsigned number, long bytes)
{
	union {
		struct gpt_code code;
		uint8_t bytes[sizeof(struct gpt_code) + 256];
	} one = {.code = {.hdr = {.size = sizeof(one), .type = GPT_CODE}, .pid = (uint32_t)pid, .filename_kind = 1}};
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/torchinductor_%d_%u.py", (int)getpid(), number);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(small, file);
	fflush(file);
	assert_int_equal(ftruncate(fileno(file), bytes), 0);
	fclose(file);
	one.code.filename_bytes = (uint32_t)strlen(path);
	memcpy(one.code.data, path, strlen(path));
	generated_files_add(files, &one.code);
	unlink(path);
}

static void no_user_s_files_use_up_what_is_read_of_all(void **state)
{
	struct generated_files *files = generated_files_new(on_emit, NULL);
	pid_t one, other;
	unsigned of_one;

	if (getuid())
		skip();
	one = start_user(12345);
	other = start_user(12346);
	for (unsigned i = 0; i < LARGE_FILES; i++)
		add_file(files, one, i, LARGE);
	of_one = lines;
	assert_in_range(of_one, 1, LARGE_FILES / 2);
	assert_int_equal(notes, 1);
	add_file(files, other, LARGE_FILES, sizeof(small) - 1);
	assert_true(lines > of_one);
	kill(one, SIGKILL);
	kill(other, SIGKILL);
	waitpid(one, NULL, 0);
	waitpid(other, NULL, 0);
	generated_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_user_s_files_use_up_what_is_read_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
