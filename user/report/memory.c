/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory from CUDA: how much was held at most, and which lines had asked for what was held then.  Only what was
 * handed out during the trace: of older blocks nothing is known.
 */
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

/* CUpti_ActivityMemoryKind (cupti_activity.h) */
#define MEMORY_PINNED 2
#define MEMORY_MANAGED 5
#define MEMORY_MANAGED_STATIC 7

enum place {
	PLACE_HOST, /* pinned */
	PLACE_MANAGED,
	PLACE_DEVICE,
};

/* A block is handed out, or goes. */
struct change {
	uint64_t time_ns;
	uint32_t memory; /* the allocation */
	bool ends;
};

struct peak {
	uint64_t now, most, time_ns; /* bytes; when most was reached first */
};

struct memory {
	struct report *report;
	struct tally places; /* place, device; ns: index in peaks */
	struct tally lines;  /* line, place, device; ns: bytes at the peak, more: not released */
	struct change *changes;
	struct peak *peaks;
	size_t count;
};

static enum place place_of(const struct model_memory *memory)
{
	if (memory->kind && memory->kind <= MEMORY_PINNED)
		return PLACE_HOST;
	return memory->kind == MEMORY_MANAGED || memory->kind == MEMORY_MANAGED_STATIC ? PLACE_MANAGED : PLACE_DEVICE;
}

static struct tally_key place_key(const struct model_memory *memory)
{
	enum place place = place_of(memory);

	return (struct tally_key){{place, place == PLACE_DEVICE ? memory->device : 0}};
}

/* When a block was gone: released, or its process ended; 0: never. */
static uint64_t end_of(const struct model *model, const struct model_memory *memory)
{
	return memory->other != NONE ? model->memories[memory->other].time_ns
				     : model->processes[memory->process].exit_ns;
}

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->ends != b->ends)
		return a->ends ? -1 : 1;
	return (a->memory > b->memory) - (a->memory < b->memory);
}

static void list_changes(struct memory *all)
{
	const struct model *model = all->report->model;

	all->changes = xmalloc(2 * (size_t)model->memory_count * sizeof(*all->changes));
	for (uint32_t i = 0; i < model->memory_count; i++) {
		const struct model_memory *memory = &model->memories[i];
		uint64_t end_ns = end_of(model, memory);

		if (memory->released)
			continue;
		all->changes[all->count++] = (struct change){.time_ns = memory->time_ns, .memory = i};
		if (end_ns > memory->time_ns)
			all->changes[all->count++] = (struct change){.time_ns = end_ns, .memory = i, .ends = true};
	}
	qsort(all->changes, all->count, sizeof(*all->changes), compare_changes);
}

static void find_peaks(struct memory *all)
{
	const struct model *model = all->report->model;

	all->peaks = xcalloc(model->memory_count, sizeof(*all->peaks));
	for (size_t i = 0; i < all->count; i++) {
		const struct change *change = &all->changes[i];
		const struct model_memory *memory = &model->memories[change->memory];
		size_t known = all->places.count;
		struct tally_entry *place = tally_at(&all->places, place_key(memory));
		struct peak *peak;

		if (all->places.count != known)
			place->ns = known;
		peak = &all->peaks[place->ns];
		peak->now = change->ends ? peak->now - memory->bytes : peak->now + memory->bytes;
		if (peak->now > peak->most)
			*peak = (struct peak){peak->now, peak->now, change->time_ns};
	}
}

static void sum_lines(struct memory *all)
{
	struct report *report = all->report;
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->memory_count; i++) {
		const struct model_memory *memory = &model->memories[i];
		struct tally_key key = place_key(memory);
		uint64_t end_ns = end_of(model, memory), peak_ns;
		struct tally_entry *line;

		if (memory->released)
			continue;
		peak_ns = all->peaks[tally_at(&all->places, key)->ns].time_ns;
		line = tally_at(&all->lines,
				(struct tally_key){{line_of_index(report, memory->call), key.part[0], key.part[1]}});
		line->count++;
		if (memory->time_ns <= peak_ns && (!end_ns || end_ns > peak_ns))
			line->ns += memory->bytes;
		if (memory->other == NONE)
			line->more += memory->bytes;
	}
}

static char *place_name(const uint32_t *place)
{
	switch (place[0]) {
	case PLACE_HOST:
		return xstrdup("host, pinned");
	case PLACE_MANAGED:
		return xstrdup("managed");
	default:
		return xasprintf("GPU %u", place[1]);
	}
}

static void put_peaks(struct memory *all)
{
	struct report *report = all->report;

	for (size_t i = 0; i < all->places.count; i++) {
		const struct peak *peak = &all->peaks[all->places.entries[i].ns];
		uint64_t after =
			peak->time_ns > report->all->window.start_ns ? peak->time_ns - report->all->window.start_ns : 0;
		char *name = place_name(all->places.entries[i].key.part);

		report_line(report, "  %s: %s at most, %s after the start", name, number_bytes(peak->most).text,
			    number_time(after).text);
		free(name);
	}
}

static void put_lines(struct memory *all)
{
	static const struct column columns[] = {
		{"at peak", false, 0},
		{"not freed", false, 0},
		{"blocks", false, 0},
		{"memory", true, TEXT_TRUNCATE_END},
		{"line", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct report *report = all->report;
	struct tally_entry *sorted = tally_sorted(&all->lines, false);
	size_t shown = all->lines.count < report->rows ? all->lines.count : report->rows;
	struct table table;
	uint64_t rest = 0;

	table_begin(&table, columns);
	for (size_t i = 0; i < all->lines.count; i++) {
		char *name, *line;

		if (i >= shown) {
			rest += sorted[i].ns;
			continue;
		}
		name = place_name(&sorted[i].key.part[1]);
		line = line_label(&report->all->lines, sorted[i].key.part[0]);
		table_add_number(&table, number_bytes(sorted[i].ns));
		table_add_number(&table, number_bytes(sorted[i].more));
		table_add_number(&table, number_count(sorted[i].count));
		table_add(&table, name);
		table_add(&table, line);
		free(name);
		free(line);
	}
	table_end(&table, report->out, report->width, report->color);
	report_more(report, all->lines.count - shown, "lines", number_bytes(rest), "");
	free(sorted);
}

void report_memory(struct report *report)
{
	struct memory all = {.report = report};

	if (!report->model->memory_count)
		return;
	list_changes(&all);
	if (all.count) {
		find_peaks(&all);
		sum_lines(&all);
		report_title(report, "Memory from CUDA by Python line",
			     "what was allocated while tracing; line of the allocation");
		put_peaks(&all);
		put_lines(&all);
	}
	free(all.changes);
	free(all.peaks);
	tally_free(&all.places);
	tally_free(&all.lines);
}
