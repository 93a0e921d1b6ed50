/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names and order of processes and threads: metadata events, first in traceEvents. */
#ifndef GPUTRACE_CHROME_NAMES_H
#define GPUTRACE_CHROME_NAMES_H

#include "export/chrome/file.h"

void chrome_put_names(struct chrome *chrome);

#endif
