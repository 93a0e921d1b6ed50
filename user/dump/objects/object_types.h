/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Types of CPython's objects in another process, as far as a search for references needs them.  Each type is read once.
 */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "base/lookup.h"
#include "target/python/python_objects.h"

#define OBJECT_TYPE_NAME 96
#define OBJECT_MEMBERS_MAX 64

/* How the references of an object are found. */
enum object_kind {
	OBJECT_LEAF,  /* it has none that count: a number, a string, a weak reference */
	OBJECT_OTHER, /* attributes, and words that point to objects */
	OBJECT_LIST,
	OBJECT_TUPLE,
	OBJECT_DICT,
	OBJECT_SET,
	OBJECT_DEQUE,
	OBJECT_MODULE,
	OBJECT_TYPE,
	OBJECT_FUNCTION,
	OBJECT_CELL,
	OBJECT_GENERATOR, /* also a coroutine */
	OBJECT_FRAME,
	OBJECT_TENSOR,
};

/* A member of an object that is a pointer to another: of __slots__, or of a type in C. */
struct object_member {
	uint64_t name; /* address of its characters */
	uint32_t offset;
};

struct object_type {
	uint64_t address;
	enum object_kind kind;
	bool is_class; /* made by a class statement, or as if */
	uint32_t bytes;
	uint32_t first_member, member_count;
	char name[OBJECT_TYPE_NAME]; /* as the process has it, perhaps cut */
};

struct object_types {
	const struct python_reader *reader;
	struct lookup places; /* index in all, by address; 0: no type */
	ARRAY(struct object_type) all;
	ARRAY(struct object_member) members;
};

void object_types_begin(struct object_types *types, const struct python_reader *reader);

/* NULL: there is no type at this address.  Valid until the next call. */
const struct object_type *object_type(struct object_types *types, uint64_t address);

/* The type of the object at that address; NULL: there is no object, or none that makes sense. */
const struct object_type *object_type_of(struct object_types *types, uint64_t object);
