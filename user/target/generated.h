/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A Python file that PyTorch's compiler (Inductor) wrote, read as text: what its comments say of each line that
 * launches a kernel.  Nothing is executed, and nothing of it is believed: what shows it says where it is from.
 */
#ifndef GPUTRACE_TARGET_GENERATED_H
#define GPUTRACE_TARGET_GENERATED_H

#include <stddef.h>
#include <stdint.h>

#define GENERATED_KERNELS_MAX 4096u /* of one file; those beyond have no definition */
#define GENERATED_LINES_MAX 16384u  /* of one file that launch; those beyond are not reported */

/* A part of the file; not terminated. */
struct generated_text {
	const char *bytes;
	size_t size;
};

struct generated_line {
	uint32_t line;		      /* from 1 */
	struct generated_text kernel; /* "triton_poi_fused_add_0", "extern_kernels.mm" */
	struct generated_text nodes;  /* names in the graph that was compiled: "sin, z"; empty: it does not say */
	struct generated_text ops;    /* "aten.sin, aten.mul" */
	struct generated_text file;   /* that has the kernel's function, as Triton was given it; empty: none */
	uint32_t file_line;	      /* of the function there, 0: not known */
};

/* In the order of the file. */
void generated_read(const char *text, size_t bytes, void (*report)(void *context, const struct generated_line *line),
		    void *context);

#endif
