/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What can be traced in one process, by looking at it from outside. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cmd/doctor.h"
#include "cmd/target_check.h"
#include "target/library.h"
#include "target/process.h"
#include "target/python.h"
#include "trace/model.h"

struct subject {
	pid_t pid;
	struct process_info info;
	struct mappings mappings;
	unsigned launch_sites;
	bool agent;
	const char *cupti;  /* mapped, NULL none */
	const char *cudart; /* mapped, NULL none */
};

static void check_python(const struct subject *subject)
{
	struct python_info python = {.fd = -1};
	char why[256] = "";
	int err = python_find(subject->pid, &subject->mappings, &python, why, sizeof(why));

	if (!err)
		doctor_say(HEALTH_OK, "  Python", "%s, %s", python.version, python.path);
	else if (err == -ENOENT)
		doctor_say(HEALTH_LIMITED, "  Python", "no interpreter is mapped: calls have no Python line");
	else if (err == -EAGAIN)
		doctor_say(HEALTH_LIMITED, "  Python", "the interpreter is still starting: ask again");
	else
		doctor_say(HEALTH_LIMITED, "  Python", "%s", *why ? why : strerror(-err));
	python_info_free(&python);
}

static void check_library(struct subject *subject, const struct mapping *mapping, enum library_kind kind)
{
	struct library_sites sites = {0};
	struct image *image = NULL;
	int fd = mapping_open(subject->pid, mapping);
	int err = fd < 0 ? fd : image_open(fd, &image);

	/* A name promises, the symbols decide: cudart can be linked into an executable. */
	if (!err)
		kind = library_kind_of_image(image, mapping->path);
	if (!err && kind != LIBRARY_CUDA && kind != LIBRARY_CUDART && kind != LIBRARY_CUDART_STATIC)
		goto cleanup;
	if (!err)
		err = library_sites_find(image, kind, &sites);
	if (err)
		doctor_say(HEALTH_LIMITED, "  CUDA", "%s: cannot be read: %s", path_base(mapping->path),
			   strerror(-err));
	else
		doctor_say(sites.launches ? HEALTH_OK : HEALTH_LIMITED, "  CUDA",
			   "%s: %zu probe sites, %u launch, %u slow", path_base(mapping->path), sites.list.count,
			   sites.launches, sites.stepped);
	subject->launch_sites += sites.launches;
cleanup:
	library_sites_free(&sites);
	image_close(image);
}

static bool seen_before(const struct mappings *mappings, size_t index)
{
	const struct mapping *mapping = &mappings->list.items[index];

	for (size_t i = 0; i < index; i++)
		if (mappings->list.items[i].inode == mapping->inode &&
		    mappings->list.items[i].device == mapping->device)
			return true;
	return false;
}

static void check_libraries(struct subject *subject)
{
	for (size_t i = 0; i < subject->mappings.list.count; i++) {
		const struct mapping *mapping = &subject->mappings.list.items[i];
		enum library_kind kind;

		if (!mapping->inode || seen_before(&subject->mappings, i))
			continue;
		kind = library_kind_of_name(mapping->path);
		if (kind == LIBRARY_CUPTI)
			subject->cupti = mapping->path;
		if (kind == LIBRARY_CUDART)
			subject->cudart = mapping->path;
		subject->agent |= kind == LIBRARY_AGENT;
		if (kind == LIBRARY_CUDA || kind == LIBRARY_CUDART || !strcmp(mapping->path, subject->info.exe))
			check_library(subject, mapping, kind);
	}
	if (!subject->launch_sites)
		doctor_say(HEALTH_LIMITED, "  CUDA", "nothing that launches is mapped (yet): it is waited for");
}

/* The same folders that the agent looks into first (user/agent/find_cupti.c), through the process's own root. */
static char *cupti_beside(const struct subject *subject)
{
	static const char *const below[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
					    "../../extras/CUPTI/lib64/", "../../../extras/CUPTI/lib64/"};
	char *found = NULL;
	int length;

	if (!subject->cudart || !strchr(subject->cudart, '/'))
		return NULL;
	length = (int)(strrchr(subject->cudart, '/') - subject->cudart);
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]) && !found; i++) {
		char *pattern = xasprintf("/proc/%d/root%.*s/%slibcupti.so.*[0-9]", (int)subject->pid, length,
					  subject->cudart, below[i]);
		glob_t matches = {0};

		if (glob(pattern, 0, NULL, &matches) == 0)
			found = xasprintf("%.*s/%s%s", length, subject->cudart, below[i],
					  path_base(matches.gl_pathv[0]));
		globfree(&matches);
		free(pattern);
	}
	return found;
}

static void check_agent(const struct subject *subject)
{
	char *beside = subject->cupti ? NULL : cupti_beside(subject);

	if (subject->agent)
		doctor_say(HEALTH_OK, "  agent", "is in the process");
	else
		doctor_say(HEALTH_LIMITED, "  agent",
			   "not in the process: no GPU times; start it by gputrace -- COMMAND");
	if (subject->cupti)
		doctor_say(HEALTH_OK, "  CUPTI", "%s is mapped", subject->cupti);
	else if (beside)
		doctor_say(HEALTH_OK, "  CUPTI", "%s would be used", beside);
	else
		doctor_say(HEALTH_LIMITED, "  CUPTI", "none mapped, none beside its libcudart");
	free(beside);
}

static void check_seccomp(const struct subject *subject)
{
	static const char *const modes[] = {"none", "strict", "a filter: entry probes are not affected by it"};
	int mode = subject->info.seccomp;

	doctor_say(HEALTH_OK, "  seccomp", "%s", mode >= 0 && mode <= 2 ? modes[mode] : "not known");
}

bool doctor_check_process(pid_t pid)
{
	struct subject subject = {.pid = pid};
	char name[32];
	int err = target_thread_group(pid) == pid ? process_info_read(pid, &subject.info) : -ESRCH;

	snprintf(name, sizeof(name), "pid %d", (int)pid);
	if (!err)
		err = mappings_read(pid, &subject.mappings);
	if (err) {
		doctor_say(HEALTH_MISSING, name, "%s", err == -ESRCH ? "no such process" : strerror(-err));
	} else {
		doctor_say(HEALTH_OK, name, "%s", *subject.info.cmdline ? subject.info.cmdline : subject.info.comm);
		check_python(&subject);
		check_libraries(&subject);
		check_agent(&subject);
		check_seccomp(&subject);
	}
	mappings_free(&subject.mappings);
	process_info_free(&subject.info);
	return !err;
}
