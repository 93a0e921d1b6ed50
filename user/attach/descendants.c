/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the children of followed processes in /proc. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/processes.h"

/* Room for the numbers of the children of a thread; what does not fit is found by a look at all processes. */
#define CHILDREN_BYTES 16384

struct descendants {
	struct processes *processes;
	bool more;
};

static int add_if_child(pid_t pid, void *context)
{
	struct descendants *search = context;
	struct processes *processes = search->processes;
	const struct followed *parent;
	struct process_info info;

	/* Most are no children: all else that is read of a process costs four times as much as its parent. */
	if (processes_find(processes, pid) || !processes_find(processes, process_parent(pid)) ||
	    process_info_read(pid, &info))
		return 0;
	parent = processes_find(processes, info.parent);
	if (parent && !info.zombie) {
		struct followed *child = processes_add(processes, pid, parent->ours, false);

		if (child)
			processes_examine(processes, child);
		search->more = true;
	}
	process_info_free(&info);
	return 0;
}

void processes_add_descendants(struct processes *processes)
{
	struct descendants search = {.processes = processes, .more = true};

	while (search.more) {
		search.more = false;
		process_each(add_if_child, &search);
	}
}

static void take_children_of_thread(pid_t pid, const char *tid, int (*take)(pid_t child, void *context), void *context)
{
	char name[64], text[CHILDREN_BYTES], *at = text, *end;

	snprintf(name, sizeof(name), "task/%.16s/children", tid);
	if (process_read_file(pid, name, text, sizeof(text)) <= 0)
		return;
	for (long child; (child = strtol(at, &end, 10)) > 0; at = end)
		take((pid_t)child, context);
}

void processes_each_child(pid_t pid, int (*take)(pid_t child, void *context), void *context)
{
	char path[32];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			take_children_of_thread(pid, entry->d_name, take, context);
	if (directory)
		closedir(directory);
}

/* A child that is added comes last in the list, and so do its own. */
bool processes_add_children(struct processes *processes)
{
	struct descendants search = {.processes = processes};

	if (access("/proc/thread-self/children", R_OK))
		return false;
	for (size_t i = 0; i < processes->list.count; i++)
		processes_each_child(processes->list.items[i]->pid, add_if_child, &search);
	return true;
}
