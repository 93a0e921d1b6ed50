/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Modules of PyTorch, by address and generation in a process image.  A module may be described after the first stack
 * that refers to it, and again; the last description counts.
 */
#pragma once

#include "base/lookup.h"
#include "model/events.h"
#include "model/model.h"
#include "model/string_pool.h"
#include "model/tables/process_table.h"

struct modules {
	struct string_pool *strings;
	const struct modules *first; /* of pass 1, which has all descriptions; NULL: this is the only pass */
	ARRAY(struct model_module) list;
	struct lookup by_key; /* (epoch, hash of address and generation) to module */
};

void modules_free(struct modules *modules); /* all but list, which is the model's */

/* The index of a module, which is added without a description if it is new. */
uint32_t modules_index(struct modules *modules, struct process_image program, uint64_t address, uint32_t generation);

void modules_describe(struct modules *modules, struct process_image program, const struct new_module *module);

/* Makes labels, once all are described. */
void modules_finish(struct modules *modules);
