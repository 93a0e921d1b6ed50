/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probe sites in a CPython's file for events inside the interpreter: collections, imports, and calls (the latter only
 * in versions in which every Python call enters one function).
 */
#pragma once

#include <gputrace/maps.h>

#include "base/array.h"
#include "target/image.h"

struct python_site {
	uint64_t address;   /* as linked */
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* offset in the file of the USDT semaphore, 0 none */
	struct gpt_py_site what;
};

struct python_sites {
	ARRAY(struct python_site) list;
	bool gc, imports; /* both ends are there */
};

/*
 * Probe sites for collections and imports of CPython `version` (major << 8 | minor): its USDT probes, else functions.
 * Sites that are not found are left out: see the flags.
 */
void python_events_find(const struct image *image, uint16_t version, struct python_sites *out);

/*
 * Entry and exits of the function through which every Python call goes.  -ENOTSUP: this version has none (3.11 and
 * later run calls inside one invocation); -ENOENT: it was not found, or its exits are not certain.
 */
int python_calls_find(const struct image *image, uint16_t version, struct python_sites *out);

void python_sites_free(struct python_sites *sites);
