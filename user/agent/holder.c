/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tools are known by the libraries that they load into a process; see holder.h. */
#include "agent/holder.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/cupti_users.h>

#include "agent/old_glibc.h"

static const struct tool {
	const char *file, *name; /* file: how its name begins */
} tools[] = {
#define TOOL(file, name) {file, name},
	GPT_CUPTI_USERS(TOOL)
#undef TOOL
};

#define OURS "libgputrace-agent"

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* path: PATH_MAX bytes for where it is */
static int is_kineto(struct dl_phdr_info *info, size_t size, void *path)
{
	if (!begins(base_name(info->dlpi_name), GPT_KINETO_FILE))
		return 0;
	snprintf(path, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

bool holder_has_kineto(void)
{
	char path[PATH_MAX];

	return dl_iterate_phdr(is_kineto, path) != 0;
}

bool holder_kineto_subscribes(void)
{
	char path[PATH_MAX];
	void *library = dl_iterate_phdr(is_kineto, path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;

	return library && dlsym(library, GPT_KINETO_SUBSCRIBES);
}

struct search {
	char *name;
	size_t size;
};

static int is_tool(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *file = base_name(info->dlpi_name);
	const struct search *search = context;
	size_t i;

	for (i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (begins(file, tools[i].file)) {
			snprintf(search->name, search->size, "%s, %s", tools[i].name, file);
			return 1;
		}
	return 0;
}

/* What the driver, or somebody before us there, was told to load, unless it is the agent. */
static const char *injected(void)
{
	static const char *const variables[] = {"CUDA_INJECTION64_PATH", "GPUTRACE_CHAINED_INJECTION"};
	const char *path;
	size_t i;

	for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		path = secure_getenv(variables[i]);
		if (path && *path && !begins(base_name(path), OURS))
			return path;
	}
	return NULL;
}

void holder_name_other(char *name, size_t size)
{
	struct search search = {.name = name, .size = size};
	const char *path;

	name[0] = '\0';
	if (dl_iterate_phdr(is_tool, &search))
		return;
	path = injected();
	if (path)
		snprintf(name, size, "%s", base_name(path));
}
