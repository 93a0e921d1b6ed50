/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names and classes of CUDA calls, straight from the table in cuda_api.h. */
#include "model/model.h"

#define CBID_LIMIT 1024 /* above every id of the table; a row beyond it does not compile */

struct api_row {
	const char *name;
	enum gpt_api_class class;
};

#define TWIN_NONE(domain, symbol, class, cbid)
#define TWIN_PTSZ(domain, symbol, class, cbid) [GPT_DOMAIN_##domain - 1][cbid] = {#symbol "_ptsz", GPT_CLASS_##class},
#define TWIN_PTDS(domain, symbol, class, cbid) [GPT_DOMAIN_##domain - 1][cbid] = {#symbol "_ptds", GPT_CLASS_##class},
#define ROW(domain, symbol, class, args, twin, cbid, twin_cbid)                                                        \
	[GPT_DOMAIN_##domain - 1][cbid] = {#symbol, GPT_CLASS_##class}, TWIN_##twin(domain, symbol, class, twin_cbid)

static const struct api_row rows[2][CBID_LIMIT] = {GPT_CUDA_API_TABLE(ROW) ROW(
	RUNTIME, cudaLaunchKernel, LAUNCH, , PTSZ, GPT_CBID_STUB_LAUNCH, GPT_CBID_STUB_LAUNCH_PTSZ)};

static const struct api_row *find_row(uint16_t api)
{
	static const struct api_row unknown = {"cuda call", GPT_CLASS_NONE};
	unsigned domain = GPT_API_DOMAIN(api), cbid = GPT_API_CBID(api);

	if (domain < GPT_DOMAIN_DRIVER || domain > GPT_DOMAIN_RUNTIME || cbid >= CBID_LIMIT ||
	    !rows[domain - 1][cbid].name)
		return &unknown;
	return &rows[domain - 1][cbid];
}

const char *api_name(uint16_t api)
{
	return find_row(api)->name;
}

enum gpt_api_class api_class(uint16_t api)
{
	return find_row(api)->class;
}
