/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The native function at an address of a process, and the CUDA call in which a thread is. */
#pragma once

#include "base/array.h"
#include "dump/process/arena.h"
#include "target/image.h"

struct native_image {
	dev_t device;
	uint64_t inode;
	struct image *image; /* NULL: it cannot be read */
	uint64_t bias;
};

/* Lives as long as the process that looks. */
struct native {
	pid_t pid;
	const struct mappings *mappings;
	struct arena *arena;
	ARRAY(struct native_image) images;
	bool cuda_searched;
	uint64_t cuda_start, cuda_end; /* all code of CUDA and NCCL lies between, equal: there is none */
};

/* The function's name, or NULL; *library: the file's name, NULL: no file is mapped there. */
const char *native_function(struct native *native, uint64_t address, const char **library);

/*
 * The innermost function of CUDA's or NCCL's interface to which a return address on the stack above sp belongs; NULL:
 * none.  A stale return address of a function that has returned is taken for one, too: ask only for a thread that
 * waits.
 */
const char *native_cuda_call(struct native *native, uint64_t sp, const char **library);
