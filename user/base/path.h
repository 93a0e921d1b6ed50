/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths as text; nothing is looked up. */
#pragma once

#include <string.h>

/* Last component of a path. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
