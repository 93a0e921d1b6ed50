/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks the return address up in what the process has mapped; see cupti_caller.h. */
#include "attach/clients/cupti_caller.h"

#include <gputrace/maps.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "target/process.h"

/* A file for which the table has no room is known by its name: if the process lies, that concerns only its own agent.
 */
static bool is_agent(struct files *files, pid_t pid, uid_t uid, const struct mapping *mapping)
{
	const struct probed_file *file;
	uint64_t again_ns = 0;

	if (!mapping->inode)
		return false;
	file = files_get(files, pid, uid, mapping, &again_ns);
	return (file ? file->kind : library_kind_of_name(mapping->path)) == LIBRARY_AGENT;
}

static const struct mapping *find_mapping(const struct mappings *mappings, uint64_t address)
{
	return array_find(&mappings->list, item, item->executable && address >= item->start && address < item->end);
}

static void remember_agent(const struct files *files, pid_t pid, const struct mapping *mapping)
{
	struct gpt_text_segment text = {.start = mapping->start, .bytes = mapping->end - mapping->start};
	uint32_t key = (uint32_t)pid;

	/* What the agent has reported meanwhile is as good. */
	bpf_map_update_elem(bpf_map__fd(files->programs->bpf->maps.agent_texts), &key, &text, BPF_NOEXIST);
}

bool cupti_caller_find(struct files *files, pid_t pid, uid_t uid, struct gpt_cupti_use *use)
{
	const struct mapping *mapping;
	struct mappings mappings = {};
	bool agent, found = !mappings_read(pid, &mappings) && mappings.list.count;

	mapping = found ? find_mapping(&mappings, use->caller) : NULL;
	agent = mapping && is_agent(files, pid, uid, mapping);
	if (agent)
		remember_agent(files, pid, mapping);
	mappings_free(&mappings);
	use->own = agent ? GPT_CUPTI_CALLER_AGENT : GPT_CUPTI_CALLER_OTHER;
	return found;
}
