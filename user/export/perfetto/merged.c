/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/perfetto/perfetto.h"

#include "export/perfetto/file.h"
#include "model/trace.h"

static int put_member(struct perfetto *file, const struct merge_member *member, uint64_t *next_number)
{
	int error;

	file->timeline = timeline_new(member->trace, -1);
	if (!file->timeline)
		return member->trace->error;
	timeline_put_among(file->timeline, &(struct timeline_among){.clock = member->clock,
								    .first_number = *next_number,
								    .splits = member->splits});
	error = perfetto_put_timeline(file);
	*next_number = file->timeline->next_number;
	timeline_free(file->timeline);
	return error;
}

int perfetto_write_merged(struct sink *sink, const struct merge *merge)
{
	struct export_used_ids used = {0};
	uint64_t next_number = 0;
	int error = 0;

	for (size_t i = 0; i < merge->count && !error && !sink->error; i++) {
		struct merge_member member = {0};

		error = merge->open(merge->context, i, &member);
		if (!error) {
			struct perfetto file = {.out = sink,
						.member = (uint32_t)i,
						.used = &used,
						.process_labels = member.process_labels,
						.gpu_label = member.gpu_label,
						.wall_offset_ns = merge->wall_offset_ns,
						.slept_ns = merge->slept_ns};

			error = put_member(&file, &member, &next_number);
			merge->close(merge->context);
		}
	}
	export_used_ids_free(&used);
	return error;
}
