/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decodes the form of one x86-64 instruction: its length and its fields, but not what it does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_map {
	MAP_ONE_BYTE,
	MAP_0F,
	MAP_OTHER, /* 0f 38, 0f 3a, VEX, EVEX: length only */
};

struct instruction {
	uint8_t length; /* 1 .. 15 */
	uint8_t map;	/* enum instruction_map */
	uint8_t opcode;
	bool prefix_66, prefix_f2, prefix_f3;
	bool prefix_refused;  /* segment override or lock: the kernel refuses a uprobe there (is_prefix_bad) */
	bool prefix_other;    /* 67, fs, gs */
	uint8_t rex;	      /* the REX byte, 0: none */
	uint8_t mod, reg, rm; /* reg and rm with the REX bits; rm is a register only when mod is 3 */
	bool relative;	      /* `immediate` is a jump distance from the end of the instruction */
	int64_t immediate;    /* sign-extended; 0: none */
};

/* False: no instruction of 64-bit mode that compilers emit, or one that does not end within `bytes`. */
bool instruction_decode(const uint8_t *code, size_t bytes, struct instruction *out);
