/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in a function to put a probe.  The kernel emulates some instructions (push, nop, short jumps) and has
 * to single-step the others at ten times the price (docs/design/bpf.md, "Probe sites").  So the prologue is decoded,
 * and the site is the first cheap instruction that every call passes with the argument registers unchanged.
 */
#pragma once

#include <stdint.h>

#include "target/image.h"

enum site_cost {
	SITE_NOP5,     /* 5-byte nop: optimised by Linux 6.18 and later */
	SITE_EMULATED, /* push, nop, jump, call, ... */
	SITE_STEPPED,  /* no cheap instruction before the arguments change */
};

struct probe_site {
	uint64_t offset;   /* in the file */
	uint8_t skipped;   /* bytes from the symbol to the site */
	uint8_t sp_adjust; /* bytes pushed since entry: stack pointer at entry = stack pointer here + sp_adjust */
	enum site_cost cost;
};

/* For the function at a linked address; -EINVAL when its bytes cannot be read. */
int site_choose(const struct image *image, uint64_t address, struct probe_site *out);

/* The same on plain bytes (at most the function's size), for tests and fuzzing: sets all members except `offset`. */
void site_choose_in(const uint8_t *code, size_t bytes, struct probe_site *out);
