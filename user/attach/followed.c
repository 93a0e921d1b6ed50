/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/followed.h"

struct followed *processes_find(struct processes *processes, pid_t pid)
{
	return value_of_first(processes->list.count, i, processes->list.items[i]->pid == pid, processes->list.items[i],
			      NULL);
}

bool followed_maps(const struct followed *process, enum library_kind kind)
{
	return any_of(process->files.count, i, process->files.items[i]->kind == kind);
}
