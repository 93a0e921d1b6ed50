/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Identifies tools by the libraries that they load into a process; see subscriber_owner.h. */
#include "agent/cupti/subscriber_owner.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/cupti_users.h>

#include "agent/process/old_glibc.h"
#include "agent/process/path.h"

static const struct tool {
	const char *file, *name; /* file: prefix of its name */
} tools[] = {
#define TOOL(file, name) {file, name},
	GPT_CUPTI_USERS(TOOL)
#undef TOOL
};

#define OURS "libgputrace-agent"

/* path: PATH_MAX bytes, gets the library's path */
static int is_kineto(struct dl_phdr_info *info, size_t size, void *path)
{
	if (!path_names(info->dlpi_name, GPT_KINETO_FILE))
		return 0;
	snprintf(path, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

bool owner_has_kineto(void)
{
	char path[PATH_MAX];

	return dl_iterate_phdr(is_kineto, path) != 0;
}

bool owner_kineto_subscribes(void)
{
	char path[PATH_MAX];
	void *library = dl_iterate_phdr(is_kineto, path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	bool subscribes = library && dlsym(library, GPT_KINETO_SUBSCRIBES);

	if (library)
		dlclose(library); /* it is unloaded when the program closes it */
	return subscribes;
}

struct search {
	char *name;
	size_t size;
};

static int is_tool(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *file = path_base(info->dlpi_name);
	const struct search *search = context;
	size_t i;

	for (i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (path_names(file, tools[i].file)) {
			snprintf(search->name, search->size, "%s, %s", tools[i].name, file);
			return 1;
		}
	return 0;
}

/* The library that the driver is configured to load, directly or in the user's chain; not the agent. */
static const char *injected_library(void)
{
	static const char *const variables[] = {"CUDA_INJECTION64_PATH", "GPUTRACE_CHAINED_INJECTION"};
	const char *path;
	size_t i;

	for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		path = secure_getenv(variables[i]);
		if (path && *path && !path_names(path, OURS))
			return path;
	}
	return NULL;
}

/* ---- someone who is in no table --------------------------------------------------------------------------------- */

/* A client of CUPTI's activity API has this name in its file, to link with it or to pass it to dlsym. */
static const char recorder[] = "cuptiActivityRegisterCallbacks";

/* Libraries that do not record and are too large to be scanned. */
static const char *const passed_over[] = {GPT_KINETO_FILE, "libcupti", "libtorch", "libc10",
					  "libcu",	   "libnv",    "libnccl"};

#define SEGMENTS_MAX 4096
#define SEGMENT_BYTES_MAX (16u << 20)
#define PIECE_BYTES 65536u

struct segments {
	struct segment {
		uintptr_t address;
		size_t bytes;
	} * items;
	unsigned count;
	bool full;
};

static bool is_own_library(const struct dl_phdr_info *info)
{
	uintptr_t own = (uintptr_t)recorder;
	size_t i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    own - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

/* Runs under the loader's lock: only notes which segments to scan. */
static int note_segments(struct dl_phdr_info *info, size_t size, void *context)
{
	struct segments *segments = context;
	size_t i;

	for (i = 0; i < sizeof(passed_over) / sizeof(passed_over[0]); i++)
		if (path_names(info->dlpi_name, passed_over[i]))
			return 0;
	if (is_own_library(info)) /* by whatever name it was loaded */
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || (header->p_flags & PF_W) || header->p_filesz > SEGMENT_BYTES_MAX)
			continue;
		if (segments->count == SEGMENTS_MAX) {
			segments->full = true;
			return 1;
		}
		segments->items[segments->count++] =
			(struct segment){info->dlpi_addr + header->p_vaddr, header->p_filesz};
	}
	return 0;
}

/* Reads through the kernel, as a file may have become shorter than its mapping. */
static bool mentions_recorder(int memory, const struct segment *segment, char *piece)
{
	size_t at = 0, kept = 0;
	ssize_t got;

	while (at < segment->bytes) {
		size_t wanted = segment->bytes - at < PIECE_BYTES ? segment->bytes - at : PIECE_BYTES;

		got = pread(memory, piece + kept, wanted, (off_t)(segment->address + at));
		if (got <= 0)
			return false;
		if (memmem(piece, kept + (size_t)got, recorder, sizeof(recorder)))
			return true;
		at += (size_t)got;
		got += (ssize_t)kept;
		kept = (size_t)got < sizeof(recorder) ? (size_t)got : sizeof(recorder);
		memmove(piece, piece + got - kept, kept);
	}
	return false;
}

/* Finds a library that could be recording; false: none. True with a name for an unknown tool where it cannot tell. */
static bool find_recorder(char *name, size_t size)
{
	struct segments segments = {.items = malloc(SEGMENTS_MAX * sizeof(*segments.items))};
	int memory = open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC);
	char *piece = malloc(PIECE_BYTES + sizeof(recorder));
	bool found = true;
	Dl_info library;
	unsigned i;

	snprintf(name, size, "a tool that is not known");
	if (segments.items && piece && memory >= 0) {
		dl_iterate_phdr(note_segments, &segments);
		found = segments.full;
		for (i = 0; i < segments.count && !found; i++) {
			found = mentions_recorder(memory, &segments.items[i], piece);
			if (found && dladdr((void *)segments.items[i].address, &library))
				snprintf(name, size, "%s", path_base(library.dli_fname));
		}
	}
	if (memory >= 0)
		close(memory);
	free(segments.items);
	free(piece);
	return found;
}

void owner_name_other(char *name, size_t size)
{
	struct search search = {.name = name, .size = size};
	const char *path;

	name[0] = '\0';
	if (dl_iterate_phdr(is_tool, &search))
		return;
	path = injected_library();
	if (path)
		snprintf(name, size, "%s", path_base(path));
	else if (!find_recorder(name, size))
		name[0] = '\0';
}
