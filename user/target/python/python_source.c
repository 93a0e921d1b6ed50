/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads linecache.cache from a process's memory: sys.modules["linecache"].cache[path][2] is a list of lines.  No code
 * of the target runs, and it may change the memory at any moment: every length is bounded, and data that makes no sense
 * ends the search.
 */
#include "target/python/python_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/safe_text.h"
#include "target/python/python_objects.h"

#define INTERPRETERS_MAX 16u
#define LINES_MAX 16384u
#define WINDOW 128u /* items of a list per read */

/* PyListObject.ob_item, after the number of items (cpython/listobject.h) */
#define LIST_ITEMS 24u

/* Appends a line as safe text, with its newline as it is.  False: it cannot be read, or the text becomes too long. */
static bool add_line(const struct python_reader *reader, uint64_t object, text_buffer *out)
{
	uint8_t *bytes;
	uint32_t last = 0;
	struct python_str str;
	size_t size;
	bool is_read;

	if (!python_read_str(reader, object, &str) || str.length > PYTHON_SOURCE_MAX)
		return false;
	size = str.length * str.kind;
	bytes = xmalloc(size);
	is_read = !size || python_read(reader, str.data, bytes, size);
	if (is_read && size) {
		memcpy(&last, bytes + size - str.kind, str.kind);
		safe_text_append_kind(out, bytes, last == '\n' ? size - str.kind : size, str.kind);
		if (last == '\n')
			array_push(out, '\n');
	}
	free(bytes);
	return is_read && out->count <= PYTHON_SOURCE_MAX;
}

/* The tuple (size, time, lines, name) of a file in one interpreter's linecache.cache, 0: none. */
static uint64_t cached_lines(const struct python_reader *reader, uint64_t interpreter, const char *path)
{
	return python_dict_get(reader, python_module_global(reader, interpreter, "linecache", "cache"), path);
}

static bool add_lines(const struct python_reader *reader, uint64_t list, text_buffer *out)
{
	uint64_t count = python_read_word(reader, list + reader->layout->var_size);
	uint64_t items = python_read_word(reader, list + LIST_ITEMS), window[WINDOW];

	if (!count || count > LINES_MAX)
		return false;
	for (uint64_t i = 0; i < count; i += WINDOW) {
		uint64_t some = count - i < WINDOW ? count - i : WINDOW;

		if (!python_read(reader, items + i * 8, window, some * 8))
			return false;
		for (uint64_t j = 0; j < some; j++)
			if (!add_line(reader, window[j], out))
				return false;
	}
	return true;
}

char *python_source(pid_t pid, const struct gpt_python *python, const char *path, size_t *bytes)
{
	const struct python_reader reader = {.pid = pid, .layout = &python->layout};
	const struct gpt_pylayout *layout = reader.layout;
	uint64_t interpreter = python_read_word(&reader, python->runtime + layout->runtime_interpreters_head),
		 entry = 0, list;
	text_buffer text = {0};

	for (unsigned i = 0; interpreter && !entry && i < INTERPRETERS_MAX; i++) {
		entry = cached_lines(&reader, interpreter, path);
		interpreter = python_read_word(&reader, interpreter + layout->interp_next);
	}
	if (!entry || python_read_word(&reader, entry + layout->var_size) != 4)
		return NULL;
	list = python_read_word(&reader, entry + layout->tuple_items + 2 * 8ul);
	if (!list || !add_lines(&reader, list, &text)) {
		array_free(&text);
		return NULL;
	}
	*bytes = text.count;
	return text.items;
}
