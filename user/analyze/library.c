/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/library.h"

#include <string.h>

bool file_is_library(const char *path)
{
	static const char *const marks[] = {"/site-packages/", "/dist-packages/", "/lib/python",
					    "/lib64/python",   "/torch/_dynamo/", "/torch/_inductor/"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(path, marks[i]))
			return true;
	/* torch.profiler writes paths of packages without the folder that they are in */
	if (strncmp(path, "torch/", strlen("torch/")) == 0)
		return true;
	return *path == '<' || file_is_generated(path);
}
