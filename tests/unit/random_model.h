/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A whole model of everything there is, in no particular proportion: calls that overlap on several threads of two
 * processes, of which one ends; operations early, late, without times, without calls, of graphs; waits, memory that is
 * held for long, compilations, collections, imports inside of others, NVTX ranges that nest and that need not,
 * functions. For what must hold of every model; the same number gives the same model.
 */
#ifndef GPUTRACE_RANDOM_MODEL_H
#define GPUTRACE_RANDOM_MODEL_H

#include "model/model.h"

struct model *random_model(uint64_t number, uint32_t calls);
void random_model_free(struct model *model);

#endif
