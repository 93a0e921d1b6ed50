/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "target/python/python_objects.h"

#include <string.h>

#define ENTRIES_MAX 16384u   /* read of a dict, if the reader says nothing else */
#define SLOTS_MAX (1u << 20) /* read of a set */
#define NAME_MAX_BYTES 256u
#define WINDOW 128u /* entries per read */
#define STR_HEAD_MAX 128u
#define BASES_MAX 16

/* PyModuleObject.md_dict: the first member (Objects/moduleobject.c, pycore_moduleobject.h) */
#define MODULE_DICT 16u
/* PyTypeObject (cpython/object.h), the same from 3.6 to 3.15 */
#define TYPE_BASICSIZE 32u
#define TYPE_FLAGS 168u
#define TYPE_BASE 256u
#define TYPE_DICTOFFSET 288u
/* object.h */
#define FLAG_INLINE_VALUES (1u << 2) /* 3.13 and later */
#define FLAG_MANAGED_DICT (1u << 4)  /* 3.11 and later */
/* MANAGED_DICT_OFFSET and _PyObject_ValuesPointer (pycore_object.h): words before the object */
#define MANAGED_DICT_BEFORE 24u
#define VALUES_BEFORE_311 32u
/* struct _dictvalues (pycore_dict.h), 3.13 and later: whether the values are valid; their offset */
#define VALUES_VALID 3u
#define VALUES_FIRST_313 8u
/* PyDictObject: ma_values comes after ma_keys (cpython/dictobject.h) */
#define DICT_VALUES_AFTER_KEYS 8u
/* PySetObject: mask, table (cpython/setobject.h); an entry is a key and its hash */
#define SET_MASK 32u
#define SET_TABLE 40u
#define SET_NO_HASH UINT64_MAX /* the hash that marks a removed key (Objects/setobject.c) */
/* PyLongObject: ob_size, or lv_tag since 3.12, then digits of 30 bits (cpython/longintrepr.h) */
#define INT_SIZE 16u
#define INT_DIGITS 24u

#define SINCE(minor) (3u << 8 | (minor))

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

bool python_read_str(const struct python_reader *reader, uint64_t object, struct python_str *out)
{
	const struct gpt_pylayout *layout = reader->layout;
	uint8_t head[STR_HEAD_MAX];
	uint32_t state;

	if (layout->str_ascii_data > sizeof(head) || !python_read(reader, object, head, layout->str_ascii_data))
		return false;
	memcpy(&state, head + layout->str_state, sizeof(state));
	memcpy(&out->length, head + layout->str_length, sizeof(out->length));
	out->kind = state >> layout->str_kind_shift & layout->str_kind_mask;
	if (!(state >> layout->str_compact_shift & 1) || (out->kind != 1 && out->kind != 2 && out->kind != 4))
		return false;
	out->data = object + (state >> layout->str_ascii_shift & 1 ? layout->str_ascii_data : layout->str_compact_data);
	return true;
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

/* The entries of a dict, in the order of insertion. */
struct entries {
	uint64_t address, count;
	uint32_t bytes, key, value; /* an entry's size, and the offsets of its key and its value */
};

/* Objects/dict-common.h: reference count, size, look-up function, usable, entries, then the indices */
static bool find_entries_310(const struct python_reader *reader, uint64_t keys, struct entries *out)
{
	uint64_t head[5], size, index;

	if (!python_read(reader, keys, head, sizeof(head)))
		return false;
	size = head[1];
	index = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
	*out = (struct entries){
		.address = keys + sizeof(head) + size * index, .count = head[4], .bytes = 24, .key = 8, .value = 16};
	return true;
}

/* pycore_dict.h, struct _dictkeysobject; kind 0 has a hash in each entry (DICT_KEYS_GENERAL), the others none */
static bool find_entries_311(const struct python_reader *reader, uint64_t keys, struct entries *out)
{
	uint8_t head[32];
	uint64_t count;

	if (!python_read(reader, keys, head, sizeof(head)) || head[9] > 40)
		return false;
	memcpy(&count, head + 24, sizeof(count));
	*out = (struct entries){.address = keys + sizeof(head) + (1ull << head[9]), .count = count};
	out->bytes = head[10] ? 16 : 24;
	out->key = head[10] ? 0 : 8;
	out->value = out->key + 8;
	return true;
}

/* values: address of the values of a dict that shares its keys with others of its class; 0: they are in the entries. */
static void each_entry(const struct python_reader *reader, uint64_t keys, uint64_t values, python_visit visit,
		       void *context)
{
	uint64_t most = reader->entries_most ? reader->entries_most : ENTRIES_MAX, key, value;
	uint8_t window[WINDOW * 24];
	struct entries entries;

	if (!keys || !(reader->layout->version >= SINCE(11) ? find_entries_311(reader, keys, &entries)
							    : find_entries_310(reader, keys, &entries)))
		return;
	for (uint64_t i = 0; i < entries.count && i < most; i += WINDOW) {
		uint64_t count = entries.count - i < WINDOW ? entries.count - i : WINDOW;

		if (!python_read(reader, entries.address + i * entries.bytes, window, count * entries.bytes))
			return;
		for (uint64_t j = 0; j < count; j++) {
			memcpy(&key, window + j * entries.bytes + entries.key, sizeof(key));
			memcpy(&value, window + j * entries.bytes + entries.value, sizeof(value));
			if (values)
				value = python_read_word(reader, values + (i + j) * 8);
			if (key && value && !visit(context, key, value))
				return;
		}
	}
}

void python_dict_each(const struct python_reader *reader, uint64_t dict, python_visit visit, void *context)
{
	uint64_t at = dict + reader->layout->dict_keys;
	uint64_t values = dict ? python_read_word(reader, at + DICT_VALUES_AFTER_KEYS) : 0;

	if (!dict)
		return;
	if (values && reader->layout->version >= SINCE(13))
		values += VALUES_FIRST_313;
	each_entry(reader, python_read_word(reader, at), values, visit, context);
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

uint64_t python_dict_get(const struct python_reader *reader, uint64_t dict, const char *name)
{
	struct wanted wanted = {reader, name, 0};

	python_dict_each(reader, dict, visit_wanted, &wanted);
	return wanted.value;
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

	for (uint64_t i = 0; table && i <= mask && i < SLOTS_MAX; i += WINDOW) {
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

/* The address of an object's values, if it shares its keys with others of its class (3.11 and later); 0: in *dict. */
static uint64_t managed_values(const struct python_reader *reader, uint64_t object, uint64_t type, uint64_t flags,
			       uint64_t *dict)
{
	uint64_t word = python_read_word(reader, object - MANAGED_DICT_BEFORE), values;
	uint8_t valid = 0;

	*dict = word;
	if (reader->layout->version < SINCE(12))
		return word ? 0 : python_read_word(reader, object - VALUES_BEFORE_311);
	if (reader->layout->version < SINCE(13)) /* PyDictOrValues: an odd word is one less than where they are */
		return word & 1 ? word + 1 : 0;
	values = object + python_basicsize(reader, type);
	if (word || !(flags & FLAG_INLINE_VALUES) || !python_read(reader, values + VALUES_VALID, &valid, 1) || !valid)
		return 0;
	return values + VALUES_FIRST_313;
}

void python_each_attribute(const struct python_reader *reader, uint64_t object, python_visit visit, void *context)
{
	uint64_t type = python_type(reader, object), flags = type ? python_read_word(reader, type + TYPE_FLAGS) : 0;
	uint64_t dict = 0, values = 0;
	int64_t offset = type ? (int64_t)python_read_word(reader, type + TYPE_DICTOFFSET) : 0;

	if (reader->layout->version >= SINCE(11) && flags & FLAG_MANAGED_DICT)
		values = managed_values(reader, object, type, flags, &dict);
	else if (offset > 0)
		dict = python_read_word(reader, object + (uint64_t)offset);
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
	bool tagged = reader->layout->version >= SINCE(12); /* count << 3 | sign, 2: negative */
	uint32_t digits[3] = {0};
	uint64_t count = tagged ? (uint64_t)word >> 3 : (uint64_t)word;

	*out = 0;
	if (word < 0 || (tagged && word & 2) || count > 3 ||
	    (count && !python_read(reader, object + INT_DIGITS, digits, count * 4)))
		return false;
	*out = digits[0] | (uint64_t)digits[1] << 30 | (uint64_t)digits[2] << 60;
	return true;
}
