/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/group.h"

#include <stdlib.h>

#include "base/order.h"

static void add_to(struct group *group, struct tally_entry *sum, uint64_t ns, uint64_t more)
{
	sum->ns += ns;
	sum->count++;
	sum->more += more;
	group->ns += ns;
	group->events++;
	group->more += more;
}

void group_add(struct group *group, const uint32_t part[2], uint32_t caller, uint32_t process, uint64_t ns,
	       uint64_t more)
{
	add_to(group, tally_at(&group->sums.timed, (struct tally_key){{part[0], part[1], caller, process}}), ns, more);
}

void group_add_gpu(struct group *group, const uint32_t part[2], uint32_t caller, const struct model_gpu *op)
{
	struct tally_key key = {{part[0], part[1], caller, NONE}};

	add_to(group, gpu_tally_at(&group->sums, op, key), gpu_ns(op), 0);
}

void group_free(struct group *group)
{
	gpu_tally_free(&group->sums);
	free(group->rows);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_count, struct line_tally_row,
	     most_first(a->count, b->count) ?: least_first(a->part[0], b->part[0]) ?:
	     least_first(a->part[1], b->part[1]) ?: least_first(a->line, b->line))

DEFINE_ORDER(by_time, struct line_tally_row, most_first(a->ns, b->ns) ?: by_count(a, b))

static void make_rows_by_line(struct group *group, const struct tally *sums, struct lines *lines)
{
	struct line_tally by_line = {0};

	for (size_t i = 0; i < sums->count; i++) {
		const uint32_t *part = sums->entries[i].key.part;
		struct place_lines at = {line_of(lines, part[2]), NONE, NONE};

		line_tally_add(&by_line, at, part, part[3], sums->entries[i].ns, sums->entries[i].count);
	}
	group->rows = line_tally_rows(&by_line, &group->count);
}

/* Whether the line of the sum has most of its row so far: most time, or most events where none is timed. */
static bool is_most(const struct line_tally_row *row, const struct tally_entry *sum, const struct tally_entry *most)
{
	return !row->count || sum->ns > most->ns || (!sum->ns && !most->ns && sum->count > most->count);
}

static void make_rows_by_parts(struct group *group, const struct tally *sums, struct lines *lines)
{
	struct tally by_line = tally_by_line(lines, sums, 2);
	struct tally most = {0}; /* the two numbers; ns, count: of the line with most; numbered like rows */

	group->rows = xcalloc(by_line.count, sizeof(*group->rows));
	for (size_t i = 0; i < by_line.count; i++) {
		const struct tally_entry *sum = &by_line.entries[i];
		const uint32_t *part = sum->key.part;
		struct tally_entry *entry = tally_at(&most, (struct tally_key){{part[0], part[1]}});
		struct line_tally_row *row = &group->rows[entry - most.entries];

		if (is_most(row, sum, entry)) {
			entry->ns = sum->ns;
			entry->count = sum->count;
			row->line = part[2];
		}
		row->part[0] = part[0];
		row->part[1] = part[1];
		row->process = row->user_line = NONE;
		row->ns += sum->ns;
		row->count += sum->count;
		row->more += sum->more;
	}
	group->count = most.count;
	tally_free(&most);
	tally_free(&by_line);
}

void group_finish(struct group *group, struct lines *lines, enum group_rows rows)
{
	const struct tally *sums = gpu_tally_all(&group->sums);

	if (rows == GROUP_BY_PARTS)
		make_rows_by_parts(group, sums, lines);
	else
		make_rows_by_line(group, sums, lines);
	if (rows != GROUP_BY_LINE && group->count)
		qsort(group->rows, group->count, sizeof(*group->rows),
		      rows == GROUP_BY_LINE_AND_COUNT ? by_count : by_time);
}
