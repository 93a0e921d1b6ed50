/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A Chrome trace as a sorted list of lines, one event each, for tests that compare two traces. Numbers of Python slices
 * and NVTX ranges are removed: a parent's number is replaced by the parent's own line, the number of an NVTX row by the
 * row's name. The text before and after the events is split into lines of its own.
 */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/chrome/chrome.h"

struct chrome_lines {
	ARRAY(char *) items;
};

#define LINES_FN __attribute__((unused)) static

/* The text of a trace, NUL-terminated; the caller frees it. NULL: an error. */
LINES_FN char *chrome_text_of(struct trace *trace, int process)
{
	const struct export_options options = {.process = process};
	struct sink sink;
	char *text = NULL;

	sink_open_memory(&sink);
	if (!chrome_write(&sink, trace, &options)) {
		sink_char(&sink, '\0');
		text = xstrdup(sink.buffer);
	}
	sink_close(&sink);
	return text;
}

/* Finds `"name":NUMBER` in a line: returns the number and where it begins and ends; 0: not there. */
LINES_FN uint64_t number_in(const char *line, const char *name, const char **begin, const char **end)
{
	const char *at = strstr(line, name);

	if (!at)
		return 0;
	*begin = at + strlen(name);
	return strtoull(*begin, (char **)end, 10);
}

LINES_FN int by_line(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* A Python slice's line up to its args; the result is indexed by Python id. */
LINES_FN char *python_place(const char *line)
{
	const char *args = strstr(line, ",\"args\":");

	return strndup(line, args ? (size_t)(args - line) : strlen(line));
}

LINES_FN char *without_numbers(const char *line, char *const *places, uint64_t count)
{
	const char *begin = line, *end = line;
	uint64_t parent = number_in(line, "\"Python parent id\":", &begin, &end);
	const char *place = parent < count && places[parent] ? places[parent] : "none";
	char *first = parent ? xasprintf("%.*s%s%s", (int)(begin - line), line, place, end) : xstrdup(line), *second;

	if (!number_in(first, "\"Python id\":", &begin, &end))
		return first;
	second = xasprintf("%.*s%s", (int)(begin - first), first, end);
	free(first);
	return second;
}

#define ROW_TEXT 160

/* NVTX range rows are numbered in the order in which they are met. */
struct range_row {
	uint64_t tid;
	char name[ROW_TEXT];
};

struct range_rows {
	ARRAY(struct range_row) items;
};

LINES_FN uint64_t range_row_in(const char *line, const char **begin, const char **end)
{
	uint64_t tid = number_in(line, "\"tid\":", begin, end);

	return tid >= 600000000 && tid < 700000000 ? tid : 0;
}

LINES_FN void note_row(struct range_rows *rows, const char *line)
{
	const char *begin, *end;
	struct range_row row = {.tid = range_row_in(line, &begin, &end)};

	if (!row.tid || !strstr(line, "\"thread_name\""))
		return;
	snprintf(row.name, sizeof(row.name), "%s", strstr(line, "\"args\":"));
	array_push(&rows->items, row);
}

/* Takes ownership of the line. */
LINES_FN char *without_range_numbers(char *line, const struct range_rows *rows)
{
	const char *begin, *end;
	uint64_t tid = range_row_in(line, &begin, &end);
	char *first = line, *second;

	for (size_t i = 0; tid && i < rows->items.count; i++)
		if (rows->items.items[i].tid == tid) {
			first = xasprintf("%.*s%s%s", (int)(begin - line), line, rows->items.items[i].name, end);
			free(line);
			break;
		}
	if (!tid || !number_in(first, "\"External id\":", &begin, &end))
		return first;
	second = xasprintf("%.*s%s", (int)(begin - first), first, end);
	free(first);
	return second;
}

/* In a trace of several parts this text follows the events; in one part it precedes them. */
LINES_FN void break_before(char *text, const char *key)
{
	char *at = strstr(text, key);

	if (at && at > text && at[-1] == ' ')
		at[-1] = '\n';
}

/* Takes ownership of the text. */
LINES_FN struct chrome_lines chrome_lines_of(char *text)
{
	struct chrome_lines lines = {0};
	uint64_t count = 0, id;
	const char *begin, *end;
	char *rest = NULL, **places;
	struct range_rows rows = {0};

	break_before(text, "\"gputrace\": {");
	break_before(text, "\"displayTimeUnit\": ");
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		size_t length = strlen(line);

		if (length && line[length - 1] == ',')
			line[length - 1] = '\0';
		if (strspn(line, "]}") == strlen(line))
			continue;
		note_row(&rows, line);
		array_push(&lines.items, line);
		id = number_in(line, "\"Python id\":", &begin, &end);
		count = id >= count ? id + 1 : count;
	}
	places = xcalloc(count, sizeof(*places));
	for (size_t i = 0; i < lines.items.count; i++) {
		id = number_in(lines.items.items[i], "\"Python id\":", &begin, &end);
		if (id && !places[id])
			places[id] = python_place(lines.items.items[i]);
	}
	for (size_t i = 0; i < lines.items.count; i++)
		lines.items.items[i] =
			without_range_numbers(without_numbers(lines.items.items[i], places, count), &rows);
	array_free(&rows.items);
	for (uint64_t i = 0; i < count; i++)
		free(places[i]);
	free(places);
	free(text);
	if (lines.items.count)
		qsort(lines.items.items, lines.items.count, sizeof(char *), by_line);
	return lines;
}

LINES_FN void chrome_lines_free(struct chrome_lines *lines)
{
	for (size_t i = 0; i < lines->items.count; i++)
		free(lines->items.items[i]);
	array_free(&lines->items);
}

/* Prints the first lines that only one of the two has. True: there are none. */
LINES_FN bool chrome_lines_are_same(const struct chrome_lines *a, const struct chrome_lines *b)
{
	size_t i = 0, k = 0, wrong = 0;

	while ((i < a->items.count || k < b->items.count) && wrong < 6) {
		int order = i == a->items.count	  ? 1
			    : k == b->items.count ? -1
						  : strcmp(a->items.items[i], b->items.items[k]);

		if (order)
			fprintf(stderr, "%c %s\n", order < 0 ? '-' : '+',
				order < 0 ? a->items.items[i] : b->items.items[k]);
		wrong += order != 0;
		i += order <= 0;
		k += order >= 0;
	}
	return !wrong;
}
