/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the page is made of besides its data: files of this folder, put into the program as they are. */
#ifndef GPUTRACE_PAGE_ASSETS_H
#define GPUTRACE_PAGE_ASSETS_H

/* Texts that end with NUL. */
extern const char page_css[], page_js[], timeline_js[];

#endif
