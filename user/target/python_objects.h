/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects of a CPython, read from the memory of its process: str, int, dict, set, and attributes of an object.  No code
 * of the target runs, and it may change what is read at any moment, or lie: every count is bounded, and what makes no
 * sense is not there.
 */
#ifndef GPUTRACE_TARGET_PYTHON_OBJECTS_H
#define GPUTRACE_TARGET_PYTHON_OBJECTS_H

#include <gputrace/python.h>

#include "target/process.h"

struct python_reader {
	pid_t pid;
	const struct gpt_pylayout *layout;
};

bool python_read(const struct python_reader *reader, uint64_t address, void *buffer, size_t bytes);

/* 0: it cannot be read. */
uint64_t python_read_word(const struct python_reader *reader, uint64_t address);

/* What a str says of itself. */
struct python_str {
	uint64_t data; /* address of its characters */
	uint64_t length;
	unsigned kind; /* bytes a character: 1, 2, 4 */
};

bool python_read_str(const struct python_reader *reader, uint64_t object, struct python_str *out);
bool python_is_str(const struct python_reader *reader, uint64_t object, const char *wanted);

/* An int from 0 to 2^64 - 1; false: it is none. */
bool python_int(const struct python_reader *reader, uint64_t object, uint64_t *out);

/* False: no more of them are wanted.  value: 0 in a set. */
typedef bool (*python_visit)(void *context, uint64_t key, uint64_t value);

void python_dict_each(const struct python_reader *reader, uint64_t dict, python_visit visit, void *context);
void python_set_each(const struct python_reader *reader, uint64_t set, python_visit visit, void *context);

/* The value of a key, of an attribute that the object itself has, or of a global variable; 0: there is none. */
uint64_t python_dict_get(const struct python_reader *reader, uint64_t dict, const char *name);
uint64_t python_attribute(const struct python_reader *reader, uint64_t object, const char *name);
uint64_t python_module_global(const struct python_reader *reader, uint64_t interpreter, const char *module,
			      const char *name);

/* Whether its type is that one or inherits first from it. */
bool python_is_a(const struct python_reader *reader, uint64_t object, uint64_t wanted);
uint64_t python_basicsize(const struct python_reader *reader, uint64_t type);

#endif
