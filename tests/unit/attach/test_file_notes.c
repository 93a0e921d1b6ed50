/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the log says of a file that cannot be probed: why, and what is not seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "attach/probes/files.h"

static char said[512];

static void see_note(void *context, const struct gpt_record *record)
{
	const struct gpt_text *note = (const struct gpt_text *)record;

	(void)context;
	assert_int_equal(record->type, GPT_NOTE);
	snprintf(said, sizeof(said), "%s", note->text);
}

static void a_file_that_refuses_probes_is_noted_with_the_reason_and_what_is_missing(void **state)
{
	static const struct {
		enum file_probe what;
		int error;
		const char *note;
	} cases[] = {
		{FILE_CALLS, -EPERM, "(Operation not permitted): CUDA calls through it are not seen"},
		{FILE_CALLS, -ENOSPC, "(no more files can be): CUDA calls through it are not seen"},
		{FILE_CALLS, -EMFILE, "(too many files are open: raise ulimit -n): CUDA calls through it are not seen"},
		{FILE_AGENT, -EFBIG, "(its table of symbols is too large): no GPU times by this agent"},
		{FILE_CUPTI, -EPERM, "(Operation not permitted): nothing is known of other users of CUPTI"},
		{FILE_PUSHES, -EPERM,
		 "(Operation not permitted): sessions of torch.profiler that had begun before are not seen"},
		{FILE_DEATHS, -EPERM,
		 "(Operation not permitted): the end of functions is not seen, so each stack is described again"},
		{FILE_SUBINTERPRETERS, -EPERM,
		 "(Operation not permitted): further interpreters are not seen, so each call looks for them"},
		{FILE_ENGINE, -ENOENT, "(it lacks a function): what a backward pass launches has no line"},
		{FILE_PROFILER, -ENOENT, "(it lacks a function): GPU records that torch.profiler takes are missing"},
		{FILE_NCCL, -EPERM,
		 "(Operation not permitted): collectives are known only where PyTorch reports them (--ops)"},
		{FILE_NCCL_RANKS, -EPERM, "(Operation not permitted): ranks of its communicators are not known"},
		{FILE_NCCL_EXITS, -EPERM,
		 "(Operation not permitted): communicators of several processes are not known to be one"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct probed_file file = {.path = (char *)(uintptr_t) "/opt/libx.so", .uid = FILE_OF_ALL};
		struct files files = {.emit = see_note};
		char line[256];

		snprintf(line, sizeof(line), "/opt/libx.so cannot be probed %s", cases[i].note);
		assert_true(file_note_refused(&files, &file, cases[i].what, cases[i].error));
		assert_string_equal(said, line);
		assert_false(file_note_refused(&files, &file, cases[i].what, cases[i].error)); /* said once */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_refuses_probes_is_noted_with_the_reason_and_what_is_missing),
	};

	return cmocka_run_group_tests_name("attach/probes/files", tests, NULL, NULL);
}
