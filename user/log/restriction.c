/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares times, processes and types of a segment's header with those that are wanted. */
#include "log/restriction.h"

static bool overlaps_range(uint64_t first, uint64_t last, uint64_t from, uint64_t to)
{
	return (first || last) && first <= to && last >= from;
}

static bool times_are_wanted(const struct gpt_log_segment *header, const struct log_restriction *wanted)
{
	bool has_times = header->first_ns || header->last_ns || header->first_wall_ns || header->last_wall_ns;

	return !has_times || overlaps_range(header->first_ns, header->last_ns, wanted->from_ns, wanted->to_ns) ||
	       overlaps_range(header->first_wall_ns, header->last_wall_ns, wanted->from_wall_ns, wanted->to_wall_ns);
}

static bool processes_are_wanted(const struct gpt_log_segment *header, const uint32_t *pids,
				 const struct log_restriction *wanted)
{
	if (!wanted->pid_count || header->processes == GPT_LOG_ANY_PROCESS)
		return true;
	for (uint32_t i = 0; i < header->processes; i++)
		for (uint32_t k = 0; k < wanted->pid_count; k++)
			if (pids[i] == wanted->pids[k])
				return true;
	return false;
}

bool log_restriction_wants(const struct log_restriction *wanted, const struct gpt_log_segment *header)
{
	const struct gpt_log_kind *kinds = (const struct gpt_log_kind *)(header + 1);

	if (!wanted)
		return true;
	if (wanted->segments)
		return header->sequence >= wanted->first_segment &&
		       header->sequence - wanted->first_segment < wanted->segments;
	for (uint32_t i = 0; i < header->kinds; i++)
		for (uint32_t k = 0; k < wanted->always_count; k++)
			if (kinds[i].type == wanted->always[k])
				return true;
	return times_are_wanted(header, wanted) &&
	       processes_are_wanted(header, (const uint32_t *)(kinds + header->kinds), wanted);
}
