/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/events/line_tally.h"

#include <stdlib.h>

void line_tally_add(struct line_tally *all, struct place_lines lines, const uint32_t part[2], uint32_t process,
		    uint64_t ns, uint64_t count)
{
	struct tally_entry *entry =
		tally_at(&all->by_user, (struct tally_key){{lines.line, part[0], part[1], lines.user_line}});

	process_note_in_sum(&entry->more, process);
	entry->ns += ns;
	entry->count += count;
}

/* key: a key of by_user. */
static struct tally_entry *row_at(struct tally *rows, const struct tally_key *key)
{
	return tally_at(rows, (struct tally_key){{key->part[0], key->part[1], key->part[2]}});
}

/* more: holds the index of each row. */
static void name_users(struct line_tally_row *named, struct tally *rows, const struct tally *by_user)
{
	AUTO_FREE struct tally_entry *sorted = tally_sorted(by_user, false);

	for (size_t i = 0; i < by_user->count; i++) {
		struct line_tally_row *row = &named[row_at(rows, &sorted[i].key)->more];

		if (sorted[i].key.part[3] != NONE && !row->user_lines++)
			row->user_line = sorted[i].key.part[3];
	}
}

struct line_tally_row *line_tally_rows(struct line_tally *all, size_t *count)
{
	struct tally rows = {0};
	struct line_tally_row *named;
	struct tally_entry *sorted;

	for (size_t i = 0; i < all->by_user.count; i++) {
		const struct tally_entry *sum = &all->by_user.entries[i];
		struct tally_entry *row = row_at(&rows, &sum->key);

		row->ns += sum->ns;
		row->count += sum->count;
		process_note_in_sum(&row->more, process_of_sum(sum->more));
	}
	sorted = tally_sorted(&rows, false);
	named = xcalloc(rows.count, sizeof(*named));
	for (size_t i = 0; i < rows.count; i++) {
		const uint32_t *part = sorted[i].key.part;

		row_at(&rows, &sorted[i].key)->more = i;
		named[i] = (struct line_tally_row){.line = part[0],
						   .part = {part[1], part[2]},
						   .process = process_of_sum(sorted[i].more),
						   .user_line = NONE,
						   .ns = sorted[i].ns,
						   .count = sorted[i].count};
	}
	name_users(named, &rows, &all->by_user);
	*count = rows.count;
	free(sorted);
	tally_free(&rows);
	tally_free(&all->by_user);
	return named;
}
