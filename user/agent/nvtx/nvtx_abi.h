/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The part of NVTX's tool interface that the agent uses. NVIDIA's headers are not needed to build; tests/nvtx_headers.c
 * compares every line with them.
 *
 * Source: nvtx3/nvToolsExt.h, nvtx3/nvtxDetail/nvtxTypes.h (NVTX 3). libnvToolsExt.so.1 of CUDA 12 and before uses the
 * same entry point.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	NVTX_TABLE_CALLBACKS = 1, /* NvtxExportTableID */
	NVTX_MODULE_CORE = 1,	  /* NvtxCallbackModule */
	NVTX_MODULE_CORE2 = 5,
	NVTX_MESSAGE_IS_ASCII = 1, /* nvtxMessageType_t */
	NVTX_MESSAGE_IS_WIDE = 2,
	NVTX_MESSAGE_IS_REGISTERED = 3,
	NVTX_NO_TRACKING = -2, /* NVTX_NO_PUSH_POP_TRACKING: result of push and pop without a tool */
};

/* Functions of the tool by their NvtxCallbackIdCore and NvtxCallbackIdCore2: X(module, function, id) */
#define NVTX_CALLBACKS(X)                                                                                              \
	X(CORE, MarkEx, 1)                                                                                             \
	X(CORE, MarkA, 2)                                                                                              \
	X(CORE, MarkW, 3)                                                                                              \
	X(CORE, RangeStartEx, 4)                                                                                       \
	X(CORE, RangeStartA, 5)                                                                                        \
	X(CORE, RangeStartW, 6)                                                                                        \
	X(CORE, RangeEnd, 7)                                                                                           \
	X(CORE, RangePushEx, 8)                                                                                        \
	X(CORE, RangePushA, 9)                                                                                         \
	X(CORE, RangePushW, 10)                                                                                        \
	X(CORE, RangePop, 11)                                                                                          \
	X(CORE2, DomainMarkEx, 1)                                                                                      \
	X(CORE2, DomainRangeStartEx, 2)                                                                                \
	X(CORE2, DomainRangeEnd, 3)                                                                                    \
	X(CORE2, DomainRangePushEx, 4)                                                                                 \
	X(CORE2, DomainRangePop, 5)                                                                                    \
	X(CORE2, DomainRegisterStringA, 10)                                                                            \
	X(CORE2, DomainRegisterStringW, 11)                                                                            \
	X(CORE2, DomainCreateA, 12)                                                                                    \
	X(CORE2, DomainCreateW, 13)

typedef void (*nvtx_function)(void);

/* NvtxExportTableCallbacks.  The table is an array of places for functions; an unused place is NULL. */
struct nvtx_callbacks {
	size_t size;
	int (*module_table)(uint32_t module, nvtx_function ***table, unsigned *count);
};

/* nvtxEventAttributes_v2; NVTX 1 has the same without registered messages. */
struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};
