/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether Kineto, the part of PyTorch's libtorch_cpu that torch.profiler uses, records GPU work at this moment.  It
 * keeps a flag of its own while it asks CUPTI for correlation ids, which it does in every session.  No
 * document says where that flag lies: it is read from the code of two small functions that the library exports.
 */
#ifndef GPUTRACE_KINETO_H
#define GPUTRACE_KINETO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/image.h"

/* Linked addresses. */
struct kineto_flag {
	uint64_t guard;	   /* a byte that is 0 until there is an instance */
	uint64_t instance; /* of the one CuptiActivityApi, or of the pointer to it */
	bool by_pointer;
	uint32_t offset; /* of the flag, a byte, in the instance */
};

/* The functions, by their names in the library. */
#define KINETO_SINGLETON "_ZN9libkineto16CuptiActivityApi9singletonEv"
#define KINETO_PUSH "_ZN9libkineto16CuptiActivityApi17pushCorrelationIDEiNS0_19CorrelationFlowTypeE"

/* Given their linked addresses. -ENOENT: they look otherwise. */
int kineto_find_flag(const struct image *image, uint64_t singleton, uint64_t push, struct kineto_flag *out);

/* In a process with the library at that bias: 1 it records, 0 not; -errno: its memory does not show it. */
int kineto_records(pid_t pid, uint64_t bias, const struct kineto_flag *flag);

/* ---- parts of it, for tests ---- */

/* Of the code of pushCorrelationID: the offset of the byte that decides what follows its first call. */
bool kineto_flag_in(const uint8_t *code, size_t bytes, uint32_t *offset);
/* Of the code of CuptiActivityApi::singleton, which is linked at that address: all but the offset. */
bool kineto_instance_in(const uint8_t *code, size_t bytes, uint64_t address, struct kineto_flag *out);

#endif
