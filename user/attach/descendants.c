/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the children of followed processes in /proc. */
#include "attach/processes.h"

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

	if (processes_find(processes, pid) || process_info_read(pid, &info))
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
