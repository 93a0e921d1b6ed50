/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Merges dumps of several hosts: shows where each rank is, and which one has not arrived. */
#pragma once

#include "cmd/process/exit_code.h"
#include "cmd/options/options.h"

/* Whether the first file named is a dump. */
bool merge_is_of_dumps(const struct options *options);

enum exit_code merge_dumps(const struct options *options);
