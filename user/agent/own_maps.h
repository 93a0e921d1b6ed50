/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What this process has mapped, line by line, without a byte from malloc. */
#ifndef GPUTRACE_AGENT_OWN_MAPS_H
#define GPUTRACE_AGENT_OWN_MAPS_H

/* Each line of /proc/thread-self/maps (the first thread may have ended, and has none then), without its end; `take` may
 * change it. None where the file cannot be read. */
void own_maps_each(void (*take)(char *line, void *context), void *context);

#endif
