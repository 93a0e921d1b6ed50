/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compiled against NVIDIA's NVTX headers: every number and type of user/agent/nvtx/nvtx_abi.h is asserted against them.
 * Built and run by tests/cupti_headers.sh.
 */
#include <stdio.h>

#include <nvtx3/nvToolsExt.h>

#include "agent/nvtx/nvtx_abi.h"

#define SAME(agent, nvtx) _Static_assert((int)(agent) == (int)(nvtx), #nvtx);
SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS)
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE)
SAME(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2)
SAME(NVTX_MESSAGE_IS_ASCII, NVTX_MESSAGE_TYPE_ASCII)
SAME(NVTX_MESSAGE_IS_WIDE, NVTX_MESSAGE_TYPE_UNICODE)
SAME(NVTX_MESSAGE_IS_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED)
SAME(NVTX_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING)
#define ID(module, function, id) SAME(id, NVTX_CBID_##module##_##function)
NVTX_CALLBACKS(ID)

#define AT(agent, nvtx)                                                                                                \
	SAME(offsetof(struct nvtx_attributes, agent), offsetof(nvtxEventAttributes_t, nvtx))                           \
	SAME(sizeof(((struct nvtx_attributes *)0)->agent), sizeof(((nvtxEventAttributes_t *)0)->nvtx))
AT(version, version)
AT(size, size)
AT(category, category)
AT(color_type, colorType)
AT(color, color)
AT(payload_type, payloadType)
AT(payload, payload)
AT(message_type, messageType)
AT(message, message)
SAME(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t))
SAME(sizeof(struct nvtx_callbacks), sizeof(NvtxExportTableCallbacks))
SAME(offsetof(struct nvtx_callbacks, module_table), offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable))

/* The ABI passes handles and pointers alike. */
SAME(sizeof(nvtxRangeId_t), sizeof(uint64_t))
SAME(sizeof(nvtxDomainHandle_t), sizeof(void *))
SAME(sizeof(nvtxStringHandle_t), sizeof(void *))

int main(void)
{
	printf("NVTX %d: all numbers agree\n", NVTX_VERSION);
	return 0;
}
