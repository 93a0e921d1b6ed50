/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How objects of CPython lie in memory: for python_objects.c, and for readers that read many objects at once. */
#pragma once

#include "target/python/python_objects.h"

#define PYTHON_SINCE(minor) (3u << 8 | (minor))

/* PyTypeObject (cpython/object.h), the same from 3.6 to 3.15 */
#define TYPE_NAME 24u
#define TYPE_BASICSIZE 32u
#define TYPE_FLAGS 168u
#define TYPE_BASE 256u
#define TYPE_DICT 264u
#define TYPE_DICTOFFSET 288u
#define TYPE_MRO 344u
/* object.h */
#define FLAG_INLINE_VALUES (1u << 2) /* 3.13 and later */
#define FLAG_MANAGED_DICT (1u << 4)  /* 3.11 and later */
/* MANAGED_DICT_OFFSET and _PyObject_ValuesPointer (pycore_object.h): words before the object */
#define PYTHON_DICT_BEFORE 32u /* two words: where 3.11 has the values, then the dict */
/* struct _dictvalues (pycore_dict.h), 3.13 and later: whether the values are valid; their offset */
#define VALUES_VALID 3u
#define VALUES_FIRST_313 8u
/* PyDictObject: ma_values comes after ma_keys (cpython/dictobject.h) */
#define DICT_VALUES_AFTER_KEYS 8u

/* The head of a str, of layout.str_ascii_data bytes. */
#define PYTHON_STR_HEAD_MAX 128u
bool python_parse_str(const struct gpt_pylayout *layout, uint64_t object, const uint8_t *head, struct python_str *out);

/* The entries of a dict, in the order of insertion. */
struct python_entries {
	uint64_t address, count;
	uint32_t bytes, key, value; /* an entry's size, and the offsets of its key and its value */
};

/* The start of a dict's keys; false: they make no sense. */
#define PYTHON_KEYS_HEAD 40u
bool python_parse_keys(const struct gpt_pylayout *layout, uint64_t keys, const uint8_t *head,
		       struct python_entries *out);

/* The address of the values of a dict that shares its keys, from the word behind its keys; 0: they are in the entries.
 */
uint64_t python_dict_values(const struct gpt_pylayout *layout, uint64_t word);

/* Whether objects of a type with these flags have their dict, or their values, before them (3.11 and later). */
bool python_has_managed_dict(const struct python_reader *reader, uint64_t flags);

/*
 * The address of such an object's values, if it shares its keys with others of its class; 0: they are in *dict.
 * before: the words PYTHON_DICT_BEFORE bytes before the object.
 */
uint64_t python_managed_values(const struct python_reader *reader, uint64_t object, uint64_t basicsize, uint64_t flags,
			       const uint64_t before[2], uint64_t *dict);
