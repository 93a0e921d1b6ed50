/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "input/rows/foreign_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NODES_MAX (1u << 20)

void foreign_file_open(struct foreign_file *file, const char *tool)
{
	*file = (struct foreign_file){.tool = tool, .host = ROW_NO_TEXT};
	rows_open(&file->rows);
}

void foreign_file_close(struct foreign_file *file)
{
	rows_close(&file->rows);
	free(file->tool_text);
	array_free(&file->threads);
	array_free(&file->processes);
	array_free(&file->devices);
	array_free(&file->codes);
	array_free(&file->frames);
	array_free(&file->stacks);
	array_free(&file->nodes);
	array_free(&file->capture_calls);
	array_free(&file->captures);
	lookup_free(&file->thread_lookup);
	lookup_free(&file->process_lookup);
	lookup_free(&file->torch_threads);
	lookup_free(&file->names);
	lookup_free(&file->node_lookup);
	lookup_free(&file->node_calls);
	array_free_items(&file->notes);
}

void foreign_set_form(struct foreign_file *file, const char *form, struct text from)
{
	static const char *const tools[] = {FOREIGN_KINETO, FOREIGN_NSYS, FOREIGN_NVPROF};

	free(file->tool_text);
	file->tool_text = NULL;
	file->tool = form;
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (from.size >= strlen(tools[i]) && !memcmp(from.bytes, tools[i], strlen(tools[i])))
			file->tool = file->tool_text = xasprintf("%s, written by %s", tools[i], form);
}

bool foreign_is_of_gputrace(const struct foreign_file *file)
{
	return !strncmp(file->tool, "gputrace", strlen("gputrace"));
}

struct foreign_process *foreign_process(struct foreign_file *file, uint32_t pid)
{
	uint32_t *index = lookup_put(&file->process_lookup, 1, pid, NONE);

	if (*index == NONE) {
		*index = (uint32_t)file->processes.count;
		array_push(&file->processes, ((struct foreign_process){.pid = pid, .command = ROW_NO_TEXT}));
	}
	return &file->processes.items[*index];
}

struct foreign_thread *foreign_thread(struct foreign_file *file, uint32_t pid, uint32_t tid)
{
	uint32_t *index = lookup_put(&file->thread_lookup, foreign_epoch(pid), tid, NONE);

	if (*index == NONE) {
		*index = (uint32_t)file->threads.count;
		array_push(&file->threads, ((struct foreign_thread){.pid = pid, .tid = tid}));
		foreign_process(file, pid);
	}
	return &file->threads.items[*index];
}

void foreign_note(struct foreign_file *file, char *text)
{
	array_push(&file->notes, text);
}

void foreign_name(struct foreign_file *file, uint32_t pid, uint64_t tid, uint32_t text)
{
	*lookup_put(&file->names, foreign_epoch(pid), tid, text) = text;
}

void foreign_node(struct foreign_file *file, uint32_t pid, uint64_t node, uint32_t corr)
{
	uint32_t *index = lookup_put(&file->node_lookup, foreign_epoch(pid), node, NONE), *first;

	if (*index != NONE)
		return;
	if (file->nodes.count >= NODES_MAX) {
		file->bad[BAD_ROOM]++;
		return;
	}
	*index = (uint32_t)file->nodes.count;
	first = lookup_put(&file->node_calls, foreign_epoch(pid), corr, NONE);
	array_push(&file->nodes, ((struct foreign_node){.node = node, .pid = pid, .corr = corr, .next = *first}));
	*first = *index;
}
