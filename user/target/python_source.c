/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * linecache.cache of a process, read from its memory: sys.modules["linecache"].cache[path][2] is a list of lines.  No
 * code of the target runs, and it may change what is read at any moment: every length is bounded, and what makes no
 * sense ends the search.
 */
#include "target/python_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/safe_text.h"

#define INTERPRETERS_MAX 16u
#define ENTRIES_MAX 16384u /* of a dict that are looked at */
#define LINES_MAX 16384u
#define NAME_MAX_BYTES 256u
#define WINDOW 128u /* entries, or items of a list, that are read at once */
#define STR_HEAD_MAX 128u

/* PyModuleObject.md_dict: the first member (Objects/moduleobject.c, pycore_moduleobject.h) */
#define MODULE_DICT 16u
/* PyListObject.ob_item, after the number of items (cpython/listobject.h) */
#define LIST_ITEMS 24u

struct reader {
	pid_t pid;
	const struct gpt_pylayout *layout;
};

static bool read_bytes(const struct reader *reader, uint64_t address, void *buffer, size_t bytes)
{
	return address && process_read_memory(reader->pid, address, buffer, bytes) == 0;
}

/* 0: it cannot be read. */
static uint64_t read_pointer(const struct reader *reader, uint64_t address)
{
	uint64_t value;

	return read_bytes(reader, address, &value, sizeof(value)) ? value : 0;
}

/* ---- str --------------------------------------------------------------------------------------------------------- */

/* What a str says of itself. */
struct str {
	uint64_t data; /* address of its characters */
	uint64_t length;
	unsigned kind; /* bytes a character: 1, 2, 4 */
};

static bool read_str(const struct reader *reader, uint64_t object, struct str *out)
{
	const struct gpt_pylayout *layout = reader->layout;
	uint8_t head[STR_HEAD_MAX];
	uint32_t state;

	if (layout->str_ascii_data > sizeof(head) || !read_bytes(reader, object, head, layout->str_ascii_data))
		return false;
	memcpy(&state, head + layout->str_state, sizeof(state));
	memcpy(&out->length, head + layout->str_length, sizeof(out->length));
	out->kind = state >> layout->str_kind_shift & layout->str_kind_mask;
	if (!(state >> layout->str_compact_shift & 1) || (out->kind != 1 && out->kind != 2 && out->kind != 4))
		return false;
	out->data = object + (state >> layout->str_ascii_shift & 1 ? layout->str_ascii_data : layout->str_compact_data);
	return true;
}

static bool is_str(const struct reader *reader, uint64_t object, const char *wanted)
{
	size_t length = strlen(wanted);
	char text[NAME_MAX_BYTES];
	struct str str;

	return length <= sizeof(text) && read_str(reader, object, &str) && str.kind == 1 && str.length == length &&
	       read_bytes(reader, str.data, text, length) && !memcmp(text, wanted, length);
}

/* Its end is kept, which is no text.  False: it cannot be read, or with it the text is longer than is kept. */
static bool add_line(const struct reader *reader, uint64_t object, text_buffer *out)
{
	uint8_t *bytes;
	uint32_t last = 0;
	struct str str;
	size_t size;
	bool is_read;

	if (!read_str(reader, object, &str) || str.length > PYTHON_SOURCE_MAX)
		return false;
	size = str.length * str.kind;
	bytes = xmalloc(size);
	is_read = !size || read_bytes(reader, str.data, bytes, size);
	if (is_read && size) {
		memcpy(&last, bytes + size - str.kind, str.kind);
		safe_text_append_kind(out, bytes, last == '\n' ? size - str.kind : size, str.kind);
		if (last == '\n')
			array_push(out, '\n');
	}
	free(bytes);
	return is_read && out->count <= PYTHON_SOURCE_MAX;
}

/* ---- dict -------------------------------------------------------------------------------------------------------- */

/* The entries of a dict, in the order in which they came. */
struct entries {
	uint64_t address, count;
	uint32_t bytes, key, value; /* of an entry; where its key and its value are */
};

/* Objects/dict-common.h: reference count, size, look-up function, usable, entries, then the indices */
static bool find_entries_310(const struct reader *reader, uint64_t keys, struct entries *out)
{
	uint64_t head[5], size, index;

	if (!read_bytes(reader, keys, head, sizeof(head)))
		return false;
	size = head[1];
	index = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
	*out = (struct entries){
		.address = keys + sizeof(head) + size * index, .count = head[4], .bytes = 24, .key = 8, .value = 16};
	return true;
}

/* pycore_dict.h, struct _dictkeysobject; kind 0 has a hash in each entry (DICT_KEYS_GENERAL), the others none */
static bool find_entries_311(const struct reader *reader, uint64_t keys, struct entries *out)
{
	uint8_t head[32];
	uint64_t count;

	if (!read_bytes(reader, keys, head, sizeof(head)) || head[9] > 40)
		return false;
	memcpy(&count, head + 24, sizeof(count));
	*out = (struct entries){.address = keys + sizeof(head) + (1ull << head[9]), .count = count};
	out->bytes = head[10] ? 16 : 24;
	out->key = head[10] ? 0 : 8;
	out->value = out->key + 8;
	return true;
}

/* The value of a key, 0: it has none. */
static uint64_t dict_get(const struct reader *reader, uint64_t dict, const char *wanted)
{
	uint64_t keys = dict ? read_pointer(reader, dict + reader->layout->dict_keys) : 0, key, value;
	uint8_t window[WINDOW * 24];
	struct entries entries;

	if (!keys || !(reader->layout->version >= (3 << 8 | 11) ? find_entries_311(reader, keys, &entries)
								: find_entries_310(reader, keys, &entries)))
		return 0;
	for (uint64_t i = 0; i < entries.count && i < ENTRIES_MAX; i += WINDOW) {
		uint64_t count = entries.count - i < WINDOW ? entries.count - i : WINDOW;

		if (!read_bytes(reader, entries.address + i * entries.bytes, window, count * entries.bytes))
			return 0;
		for (uint64_t j = 0; j < count; j++) {
			memcpy(&key, window + j * entries.bytes + entries.key, sizeof(key));
			memcpy(&value, window + j * entries.bytes + entries.value, sizeof(value));
			if (value && is_str(reader, key, wanted))
				return value;
		}
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* (size, time, lines, name) of a file in one interpreter's linecache.cache, 0: it has none. */
static uint64_t cached(const struct reader *reader, uint64_t interpreter, const char *path)
{
	uint64_t modules = read_pointer(reader, interpreter + reader->layout->interp_modules);
	uint64_t module = dict_get(reader, modules, "linecache");
	uint64_t globals = module ? read_pointer(reader, module + MODULE_DICT) : 0;

	return dict_get(reader, dict_get(reader, globals, "cache"), path);
}

static bool add_lines(const struct reader *reader, uint64_t list, text_buffer *out)
{
	uint64_t count = read_pointer(reader, list + reader->layout->var_size);
	uint64_t items = read_pointer(reader, list + LIST_ITEMS), window[WINDOW];

	if (!count || count > LINES_MAX)
		return false;
	for (uint64_t i = 0; i < count; i += WINDOW) {
		uint64_t some = count - i < WINDOW ? count - i : WINDOW;

		if (!read_bytes(reader, items + i * 8, window, some * 8))
			return false;
		for (uint64_t j = 0; j < some; j++)
			if (!add_line(reader, window[j], out))
				return false;
	}
	return true;
}

char *python_source(pid_t pid, const struct gpt_python *python, const char *path, size_t *bytes)
{
	const struct reader reader = {.pid = pid, .layout = &python->layout};
	const struct gpt_pylayout *layout = reader.layout;
	uint64_t interpreter = read_pointer(&reader, python->runtime + layout->runtime_interpreters_head), entry = 0,
		 list;
	text_buffer text = {0};

	for (unsigned i = 0; interpreter && !entry && i < INTERPRETERS_MAX; i++) {
		entry = cached(&reader, interpreter, path);
		interpreter = read_pointer(&reader, interpreter + layout->interp_next);
	}
	if (!entry || read_pointer(&reader, entry + layout->var_size) != 4)
		return NULL;
	list = read_pointer(&reader, entry + layout->tuple_items + 2 * 8ul);
	if (!list || !add_lines(&reader, list, &text)) {
		array_free(&text);
		return NULL;
	}
	*bytes = text.count;
	return text.items;
}
