/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths as text; nothing is looked up. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* Last component of a path; NULL: "". */
static inline const char *path_base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* Whether the file name has that prefix. */
static inline bool path_names(const char *path, const char *beginning)
{
	return !strncmp(path_base(path), beginning, strlen(beginning));
}
