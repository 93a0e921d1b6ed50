/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sample run (test_export_log.h) as a model; the caller frees it. Include after cmocka.h. */
#pragma once

#include <unistd.h>

#include "test_export_log.h"
#include "log_model.h"

LOG_FN struct model *sample_model(uint32_t processes, uint32_t steps)
{
	struct model *model = NULL;
	const char *why;
	int fd = sample_log(processes, steps);

	assert_int_equal(model_build(fd, &model, &why), 0);
	close(fd);
	return model;
}
