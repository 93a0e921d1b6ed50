/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a browser gets of a trace: the page, the timeline at the requested resolution, the sums. */
#pragma once

#include "export/file/format.h"
#include "export/zoom/zoom.h"
#include "view/server.h"

struct view;

/* title: the page's. */
struct view *view_new(const char *title);
void view_free(struct view *view);

/*
 * One thread calls this: reads the trace, then makes the sums.  Returns 0 or -errno; -ECANCELED: view_stop was called.
 */
int view_read(struct view *view, struct trace *trace, const struct export_options *options);
void view_stop(struct view *view);
struct zoom *view_zoom(struct view *view);

/* Another thread calls this: answers requests, also during view_read.  context: the view. */
const char *view_answer(void *context, const struct http_request *request, struct sink *body);
