/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a Python file that PyTorch's compiler (Inductor) wrote, as text: what its comments say of each line that
 * launches a kernel.  Nothing is executed or trusted: an output that shows these texts names the file as their source.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GENERATED_KERNELS_MAX 4096u /* a file; further ones have no definition */
#define GENERATED_LINES_MAX 16384u  /* lines of a file that launch; further ones are not reported */

/* A part of the file; not terminated. */
struct generated_text {
	const char *bytes;
	size_t size;
};

struct generated_line {
	uint32_t line;		      /* from 1 */
	struct generated_text kernel; /* "triton_poi_fused_add_0", "extern_kernels.mm" */
	struct generated_text nodes;  /* names in the compiled graph: "sin, z"; empty: not given */
	struct generated_text ops;    /* "aten.sin, aten.mul" */
	struct generated_text file;   /* the file with the kernel's function, as given to Triton; empty: none */
	uint32_t file_line;	      /* line of the function in it, 0: not known */
};

/* Reports the lines in the order of the file. */
void generated_read(const char *text, size_t bytes, void (*report)(void *context, const struct generated_line *line),
		    void *context);
