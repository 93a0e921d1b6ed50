/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the files of page/ alone: what a page says besides its flame graphs, all made of one pass over the trace. */
#pragma once

#include "analyze/analyze.h"
#include "base/array.h"
#include "base/tally.h"
#include "export/file/sink.h"
#include "export/zoom/zoom.h"
#include "report/lines/source_lines.h"
#include "report/report.h"
#include "report/why/why.h"

#define PAGE_FUNCTIONS 40u /* functions whose source lines are in the page, with their costs */

struct page_gap {
	uint32_t device;
	uint64_t from_ns, ns; /* ns: 0: no gap */
	bool is_shared;	      /* it is not known that this very gap is of that loss */
};

/* The gaps that a zoom gets while the trace is analyzed. */
struct page_gaps {
	struct zoom *zoom;
	struct tally reasons;		/* charge, thread; numbered as the zoom's reasons */
	ARRAY(struct page_gap) longest; /* by reason */
	ARRAY(struct zoom_gap_part) parts;
};

/* An idle_take_gap; context: the gaps. */
void page_gaps_take(void *context, uint32_t device, const struct idle_part *parts, size_t count);

/* Names what they are charged to, once all is analyzed, and shows them. */
void page_gaps_name(struct page_gaps *gaps, struct analyses *all);
void page_gaps_free(struct page_gaps *gaps);

/* [["line of the verdict",row,start,length]...]: the last three for a loss with a gap, its largest one. */
void page_put_verdict(struct sink *out, const struct page_gaps *gaps, struct analyses *all);

/*
 * {"why":[table...],"report":[table...],"sources":[table],"files":["path"...]}.  A table: {"id":,"title":,"about":,
 * "columns":[["title",is a number]...],"rows":[[cell...,{"at":[file,line],"called_from":,"seen":,"try":}]...],
 * "notes":[...]}; a cell: "text", or ["text",number to sort by or whole text].  0 or -errno.
 */
int page_put_tables(struct sink *out, struct analyses *all, const struct attribution *attribution);
