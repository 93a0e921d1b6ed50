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

/* What the page is made of besides its data: files of this folder, put into the program as they are: texts that end
 * with NUL. */
extern const char page_css[], page_js[], timeline_js[];

/* A flame graph as a picture (.svg): GPU time, or launches, by stack; root above, the largest first.  Has no script. */
export_write_fn svg_write;

/* The elements of a page's timeline, to be filled by timeline.js. */
void page_put_timeline_frame(struct sink *out);

/*
 * Its data, of a size that a browser can hold however long the trace is: where there are too many slices, all of it
 * coarse, then shorter and finer stretches around the middle step of training (without steps, where most slices are),
 * the last with every slice.  0 or -errno.
 */
int page_put_timeline_data(struct sink *out, struct trace *trace, const struct export_options *options);

/* JSON for a script of a page: nothing in it ends the script. */
void page_put_json(struct sink *out, const struct sink *json);

#endif
