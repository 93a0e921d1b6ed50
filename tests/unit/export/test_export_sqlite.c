/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An error while a database is written is reported once, as for any file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "export/export.h"
#include "sample_model.h"
#include "whole_trace.h"

static int write_database(int fd, const struct cancel *cancel)
{
	const struct export_options options = {.process = -1, .cancel = cancel};
	struct model *model = sample_model(1, 3);
	int error = export_write(fd, export_format_by_name("sqlite"), WHOLE_TRACE(model), &options);

	model_free(model);
	return error;
}

static void a_file_that_cannot_be_written_is_reported(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write_database(fd, NULL), -EBADF);
	close(fd);
}

static void an_export_can_be_abandoned(void **state)
{
	atomic_int flag = 1;
	int fd = memfd_create("base", MFD_CLOEXEC);

	assert_int_equal(write_database(fd, &(struct cancel){.flag = &flag, .fd = -1}), -ECANCELED);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	close(fd);
}

static void a_database_can_be_written_after_one_that_failed(void **state)
{
	int fd = memfd_create("base", MFD_CLOEXEC);

	assert_int_equal(write_database(fd, NULL), 0);
	assert_true(lseek(fd, 0, SEEK_END) > 10000);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_cannot_be_written_is_reported),
		cmocka_unit_test(an_export_can_be_abandoned),
		cmocka_unit_test(a_database_can_be_written_after_one_that_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
