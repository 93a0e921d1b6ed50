/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths are relative to the top of the project, where this is compiled. */
#include "export/page/page.h"

#define ASSET(symbol, file)                                                                                            \
	__asm__(".pushsection .rodata\n.globl " #symbol "\n.type " #symbol ", %object\n" #symbol ":\n.incbin \"" file  \
		"\"\n.byte 0\n.size " #symbol ", . - " #symbol "\n.popsection\n")

ASSET(page_css, "user/export/page/page.css");
ASSET(page_js, "user/export/page/page.js");
ASSET(flames_js, "user/export/page/flames.js");
ASSET(tables_js, "user/export/page/tables.js");
ASSET(rows_js, "user/export/page/rows.js");
ASSET(words_js, "user/export/page/words.js");
ASSET(axis_js, "user/export/page/axis.js");
ASSET(input_js, "user/export/page/input.js");
ASSET(timeline_js, "user/export/page/timeline.js");
ASSET(sources_js, "user/export/page/sources.js");
