/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A random model with every kind of event, in no realistic proportion: overlapping calls on several threads of two
 * processes, one of which ends; operations that are early, late, without times, without calls, of graphs; waits, memory
 * held for long, compilations, collections, nested imports, NVTX ranges that may or may not nest, functions. For
 * properties that hold of every model; the same number gives the same model.
 */
#pragma once

#include "model/model.h"

struct model *random_model(uint64_t number, uint32_t calls);
void random_model_free(struct model *model);
