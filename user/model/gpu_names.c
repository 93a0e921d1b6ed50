/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of GPU operations as torch.profiler writes them, so that its readers recognise them. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

/* CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind (cupti_activity.h, 13.0). */
static const char *const memcpy_kinds[] = {"Unknown",
					   "HtoD",
					   "DtoH",
					   "HtoA",
					   "AtoH",
					   "AtoA",
					   "AtoD",
					   "DtoA",
					   "DtoD",
					   "HtoH",
					   "PtoP",
					   [MODEL_MEMCPY_MANAGED_TO_DEVICE] = "Managed HtoD",
					   [MODEL_MEMCPY_MANAGED_TO_HOST] = "Managed DtoH",
					   [MODEL_MEMCPY_MANAGED_BETWEEN_DEVICES] = "Managed DtoD"};
static const char *const memory_kinds[] = {"Unknown", "Pageable", "Pinned",	   "Device",
					   "Array",   "Managed",  "Device Static", "Managed Static"};

#define NAME_OF(table, index) ((index) < sizeof(table) / sizeof(*(table)) ? (table)[index] : (table)[0])

const char *gpu_memcpy_kind(uint32_t kind)
{
	return NAME_OF(memcpy_kinds, kind);
}

const char *gpu_memory_kind(uint32_t kind)
{
	return NAME_OF(memory_kinds, kind);
}

const char *gpu_name(const struct model *model, const struct model_gpu *op, char *buffer, size_t size)
{
	switch (op->kind) {
	case MODEL_MEMCPY:
		snprintf(buffer, size, "Memcpy %s (%s -> %s)", NAME_OF(memcpy_kinds, op->memcpy_kind),
			 NAME_OF(memory_kinds, op->from), NAME_OF(memory_kinds, op->to));
		return buffer;
	case MODEL_MEMSET:
		snprintf(buffer, size, "Memset (%s)", NAME_OF(memory_kinds, op->to));
		return buffer;
	default:
		return op->name != NONE ? model->strings[op->name] : "unknown kernel";
	}
}

const char *jit_name(const struct model_jit *jit)
{
	switch (jit->operation) {
	case GPT_AGENT_JIT_CACHE_LOAD:
		return "loaded from the cache";
	case GPT_AGENT_JIT_CACHE_STORE:
		return "stored in the cache";
	default:
		return jit->entry == GPT_AGENT_JIT_PTX_TO_CUBIN	 ? "PTX compiled"
		       : jit->entry == GPT_AGENT_JIT_NVVM_TO_PTX ? "NVVM IR compiled to PTX"
								 : "compiled";
	}
}

const char *gpu_clock_reason_name(unsigned bit)
{
	static const char *const names[GPU_CLOCK_REASONS] = {
		"idle",
		"clock setting",
		"power cap",
		"hardware slowdown",
		"sync boost",
		"thermal, by software",
		"thermal, by hardware",
		"power brake",
		"display",
		"board limit",
		"reliability",
	};

	return bit < GPU_CLOCK_REASONS ? names[bit] : NULL;
}

const char *gpu_error_name(enum gpt_gpu_error_kind kind)
{
	switch (kind) {
	case GPT_GPU_XID:
		return "XID";
	case GPT_GPU_ECC_CORRECTED:
		return "ECC, corrected";
	case GPT_GPU_ECC_UNCORRECTED:
		return "ECC, not corrected";
	default:
		return "GPU lost";
	}
}
