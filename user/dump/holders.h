/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which Python objects hold the tensors of a process: read from outside, in a child of gputrace's own, while the
 * process runs (object_graph.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dump/process/look.h"

#define HOLDERS_OBJECTS_MAX (2u << 20) /* objects that are looked at */
#define HOLDERS_CPU_NS 3000000000ull   /* processor time for that */
#define HOLDERS_PLACES_MAX 2048u       /* with a name of their own */
#define HOLDERS_STORAGES_MAX (1u << 20)

/* A variable or an attribute that holds tensors; all of the same name are one. */
struct holders_place {
	const char *place, *path;	      /* object_names.h; path: of the first */
	const char *type;		      /* of the containers, "": the tensors themselves */
	uint64_t items;			      /* in all containers, UINT64_MAX: they cannot be counted */
	uint32_t containers, tensors, graphs; /* graphs: tensors with an autograd graph */
};

struct holders_storage {
	uint64_t address, bytes;
	uint32_t place;
};

/* In memory that the child shares. */
struct holders {
	uint64_t begun_ns;	   /* CLOCK_MONOTONIC */
	uint64_t objects, tensors; /* read */
	const char *why;	   /* why nothing could be read, NULL: it was */
	bool is_cut;		   /* a limit was reached before all was read */
	_Atomic bool is_done;
	struct holders_place *places; /* place_count, and at HOLDERS_PLACES_MAX one for all others */
	struct holders_storage *storages;
	uint32_t place_count, storage_count;
};

struct holders_look {
	pid_t pid;
	struct look look;
	struct holders *holders; /* NULL: no memory */
};

/* Starts to read a process.  The caller owns the look in any case. */
void holders_start(struct holders_look *look, pid_t pid);

/* Whether it is over; if it could not be read or has ended meanwhile, holders->why says so. */
bool holders_are_read(struct holders_look *look);
void holders_free(struct holders_look *look);
