/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/file.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/tally.h"

/* GPU processes sort after CPU processes, as in Kineto. */
#define DEVICE_SORT 5000000u
#define OVERHEAD_SORT 16777226u

static void put_name_head(struct sink *out, const char *kind, uint32_t pid, uint32_t tid, const char *arg)
{
	sink_literal(out, "{\"ph\":\"M\",\"name\":\"");
	sink_text(out, kind);
	sink_literal(out, "\",\"ts\":0.000,\"pid\":");
	sink_u64(out, pid);
	sink_literal(out, ",\"tid\":");
	sink_u64(out, tid);
	sink_literal(out, ",\"args\":{\"");
	sink_text(out, arg);
	sink_literal(out, "\":");
}

static void put_order(struct sink *out, const char *kind, uint32_t pid, uint32_t tid, uint64_t order)
{
	sink_literal(out, ",\n");
	put_name_head(out, kind, pid, tid, "sort_index");
	sink_u64(out, order);
	sink_literal(out, "}}");
}

static void put_label(struct sink *out, const char *kind, uint32_t pid, uint32_t tid, const char *arg, const char *text)
{
	sink_literal(out, ",\n");
	put_name_head(out, kind, pid, tid, arg);
	sink_json(out, text);
	sink_literal(out, "}}");
}

/* Adds the owner to the name, if needed: Perfetto shows no labels. */
static void put_process_name(struct sink *out, uint32_t pid, const char *name, const char *whose)
{
	AUTO_FREE char *text = whose && *whose ? xasprintf("%s (%s)", name, whose) : NULL;

	put_label(out, "process_name", pid, 0, "name", text ? text : name);
}

static const char *whose_of(const struct chrome *chrome, const struct timeline_group *group)
{
	return chrome->process_labels ? chrome->process_labels[group->process] : NULL;
}

static const char *label_of(const struct chrome *chrome, const struct timeline_group *group)
{
	const char *label = whose_of(chrome, group);

	return label ? label : "CPU";
}

/* With several timelines in a file, the processes and GPUs of each stand together. */
static uint64_t order_of(const struct chrome *chrome, uint32_t group, uint64_t alone)
{
	return chrome->numbers.used ? chrome->numbers.used->members * 10000ull + group : alone;
}

static void put_processes(struct chrome *chrome)
{
	for (uint32_t i = 0; i < chrome->timeline->groups.count; i++) {
		const struct timeline_group *group = &chrome->timeline->groups.items[i];
		uint32_t pid = chrome->numbers.pids.items[i];
		const char *whose;
		AUTO_FREE char *rank = NULL;

		if (group->kind != TIMELINE_GROUP_PROCESS)
			continue;
		rank = process_rank(&chrome->timeline->model->processes[group->process]);
		whose = whose_of(chrome, group);
		put_process_name(chrome->out, pid, group->name, whose ? whose : rank);
		put_label(chrome->out, "process_labels", pid, 0, "labels", label_of(chrome, group));
		put_order(chrome->out, "process_sort_index", pid, 0, order_of(chrome, i, pid));
	}
}

static void put_gpu(struct chrome *chrome, uint32_t index, uint32_t pid)
{
	const struct timeline_group *group = &chrome->timeline->groups.items[index];
	const char *whose = chrome->numbers.used ? chrome->gpu_label : "";
	struct sink *out = chrome->out;
	char text[256];

	snprintf(text, sizeof(text), "GPU %" PRIu32 "%s%.200s", group->device, *group->name ? " " : "", group->name);
	put_process_name(out, pid, text, whose);
	snprintf(text, sizeof(text), "GPU %" PRIu32 "%s%.200s", group->device, *whose ? ", " : "", whose);
	put_label(out, "process_labels", pid, 0, "labels", text);
	put_order(out, "process_sort_index", pid, 0, order_of(chrome, index, DEVICE_SORT + pid));
}

/* Names each GPU before its first track: if two share a pid, both have the name of the first. */
static void put_tracks(struct chrome *chrome)
{
	const struct timeline *timeline = chrome->timeline;
	struct tally named = {0};
	char text[256];

	for (uint32_t i = 0; i < timeline->tracks.count; i++) {
		const struct timeline_track *track = &timeline->tracks.items[i];
		const struct timeline_group *group = &timeline->groups.items[track->group];
		const struct chrome_row *row = &chrome->numbers.rows.items[i];

		if (group->kind == TIMELINE_GROUP_CUPTI)
			continue;
		if (group->kind == TIMELINE_GROUP_GPU && !tally_at(&named, (struct tally_key){{row->pid}})->count++)
			put_gpu(chrome, track->group, row->pid);
		timeline_track_label(timeline, i, text, sizeof(text));
		put_label(chrome->out, "thread_name", row->pid, row->tid, "name", text);
		put_order(chrome->out, "thread_sort_index", row->pid, row->tid, row->order);
	}
	tally_free(&named);
}

void chrome_put_first_name(struct chrome *chrome)
{
	const struct timeline *timeline = chrome->timeline;
	uint32_t pid = chrome_overhead_pid(&chrome->numbers);

	put_name_head(chrome->out, "process_name", pid, 0, "name");
	sink_json(chrome->out, timeline->groups.items[timeline->overhead_group].name);
	sink_literal(chrome->out, "}}");
	put_order(chrome->out, "process_sort_index", pid, 0, OVERHEAD_SORT);
}

void chrome_put_names(struct chrome *chrome)
{
	put_processes(chrome);
	put_tracks(chrome);
}
