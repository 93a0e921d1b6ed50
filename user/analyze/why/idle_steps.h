/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The idle time of steps of training by cause: the charges of the account of idle time (idle.h), each cut at the bounds
 * of the steps of the process whose GPU work came late.  Sums are exact to the nanosecond: those over all slots
 * (step_tables.h) are the account's, cause by cause.  The account itself is the same with and without them.
 *
 * What no sample owns has its time when the gap is charged and its cause when all samples are known (idle_resolve.c);
 * each of its causes is then spread over its steps in proportion to its time in them.
 */
#ifndef GPUTRACE_ANALYZE_IDLE_STEPS_H
#define GPUTRACE_ANALYZE_IDLE_STEPS_H

#include "analyze/sums/step_tables.h"
#include "analyze/why/causes.h"
#include "base/array.h"

/* Of a charge, what lies in one slot. */
struct idle_step_part {
	uint32_t slot;
	uint32_t before; /* another part of the same charge, NONE */
	uint64_t ns;	 /* that no cause has taken yet */
};

struct idle_steps {
	const struct step_tables *tables; /* NULL: no one wants them */
	ARRAY(struct idle_step_part) parts;
	ARRAY(uint32_t) latest;	      /* by charge: its latest part, NONE */
	uint64_t (*sums)[WHY_CAUSES]; /* ns by slot, complete when the account is finished; NULL without tables */
};

struct idle_by_cause {
	uint64_t ns[WHY_CAUSES];
	uint64_t sum_ns;
	enum why_cause largest; /* of no time: any */
};

/* tables: begins before the first event is added; it has to stay. */
void idle_steps_init(struct idle_steps *steps, const struct step_tables *tables);
void idle_steps_free(struct idle_steps *steps);

/* Time of a charge, by its number in the account; process: model.processes, whose steps count. */
void idle_steps_add(struct idle_steps *steps, size_t charge, uint32_t process, uint64_t from_ns, uint64_t to_ns);

/* Puts ns of a charge on a cause, spread over its slots; all together exactly its time. */
void idle_steps_take(struct idle_steps *steps, size_t charge, enum why_cause cause, uint64_t ns);

/* What is in a slot, and in all steps of a table; with tables, when the account is finished. */
struct idle_by_cause idle_steps_slot(const struct idle_steps *steps, uint32_t slot);
struct idle_by_cause idle_steps_all(const struct idle_steps *steps, size_t table);

#endif
