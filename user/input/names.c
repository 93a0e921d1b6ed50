/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words to numbers; see names.h. */
#include "input/names.h"

#include <string.h>

#include "model/program.h"

struct word {
	const char *name;
	uint32_t value;
};

static uint32_t find(const struct word *words, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(words[i].name) == size && !memcmp(words[i].name, name, size))
			return words[i].value;
	return 0;
}
#define FIND(words, name, size) find(words, sizeof(words) / sizeof((words)[0]), name, size)

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* What stands before "_v7000"; "_v2" is part of a name. */
static size_t without_version(const char *name, size_t size)
{
	size_t at = size;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	return size - at >= 4 && at > 2 && name[at - 1] == 'v' && name[at - 2] == '_' ? at - 2 : size;
}

static uint16_t find_name(const char *name, size_t size)
{
#define TWIN_NONE(domain, symbol, cbid)
#define TWIN_PTSZ(domain, symbol, cbid) {#symbol "_ptsz", GPT_API(GPT_DOMAIN_##domain, cbid)},
#define TWIN_PTDS(domain, symbol, cbid) {#symbol "_ptds", GPT_API(GPT_DOMAIN_##domain, cbid)},
#define ROW(domain, symbol, class, args, twin, cbid, twin_cbid)                                                        \
	{#symbol, GPT_API(GPT_DOMAIN_##domain, cbid)}, TWIN_##twin(domain, symbol, twin_cbid)
	static const struct word words[] = {GPT_CUDA_API_TABLE(ROW)};
#undef ROW
	return (uint16_t)FIND(words, name, size);
}

uint16_t name_to_api(const char *name, size_t size, enum gpt_api_domain domain, int64_t cbid)
{
	uint16_t api = cbid > 0 && cbid < 1 << 12 ? GPT_API(domain, cbid) : 0;
	const char *known;

	if (!api || api_class(api) == GPT_CLASS_NONE)
		return 0;
	/* of those with a twin a file may name either */
	size = without_version(name, size);
	known = api_name(api);
	return strlen(known) >= size && !memcmp(known, name, size) ? api : 0;
}

uint16_t name_to_any_api(const char *name, size_t size)
{
	uint16_t api;

	size = without_version(name, size);
	api = find_name(name, size);
	return api ? api : api_named(name, size);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

#define MEMCPY_KINDS 11u
#define MEMORY_KINDS 8u

static uint8_t memory_kind(const char *name, size_t size)
{
	for (uint32_t i = 1; i < MEMORY_KINDS; i++)
		if (strlen(gpu_memory_kind(i)) == size && !memcmp(gpu_memory_kind(i), name, size))
			return (uint8_t)i;
	return 0;
}

static uint8_t memcpy_kind(const char *name, size_t size)
{
	for (uint32_t i = 1; i < MEMCPY_KINDS; i++)
		if (strlen(gpu_memcpy_kind(i)) == size && !memcmp(gpu_memcpy_kind(i), name, size))
			return (uint8_t)i;
	return 0;
}

void name_to_memory_kinds(const char *name, size_t size, struct new_gpu_work *work)
{
	const char *end = name + size, *open = memchr(name, '(', size), *arrow, *close;

	if (!open)
		return;
	close = memchr(open, ')', (size_t)(end - open));
	if (!close)
		return;
	if (size > 7 && !memcmp(name, "Memcpy ", 7) && open > name + 8)
		work->memcpy_kind = memcpy_kind(name + 7, (size_t)(open - 1 - (name + 7)));
	arrow = memmem(open, (size_t)(close - open), " -> ", 4);
	if (!arrow) {
		work->to = memory_kind(open + 1, (size_t)(close - open - 1));
		return;
	}
	work->from = memory_kind(open + 1, (size_t)(arrow - open - 1));
	work->to = memory_kind(arrow + 4, (size_t)(close - arrow - 4));
}

uint32_t name_to_memory(const char *name, size_t size)
{
	static const struct word words[] = {
		{"pageable", 1}, {"pinned", 2},		{"device", 3},		{"array", 4},
		{"managed", 5},	 {"device, static", 6}, {"managed, static", 7},
	};

	return FIND(words, name, size);
}

/* ---- others ------------------------------------------------------------------------------------------------------ */

enum gpt_agent_sync_kind name_to_sync(const char *name, size_t size)
{
	static const struct word words[] = {
		{"Event Sync", GPT_AGENT_SYNC_EVENT},
		{"Stream Wait Event", GPT_AGENT_SYNC_STREAM_WAITS_EVENT},
		{"Stream Sync", GPT_AGENT_SYNC_STREAM},
		{"Context Sync", GPT_AGENT_SYNC_CONTEXT},
	};

	return (enum gpt_agent_sync_kind)FIND(words, name, size);
}

static bool has(const char *name, size_t size, const char *part)
{
	return memmem(name, size, part, strlen(part)) != NULL;
}

enum gpt_agent_sync_kind name_to_wait(const char *name, size_t size)
{
	static const struct word parts[] = {
		{"WaitEvent", GPT_AGENT_SYNC_STREAM_WAITS_EVENT}, {"EventSynchronize", GPT_AGENT_SYNC_EVENT},
		{"StreamSynchronize", GPT_AGENT_SYNC_STREAM},	  {"DeviceSynchronize", GPT_AGENT_SYNC_CONTEXT},
		{"CtxSynchronize", GPT_AGENT_SYNC_CONTEXT},	  {"ThreadSynchronize", GPT_AGENT_SYNC_CONTEXT},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (has(name, size, parts[i].name))
			return (enum gpt_agent_sync_kind)parts[i].value;
	return 0;
}

/* CUpti_ActivityOverheadKind (cupti_activity.h, 13.0), as Kineto names them. */
uint32_t name_to_overhead(const char *name, size_t size)
{
	static const struct word words[] = {
		{"Driver Compiler", 1},
		{"Buffer Flush", 1u << 16},
		{"Instrumentation", 2u << 16},
		{"Resource", 3u << 16},
		{"Runtime Triggered Module Loading", 4u << 16},
		{"Lazy Function Loading", 5u << 16},
		{"Command Buffer Full", 6u << 16},
		{"Activity Buffer Request", 7u << 16},
		{"UVM Activity Init", 8u << 16},
	};

	return FIND(words, name, size);
}
