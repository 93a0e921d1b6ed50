/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names on a terminal: width, shortening, line breaking. */
#include "report/table/text.h"

#include <locale.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "base/array.h"
#include "base/safe_text.h"

#define DOTS "..."
#define DOTS_WIDTH 3u
#define TEXT_LEAST 6u	/* a name is not truncated to less than this */
#define PLACE_LEAST 12u /* a file in a sentence, with its line's number */

static _Thread_local locale_t utf8, before;

void text_begin(void)
{
	utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	before = utf8 ? uselocale(utf8) : (locale_t)0;
}

void text_end(void)
{
	if (!utf8)
		return;
	uselocale(before);
	freelocale(utf8);
	utf8 = (locale_t)0;
}

/* One character of a name, in the form in which it may be shown. */
struct glyph {
	const char *bytes;
	unsigned length, width;
};

static const struct glyph unprintable = {"?", 1, 1};

/* Reads one character; returns its length in bytes. */
static size_t next_glyph(const char *text, struct glyph *glyph)
{
	unsigned char first = (unsigned char)*text;
	mbstate_t state = {0};
	wchar_t c;
	size_t length;
	int width;

	*glyph = unprintable;
	if (first < 0x80) {
		if (first >= 0x20 && first != 0x7f)
			*glyph = (struct glyph){text, 1, 1};
		return 1;
	}
	length = mbrtowc(&c, text, strlen(text), &state);
	if (length == (size_t)-1 || length == (size_t)-2 || length == 0)
		return 1;
	width = wcwidth(c);
	if (width >= 0 && !safe_text_is_control((uint32_t)c))
		*glyph = (struct glyph){text, (unsigned)length, (unsigned)width};
	return length;
}

unsigned text_width(const char *text)
{
	struct glyph glyph;
	unsigned width = 0;

	while (*text) {
		text += next_glyph(text, &glyph);
		width += glyph.width;
	}
	return width;
}

char *text_indent(size_t blanks, const char *text)
{
	static const char blank[] = "\u00a0";
	size_t bytes = blanks * (sizeof(blank) - 1);
	char *indented = xmalloc(bytes + strlen(text) + 1);

	for (size_t i = 0; i < bytes; i++)
		indented[i] = blank[i % (sizeof(blank) - 1)];
	strcpy(indented + bytes, text);
	return indented;
}

size_t text_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Writes at most `columns` columns, after skipping the first `skip`; returns the columns written. */
static unsigned put_part(FILE *out, const char *text, unsigned skip, unsigned columns)
{
	unsigned seen = 0, written = 0;
	struct glyph glyph;

	while (*text) {
		text += next_glyph(text, &glyph);
		seen += glyph.width;
		if (seen - glyph.width < skip)
			continue;
		if (written + glyph.width > columns)
			break;
		fwrite(glyph.bytes, 1, glyph.length, out);
		written += glyph.width;
	}
	return written;
}

/* How much of the room goes to the beginning. */
static unsigned head_of(unsigned room, enum text_truncate where)
{
	switch (where) {
	case TEXT_TRUNCATE_END:
		return room;
	case TEXT_TRUNCATE_MIDDLE:
		return (room + 1) / 2;
	case TEXT_TRUNCATE_THIRD:
		return (room + 2) / 3;
	default:
		return 0;
	}
}

/* The end of the first ":42" of a text that ends a word; NULL: there is none. */
static const char *end_of_number(const char *text)
{
	for (const char *at = text; (at = strchr(at, ':')); at++) {
		size_t digits = strspn(at + 1, "0123456789");

		if (digits && (!at[1 + digits] || at[1 + digits] == ' '))
			return at + 1 + digits;
	}
	return NULL;
}

/* ":42", from its end. */
static unsigned number_width(const char *text, const char *end)
{
	unsigned width = 1;

	while (end - width > text && end[-(int)width] != ':')
		width++;
	return width;
}

unsigned text_least(const char *text, enum text_truncate where)
{
	const char *end = where == TEXT_TRUNCATE_PLACE ? end_of_number(text) : NULL;

	return end ? DOTS_WIDTH + number_width(text, end) : TEXT_LEAST;
}

/* end: of the line's number.  The place goes before what follows it, and of both the end is kept. */
static unsigned put_place(FILE *out, const char *text, const char *end, unsigned columns)
{
	AUTO_FREE char *place = xstrdup(text);
	unsigned width, written;

	place[end - text] = '\0';
	width = text_width(place);
	if (width > columns) {
		unsigned number = number_width(text, end);

		written = text_put(out, columns < number + DOTS_WIDTH ? place + (end - text) - number : place, columns,
				   columns < number ? TEXT_TRUNCATE_END : TEXT_TRUNCATE_START);
	} else {
		written = text_put(out, place, width, TEXT_WHOLE);
		if (columns - width > 1 + DOTS_WIDTH && *end) {
			fputc(' ', out);
			written += 1 + text_put(out, end + 1, columns - width - 1, TEXT_TRUNCATE_START);
		}
	}
	return written;
}

/* Whether a word is a place, "model.py:42", or one before a comma; *end: after its number. */
static bool is_place(const char *word, size_t length, const char **end)
{
	const char *colon = memrchr(word, ':', length - !!length);
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

	if (!digits)
		return false;
	*end = colon + 1 + digits;
	return *end == word + length || (*end + 1 == word + length && strchr(",;)", **end));
}

/* The widest place of a text, start and end, and the end of its last one; false: it has none. */
static bool find_places(const char *text, const char **start, const char **end, const char **last)
{
	unsigned widest = 0;

	*start = *end = text;
	*last = NULL;
	for (size_t length; *text; text += length + (text[length] == ' ')) {
		const char *after;

		length = strcspn(text, " ");
		if (!is_place(text, length, &after))
			continue;
		*last = after;
		if (after - text > (ptrdiff_t)widest) {
			widest = (unsigned)(after - text);
			*start = text;
			*end = after;
		}
	}
	return *last;
}

/* Shortens files until the last place fits; returns the text, to be freed. */
static char *shorten_files(const char *sentence, unsigned columns)
{
	char *text = xstrdup(sentence);
	const char *start, *end, *last;

	while (find_places(text, &start, &end, &last)) {
		AUTO_FREE char *upto = xasprintf("%.*s", (int)(last - text), text);
		AUTO_FREE char *place = xasprintf("%.*s", (int)(end - start), start);
		unsigned taken = text_width(upto) + (*last ? DOTS_WIDTH : 0), width = text_width(place);
		unsigned excess = taken > columns ? taken - columns : 0, least = PLACE_LEAST;
		char *shorter = NULL;
		size_t size = 0;
		FILE *out;

		if (!excess || width <= least)
			break;
		out = xmemstream(&shorter, &size);
		fwrite(text, 1, (size_t)(start - text), out);
		text_put(out, place, width - excess > least && width > excess ? width - excess : least,
			 TEXT_TRUNCATE_START);
		fputs(end, out);
		fclose(out);
		free(text);
		text = shorter;
	}
	return text;
}

unsigned text_put(FILE *out, const char *text, unsigned columns, enum text_truncate where)
{
	unsigned width = text_width(text), room, head, written;
	const char *end;

	if (where == TEXT_WHOLE)
		return put_part(out, text, 0, width);
	if (width <= columns)
		return put_part(out, text, 0, columns);
	if (where == TEXT_TRUNCATE_FILES) {
		AUTO_FREE char *shorter = shorten_files(text, columns);

		return text_put(out, shorter, columns, TEXT_TRUNCATE_END);
	}
	if (where == TEXT_TRUNCATE_PLACE) {
		end = end_of_number(text);
		if (end)
			return put_place(out, text, end, columns);
		where = *text == '(' ? TEXT_TRUNCATE_END : TEXT_TRUNCATE_MIDDLE;
	}
	if (columns <= DOTS_WIDTH)
		return put_part(out, text, 0, columns);
	room = columns - DOTS_WIDTH;
	head = head_of(room, where);
	written = put_part(out, text, 0, head);
	fputs(DOTS, out);
	return written + DOTS_WIDTH + put_part(out, text, width - (room - head), room - head);
}

/* The width of a word; for a number including the unit after it: "3.3 ms" is not broken. */
static unsigned with_unit(const char *word, const char *after)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "%", "B", "KB", "MB", "GB", "TB"};
	unsigned width = text_width(word);
	size_t length;

	if (*word < '0' || *word > '9' || *after != ' ')
		return width;
	length = strcspn(after + 1, " ");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strncmp(after + 1, units[i], strlen(units[i])) && length <= strlen(units[i]) + 1)
			return width + 1 + (unsigned)length;
	return width;
}

void text_wrap(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width, enum text_truncate how)
{
	bool begins = true;

	while (*text) {
		size_t length = strcspn(text, " ");
		AUTO_FREE char *word = xmalloc(length + 1);

		memcpy(word, text, length);
		word[length] = '\0';
		if (!begins && column + 1 + with_unit(word, text + length) > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
			begins = true;
		}
		if (!begins) {
			fputc(' ', out);
			column++;
		}
		column += text_put(out, word, width > column ? width - column : 1, how);
		begins = false;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}
