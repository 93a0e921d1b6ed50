/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The function that an address of a process lies in, and the CUDA call that a thread is in. */
#ifndef GPUTRACE_DUMP_NATIVE_H
#define GPUTRACE_DUMP_NATIVE_H

#include "base/array.h"
#include "dump/arena.h"
#include "target/image.h"

struct native_image {
	dev_t device;
	uint64_t inode;
	struct image *image; /* NULL: it cannot be read */
	uint64_t bias;
};

/* Stays until the process that looks ends. */
struct native {
	pid_t pid;
	const struct mappings *mappings;
	struct arena *arena;
	ARRAY(struct native_image) images;
};

/* Name of the function, or NULL; *library: the file's name, NULL: none is mapped there. */
const char *native_function(struct native *native, uint64_t address, const char **library);

/*
 * The innermost function of CUDA's or NCCL's interface that a return address on the stack from sp on lies in; NULL:
 * none.  What a function has left there without being in it any more is taken for one, too, so ask only of a thread
 * that waits.
 */
const char *native_cuda_call(struct native *native, uint64_t sp, const char **library);

#endif
