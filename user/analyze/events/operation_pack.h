/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A GPU operation as one number, for keys of sums: the kernel's name, or the kind of memcpy or memset. */
#pragma once

#include "model/model.h"

#define OPERATION_NONE (NONE - 1)    /* in place of a kernel's name: the operation is not known */
#define OPERATION_MEMORY 0x80000000u /* the bits below hold kind, memcpy kind, from, to */

static inline uint32_t operation_pack(const struct model_gpu *op)
{
	if (op->kind == MODEL_KERNEL)
		return op->name;
	return OPERATION_MEMORY | (uint32_t)op->kind << 24 | (uint32_t)op->memcpy_kind << 16 | (uint32_t)op->from << 8 |
	       op->to;
}

/* The same; a kernel's name includes the place of its function, where that is known. */
static inline uint32_t operation_pack_label(const struct model_gpu *op)
{
	return op->kind == MODEL_KERNEL ? op->label : operation_pack(op);
}

/* Sets kind, name, memcpy_kind, from and to, which gpu_name() needs. */
static inline struct model_gpu operation_unpack(uint32_t packed)
{
	struct model_gpu op = {.kind = MODEL_KERNEL, .name = packed};

	if (packed == NONE || packed == OPERATION_NONE || !(packed & OPERATION_MEMORY))
		return op;
	op.kind = packed >> 24 & 0x3f;
	op.memcpy_kind = (uint8_t)(packed >> 16);
	op.from = (uint8_t)(packed >> 8);
	op.to = (uint8_t)packed;
	op.name = NONE;
	return op;
}
