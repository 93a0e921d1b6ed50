/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What stands in front of the events: Kineto's keys, because HTA's streaming reader stops at traceEvents, and our own
 * "gputrace" object with the receipt of the trace.  Of a trace of several parts that is not known before the events are
 * written, and stands after them.
 */
#ifndef GPUTRACE_CHROME_HEAD_H
#define GPUTRACE_CHROME_HEAD_H

#include "export/chrome/file.h"

/* Up to the first event, and from after the last one to the end of the file. */
void chrome_put_head(struct chrome *chrome);
void chrome_put_tail(struct chrome *chrome, bool has_own);

/* That object of our own. */
void chrome_put_own(struct chrome *chrome, struct sink *out);

#endif
