/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where libnccl keeps rank and number of ranks in a communicator.  The offsets are not documented: they are read from
 * the code of the two public functions that return them, ncclCommUserRank and ncclCommCount.  If that code has another
 * form, they are not known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/image.h"

/* Offsets in bytes in the structure to which an ncclComm_t points; both members are int. */
struct nccl_comm_layout {
	uint32_t rank, ranks;
};

/* -ENOENT: the functions are missing, or their code has another form. */
int nccl_find_layout(const struct image *image, struct nccl_comm_layout *out);

/* ---- parts of it, for tests ---- */

/*
 * From the code of such a function: the offset of the one int that it loads and then stores through a pointer, with no
 * other load in between.  False: there is none, or more than one.
 */
bool nccl_member_in(const uint8_t *code, size_t bytes, uint32_t *offset);
