/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How much is read around a slice, and what is read in any case; see gpt_slice.h. */
#include "input/gpt/gpt_slice.h"

#include <gputrace/agent.h>

/*
 * A stream takes about a thousand launches before cudaLaunchKernel blocks, so work of 1 ms each waits for up to a
 * second; the agent reports it within another second.
 */
#define AROUND_NS 10000000000ull

/*
 * Records that any slice needs, whenever they were reported: processes, agents (whose last state comes with their last
 * losses), devices, nodes of graphs; and ranges and functions, which can be open for hours.  Code, stacks, names and
 * threads are repeated where they are needed.
 */
static const uint16_t always[] = {
	GPT_SESSION,	   GPT_PROCESS,	      GPT_FORK,		 GPT_EXEC,
	GPT_EXIT,	   GPT_CUPTI_USE,     GPT_PROBES,	 GPT_NOTE,
	GPT_NATIVE_SYM,	   GPT_PYCALL,	      GPT_END,		 GPT_AGENT_HELLO,
	GPT_AGENT_DEVICE,  GPT_AGENT_CONTEXT, GPT_AGENT_STREAM,	 GPT_AGENT_GRAPH_NODE,
	GPT_AGENT_RANGE,   GPT_GENERATED,     GPT_PYTHON_SOURCE, GPT_HOLDERS,
	GPT_HOLDER,	   GPT_START,	      GPT_COST,		 GPT_MODULE,
	GPT_DETAIL_CHANGE,
};

bool gpt_find_span(int fd, struct gpt_span *span)
{
	const struct gpt_log_segment *header;
	struct log_reader reader;
	const char *why;
	bool found = false;

	if (log_reader_open(&reader, fd, &why) == 0 && log_index_load(&reader.index, &reader.source) == 0 &&
	    reader.index.size) {
		*span = (struct gpt_span){.start_ns = reader.header.start_ns,
					  .end_ns = reader.header.start_ns,
					  .wall_offset_ns = reader.header.wall_offset_ns};
		for (uint64_t at = reader.source.at; (header = log_index_header(&reader.index, at));
		     at += header->header_size + log_segment_body_room(header))
			if (header->last_ns > span->end_ns)
				span->end_ns = header->last_ns;
		found = true;
	}
	log_reader_close(&reader);
	return found;
}

static uint64_t subtract_ns(uint64_t ns, uint64_t by_ns)
{
	return ns > by_ns ? ns - by_ns : 0;
}

static uint64_t add_ns(uint64_t ns, uint64_t by_ns)
{
	return ns < UINT64_MAX - by_ns ? ns + by_ns : UINT64_MAX;
}

struct log_restriction gpt_restrict(const struct gpt_span *span, uint64_t from_ns, uint64_t to_ns, const uint32_t *pids,
				    uint32_t pid_count)
{
	struct log_restriction wanted = {.from_ns = subtract_ns(from_ns, AROUND_NS),
					 .to_ns = add_ns(to_ns, AROUND_NS),
					 .pids = pids,
					 .pid_count = pid_count,
					 .always = always,
					 .always_count = sizeof(always) / sizeof(always[0])};
	uint64_t offset_ns = (uint64_t)span->wall_offset_ns;

	/* GPU work is also listed under the time of its report, so setting the wall clock hides nothing */
	wanted.from_wall_ns = wanted.from_ns ? wanted.from_ns + offset_ns : 0;
	wanted.to_wall_ns = wanted.to_ns != UINT64_MAX ? wanted.to_ns + offset_ns : UINT64_MAX;
	return wanted;
}
