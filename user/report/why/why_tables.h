/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The content of `gputrace why`, as tables for programs (table_writer.h). */
#pragma once

#include "report/page/page.h"

void why_put_tables(struct report *report);
