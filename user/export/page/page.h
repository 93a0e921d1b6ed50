/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A self-contained page for a browser (.html): flame graphs of GPU time, launches, idle GPUs and ops, with search and
 * zoom; the timeline; advice in words; the report.
 */
#pragma once

#include "export/file/format.h"

/* What a page may load and run: only what stands in it. */
#define PAGE_POLICY "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

export_write_fn page_write;

/* The same page without data: it fetches its data from its server (view/). */
void page_put_live(struct sink *out, const char *title);

struct zoom;
struct steps;

/*
 * {"ready":true,"profile":,"answer":{"verdict":,"tables":}}: what such a page shows beside the timeline (page_parts.h).
 * zoom: it has read the trace; gets the gaps of GPUs.  0 or -errno.
 */
int page_put_sums(struct sink *out, struct zoom *zoom, struct trace *trace, const struct export_options *options);

/* The static parts of the page: files of this folder, embedded in the program as they are, NUL-terminated. */
extern const char page_css[], page_js[], flames_js[], tables_js[], rows_js[], words_js[], axis_js[], timeline_js[],
	input_js[], sources_js[];

/*
 * A flame graph as a picture (.svg) without a script: GPU time, or launches, by stack; root at the top, largest first.
 */
export_write_fn svg_write;

/* The elements of a page's timeline, which timeline.js fills in. */
void page_put_timeline_frame(struct sink *out);

/*
 * The timeline's data, of a size that a browser can hold however long the trace is.  If there are too many slices, the
 * whole trace is coarse; shorter and finer ranges follow, around the middle step of training (without steps, where most
 * slices are), the last one with every slice.  steps: NULL: none.
 */
void page_put_timeline_data(struct sink *out, struct zoom *zoom, const struct steps *steps);

/* Writes JSON for a script of a page: nothing in it ends the script. */
void page_put_json(struct sink *out, const struct sink *json);
