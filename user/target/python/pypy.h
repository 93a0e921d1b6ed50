/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recognises PyPy, whose frames gputrace does not read. */
#pragma once

#include <stdbool.h>

#include "target/process.h"

#define PYPY_WHY "it is PyPy, and gputrace reads the frames of CPython"

bool pypy_is_mapped(pid_t pid, const struct mappings *mappings);
