/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether Kineto, the part of PyTorch's libtorch_cpu that torch.profiler uses, records GPU work at this moment.  In
 * every session it asks CUPTI for correlation ids, and keeps a flag set meanwhile.  The place of the flag is not
 * documented: it is read from the code of two small functions that the library exports.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/image.h"

/* Linked addresses. */
struct kineto_flag {
	uint64_t guard;	   /* a byte that is 0 until there is an instance */
	uint64_t instance; /* the one CuptiActivityApi, or the pointer to it */
	bool by_pointer;
	uint32_t offset; /* of the flag, a byte, in the instance */
};

/* Names of the two functions in the library. */
#define KINETO_SINGLETON "_ZN9libkineto16CuptiActivityApi9singletonEv"
#define KINETO_PUSH "_ZN9libkineto16CuptiActivityApi17pushCorrelationIDEiNS0_19CorrelationFlowTypeE"

/* singleton, push: linked addresses of the functions.  -ENOENT: their code has another form. */
int kineto_find_flag(const struct image *image, uint64_t singleton, uint64_t push, struct kineto_flag *out);

/* Reads the flag in a process that has the library at that bias: 1 it records, 0 it does not, -errno: not readable. */
int kineto_records(pid_t pid, uint64_t bias, const struct kineto_flag *flag);

/* ---- parts of it, for tests ---- */

/* From the code of pushCorrelationID: the offset of the byte on which the branch after its first call depends. */
bool kineto_flag_in(const uint8_t *code, size_t bytes, uint32_t *offset);
/* From the code of CuptiActivityApi::singleton, linked at that address: all members except `offset`. */
bool kineto_instance_in(const uint8_t *code, size_t bytes, uint64_t address, struct kineto_flag *out);
