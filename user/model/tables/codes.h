/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code objects: which one a key (an address) of a process image stands for at this point of the source, and the line of
 * an instruction.  Code objects of the same function of the same file share one model_code, across processes; frames
 * (code, line) are unique.
 */
#pragma once

#include "base/lookup.h"
#include "model/events.h"
#include "model/model.h"
#include "model/string_pool.h"
#include "base/linetable.h"

struct code_version; /* the meaning of a key for a time: a model_code with that object's line table */

struct codes {
	struct string_pool *strings;
	ARRAY(struct model_code) list;
	ARRAY(struct model_frame) frames;
	ARRAY(struct code_version) versions;
	struct lookup by_address; /* (epoch, address) to version, NONE: dead */
	struct lookup by_content; /* (first line + 1, name and file) to model_code */
	struct lookup by_line;	  /* (model_code + 1, line) to model_frame */
	struct lookup by_cell;	  /* (1, file) of a notebook cell to its display name */
	uint32_t unknown;	  /* the model_code of objects that could not be read, NONE until needed */
};

void codes_free(struct codes *codes); /* all but list and frames, which are the model's */

void codes_add(struct codes *codes, uint32_t epoch, const struct new_code *code);

/* A piece of the line table of the object that has this key now.  False: it does not make sense. */
bool codes_add_lines(struct codes *codes, uint32_t epoch, uint64_t key, uint32_t offset, const void *bytes,
		     uint32_t size);
void codes_remove(struct codes *codes, uint32_t epoch, uint64_t key);

/* The code object at an address now; "?" if it was never described. */
uint32_t codes_at(struct codes *codes, uint32_t epoch, uint64_t address);

/* No code object is at the address: the walk of the stack had left the chain of frames. */
#define FRAME_OF_NO_CODE (NONE - 1)

/*
 * The frame of an instruction (byte offset; -1: not started) of the object now at an address; NONE: one of the
 * interpreter's internal frames, which are not part of a stack; FRAME_OF_NO_CODE.
 */
uint32_t codes_frame(struct codes *codes, uint32_t epoch, uint64_t address, int32_t lasti);
