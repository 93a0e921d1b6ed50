/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names and classes of CUDA calls: of the table in cuda_api.h, and of further calls named in other tools' files. */
#include <pthread.h>
#include <string.h>

#include "base/array.h"
#include "base/lookup.h"
#include "base/safe_text.h"
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

/* ---- calls that are not in the table ----------------------------------------------------------------------------- */

#define NAMED_MAX 4095u /* twelve bits; number 0 stands for all names beyond */
#define NAME_MAX_BYTES 128u

struct named_call {
	const char *name;
	uint8_t class;
	bool of_driver;
};

/*
 * Shared by all files of this run, as `gputrace diff` compares rows of two files by call number.  Rows are only added,
 * and a number is handed out only after its row is complete.
 */
static struct named_call named[NAMED_MAX + 1] = {{"other calls", GPT_CLASS_NONE, false}};
static uint32_t named_count = 1;
static struct lookup named_lookup; /* (1, hash of the name) to index */
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;

/* The class of a call by its name; the first match counts. */
static enum gpt_api_class class_of_name(const char *name)
{
	static const struct {
		const char *part;
		enum gpt_api_class class;
	} parts[] = {
		/* these describe work without requesting it */
		{"GraphAdd", GPT_CLASS_NONE},
		{"NodeSetParams", GPT_CLASS_NONE},
		{"NodeGetParams", GPT_CLASS_NONE},
		{"Attribute", GPT_CLASS_NONE},
		{"HostFunc", GPT_CLASS_HOST_FUNC},
		{"GraphLaunch", GPT_CLASS_GRAPH},
		{"Launch", GPT_CLASS_LAUNCH},
		{"WaitEvent", GPT_CLASS_WAIT},
		{"Synchronize", GPT_CLASS_SYNC},
		/* SYCL and Level Zero, of Intel's GPUs */
		{"EventWait", GPT_CLASS_SYNC},
		{"EventsWait", GPT_CLASS_SYNC},
		{"QueueFinish", GPT_CLASS_SYNC},
		{"EventRecord", GPT_CLASS_EVENT},
		{"Memcpy", GPT_CLASS_MEMCPY},
		{"MemCpy", GPT_CLASS_MEMCPY},
		{"MemCopy", GPT_CLASS_MEMCPY},
		{"MemoryCopy", GPT_CLASS_MEMCPY},
		{"Memset", GPT_CLASS_MEMSET},
		{"MemoryFill", GPT_CLASS_MEMSET},
		{"USMFill", GPT_CLASS_MEMSET},
		{"Malloc", GPT_CLASS_ALLOC},
		{"MemAlloc", GPT_CLASS_ALLOC},
		{"HostAlloc", GPT_CLASS_ALLOC},
		{"DeviceAlloc", GPT_CLASS_ALLOC},
		{"Free", GPT_CLASS_FREE},
		{"ModuleLoad", GPT_CLASS_MODULE},
		{"ModuleCreate", GPT_CLASS_MODULE},
		{"LibraryLoad", GPT_CLASS_MODULE},
		{"ProgramBuild", GPT_CLASS_MODULE},
	};

	return value_of_first(sizeof(parts) / sizeof(parts[0]), i, strstr(name, parts[i].part), parts[i].class,
			      GPT_CLASS_NONE);
}

uint16_t api_named(const char *name, size_t size)
{
	char text[SAFE_TEXT_MAX(NAME_MAX_BYTES) + 1];
	uint32_t *index, found;
	uint64_t hash;

	text[safe_text_copy(text, name, size < NAME_MAX_BYTES ? size : NAME_MAX_BYTES)] = '\0';
	pthread_mutex_lock(&naming);
	hash = hash_bytes(hash_seed(), text, strlen(text));
	index = lookup_get(&named_lookup, 1, hash);
	found = index ? *index : named_count > NAMED_MAX ? 0 : named_count;
	if (!index && found) {
		named[found] = (struct named_call){.name = xstrdup(text),
						   .class = (uint8_t)class_of_name(text),
						   .of_driver = text[0] == 'c' && text[1] == 'u' && text[2] >= 'A' &&
								text[2] <= 'Z'};
		lookup_put(&named_lookup, 1, hash, found);
		named_count++;
	}
	pthread_mutex_unlock(&naming);
	return GPT_API(API_DOMAIN_NAMED, found);
}

bool api_is_of_driver(uint16_t api)
{
	return api_is_named(api) ? named[GPT_API_CBID(api)].of_driver : GPT_API_DOMAIN(api) == GPT_DOMAIN_DRIVER;
}

/* ------------------------------------------------------------------------------------------------------------------ */

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
	if (api_is_named(api) && named[GPT_API_CBID(api)].name)
		return named[GPT_API_CBID(api)].name;
	return find_row(api)->name;
}

enum gpt_api_class api_class(uint16_t api)
{
	if (api_is_named(api))
		return named[GPT_API_CBID(api)].class;
	return find_row(api)->class;
}
