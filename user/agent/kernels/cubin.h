/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Code for the GPU as the driver loads it (a cubin, an ELF file), as far as its line table goes: where in the source
 * each kernel's function begins.  Triton and Numba write Python files and lines there.  The bytes are the program's:
 * all of it is checked, nothing beyond them is read.
 */
#ifndef GPUTRACE_AGENT_CUBIN_H
#define GPUTRACE_AGENT_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#define CUBIN_KERNELS_MAX 64u  /* of one cubin; those beyond have no place */
#define CUBIN_ROWS_MAX 262144u /* of the line table; what is after them is not read */
/* Through relocations and files that are not in the order of the line table; what would need more has no place. */
#define CUBIN_STEPS_MAX 1048576u

struct cubin_text {
	const char *bytes; /* within the cubin, not terminated */
	size_t size;
};

/* A kernel, and the file and line that its first instruction is from: those of its def, where Triton compiled it. */
struct cubin_kernel {
	struct cubin_text name; /* mangled */
	struct cubin_text folder, file;
	uint32_t line;
};

/*
 * Fills kernels[]; returns how many there are, 0 where there is no line table that is understood (DWARF 2 to 4).
 * Adds to *left_out how many more may have a place: beyond the limits above.
 */
unsigned cubin_kernels(const void *cubin, size_t size, struct cubin_kernel kernels[CUBIN_KERNELS_MAX],
		       uint64_t *left_out);

#endif
