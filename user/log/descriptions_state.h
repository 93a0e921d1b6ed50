/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by descriptions.c, descriptions_process.c, references.c, and descriptions_agent.c for records in batches. */
#pragma once

#include <gputrace/record.h>

#include "log/description_store.h"
#include "log/descriptions.h"

/* A cache of recent references: most records cost one comparison for each thing that they refer to. */
#define ASKED_COUNT 8192u

struct asked {
	uint64_t id;
	uint32_t pid, chunk;
	uint16_t kind;
};

/* What is known of a process to say what its numbers mean. */
struct process_numbers {
	uint32_t space;	    /* of the present epoch; never 0 */
	uint32_t processes; /* PROCESS records seen of this epoch */
	uint32_t hellos;    /* HELLO */
	uint32_t chunk;	    /* the last chunk that had a record of it */
	uint64_t start_ns;  /* 0: not known */
	uint64_t exit_ns;   /* 0: it lives */
	uint64_t exec_ns;   /* the latest */
	uint64_t death;	    /* position of the latest CODE_DEAD of this epoch; 0: none */
	bool forked;	    /* a FORK reported its start */
};

/* A process epoch that has ended. */
struct ended_space {
	uint32_t space, chunk;
};

struct descriptions {
	struct description_store store;
	uint32_t last_space, clocks;
	uint32_t last_pid;		      /* of last_process */
	struct process_numbers *last_process; /* good until the next look-up */
	bool missed;			      /* a record refers to something unknown */
	ARRAY(struct ended_space) ended;
	size_t kept; /* descriptions that were there after the last removal of what is over */
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

/* The process that has this pid now; the chunk needs its descriptions.  Valid until the next call. NULL: no memory. */
struct process_numbers *descriptions_process(struct descriptions *descriptions, uint32_t pid);

/* Notes that a record refers to something of the process that has this pid now. */
void descriptions_refer(struct descriptions *descriptions, uint32_t pid, enum description_kind kind, uint64_t id);
/* Notes all that a record refers to by its rows.  pid: of the batch that it is in, if it is in one. */
void descriptions_note_references(struct descriptions *descriptions, const struct gpt_record *record, uint32_t pid);
/* The symbols of a native stack may come after it, so they are looked up when the stack is needed. */
void descriptions_need_symbols(struct descriptions *descriptions, const struct description *stack);
/* Notes that the chunk needs the descriptions with the ids from 0 to count - 1, as far as they exist. */
void descriptions_need_all(struct descriptions *descriptions, uint32_t space, enum description_kind kind,
			   uint32_t count);

/* The epoch has ended. */
void descriptions_end_space(struct descriptions *descriptions, uint32_t space);

/* Removes what is over, now and then; before a chunk is looked at. */
void descriptions_remove_over(struct descriptions *descriptions);

/* One record each, long enough for its type. */
void descriptions_look_at_fork(struct descriptions *descriptions, const struct gpt_record *record);
void descriptions_look_at_exec(struct descriptions *descriptions, const struct gpt_record *record);
void descriptions_look_at_exit(struct descriptions *descriptions, const struct gpt_record *record);
void descriptions_look_at_process(struct descriptions *descriptions, const struct gpt_record *record);
void descriptions_look_at_batch(struct descriptions *descriptions, const struct gpt_record *record);
