/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For a statically linked gputrace (-Wl,--wrap=dlopen): SQLite would load extensions by dlopen(3), for which a static
 * program needs the shared libc that it was linked with.  gputrace never asks for an extension, and here it is refused.
 */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode); /* the linker's name, NOLINT(bugprone-reserved-identifier) */

void *__wrap_dlopen(const char *file, int mode) /* NOLINT(bugprone-reserved-identifier) */
{
	return NULL;
}
