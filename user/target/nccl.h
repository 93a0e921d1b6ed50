/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where libnccl keeps rank and number of ranks in a communicator.  No document says so: it is read from the code
 * of the two public functions that give them, ncclCommUserRank and ncclCommCount, and not known where these look
 * otherwise.
 */
#ifndef GPUTRACE_NCCL_TARGET_H
#define GPUTRACE_NCCL_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/image.h"

/* Bytes from the start of what an ncclComm_t points to, both of int. */
struct nccl_comm_layout {
	uint32_t rank, ranks;
};

/* -ENOENT: the functions are not there, or look otherwise. */
int nccl_find_layout(const struct image *image, struct nccl_comm_layout *out);

/* ---- parts of it, for tests ---- */

/*
 * Of the code of such a function: the offset of the one int that it loads and, with no other load into that register
 * between, stores where a pointer says.  False: there is none, or more than one.
 */
bool nccl_member_in(const uint8_t *code, size_t bytes, uint32_t *offset);

#endif
