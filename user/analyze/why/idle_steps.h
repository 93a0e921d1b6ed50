/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The idle time of steps of training by cause: the charges of the account of idle time (idle.h), each cut at the bounds
 * of the steps of the process whose GPU work came late.  Sums are exact to the nanosecond: over all slots
 * (step_tables.h) they are the account's, cause by cause.  The account itself is the same with and without them.
 *
 * Time that no sample owns is known when the gap is charged, its causes when all samples are known (idle_resolve.c);
 * each of these causes is then spread over the charge's steps in proportion to its time in them.
 */
#pragma once

#include "analyze/steps/step_tables.h"
#include "analyze/why/causes.h"
#include "base/array.h"

/* The part of a charge that lies in one slot. */
struct idle_step_part {
	uint32_t slot;
	uint32_t before; /* another part of the same charge, NONE */
	uint64_t ns;	 /* time that no cause has taken yet */
};

struct idle_steps {
	const struct step_tables *tables; /* NULL: sums by step are not wanted */
	ARRAY(struct idle_step_part) parts;
	ARRAY(uint32_t) latest;	      /* by charge: its latest part, NONE */
	uint64_t (*sums)[WHY_CAUSES]; /* ns by slot, complete when the account is finished; NULL without tables */
};

struct idle_by_cause {
	uint64_t ns[WHY_CAUSES];
	uint64_t sum_ns;
	enum why_cause largest; /* any, if there is no time */
};

/* tables: initialized before the first event is added; must outlive the sums. */
void idle_steps_init(struct idle_steps *steps, const struct step_tables *tables);
void idle_steps_free(struct idle_steps *steps);

/* Adds time of a charge, which is given by its number in the account; process: model.processes, whose steps count. */
void idle_steps_add(struct idle_steps *steps, size_t charge, uint32_t process, uint64_t from_ns, uint64_t to_ns);

/* Gives ns of a charge to a cause, spread over the charge's slots; all ns together are exactly its time. */
void idle_steps_take(struct idle_steps *steps, size_t charge, enum why_cause cause, uint64_t ns);

/* The sums of a slot, and of all steps of a table; with tables, when the account is finished. */
struct idle_by_cause idle_steps_slot(const struct idle_steps *steps, uint32_t slot);
struct idle_by_cause idle_steps_all(const struct idle_steps *steps, size_t table);
