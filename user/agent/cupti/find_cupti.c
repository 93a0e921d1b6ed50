/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The order of search and its reasons: a CUPTI that is already mapped is the only one allowed (a second copy in one
 * process replaces the first); else the one shipped with the process's own libcudart; else the toolkit's; else the
 * loader's. Never one newer than the driver, which could not work.
 */
#include "agent/cupti/find_cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/agent.h>
#include <gputrace/cupti_search.h>

#include "agent/process/cuda_driver.h"
#include "agent/process/mapped_files.h"
#include "agent/process/old_glibc.h"
#include "agent/process/own_maps.h"
#include "agent/process/path.h"

static const struct {
	unsigned major;
	const char *soname;
} generations[] = GPT_CUPTI_GENERATIONS;
#define GENERATIONS (sizeof(generations) / sizeof(generations[0]))

static const char *const beside_cudart[] = GPT_CUPTI_BESIDE_CUDART;
static const char *const in_toolkit[] = GPT_CUPTI_IN_TOOLKIT;
static const char *const toolkit_variables[] = GPT_CUPTI_TOOLKIT_VARIABLES;

static void mapped_files_take(char *line, void *files)
{
	mapped_files_line(files, line);
}

/* ---- one candidate ----------------------------------------------------------------------------- */

struct search {
	struct cupti *cupti;
	unsigned wanted[GENERATIONS], wanted_count; /* majors, best first */
	bool no_cuda;				    /* CUPTI says so */
	char why[160];				    /* why the last candidate was rejected */
};

unsigned cupti_major(uint32_t version, const char *name)
{
	unsigned major = version / 10000;

	if (version >= CUPTI_API_NEW_FORM)
		return major <= generations[0].major ? major : 0;
	if (version > CUPTI_API_11_8)
		return 12;
	if (version < CUPTI_API_11_8)
		return 0;
	/* 11.8, 12.0 and 12.1 all return 18; their sonames differ (11.8's file is libcupti.so.2022.x.y). */
	return cuda_version_of_name(name, "libcupti") / 1000 == 12 ? 12 : 11;
}

static bool resolve_functions(struct search *search, void *library)
{
	struct cupti *cupti = search->cupti;
	const char *missing = NULL;

#define RESOLVE(name, symbol, needed, parameters)                                                                      \
	*(void **)&cupti->name = dlsym(library, #symbol);                                                              \
	if (needed && !cupti->name)                                                                                    \
		missing = #symbol;
	CUPTI_FUNCTIONS(RESOLVE)
#undef RESOLVE
	if (!missing)
		return true;
	snprintf(search->why, sizeof(search->why), "%s is missing", missing);
	return false;
}

/* False: it does not even return its version, as 13.3 and later do without a usable driver. */
static bool read_version(struct search *search)
{
	struct cupti *cupti = search->cupti;
	uint32_t result;

	cupti->version = CUPTI_API_13_2;
	if (cupti->fragile)
		return true;
	cupti->version = 0;
	result = cupti->get_version(&cupti->version);
	return result != CUPTI_UNKNOWN && result != CUPTI_NOT_INITIALIZED;
}

/* flags: RTLD_NOLOAD for one that is mapped already. chosen: any known major is accepted. */
static bool try_open(struct search *search, const char *path, int flags, bool chosen)
{
	struct cupti *cupti = search->cupti;
	unsigned major, i;
	void *library;

	if (strchr(path, '/') && !(flags & RTLD_NOLOAD) && access(path, R_OK) != 0)
		return false;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
	if (!library)
		return false;
	mapped_path_copy(cupti->path, path);
	if (!resolve_functions(search, library))
		return false;
	cupti->fragile = dlsym(library, CUPTI_SYMBOL_OF_13_2) && !dlsym(library, CUPTI_SYMBOL_OF_13_3);
	if (!read_version(search))
		return search->no_cuda = true; /* the right CUPTI; the driver is the problem */
	major = cupti_major(cupti->version, path);
	if (chosen && major)
		return true;
	for (i = 0; i < search->wanted_count; i++)
		if (major == search->wanted[i])
			return true;
	snprintf(search->why, sizeof(search->why), "version %u does not fit this process", cupti->version);
	return false;
}

/* ---- where to look ----------------------------------------------------------------------------- */

static bool try_in(struct search *search, const char *folder, size_t length, const char *below)
{
	char path[MAPPED_PATH_BYTES];
	size_t i, g;
	int n;

	for (i = 0; i < search->wanted_count; i++)
		for (g = 0; g < GENERATIONS; g++) {
			if (generations[g].major != search->wanted[i])
				continue;
			n = snprintf(path, sizeof(path), "%.*s/%s/%s", (int)length, folder, below,
				     generations[g].soname);
			if (n > 0 && (size_t)n < sizeof(path) && try_open(search, path, 0, false))
				return true;
		}
	return false;
}

static bool try_toolkit(struct search *search, const char *root)
{
	size_t i;

	for (i = 0; i < sizeof(in_toolkit) / sizeof(in_toolkit[0]); i++)
		if (try_in(search, root, strlen(root), in_toolkit[i]))
			return true;
	return false;
}

static bool try_toolkits(struct search *search)
{
	char root[64];
	const char *value;
	unsigned i, minor;

	for (i = 0; i < sizeof(toolkit_variables) / sizeof(toolkit_variables[0]); i++) {
		value = secure_getenv(toolkit_variables[i]);
		if (value && *value && try_toolkit(search, value))
			return true;
	}
	if (try_toolkit(search, GPT_CUPTI_TOOLKIT))
		return true;
	for (i = 0; i < search->wanted_count; i++)
		for (minor = 10; minor-- > 0;) { /* no major has had a minor above 9 so far */
			snprintf(root, sizeof(root), GPT_CUPTI_TOOLKIT "-%u.%u", search->wanted[i], minor);
			if (try_toolkit(search, root))
				return true;
		}
	return false;
}

/* Compares names, not stat(), whose symbol differs before glibc 2.33. */
static bool is_same_file(const char *a, const char *b)
{
	char real_a[PATH_MAX], real_b[PATH_MAX];

	return *b && (!strcmp(a, b) || (realpath(a, real_a) && realpath(b, real_b) && !strcmp(real_a, real_b)));
}

/*
 * Tries only the CUPTI that the user names. A second CUPTI next to a mapped one would see half of the process's calls.
 */
static bool try_given(struct search *search, const struct mapped_files *files, const struct found_cuda *cuda,
		      const char *path)
{
	unsigned own = cuda->runtime_version / 1000, major;

	mapped_path_copy(search->cupti->path, path);
	if (files->cupti[0][0] && !is_same_file(path, files->cupti[0]) && !is_same_file(path, files->cupti[1])) {
		snprintf(search->why, sizeof(search->why), "the process has another one mapped, %.100s",
			 files->cupti[0]);
		return false;
	}
	if (access(path, R_OK) != 0) {
		snprintf(search->why, sizeof(search->why), "it cannot be read there");
		return false;
	}
	snprintf(search->why, sizeof(search->why), "the loader does not open it");
	if (!try_open(search, path, 0, true))
		return false;
	major = cupti_major(search->cupti->version, path);
	if (search->no_cuda || !own || major == own)
		return true;
	snprintf(search->why, sizeof(search->why), "it is of CUDA %u, the libcudart of the process of CUDA %u", major,
		 own);
	return false;
}

static bool try_not_mapped(struct search *search, const struct mapped_files *files)
{
	const char *name = path_base(files->cudart);
	size_t i, g;

	for (i = 0; files->cudart[0] && i < sizeof(beside_cudart) / sizeof(beside_cudart[0]); i++)
		if (try_in(search, files->cudart, (size_t)(name - files->cudart) - 1, beside_cudart[i]))
			return true;
	if (try_toolkits(search))
		return true;
	for (i = 0; i < search->wanted_count; i++)
		for (g = 0; g < GENERATIONS; g++)
			if (generations[g].major == search->wanted[i] &&
			    try_open(search, generations[g].soname, 0, false))
				return true;
	return false;
}

static bool try_mapped(struct search *search, const struct mapped_files *files)
{
	unsigned first = 0, i;
	size_t g;

	/* Of two, prefer the one of the process's own major. */
	if (files->cupti[1][0] && cuda_version_of_name(files->cupti[1], "libcupti") / 1000 == search->wanted[0])
		first = 1;
	for (i = 0; i < 2; i++)
		if (files->cupti[first ^ i][0] && try_open(search, files->cupti[first ^ i], RTLD_NOLOAD, true))
			return true;
	/* If it was deleted or replaced on disk, the loader still knows it by name. */
	for (g = 0; g < GENERATIONS; g++)
		if (try_open(search, generations[g].soname, RTLD_NOLOAD, true))
			return true;
	return false;
}

/* The major of libcudart first, then the others that the driver can work with, newest first. */
static void want_majors(struct search *search, const struct found_cuda *cuda)
{
	unsigned own = cuda->runtime_version / 1000;
	unsigned limit = cuda->driver_version / 1000;
	size_t g;

	for (g = 0; g < GENERATIONS; g++)
		if (generations[g].major == own)
			search->wanted[search->wanted_count++] = own;
	for (g = 0; g < GENERATIONS; g++)
		if (generations[g].major != own && generations[g].major <= limit)
			search->wanted[search->wanted_count++] = generations[g].major;
	if (!search->wanted_count) /* a driver before CUDA 11: CUPTI itself will refuse */
		search->wanted[search->wanted_count++] = generations[GENERATIONS - 1].major;
}

static uint32_t accept_found(const struct search *search, const struct found_cuda *cuda, char *detail,
			     size_t detail_size)
{
	if (search->no_cuda) {
		snprintf(detail, detail_size, "CUPTI does not find a usable driver");
		return GPT_AGENT_NO_CUDA;
	}
	if (search->cupti->fragile && cuda->driver_version < CUPTI_13_2_DRIVER) {
		snprintf(detail, detail_size, "CUPTI 13.2 needs a driver of CUDA 13.2, this one is of %u.%u",
			 cuda->driver_version / 1000, cuda->driver_version % 1000 / 10);
		return GPT_AGENT_NO_CUDA;
	}
	return GPT_AGENT_OK;
}

static uint32_t find_given(struct search *search, const struct mapped_files *files, const struct found_cuda *cuda,
			   const char *given, char *detail, size_t detail_size)
{
	if (try_given(search, files, cuda, given))
		return accept_found(search, cuda, detail, detail_size);
	snprintf(detail, detail_size, "the one that was named, %.100s: %s", given, search->why);
	return GPT_AGENT_CUPTI_UNUSABLE;
}

uint32_t cupti_find(struct cupti *cupti, struct found_cuda *cuda, const char *given, char *detail, size_t detail_size)
{
	struct search search = {.cupti = cupti};
	struct mapped_files files = {0};
	const char *variable = secure_getenv(GPT_CUPTI_VARIABLE);
	bool mapped;

	memset(cupti, 0, sizeof(*cupti));
	cuda->runtime_version = 0;
	cuda->driver_version = cuda_driver_version();
	if (!cuda->driver_version) {
		/* Calling CUPTI would load the driver into a process that does not use it. */
		snprintf(detail, detail_size, "libcuda.so.1 is not loaded");
		return GPT_AGENT_NO_CUDA;
	}
	own_maps_each(mapped_files_take, &files);
	cuda->runtime_version = files.cudart[0] ? cuda_version_of_name(files.cudart, "libcudart") : 0;
	want_majors(&search, cuda);
	if (!*given && variable)
		given = variable;
	if (*given)
		return find_given(&search, &files, cuda, given, detail, detail_size);
	mapped = files.cupti[0][0] != '\0';
	if (mapped ? try_mapped(&search, &files) : try_not_mapped(&search, &files))
		return accept_found(&search, cuda, detail, detail_size);
	if (search.why[0] || mapped) {
		snprintf(detail, detail_size, "%s",
			 search.why[0] ? search.why : "mapped, but the loader does not give it");
		if (!cupti->path[0])
			mapped_path_copy(cupti->path, files.cupti[0]);
		return GPT_AGENT_CUPTI_UNUSABLE;
	}
	snprintf(detail, detail_size,
		 "looked beside %s, in CUDA_HOME, CUDA_PATH, /usr/local/cuda* and the loader's path",
		 files.cudart[0] ? files.cudart : "libcudart (not mapped)");
	return GPT_AGENT_NO_CUPTI;
}
