/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* cuda_api.h as rows and as a table; see apis.h. */
#include "cupti/apis.h"

#include <stdbool.h>

#include <gputrace/agent.h>
#include <gputrace/cuda_api.h>

#define ROW(domain, symbol, class, args, twin, cbid, twin_cbid)                                                        \
	{GPT_DOMAIN_##domain, GPT_CLASS_##class, cbid}, {GPT_DOMAIN_##domain, GPT_CLASS_##class, twin_cbid},
#define ALIAS(domain, cbid, real) {GPT_DOMAIN_##domain, GPT_CLASS_NONE, cbid},
const struct api_row apis_rows[] = {GPT_CUDA_API_TABLE(ROW) GPT_CUDA_API_ALIASES(ALIAS)};
#undef ROW
#undef ALIAS
const unsigned apis_count = sizeof(apis_rows) / sizeof(apis_rows[0]);

uint16_t apis_of(uint32_t domain, uint32_t cbid)
{
#define ALIAS(domain, cbid, real)                                                                                      \
	case GPT_DOMAIN_##domain << 16 | (cbid):                                                                       \
		return GPT_API(GPT_DOMAIN_##domain, real);
	switch (domain << 16 | cbid) {
		GPT_CUDA_API_ALIASES(ALIAS)
	default:
		return GPT_API(domain, cbid);
	}
#undef ALIAS
}

#define CBIDS 1024 /* the largest known is below 850 (13.5) */

#define CAPTURE(domain, symbol, what, cbid, twin_cbid)                                                                 \
	GPT_API(GPT_DOMAIN_##domain, cbid), GPT_API(GPT_DOMAIN_##domain, twin_cbid),
static const uint16_t capture_calls[] = {GPT_CUDA_CAPTURE_CALLS(CAPTURE)};
#undef CAPTURE

unsigned apis_class(uint16_t api)
{
	static uint8_t classes[GPT_DOMAIN_RUNTIME + 1][CBIDS]; /* 0: not followed by gputrace, else class + 1 */
	static bool filled;
	unsigned domain = GPT_API_DOMAIN(api), cbid = GPT_API_CBID(api), i;

	for (i = 0; !filled && i < sizeof(capture_calls) / sizeof(capture_calls[0]); i++)
		classes[GPT_API_DOMAIN(capture_calls[i])][GPT_API_CBID(capture_calls[i])] = GPT_CLASS_NONE + 1;
	for (i = 0; !filled && i < apis_count; i++)
		if (apis_rows[i].cbid && apis_rows[i].class != GPT_CLASS_NONE)
			classes[apis_rows[i].domain][apis_rows[i].cbid] = (uint8_t)(apis_rows[i].class + 1);
	filled = true;
	if (domain > GPT_DOMAIN_RUNTIME || cbid >= CBIDS || !classes[domain][cbid])
		return GPT_CLASS_COUNT;
	return classes[domain][cbid] - 1u;
}

#define SET(name) (1u << GPT_AGENT_SET_##name)

/* Kernels alone need only the calls that launch them. */
static unsigned sets_of(unsigned class)
{
	switch (class) {
	case GPT_CLASS_NONE: /* the stubs of launches */
	case GPT_CLASS_LAUNCH:
	case GPT_CLASS_GRAPH:
		return ~0u;
	case GPT_CLASS_SYNC:
	case GPT_CLASS_WAIT:
	case GPT_CLASS_EVENT:
		return SET(CUDA) | SET(SYNC);
	case GPT_CLASS_ALLOC:
	case GPT_CLASS_FREE:
		return SET(CUDA) | SET(MEMORY);
	default:
		return SET(CUDA);
	}
}

uint32_t apis_classes(unsigned activity_sets)
{
	uint32_t classes = 0;
	unsigned class;

	for (class = 0; class < GPT_CLASS_COUNT; class ++)
		if (sets_of(class) == ~0u || (sets_of(class) & activity_sets))
			classes |= 1u << class;
	return classes;
}
