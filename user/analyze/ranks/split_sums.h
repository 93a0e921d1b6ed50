/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include "analyze/ranks/collective_split.h"

/* Adds the splits of all kernels, once they are made, to the sums of ranks and rows. */
void split_sums_add(struct collective_split *split);
