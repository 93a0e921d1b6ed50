/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine code of one whole function: where it is left, and where it comes back from the functions it calls. */
#ifndef GPUTRACE_FUNCTION_H
#define GPUTRACE_FUNCTION_H

#include "base/array.h"
#include "target/image.h"

struct function_site {
	uint64_t address;  /* linked address of an instruction */
	int32_t sp_adjust; /* stack pointer there + this = above the return address, as after the return */
};

typedef ARRAY(struct function_site) function_sites;

/*
 * Places of which each way out of the function passes exactly one, cheap ones where that is certain.  -ENOENT: not all
 * of the function could be decoded, or it has none.
 */
int function_exits(const struct image *image, const struct image_symbol *function, function_sites *out);

/*
 * The instructions by which the function itself returns: dear ones, and not where it goes on in code elsewhere.
 * sp_adjust is 8.  -ENOENT: not all of it could be decoded, or it has none.
 */
int function_rets(const struct image *image, const struct image_symbol *function, function_sites *out);

/* The instructions after the calls of a named function, directly or through the PLT; sp_adjust is 0. -ENOENT */
int function_returns_of(const struct image *image, const struct image_symbol *function, const char *callee,
			function_sites *out);

#endif
