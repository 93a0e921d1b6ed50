/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page for a browser (.html) that needs nothing but itself: flame graphs of GPU time, launches, idle GPUs and ops,
 * with search and zoom; the timeline; what to mend, in words; the report.
 */
#ifndef GPUTRACE_PAGE_H
#define GPUTRACE_PAGE_H

#include "export/format.h"

export_write_fn page_write;

/* The same page without data: it asks for that where it comes from (view/). */
void page_put_live(struct sink *out, const char *title);

/* {"ready":true,"profile":,"why":"text","report":"text"}: what such a page shows beside the timeline.  0 or -errno. */
int page_put_sums(struct sink *out, struct trace *trace, const struct export_options *options);

#endif
