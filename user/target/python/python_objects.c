/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "target/python/python_objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "target/python/python_parts.h"

#define ENTRIES_MAX 16384u   /* read of a dict, if the reader says nothing else */
#define SLOTS_MAX (1u << 20) /* read of a set */
#define NAME_MAX_BYTES 256u
#define WINDOW 128u /* entries per read */
#define BASES_MAX 16

/* PyModuleObject.md_dict: the first member (Objects/moduleobject.c, pycore_moduleobject.h) */
#define MODULE_DICT 16u
/* PySetObject: mask, table (cpython/setobject.h); an entry is a key and its hash */
#define SET_MASK 32u
#define SET_TABLE 40u
#define SET_NO_HASH UINT64_MAX /* the hash that marks a removed key (Objects/setobject.c) */
/* PyLongObject: ob_size, or lv_tag since 3.12, then digits of 30 bits (cpython/longintrepr.h) */
#define INT_SIZE 16u
#define INT_DIGITS 24u

bool python_read(const struct python_reader *reader, uint64_t address, void *buffer, size_t bytes)
{
	return address && process_read_memory(reader->pid, address, buffer, bytes) == 0;
}

uint64_t python_read_word(const struct python_reader *reader, uint64_t address)
{
	uint64_t value;

	return python_read(reader, address, &value, sizeof(value)) ? value : 0;
}

/* ---- str --------------------------------------------------------------------------------------------------------- */

bool python_parse_str(const struct gpt_pylayout *layout, uint64_t object, const uint8_t *head, struct python_str *out)
{
	uint32_t state;

	memcpy(&state, head + layout->str_state, sizeof(state));
	memcpy(&out->length, head + layout->str_length, sizeof(out->length));
	out->kind = state >> layout->str_kind_shift & layout->str_kind_mask;
	if (!(state >> layout->str_compact_shift & 1) || (out->kind != 1 && out->kind != 2 && out->kind != 4))
		return false;
	out->data = object + (state >> layout->str_ascii_shift & 1 ? layout->str_ascii_data : layout->str_compact_data);
	return true;
}

bool python_read_str(const struct python_reader *reader, uint64_t object, struct python_str *out)
{
	const struct gpt_pylayout *layout = reader->layout;
	uint8_t head[PYTHON_STR_HEAD_MAX];

	return layout->str_ascii_data <= sizeof(head) && python_read(reader, object, head, layout->str_ascii_data) &&
	       python_parse_str(layout, object, head, out);
}

bool python_is_str(const struct python_reader *reader, uint64_t object, const char *wanted)
{
	size_t length = strlen(wanted);
	char text[NAME_MAX_BYTES];
	struct python_str str;

	return length <= sizeof(text) && python_read_str(reader, object, &str) && str.kind == 1 &&
	       str.length == length && python_read(reader, str.data, text, length) && !memcmp(text, wanted, length);
}

/* ---- dict -------------------------------------------------------------------------------------------------------- */

/* Objects/dict-common.h: reference count, size, look-up function, usable, entries, then the indices */
static void parse_keys_310(uint64_t keys, const uint64_t *head, struct python_entries *out)
{
	uint64_t size = head[1], index = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;

	*out = (struct python_entries){.address = keys + PYTHON_KEYS_HEAD + size * index,
				       .count = head[4],
				       .bytes = 24,
				       .key = 8,
				       .value = 16};
}

/* pycore_dict.h, struct _dictkeysobject; kind 0 has a hash in each entry (DICT_KEYS_GENERAL), the others none */
static bool parse_keys_311(uint64_t keys, const uint8_t *head, struct python_entries *out)
{
	if (head[9] > 40)
		return false;
	*out = (struct python_entries){.address = keys + 32 + (1ull << head[9])};
	memcpy(&out->count, head + 24, sizeof(out->count));
	out->bytes = head[10] ? 16 : 24;
	out->key = head[10] ? 0 : 8;
	out->value = out->key + 8;
	return true;
}

bool python_parse_keys(const struct gpt_pylayout *layout, uint64_t keys, const uint8_t *head,
		       struct python_entries *out)
{
	uint64_t words[PYTHON_KEYS_HEAD / 8];

	if (layout->version >= PYTHON_SINCE(11))
		return parse_keys_311(keys, head, out);
	memcpy(words, head, sizeof(words));
	parse_keys_310(keys, words, out);
	return true;
}

static bool is_late(const struct python_reader *reader)
{
	return reader->is_late && reader->is_late(reader->context);
}

/* values: address of the values of a dict that shares its keys with others of its class; 0: they are in the entries. */
static void each_entry(const struct python_reader *reader, uint64_t keys, uint64_t values, python_visit visit,
		       void *context)
{
	uint64_t most = reader->entries_most ? reader->entries_most : ENTRIES_MAX, key, value;
	uint8_t window[WINDOW * 24];
	struct python_entries entries;
	uint8_t head[PYTHON_KEYS_HEAD];

	if (!python_read(reader, keys, head, sizeof(head)) || !python_parse_keys(reader->layout, keys, head, &entries))
		return;
	for (uint64_t i = 0; i < entries.count && i < most && !is_late(reader); i += WINDOW) {
		uint64_t count = entries.count - i < WINDOW ? entries.count - i : WINDOW;

		if (!python_read(reader, entries.address + i * entries.bytes, window, count * entries.bytes))
			return;
		for (uint64_t j = 0; j < count; j++) {
			memcpy(&key, window + j * entries.bytes + entries.key, sizeof(key));
			memcpy(&value, window + j * entries.bytes + entries.value, sizeof(value));
			if (values && key)
				value = python_read_word(reader, values + (i + j) * 8);
			if (key && value && !visit(context, key, value))
				return;
		}
	}
}

uint64_t python_dict_values(const struct gpt_pylayout *layout, uint64_t word)
{
	return word && layout->version >= PYTHON_SINCE(13) ? word + VALUES_FIRST_313 : word;
}

void python_dict_each(const struct python_reader *reader, uint64_t dict, python_visit visit, void *context)
{
	uint64_t at = dict + reader->layout->dict_keys;
	uint64_t values = dict ? python_read_word(reader, at + DICT_VALUES_AFTER_KEYS) : 0;

	if (!dict)
		return;
	each_entry(reader, python_read_word(reader, at), python_dict_values(reader->layout, values), visit, context);
}

struct wanted {
	const struct python_reader *reader;
	const char *name;
	uint64_t value;
};

static bool visit_wanted(void *context, uint64_t key, uint64_t value)
{
	struct wanted *wanted = context;

	if (!python_is_str(wanted->reader, key, wanted->name))
		return true;
	wanted->value = value;
	return false;
}

struct found_entries {
	ARRAY(struct process_piece) keys;
	ARRAY(uint64_t) values;
	uint32_t bytes; /* of a key that may be the wanted one */
};

static bool visit_found(void *context, uint64_t key, uint64_t value)
{
	struct found_entries *found = context;

	array_push(&found->keys, ((struct process_piece){key, found->bytes}));
	array_push(&found->values, value);
	return true;
}

/* All keys are read at once: sys.modules has thousands. */
uint64_t python_dict_get(const struct python_reader *reader, uint64_t dict, const char *name)
{
	const struct gpt_pylayout *layout = reader->layout;
	size_t length = strlen(name);
	struct found_entries found = {.bytes = (uint32_t)(layout->str_ascii_data + length)};
	uint64_t value = 0, key;
	struct python_str str;
	uint8_t *bytes, *at;

	python_dict_each(reader, dict, visit_found, &found);
	bytes = at = xmalloc(found.keys.count * found.bytes + 1);
	if (process_read_pieces(reader->pid, found.keys.items, found.keys.count, bytes))
		found.keys.count = 0;
	for (size_t i = 0; i < found.keys.count && !value; i++, at += found.bytes) {
		key = found.keys.items[i].address;
		if (found.keys.items[i].bytes
			    ? python_parse_str(layout, key, at, &str) && str.kind == 1 && str.length == length &&
				      str.data - key == found.bytes - length &&
				      !memcmp(at + (str.data - key), name, length)
			    : python_is_str(reader, key, name))
			value = found.values.items[i];
	}
	free(bytes);
	array_free(&found.keys);
	array_free(&found.values);
	return value;
}

uint64_t python_module_dict(const struct python_reader *reader, uint64_t module)
{
	return module ? python_read_word(reader, module + MODULE_DICT) : 0;
}

uint64_t python_module_global(const struct python_reader *reader, uint64_t interpreter, const char *module,
			      const char *name)
{
	uint64_t modules = python_read_word(reader, interpreter + reader->layout->interp_modules);
	uint64_t found = python_dict_get(reader, modules, module);

	return python_dict_get(reader, python_module_dict(reader, found), name);
}

void python_set_each(const struct python_reader *reader, uint64_t set, python_visit visit, void *context)
{
	uint64_t mask = set ? python_read_word(reader, set + SET_MASK) : 0;
	uint64_t table = set ? python_read_word(reader, set + SET_TABLE) : 0, window[2 * WINDOW];

	for (uint64_t i = 0; table && i <= mask && i < SLOTS_MAX && !is_late(reader); i += WINDOW) {
		uint64_t count = mask + 1 - i < WINDOW ? mask + 1 - i : WINDOW;

		if (!python_read(reader, table + i * 16, window, count * 16))
			return;
		for (uint64_t j = 0; j < count; j++)
			if (window[2 * j] && window[2 * j + 1] != SET_NO_HASH && !visit(context, window[2 * j], 0))
				return;
	}
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static uint64_t python_type(const struct python_reader *reader, uint64_t object)
{
	return object ? python_read_word(reader, object + reader->layout->object_type) : 0;
}

bool python_is_a(const struct python_reader *reader, uint64_t object, uint64_t wanted)
{
	uint64_t type = wanted ? python_type(reader, object) : 0;

	for (int i = 0; i < BASES_MAX && type; i++) {
		if (type == wanted)
			return true;
		type = python_read_word(reader, type + TYPE_BASE);
	}
	return false;
}

uint64_t python_basicsize(const struct python_reader *reader, uint64_t type)
{
	return type ? python_read_word(reader, type + TYPE_BASICSIZE) : 0;
}

bool python_has_managed_dict(const struct python_reader *reader, uint64_t flags)
{
	return reader->layout->version >= PYTHON_SINCE(11) && flags & FLAG_MANAGED_DICT;
}

uint64_t python_managed_values(const struct python_reader *reader, uint64_t object, uint64_t basicsize, uint64_t flags,
			       const uint64_t before[2], uint64_t *dict)
{
	uint64_t word = before[1], values;
	uint8_t valid = 0;

	*dict = word;
	if (reader->layout->version < PYTHON_SINCE(12))
		return word ? 0 : before[0];
	if (reader->layout->version <
	    PYTHON_SINCE(13)) /* PyDictOrValues: an odd word is one less than where they are */
		return word & 1 ? word + 1 : 0;
	values = object + basicsize;
	if (word || !(flags & FLAG_INLINE_VALUES) || !python_read(reader, values + VALUES_VALID, &valid, 1) || !valid)
		return 0;
	return values + VALUES_FIRST_313;
}

void python_each_attribute(const struct python_reader *reader, uint64_t object, python_visit visit, void *context)
{
	uint64_t type = python_type(reader, object), flags = type ? python_read_word(reader, type + TYPE_FLAGS) : 0;
	uint64_t dict = 0, values = 0, before[2];
	int64_t offset = type ? (int64_t)python_read_word(reader, type + TYPE_DICTOFFSET) : 0;

	if (python_has_managed_dict(reader, flags)) {
		if (python_read(reader, object - PYTHON_DICT_BEFORE, before, sizeof(before)))
			values = python_managed_values(reader, object, python_basicsize(reader, type), flags, before,
						       &dict);
	} else if (offset > 0) {
		dict = python_read_word(reader, object + (uint64_t)offset);
	}
	if (values)
		each_entry(reader, python_read_word(reader, type + reader->layout->type_cached_keys), values, visit,
			   context);
	else
		python_dict_each(reader, dict, visit, context);
}

uint64_t python_attribute(const struct python_reader *reader, uint64_t object, const char *name)
{
	struct wanted wanted = {reader, name, 0};

	python_each_attribute(reader, object, visit_wanted, &wanted);
	return wanted.value;
}

bool python_int(const struct python_reader *reader, uint64_t object, uint64_t *out)
{
	int64_t word = object ? (int64_t)python_read_word(reader, object + INT_SIZE) : -1;
	bool tagged = reader->layout->version >= PYTHON_SINCE(12); /* count << 3 | sign, 2: negative */
	uint32_t digits[3] = {0};
	uint64_t count = tagged ? (uint64_t)word >> 3 : (uint64_t)word;

	*out = 0;
	if (word < 0 || (tagged && word & 2) || count > 3 ||
	    (count && !python_read(reader, object + INT_DIGITS, digits, count * 4)))
		return false;
	*out = digits[0] | (uint64_t)digits[1] << 30 | (uint64_t)digits[2] << 60;
	return true;
}
