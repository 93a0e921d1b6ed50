/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What this process has mapped, and how much its loader has loaded, without a byte from malloc. */
#ifndef GPUTRACE_AGENT_OWN_MAPS_H
#define GPUTRACE_AGENT_OWN_MAPS_H

#include <stdint.h>

/* Each line of /proc/thread-self/maps (the first thread may have ended, and has none then), without its end; `take` may
 * change it. None where the file cannot be read. */
void own_maps_each(void (*take)(char *line, void *context), void *context);

/* How often the loader has loaded a library so far: while it is the same there is none that was not there before. */
uint64_t own_libraries_loaded(void);

#endif
