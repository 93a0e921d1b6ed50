/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/clients/cupti_uses.h"

#include <stdint.h>

#define USES_OF_PROCESS 64 /* a session of torch.profiler makes some twenty, an agent ten and one for each flush */

static unsigned count_of_process(const struct cupti_uses *uses, pid_t pid)
{
	unsigned count = 0;

	for (size_t i = 0; i < uses->list.count; i++)
		count += uses->list.items[i].pid == (uint32_t)pid;
	return count;
}

bool cupti_uses_wait(const struct cupti_uses *uses, pid_t pid)
{
	return count_of_process(uses, pid) != 0;
}

bool cupti_uses_defer(struct cupti_uses *uses, const struct gpt_cupti_use *use)
{
	if (count_of_process(uses, (pid_t)use->pid) >= USES_OF_PROCESS)
		return false;
	array_push(&uses->list, *use);
	return true;
}

void cupti_uses_forget(struct cupti_uses *uses, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < uses->list.count; i++)
		if (uses->list.items[i].pid != (uint32_t)pid)
			uses->list.items[kept++] = uses->list.items[i];
	uses->list.count = kept;
}
