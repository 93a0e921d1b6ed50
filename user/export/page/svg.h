/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A flame graph as a picture (.svg): GPU time, or launches, by stack; root above, the largest first.  Has no script. */
#ifndef GPUTRACE_SVG_H
#define GPUTRACE_SVG_H

#include "export/format.h"

export_write_fn svg_write;

#endif
