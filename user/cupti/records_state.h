/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What reading CUPTI's records has to know and keeps: struct records, for records.h and the table of kinds. */
#ifndef GPUTRACE_CUPTI_RECORDS_STATE_H
#define GPUTRACE_CUPTI_RECORDS_STATE_H

#include <stdbool.h>
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
	/* File and line of the kernel of a launch, or of a graph's node; NULL: not known.  May be NULL itself. */
	const char *(*kernel_place)(uint32_t corr, uint64_t node);
	const struct cupti *cupti; /* not asked where there is a source */
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

/* Kinds to enable, in that order; the size says whether it can be used. */
struct records_kind {
	uint8_t kind;
	uint8_t set;		/* enum gpt_agent_activity_set; GPT_AGENT_SET_COUNT: always */
	bool of_calls;		/* only where nothing else reports calls: records->call_classes */
	bool unknown_to_kineto; /* it complains of such records; those of waits and events it asks for where that is set
				 */
};
#define RECORDS_KINDS 13
extern const struct records_kind records_kinds[RECORDS_KINDS];

#endif
