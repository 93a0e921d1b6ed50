/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Searches the process's root, by its mappings and its environment; opens nothing. */
#include "target/cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gputrace/cupti_search.h>

#include "base/path.h"

static const struct {
	unsigned major;
	const char *soname;
} generations[] = GPT_CUPTI_GENERATIONS;
#define GENERATIONS (sizeof(generations) / sizeof(generations[0]))

struct search {
	pid_t pid, thread; /* thread: process_thread of pid */
	struct cupti_choice *choice;
};

static bool is_library(const char *path, const char *name)
{
	const char *base = path_base(path);
	size_t length = strlen(name);

	return !strncmp(base, name, length) && (base[length] == '.' || base[length] == '-') && strstr(base, ".so");
}

/* "libcudart.so.12.4" gives 12. */
static unsigned major_of(const char *path)
{
	const char *so = strstr(path_base(path), ".so.");

	return so ? (unsigned)strtoul(so + 4, NULL, 10) : 0;
}

static bool file_exists(const struct search *search, const char *path)
{
	AUTO_FREE char *whole = xasprintf("/proc/%d/root%s", search->thread, path);
	struct stat stat_buffer;
	bool is = process_stat(search->pid, whole, &stat_buffer) == 0 && S_ISREG(stat_buffer.st_mode);

	return is;
}

static bool take_path(struct search *search, char *path, const char *why)
{
	if (!file_exists(search, path)) {
		free(path);
		return false;
	}
	search->choice->path = path;
	search->choice->why = why;
	search->choice->major = major_of(path);
	return true;
}

/* Tries the process's own major version first, then the newest. */
static bool take_in(struct search *search, const char *folder, size_t length, const char *below, const char *why)
{
	for (unsigned others = 0; others < 2; others++)
		for (size_t i = 0; i < GENERATIONS; i++)
			if ((generations[i].major != search->choice->runtime) == others &&
			    take_path(search,
				      xasprintf("%.*s/%s/%s", (int)length, folder, below, generations[i].soname), why))
				return true;
	return false;
}

static bool take_toolkit(struct search *search, const char *root, const char *why)
{
	static const char *const in_toolkit[] = GPT_CUPTI_IN_TOOLKIT;

	return any_of(sizeof(in_toolkit) / sizeof(in_toolkit[0]), i,
		      take_in(search, root, strlen(root), in_toolkit[i], why));
}

static bool take_versioned_toolkit(struct search *search)
{
	char root[64];

	for (size_t i = 0; i < GENERATIONS; i++)
		for (unsigned minor = 10; minor-- > 0;) {
			snprintf(root, sizeof(root), GPT_CUPTI_TOOLKIT "-%u.%u", generations[i].major, minor);
			if (take_toolkit(search, root, "is that of a toolkit"))
				return true;
		}
	return false;
}

static bool take_named_toolkit(struct search *search)
{
	static const char *const variables[] = GPT_CUPTI_TOOLKIT_VARIABLES;
	static const char *const why[] = {"is that of its CUDA_HOME", "is that of its CUDA_PATH"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		char *root = process_variable(search->pid, variables[i]);
		bool taken = root && *root == '/' && take_toolkit(search, root, why[i]);

		free(root);
		if (taken)
			return true;
	}
	return false;
}

static bool take_of_loader(struct search *search)
{
	static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					      "/usr/lib", "/lib64"};
	char *named = process_variable(search->pid, "LD_LIBRARY_PATH"), *rest = named, *folder;
	bool taken = false;

	while (!taken && (folder = strsep(&rest, ":")))
		taken = *folder == '/' && take_in(search, folder, strlen(folder), ".", "is in its LD_LIBRARY_PATH");
	free(named);
	if (taken)
		return true;
	return any_of(sizeof(folders) / sizeof(folders[0]), i,
		      take_in(search, folders[i], strlen(folders[i]), ".", "is the distribution's"));
}

/* ---- the whole search ---------------------------------------------------------------------------------- */

static bool take_beside(struct search *search, const char *cudart)
{
	static const char *const libraries[] = GPT_CUPTI_BESIDE_CUDART;

	for (size_t i = 0; cudart && i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (take_in(search, cudart, (size_t)(path_base(cudart) - cudart) - 1, libraries[i],
			    "lies beside its libcudart"))
			return true;
	return false;
}

static bool is_same(const struct search *search, const char *path, const char *mapped)
{
	AUTO_FREE char *whole = xasprintf("/proc/%d/root%s", search->thread, path);
	AUTO_FREE char *other = xasprintf("/proc/%d/root%s", search->thread, mapped);
	struct stat of_path, of_mapped;
	bool same = !strcmp(path, mapped) ||
		    (!process_stat(search->pid, whole, &of_path) && !process_stat(search->pid, other, &of_mapped) &&
		     of_path.st_dev == of_mapped.st_dev && of_path.st_ino == of_mapped.st_ino);

	return same;
}

/* Takes the named library, or none. */
static void take_given(struct search *search, const char *given, const char *why, const char *mapped)
{
	struct cupti_choice *choice = search->choice;

	choice->path = xstrdup(given);
	choice->why = why;
	choice->major = major_of(given);
	if (mapped && !is_same(search, given, mapped))
		choice->refused = "is named, but another is mapped";
	else if (*given != '/' || !file_exists(search, given))
		choice->refused = "is named and not there";
	else if (choice->major && choice->runtime && choice->major != choice->runtime)
		choice->refused = "is named, but of another CUDA than its libcudart";
}

void cupti_choose(pid_t pid, const struct mappings *mappings, const char *given, struct cupti_choice *out)
{
	struct search search = {.pid = pid, .thread = process_thread(pid), .choice = out};
	const char *cudart = NULL, *mapped = NULL;
	AUTO_FREE char *variable = process_variable(pid, GPT_CUPTI_VARIABLE);

	*out = (struct cupti_choice){.path = NULL};
	for (size_t i = 0; i < mappings->list.count; i++) {
		const char *path = mappings->list.items[i].path;

		if (!cudart && *path == '/' && is_library(path, "libcudart"))
			cudart = path;
		if (!mapped && *path == '/' && is_library(path, "libcupti"))
			mapped = path;
	}
	out->runtime = cudart ? major_of(cudart) : 0;
	if (given) {
		take_given(&search, given, "is given by --cupti", mapped);
	} else if (variable && *variable) {
		take_given(&search, variable, "is given by " GPT_CUPTI_VARIABLE, mapped);
	} else if (mapped) {
		out->path = xstrdup(mapped);
		out->why = "is mapped";
		out->major = major_of(mapped);
	} else if (!take_beside(&search, cudart) && !take_named_toolkit(&search) &&
		   !take_toolkit(&search, GPT_CUPTI_TOOLKIT, "is that of " GPT_CUPTI_TOOLKIT) &&
		   !take_versioned_toolkit(&search)) {
		take_of_loader(&search);
	}
}

void cupti_choice_free(struct cupti_choice *choice)
{
	free(choice->path);
	choice->path = NULL;
}
