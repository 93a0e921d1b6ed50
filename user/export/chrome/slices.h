/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events: a timeline's slices and arrows, memory, and the one step that consumers need. */
#ifndef GPUTRACE_CHROME_SLICES_H
#define GPUTRACE_CHROME_SLICES_H

#include "export/chrome/file.h"

void chrome_put_step(struct chrome *chrome);

/* Visitors of a timeline; context: struct chrome. */
bool chrome_put_slice(void *context, const struct timeline_slice *slice);
bool chrome_put_memory(void *context, const struct timeline_memory *memory);

#endif
