/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects of a CPython, read from the memory of its process: str, int, dict, set, and attributes of an object.  No code
 * of the target runs.  It may change the memory at any moment, or fill it with lies: every count is bounded, and what
 * makes no sense counts as absent.
 */
#pragma once

#include <gputrace/python.h>

#include "target/process.h"

struct python_reader {
	pid_t pid;
	const struct gpt_pylayout *layout;
	uint64_t entries_most;		/* read of a dict; 0: 16,384 */
	bool (*is_late)(void *context); /* asked while a dict or a set is read, the rest of which it ends; NULL: none */
	void *context;
};

bool python_read(const struct python_reader *reader, uint64_t address, void *buffer, size_t bytes);

/* 0: it cannot be read. */
uint64_t python_read_word(const struct python_reader *reader, uint64_t address);

/* The header of a str. */
struct python_str {
	uint64_t data; /* address of its characters */
	uint64_t length;
	unsigned kind; /* bytes per character: 1, 2, 4 */
};

bool python_read_str(const struct python_reader *reader, uint64_t object, struct python_str *out);
bool python_is_str(const struct python_reader *reader, uint64_t object, const char *wanted);

/* Reads an int from 0 to 2^64 - 1; false: the object is no such int. */
bool python_int(const struct python_reader *reader, uint64_t object, uint64_t *out);

/* Returns false to stop.  value: 0 in a set. */
typedef bool (*python_visit)(void *context, uint64_t key, uint64_t value);

void python_dict_each(const struct python_reader *reader, uint64_t dict, python_visit visit, void *context);
void python_set_each(const struct python_reader *reader, uint64_t set, python_visit visit, void *context);

/* The value of a key, of an attribute of the object itself, or of a global variable; 0: there is none. */
uint64_t python_dict_get(const struct python_reader *reader, uint64_t dict, const char *name);
uint64_t python_attribute(const struct python_reader *reader, uint64_t object, const char *name);
/* Attributes of the object itself, with their names. */
void python_each_attribute(const struct python_reader *reader, uint64_t object, python_visit visit, void *context);
/* The dict of a module's globals. */
uint64_t python_module_dict(const struct python_reader *reader, uint64_t module);
uint64_t python_module_global(const struct python_reader *reader, uint64_t interpreter, const char *module,
			      const char *name);

/* Whether the object's type is `wanted` or inherits from it by first bases. */
bool python_is_a(const struct python_reader *reader, uint64_t object, uint64_t wanted);
uint64_t python_basicsize(const struct python_reader *reader, uint64_t type);
