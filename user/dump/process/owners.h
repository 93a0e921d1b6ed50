/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which thread imports a module, and which thread a Thread object stands for: thousands of threads may wait for one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/lookup.h"

#define NO_OWNER UINT32_MAX

struct import {
	const char *module;
	uint32_t thread;
};

struct owners {
	bool read; /* each thread was added, and owners_sort called */
	ARRAY(struct import) imports;
	struct lookup objects; /* index of the thread, by the address of its Thread object */
};

/* module must stay as long as the owners do. */
void owners_add_import(struct owners *owners, const char *module, uint32_t thread);
void owners_add_object(struct owners *owners, uint64_t object, uint32_t thread);
void owners_sort(struct owners *owners);

/* The first thread but `except` that imports the module, or NO_OWNER. */
uint32_t owners_find_import(const struct owners *owners, const char *module, uint32_t except);

/* The first thread that was added with the object, or NO_OWNER. */
uint32_t owners_find_object(const struct owners *owners, uint64_t object);
