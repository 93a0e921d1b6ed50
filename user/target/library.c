/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recognises the libraries that matter, and finds the CUDA calls in them.  cuda_api.h lists the calls; site.c chooses
 * where in a function the probe goes.
 */
#include "target/library.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/cuda_api.h>

#include "base/order.h"
#include "base/path.h"

#define CONSTANTS_SEARCHED (64u << 20)
#define ADDRESSES_PER_NAME 8 /* a library has one per symbol version, in each of its two tables */

/* ---- which library ---------------------------------------------------------------------------- */

/* "libcudart.so.12", and "libcudart-9335f6a2.so.12" as auditwheel renames bundled copies. */
static bool is_library_name(const char *base, const char *stem)
{
	size_t length = strlen(stem);

	if (strncmp(base, stem, length))
		return false;
	return strncmp(base + length, ".so", 3) == 0 || (base[length] == '-' && strstr(base + length, ".so"));
}

/* libpythonX.Y[flags].so*, but not libpython3.so, which only forwards the stable ABI. */
static bool is_python_name(const char *base)
{
	const char *at = base + strlen("libpython");

	if (strncmp(base, "libpython", strlen("libpython")) || !isdigit((unsigned char)*at))
		return false;
	at += strspn(at, "0123456789");
	return at[0] == '.' && isdigit((unsigned char)at[1]) && strstr(at, ".so");
}

static const struct {
	const char *stem;
	enum library_kind kind;
} stems[] = {
	{"libcudart", LIBRARY_CUDART},	 {"libcuda", LIBRARY_CUDA}, {"libcupti", LIBRARY_CUPTI},
	{"libtorch_cpu", LIBRARY_TORCH}, {"libnccl", LIBRARY_NCCL},
};

enum library_kind library_kind_of_name(const char *path)
{
	const char *base = path_base(path);

	if (strncmp(base, "lib", 3))
		return LIBRARY_OTHER;
	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++)
		if (is_library_name(base, stems[i].stem))
			return stems[i].kind;
	if (strcmp(base, GPUTRACE_AGENT_FILE) == 0)
		return LIBRARY_AGENT;
	return is_python_name(base) ? LIBRARY_PYTHON : LIBRARY_OTHER;
}

bool library_is_cuda(const char *path)
{
	enum library_kind kind = library_kind_of_name(path);

	return kind == LIBRARY_CUDA || kind == LIBRARY_CUDART;
}

/* Extension modules call CPython's functions, so its symbols are callable. */
bool library_holds_python(const struct image *image)
{
	struct image_symbol symbol;

	/* _PyRuntime exists since 3.7 and may be hidden: a file with the rest of CPython counts, too. */
	return image_callable(image, "_PyRuntime", &symbol) == 0 ||
	       image_callable(image, "Py_Initialize", &symbol) == 0;
}

/* A static CUDA runtime lies in a file that has code for the GPU, does not need libcudart, and does not export it. */
static bool holds_runtime(const struct image *image)
{
	struct image_symbol symbol;

	if (image_exported(image, "cudaLaunchKernel", &symbol) == 0)
		return true;
	return (image_is_program(image) || image_has_section(image, ".nv_fatbin")) &&
	       !image_needs(image, "libcudart") && image_symbol(image, "cudaLaunchKernel", &symbol) == 0;
}

enum library_kind library_kind_of_image(const struct image *image, const char *path)
{
	enum library_kind kind = library_kind_of_name(path);

	if (kind == LIBRARY_OTHER)
		kind = library_kind_of_name(image_soname(image));
	if (kind != LIBRARY_OTHER)
		return kind;
	/* An executable with both counts as the interpreter: its CUDA calls are still seen in libcuda. */
	if (library_holds_python(image))
		return LIBRARY_PYTHON_STATIC;
	return holds_runtime(image) ? LIBRARY_CUDART_STATIC : LIBRARY_OTHER;
}

bool library_hides_runtime(const struct image *image)
{
	static const char error_name[] = "\0cudaErrorMemoryAllocation";

	/* a file that needs libcudart may have its error names, too */
	return image_has_section(image, ".nv_fatbin") && !image_needs(image, "libcudart") &&
	       image_section_holds(image, ".rodata", CONSTANTS_SEARCHED, error_name, sizeof(error_name));
}

/* ---- which calls in it ------------------------------------------------------------------------ */

struct call_symbol {
	const char *name; /* NULL: the row has no twin */
	uint16_t api;
	uint8_t domain; /* enum gpt_api_domain */
	uint8_t class;	/* enum gpt_api_class */
};

#define TWIN_NONE(symbol) NULL
#define TWIN_PTSZ(symbol) #symbol "_ptsz"
#define TWIN_PTDS(symbol) #symbol "_ptds"
#define CALL_ROWS(domain, symbol, class, args, twin, cbid, twin_cbid)                                                  \
	{#symbol, GPT_API(GPT_DOMAIN_##domain, cbid), GPT_DOMAIN_##domain, GPT_CLASS_##class},                         \
		{TWIN_##twin(symbol), GPT_API(GPT_DOMAIN_##domain, twin_cbid), GPT_DOMAIN_##domain,                    \
		 GPT_CLASS_##class},

static const struct call_symbol calls[] = {GPT_CUDA_API_TABLE(CALL_ROWS)};

#define CALL_COUNT (sizeof(calls) / sizeof(*calls))

struct found_call {
	uint64_t address;
	size_t call; /* index in calls[] */
};

struct site_search {
	const struct call_symbol *by_name[CALL_COUNT]; /* the domain's calls, sorted */
	size_t names;
	ARRAY(struct found_call) found;
	uint8_t taken[CALL_COUNT]; /* number of addresses taken, by index in calls[] */
};

DEFINE_ORDER(call_by_name, struct call_symbol *const, strcmp((*a)->name, (*b)->name))

static int name_against_call(const void *name, const void *call)
{
	return strcmp(name, (*(const struct call_symbol *const *)call)->name);
}

DEFINE_ORDER(found_by_table_order, struct found_call,
	     least_first(a->call, b->call) ?: least_first(a->address, b->address))

static int take_symbol(const struct image_symbol *symbol, void *context)
{
	struct site_search *search = context;
	const struct call_symbol *const *entry;
	size_t call;

	/* Every call begins with "cu"; most symbols of a large executable do not. */
	if (symbol->name[0] != 'c' || symbol->name[1] != 'u' || !symbol->function)
		return 0;
	entry = bsearch(symbol->name, search->by_name, search->names, sizeof(*search->by_name), name_against_call);
	if (!entry)
		return 0;
	call = (size_t)(*entry - calls);
	if (search->taken[call] >= ADDRESSES_PER_NAME)
		return 0;
	search->taken[call]++;
	array_push(&search->found, ((struct found_call){.address = symbol->address, .call = call}));
	return 0;
}

static bool has_offset(const struct library_sites *sites, uint64_t offset)
{
	return any_of(sites->list.count, i, sites->list.items[i].site.offset == offset);
}

static void add_site(const struct image *image, const struct found_call *found, struct library_sites *out)
{
	const struct call_symbol *call = &calls[found->call];
	struct library_site site = {.api = call->api};

	if (site_choose(image, found->address, &site.site) || has_offset(out, site.site.offset))
		return;
	memccpy(site.symbol, call->name, '\0', sizeof(site.symbol) - 1);
	out->stepped += site.site.cost == SITE_STEPPED;
	out->launches += call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH;
	array_push(&out->list, site);
}

static enum gpt_api_domain domain_of(enum library_kind kind)
{
	if (kind == LIBRARY_CUDA)
		return GPT_DOMAIN_DRIVER;
	return kind == LIBRARY_CUDART || kind == LIBRARY_CUDART_STATIC ? GPT_DOMAIN_RUNTIME : 0;
}

int library_sites_find(const struct image *image, enum library_kind kind, struct library_sites *out)
{
	enum gpt_api_domain domain = domain_of(kind);
	struct site_search search = {0};

	memset(out, 0, sizeof(*out));
	if (!domain)
		return -EINVAL;
	for (size_t i = 0; i < CALL_COUNT; i++)
		if (calls[i].name && calls[i].domain == domain)
			search.by_name[search.names++] = &calls[i];
	qsort(search.by_name, search.names, sizeof(*search.by_name), call_by_name);
	image_each_symbol(image, take_symbol, &search);
	array_sort(&search.found, found_by_table_order);
	for (size_t i = 0; i < search.found.count; i++)
		add_site(image, &search.found.items[i], out);
	array_free(&search.found);
	return 0;
}

void library_sites_free(struct library_sites *sites)
{
	array_free(&sites->list);
}
