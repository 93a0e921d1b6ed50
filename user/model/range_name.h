/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of NVTX ranges. */
#pragma once

#include <stddef.h>

/*
 * PyTorch's emit_nvtx puts numbers of the single call after an operator's name
 * (torch/csrc/autograd/profiler_legacy.cpp): such names count as one, the text before the numbers.  Returns its length.
 */
size_t range_name_length(const char *name);
