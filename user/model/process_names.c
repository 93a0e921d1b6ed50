/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of processes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/model.h"

char *process_command(const struct model_process *process)
{
	const char *line = process->cmdline, *blank;

	if (!*line)
		return xstrdup(process->name);
	blank = strchrnul(line, ' ');
	for (const char *at = line; at < blank; at++)
		if (*at == '/')
			line = at + 1;
	return xstrdup(line);
}

char *process_rank(const struct model_process *process)
{
	if (process->rank < 0)
		return process->local_rank < 0 ? NULL : xasprintf("local rank %" PRId32, process->local_rank);
	if (process->local_rank < 0)
		return xasprintf("rank %" PRId32, process->rank);
	return xasprintf("rank %" PRId32 ", local rank %" PRId32, process->rank, process->local_rank);
}

char *process_label(const struct model_process *process)
{
	if (process->rank < 0)
		return xasprintf("%s %" PRIu32, process->name, process->pid);
	return xasprintf("%s %" PRIu32 " rank %" PRId32, process->name, process->pid, process->rank);
}

char *trace_title(const struct model *model)
{
	const struct model_process *only = NULL;
	size_t active = 0;
	AUTO_FREE char *command = NULL;

	for (uint32_t i = 0; i < model->process_count; i++) {
		if (!model->processes[i].calls && !model->processes[i].gpu_ops)
			continue;
		only = &model->processes[i];
		active++;
	}
	if (active != 1)
		return xstrdup(model_source(model)->target);
	command = process_command(only);
	return xasprintf("%s (pid %" PRIu32 ")", command, only->pid);
}
