/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Python and native stacks by the keys the source gives them.  A Python stack is resolved to frames at its position in
 * the log, while its addresses are still valid; equal stacks are stored once.  Native frames are named at the end, as
 * their symbols may come later.
 */
#pragma once

#include "base/lookup.h"
#include "model/events.h"
#include "model/model.h"
#include "model/tables/codes.h"
#include "model/tables/modules.h"

struct native_ip {
	uint64_t ip;
	uint32_t epoch;
};

struct stacks {
	struct codes *codes;
	struct modules *modules;
	struct string_pool *strings;
	ARRAY(struct model_stack) list;
	ARRAY(uint32_t) frames;
	ARRAY(struct model_stack_module) stack_modules;
	struct lookup by_id;	     /* (epoch, id) to stack */
	struct lookup_latest latest; /* caches look-ups in by_id */
	struct lookup by_content;    /* (depth and whether truncated, hash) to stack */

	ARRAY(struct model_native) natives;
	ARRAY(struct native_ip) ips;
	ARRAY(uint32_t) native_frames;
	struct lookup native_by_id; /* (epoch, id) to native */
	struct lookup symbols;	    /* (epoch, ip) to string */
};

/* all but list, frames, stack_modules, natives, native_frames, which are the model's */
void stacks_free(struct stacks *stacks);

void stacks_add_python(struct stacks *stacks, struct process_image program, const struct new_stack *stack);

/* A stack of addresses; and the name of one address: symbol (mangled, empty: not known) and module. */
void stacks_add_native(struct stacks *stacks, uint32_t epoch, uint64_t key, const uint64_t *ips, uint32_t depth);
void stacks_add_symbol(struct stacks *stacks, uint32_t epoch, uint64_t ip, struct text symbol, struct text module);

/* Whether the stack with this id is damaged: what the unwinder read was not a chain of frames. */
bool stacks_is_unreadable(const struct stacks *stacks, uint32_t epoch, uint64_t id);

/* Index of the stack with this id, NONE: not seen (or id 0), or unreadable. */
uint32_t stacks_find(struct stacks *stacks, uint32_t epoch, uint64_t id);
uint32_t stacks_find_native(const struct stacks *stacks, uint32_t epoch, uint64_t id);

/* Names the native frames that have no name yet, from the symbols of `named` (of the same source). */
void stacks_name_natives(struct stacks *stacks, const struct stacks *named);

/* enum gpt_stack_state, with one of the known values. */
static inline uint8_t stack_state_known(uint8_t state)
{
	return state < GPT_STACK_STATES ? state : GPT_STACK_UNREADABLE;
}
