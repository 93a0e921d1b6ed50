/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Names of ops and texts of their inputs, each kept once: maps the hash that threads made of a text to an id. Bounded:
 * there are two halves; when one is full, the other half's names are forgotten. Used only by the thread of ops.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/agent.h>

#include "cupti/batch.h"

#define OP_NAMES_MAX 32768u			    /* of one half */
#define OP_NAMES_BYTES_MAX (8u << 20)		    /* of one half's text */
#define OP_NAMES_IDS (GPT_AGENT_NAME_OF_INPUTS - 1) /* in all sessions; further names have no id and are not sent */

/* Reserves the memory, touched only as names come; false: no memory. */
bool op_names_open(void);
void op_names_release(void);

/* False: older names were forgotten to make room; threads must write their names again. */
bool op_names_add(struct batch *batch, uint64_t hash, const char *text, uint32_t bytes, bool is_longer);

/* The same for inputs, whose text is complete.  Only where op_names_has(hash) is false. */
bool op_names_add_inputs(struct batch *batch, uint64_t hash, const char *text, uint32_t bytes);
bool op_names_has(uint64_t hash);

/* 0: not known. */
uint32_t op_names_id(uint64_t hash);

/* Sends all known names again, with the same ids. */
void op_names_repeat(struct batch *batch);

/* For tests: leaves that many ids. */
void op_names_use_up(uint32_t left);
