/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A Python function as torch.profiler writes it: "file(12): function". */
#pragma once

#include "model/events.h"

struct python_name {
	struct text file, function; /* a text of another form is a function without a file */
	uint32_t line;		    /* 0: not known */
	bool has_file;
};

struct python_name python_name_read(struct text text);
