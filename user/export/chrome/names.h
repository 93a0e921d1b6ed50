/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names and order of processes and threads: metadata events. */
#ifndef GPUTRACE_CHROME_NAMES_H
#define GPUTRACE_CHROME_NAMES_H

#include "export/chrome/file.h"

/* That of CUPTI, first in traceEvents: consumers take the first event for a name and cannot read an empty array. */
void chrome_put_first_name(struct chrome *chrome);

/* Those of all others that are in the timeline by now. */
void chrome_put_names(struct chrome *chrome);

#endif
