/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/followed.h"

struct followed *processes_find(struct processes *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->list.count; i++)
		if (processes->list.items[i]->pid == pid)
			return processes->list.items[i];
	return NULL;
}

bool followed_maps(const struct followed *process, enum library_kind kind)
{
	return any_of(process->files.count, i, process->files.items[i]->kind == kind);
}
