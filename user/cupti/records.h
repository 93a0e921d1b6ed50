/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * CUPTI's activity records into records of agent.h.  A table of fields per kind; sizes are those the opened
 * library itself uses, found by asking it (records_probe).  Used by the agent's thread alone.
 */
#ifndef GPUTRACE_CUPTI_RECORDS_H
#define GPUTRACE_CUPTI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti/batch.h"
#include "cupti/cupti_abi.h"
#include "cupti/names.h"

/* Records that lie in another process, in a copy; what they point at does not. */
struct records_source {
	void *context;
	/* The text at an address over there, until the next call; NULL: there is none to be had. */
	const char *(*text)(void *context, uint64_t address);
	/* CUPTI's start and end, or one time, to those of the batch; false: the record is not to be taken. */
	bool (*times)(void *context, uint64_t *times, unsigned count);
	uint64_t unwanted; /* bit i: records of kind i are stepped over */
};

struct records {
	const struct records_source *source; /* NULL: CUPTI wrote them for us, in our own process */
	const struct cupti *cupti;	     /* not asked where there is a source */
	struct batch *batch;
	struct names *names;
	uint16_t sizes[CUPTI_KIND_COUNT]; /* bytes of a record as this library writes it; 0: not to be used */
	struct gpt_agent_stats stats;	  /* of what passed here: kernels .. untimed, malformed, names_dropped */
	uint64_t devices_seen;
	uint64_t oldest_wall_ns;  /* what is earlier is of another clock: no time that is known */
	uint64_t strays_since_ns; /* another client records since then, and what began later is its; 0: none does */
	/* Set when a trace ends: GPU work of later calls, which were not reported, is left out. */
	bool limited;
	uint32_t last_corr;
	uint32_t call_classes; /* bit: enum gpt_api_class of calls that are taken from CUPTI's own records of them */
};

/*
 * A copy of a buffer that lies in another process: its records, one after the other by sizes[] alone.  Returns how many
 * bytes made sense; a kind of no known size hides what follows it.
 */
size_t records_foreign(struct records *records, uint8_t *buffer, size_t bytes);

/* The scratch memory records_probe needs, zeroed, 8-byte aligned; zero again afterwards. */
#define RECORDS_PROBE_BYTES 8192u

/*
 * Learns the sizes of all kinds.  A kind that the library does not know, or one that we take and whose record is
 * shorter than in 11.8, gets 0.  Returns how many of those that we take are good.
 */
unsigned records_probe(struct records *records, uint8_t *scratch);

/* The same from sizes that somebody else tells, in any state. */
void records_set_sizes(struct records *records, const uint16_t sizes[CUPTI_KIND_COUNT]);

/* Kinds to enable, in that order; the size says whether it can be used. */
struct records_kind {
	uint8_t kind;
	uint8_t set;   /* enum gpt_agent_activity_set; GPT_AGENT_SET_COUNT: always */
	bool of_calls; /* only where nothing else tells of calls: records->call_classes */
};
#define RECORDS_KINDS 13
extern const struct records_kind records_kinds[RECORDS_KINDS];

/* One record of at most `bytes` bytes: false when it is truncated or of a kind we did not ask for. */
bool records_convert(struct records *records, uint8_t *record, size_t bytes);

/* A buffer as CUPTI gave it back. */
void records_buffer(struct records *records, uint8_t *buffer, size_t valid);

/*
 * A buffer that CUPTI did not give back, zero behind its records: those of GPU work that ended between two times of
 * the wall clock are taken, nothing is counted as malformed.  What is another client's is counted.
 */
void records_abandoned(struct records *records, uint8_t *buffer, size_t bytes, const uint64_t between_wall_ns[2]);

#endif
