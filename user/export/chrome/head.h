/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What stands in front of the events: Kineto's keys, then our own "gputrace" object with the receipt of the trace.
 * HTA's streaming reader stops at traceEvents, so everything comes before it.
 */
#ifndef GPUTRACE_CHROME_HEAD_H
#define GPUTRACE_CHROME_HEAD_H

#include "export/chrome/file.h"

void chrome_put_head(struct chrome *chrome);

#endif
