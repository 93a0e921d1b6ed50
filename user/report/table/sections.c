/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/table/sections.h"

#include <stdlib.h>
#include <string.h>

#include "report/table/text.h"

#define LEAST_SHARE 100u /* a table with less than one part in this many is left out */

FILE *sections_begin(struct sections *sections, const char *id)
{
	struct section *section = xcalloc(1, sizeof(*section));

	section->id = id;
	array_push(&sections->all, section);
	return xmemstream(&section->text, &section->size);
}

void sections_carry(struct sections *sections, uint64_t part, uint64_t whole)
{
	struct section *section = sections->all.items[sections->all.count - 1];

	section->is_small = part < whole / LEAST_SHARE;
}

static void add_id(char **ids, const char *id)
{
	size_t length = strlen(id);

	for (const char *at = *ids; (at = strstr(at, id)); at += length)
		if ((at == *ids || at[-1] == ' ') && (at[length] == ',' || !at[length]))
			return;
	*ids = xjoin(*ids, ", ", xstrdup(id));
}

/* The lines of what always stands there, or of the table that gets room first. */
static size_t lines_of_all(const struct sections *sections, const char *id)
{
	size_t lines = 0;

	for (size_t i = 0; i < sections->all.count; i++) {
		const struct section *section = sections->all.items[i];

		if (id ? section->id && !section->is_small && !strcmp(section->id, id) : !section->id)
			lines += text_lines(section->text);
	}
	return lines;
}

struct sections_left sections_choose(struct sections *sections, size_t most)
{
	struct sections_left left = {xstrdup(""), xstrdup("")};
	size_t used = lines_of_all(sections, NULL);
	size_t reserved = sections->first ? lines_of_all(sections, sections->first) : 0;
	bool is_reserved = reserved && used + reserved <= most;

	used += is_reserved ? reserved : 0;
	for (size_t i = 0; i < sections->all.count; i++) {
		struct section *section = sections->all.items[i];
		bool has_room = !section->id || (is_reserved && !strcmp(section->id, sections->first));
		size_t lines = has_room ? 0 : text_lines(section->text);

		section->is_left = (section->id && section->is_small) || (used + lines > most && lines);
		if (section->is_left)
			add_id(section->is_small ? &left.small : &left.no_room, section->id);
		else
			used += lines;
	}
	return left;
}

void sections_put(const struct sections *sections)
{
	for (size_t i = 0; i < sections->all.count; i++) {
		const struct section *section = sections->all.items[i];

		if (!section->is_left)
			fwrite(section->text, 1, section->size, sections->page);
	}
}

bool sections_put_one(struct sections *sections, const char *id, char **ids)
{
	bool found = false;

	for (size_t i = 0; i < sections->all.count; i++) {
		const struct section *section = sections->all.items[i];
		size_t blank = section->size && section->text[0] == '\n' && !found;

		if (!section->id || strcmp(section->id, id) != 0)
			continue;
		fwrite(section->text + blank, 1, section->size - blank, sections->page);
		found = true;
	}
	if (found || !ids)
		return found;
	*ids = xstrdup("");
	for (size_t i = 0; i < sections->all.count; i++)
		if (sections->all.items[i]->id)
			add_id(ids, sections->all.items[i]->id);
	return false;
}

void sections_free(struct sections *sections)
{
	for (size_t i = 0; i < sections->all.count; i++) {
		free(sections->all.items[i]->text);
		free(sections->all.items[i]);
	}
	array_free(&sections->all);
}
