/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The mappings of this process and its loader's count of libraries, without malloc. */
#pragma once

#include <stdint.h>

/*
 * Calls `take` for each line of /proc/thread-self/maps (a first thread that has ended has none), without the newline;
 * `take` may change it. No calls if the file cannot be read.
 */
void own_maps_each(void (*take)(char *line, void *context), void *context);

/* How often the loader has loaded a library so far: while unchanged, there is no new library. */
uint64_t own_libraries_loaded(void);
