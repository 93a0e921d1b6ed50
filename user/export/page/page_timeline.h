/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The timeline of a page. */
#ifndef GPUTRACE_PAGE_TIMELINE_H
#define GPUTRACE_PAGE_TIMELINE_H

#include "export/format.h"

/* Its elements, to be filled by timeline.js. */
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
