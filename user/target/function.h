/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine code of one whole function: where it returns, and where the functions that it calls return to. */
#pragma once

#include "base/array.h"
#include "target/image.h"

struct function_site {
	uint64_t address;  /* linked address of an instruction */
	int32_t sp_adjust; /* added to the stack pointer there: its value after the function's return */
};

typedef ARRAY(struct function_site) function_sites;

/*
 * Sites such that each way out of the function passes exactly one; cheap ones where that is certain.  -ENOENT: a part
 * of the function could not be decoded, or it has no exit.
 */
int function_exits(const struct image *image, const struct image_symbol *function, function_sites *out);

/*
 * The function's own `ret` instructions, which are expensive to probe.  Jumps to other code (tail calls) are left out.
 * sp_adjust is 8.  -ENOENT: a part of the function could not be decoded, or it has no `ret`.
 */
int function_rets(const struct image *image, const struct image_symbol *function, function_sites *out);

/* The instructions after each call of the function `callee`, direct or through the PLT; sp_adjust is 0. -ENOENT */
int function_returns_of(const struct image *image, const struct image_symbol *function, const char *callee,
			function_sites *out);
