/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reads the line table of GPU code as the driver loads it (a cubin, an ELF file): where in the source each kernel's
 * function begins. Triton and Numba write Python files and lines there. The bytes are the program's and not trusted:
 * everything is checked, and nothing beyond them is read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CUBIN_KERNELS_MAX 64u  /* of one cubin; further kernels have no place */
#define CUBIN_ROWS_MAX 262144u /* of the line table; further rows are not read */
/*
 * Search steps through relocations and files that are not in line-table order; a kernel that needs more has no place.
 */
#define CUBIN_STEPS_MAX 1048576u

struct cubin_text {
	const char *bytes; /* within the cubin, not terminated */
	size_t size;
};

/* A kernel, and the file and line of its first instruction: of its def, if Triton compiled it. */
struct cubin_kernel {
	struct cubin_text name; /* mangled */
	struct cubin_text folder, file;
	uint32_t line;
};

/*
 * Fills kernels[] and returns their number; 0: no supported line table (DWARF 2 to 4). Adds to *left_out the number of
 * kernels beyond the limits above, which may have a place.
 */
unsigned cubin_kernels(const void *cubin, size_t size, struct cubin_kernel kernels[CUBIN_KERNELS_MAX],
		       uint64_t *left_out);
