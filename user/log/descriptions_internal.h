/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of descriptions.h share: its own one, that of processes, and that of records inside batches. */
#ifndef GPUTRACE_DESCRIPTIONS_INTERNAL_H
#define GPUTRACE_DESCRIPTIONS_INTERNAL_H

#include <gputrace/record.h>

#include "log/description_store.h"
#include "log/descriptions.h"

/* What was asked for lately, so that most records cost one comparison for each thing that they refer to. */
#define ASKED_COUNT 8192u

struct asked {
	uint64_t id;
	uint32_t pid, chunk;
	uint16_t kind;
};

/* A process, as far as it matters to what its numbers mean. */
struct process_numbers {
	uint32_t space;	    /* of the program that runs now; never 0 */
	uint32_t processes; /* PROCESS records seen of this program */
	uint32_t hellos;    /* HELLO */
	uint32_t chunk;	    /* the last chunk that had a record of it */
	uint64_t start_ns;  /* 0: not known */
	uint64_t exit_ns;   /* 0: it lives */
	uint64_t exec_ns;   /* the latest */
	bool forked;	    /* a FORK reported its start */
};

struct descriptions {
	struct description_store store;
	uint32_t last_space, clocks;
	uint32_t last_pid;		      /* of last_process */
	struct process_numbers *last_process; /* good until the next look-up */
	bool missed;			      /* something was referred to that is not known */
	struct asked asked[ASKED_COUNT];
};

/* A process's PROCESS and HELLO records: the first and the last ones are kept. */
#define SLOTS_FIRST 4u
#define SLOTS_LAST 4u
#define SLOTS (SLOTS_FIRST + SLOTS_LAST)

static inline uint32_t description_slot(uint32_t number)
{
	return number < SLOTS_FIRST ? number : SLOTS_FIRST + number % SLOTS_LAST;
}

/* The process that has this pid now; all that describes it is needed.  Good until the next call. NULL: no memory. */
struct process_numbers *descriptions_process(struct descriptions *descriptions, uint32_t pid);

/* The record refers to something of the process that has this pid now. */
void descriptions_refer(struct descriptions *descriptions, uint32_t pid, enum description_kind kind, uint64_t id);
/* The symbols of a native stack may come after it: they are looked for when it is needed. */
void descriptions_need_symbols(struct descriptions *descriptions, const struct description *stack);
/* To those with the ids from 0 to count - 1, where they are. */
void descriptions_need_all(struct descriptions *descriptions, uint32_t space, enum description_kind kind,
			   uint32_t count);

/* One record each, long enough for its type. */
void descriptions_look_at_fork(struct descriptions *descriptions, const struct gpt_record *record);
void descriptions_look_at_exec(struct descriptions *descriptions, const struct gpt_record *record);
void descriptions_look_at_exit(struct descriptions *descriptions, const struct gpt_record *record);
void descriptions_look_at_process(struct descriptions *descriptions, const struct gpt_record *record);
void descriptions_look_at_batch(struct descriptions *descriptions, const struct gpt_record *record);

#endif
