/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ncclCommCount(comm, count) ends with `*count = comm->nRanks`, ncclCommUserRank with `*rank = comm->rank`: a 32-bit
 * load from a register plus displacement, and a store of the loaded value through a pointer.
 */
#include "target/nccl.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "target/instruction.h"

#define CODE_BYTES_MAX (16u << 10) /* the functions of NCCL 2.30 have 0.8 KB */
#define OFFSET_MAX (64u << 20)	   /* of NCCL 2.30: 1.2 MB */
#define APART_MAX 3		   /* instructions from the load to the store */

#define OPCODE_STORE 0x89
#define OPCODE_LOAD 0x8b
#define RM_SIB 4
#define RM_RIP 5 /* if mod is 0 */

/* mov of 32 bits between a register and memory */
static bool is_move(const struct instruction *in, uint8_t opcode)
{
	return in->map == MAP_ONE_BYTE && in->opcode == opcode && !in->prefix_66 && !in->prefix_other &&
	       !(in->rex & 8) && in->mod != 3;
}

/* The displacement comes last in the instruction, as there is no immediate. */
static bool load_offset(const struct instruction *in, const uint8_t *code, uint32_t *offset)
{
	int32_t displacement;

	if (!is_move(in, OPCODE_LOAD) || (in->rm & 7) == RM_SIB)
		return false;
	if (in->mod == 1)
		displacement = (int8_t)code[in->length - 1];
	else if (in->mod == 2)
		memcpy(&displacement, code + in->length - sizeof(displacement), sizeof(displacement));
	else
		return false;
	*offset = (uint32_t)displacement;
	return displacement > 0 && *offset < OFFSET_MAX;
}

static bool is_store_to_pointer(const struct instruction *in)
{
	return is_move(in, OPCODE_STORE) && in->mod == 0 && (in->rm & 7) != RM_SIB && (in->rm & 7) != RM_RIP;
}

bool nccl_member_in(const uint8_t *code, size_t bytes, uint32_t *offset)
{
	unsigned since = APART_MAX, found = 0;
	uint32_t loaded = 0, last = 0;
	struct instruction in;
	uint8_t to = 0;

	for (size_t at = 0; at < bytes; at += in.length) {
		if (!instruction_decode(code + at, bytes - at, &in))
			return false;
		since++;
		if (load_offset(&in, code + at, &loaded)) {
			to = in.reg;
			since = 0;
		} else if (is_store_to_pointer(&in) && since < APART_MAX && in.reg == to && loaded != last) {
			last = loaded;
			found++;
		}
	}
	*offset = last;
	return found == 1;
}

static int find_member(const struct image *image, const char *function, uint32_t *offset)
{
	struct image_symbol symbol;
	AUTO_FREE uint8_t *code = NULL;
	bool found;

	if (image_symbol(image, function, &symbol) || !symbol.size || symbol.size > CODE_BYTES_MAX)
		return -ENOENT;
	code = xmalloc(symbol.size);
	found = !image_read(image, symbol.address, code, symbol.size) && nccl_member_in(code, symbol.size, offset);
	return found ? 0 : -ENOENT;
}

int nccl_find_layout(const struct image *image, struct nccl_comm_layout *out)
{
	int error = find_member(image, "ncclCommUserRank", &out->rank);

	if (!error)
		error = find_member(image, "ncclCommCount", &out->ranks);
	if (!error && out->rank == out->ranks)
		error = -ENOENT;
	return error;
}
