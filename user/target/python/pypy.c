/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The name says which file may be PyPy, and its symbol that it is. */
#include "target/python/pypy.h"

#include <string.h>

#include "base/path.h"
#include "target/image.h"

static bool holds_pypy(pid_t pid, const struct mapping *mapping)
{
	struct image_symbol symbol;
	struct image *image = NULL;
	int fd = mapping_open(pid, mapping);
	bool holds = fd >= 0 && !image_open(fd, &image) && !image_callable(image, "pypy_main_startup", &symbol);

	image_close(image);
	return holds;
}

bool pypy_is_mapped(pid_t pid, const struct mappings *mappings)
{
	array_each (mapping, &mappings->list) {
		const char *name = path_base(mapping->path);

		if (mapping->inode && !mapping->offset &&
		    (!strncmp(name, "libpypy", strlen("libpypy")) || !strncmp(name, "pypy", strlen("pypy"))) &&
		    holds_pypy(pid, mapping))
			return true;
	}
	return false;
}
