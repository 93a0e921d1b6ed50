/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What GPUs lose to others (why.h): work that was launched and waited while another process's work ran on the same GPU,
 * and collectives in which all other ranks waited for the last one.  Both only as far as all of these processes are in
 * the trace.  Bounded: WHY_SHARES processes of a GPU, the latest WHY_PIECES pieces that each ran, the latest
 * WHY_OPEN_COLLECTIVES collectives that not all ranks have reached, groups of at most WHY_RANKS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/events/events.h"
#include "base/array.h"
#include "model/comm_kernels.h"

#define WHY_SHARES 64u
#define WHY_PIECES 32u
#define WHY_OPEN_COLLECTIVES 256u
#define WHY_RANKS 64u

struct why_span {
	uint64_t start_ns, end_ns;
};

/* What one process ran on a GPU. */
struct why_share {
	uint32_t process;
	uint64_t busy_until_ns;
	struct why_span pieces[WHY_PIECES]; /* a ring, by start; neither copies nor collectives */
	uint64_t piece_count;
};

/* The sharing of one GPU. */
struct why_sharing {
	ARRAY(struct why_share) shares;
	uint64_t shared_until_ns;	      /* waits for other processes are counted up to here */
	uint64_t worked_ns, worked_until_ns;  /* time covered by operations that are no collectives */
	uint64_t met_until_ns, met_worked_ns; /* waits for ranks are counted up to here; worked_ns at that time */
	uint64_t worked_before_ns[2];	      /* worked_ns at the begin and the end of the time looked at */
	uint8_t passed;			      /* how many of these are set: the GPU began work after them */
};

/* The arrival of a rank at a collective. */
struct why_arrival {
	uint64_t start_ns, end_ns;
	uint64_t worked_ns; /* worked_ns of its GPU at that time */
	uint32_t device;    /* index */
	uint32_t process, place;
	int64_t rank;	/* of a collective that is known by number */
	uint32_t block; /* of steps; of one that is known by name */
};

struct why_open_collective {
	uint64_t id;
	uint32_t size, count;
	struct why_arrival *arrivals; /* NULL: the slot is free */
};

struct why_open_collectives {
	struct why_open_collective list[WHY_OPEN_COLLECTIVES]; /* a ring */
	uint64_t begun;
	uint64_t complete; /* collectives that all ranks reached */
};

/* A rank in a collective that is known by its kernels' name. */
struct why_named_arrival {
	struct why_arrival arrival;
	uint64_t waited_ns; /* until the last one so far began */
};

/* The kernels of one name. */
struct why_named_collective {
	uint32_t name;				  /* model.strings */
	ARRAY(uint32_t) processes;		  /* that have had such kernels */
	ARRAY(struct why_named_arrival) arrivals; /* of the one that may still go on */
};

/* What was lost to one rank at one line, in collectives of one name and the same processes. */
struct why_named_loss {
	size_t collective;  /* why_named.collectives */
	uint64_t processes; /* a bit each, in the order of theirs */
	uint32_t place, process, block;
	uint64_t ns, longest_ns;
	uint64_t count, waited; /* collectives; those in which the others waited */
};

struct why_named {
	struct comm_names names;
	ARRAY(struct why_named_collective) collectives;
	ARRAY(struct why_named_loss) losses;
	uint64_t complete; /* when settled: those in which all took part */
};
