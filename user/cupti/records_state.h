/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* struct records, the state of reading CUPTI's records; for records.h and the table of kinds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cupti/batch.h"
#include "cupti/cupti_abi.h"
#include "cupti/names.h"

/* A source of records copied from another process; the texts they point at are not part of the copy. */
struct records_source {
	void *context;
	/* The text at an address in that process, valid until the next call; NULL: not available. */
	const char *(*read_text)(void *context, uint64_t address);
	/* Converts CUPTI's start and end, or one time, to the batch's clock; false: do not take the record. */
	bool (*times)(void *context, uint64_t *times, unsigned count);
	uint64_t unwanted; /* bit i: skip records of kind i */
};

struct records {
	const struct records_source *source; /* NULL: CUPTI wrote them for the agent, in its own process */
	/* File and line of the kernel of a launch or graph node; returns NULL if unknown.  May itself be NULL. */
	const char *(*kernel_place)(uint32_t corr, uint64_t node);
	const struct cupti *cupti; /* not called if there is a source */
	struct batch *batch;
	struct names *names;
	uint16_t sizes[CUPTI_KIND_COUNT]; /* size of a record as this library writes it, in bytes; 0: do not use */
	struct gpt_agent_stats stats;	  /* counts the records read: kernels .. untimed, malformed, names_dropped */
	uint64_t devices_seen;
	uint64_t oldest_wall_ns;  /* an earlier time is of another clock and counts as unknown */
	uint64_t strays_since_ns; /* another client records since then, so later records are that client's; 0: none */
	/* Set when a trace ends: GPU work of later calls, which were not reported, is left out. */
	bool limited;
	uint32_t last_corr;
	uint32_t kernel_corr;  /* the latest call of which a kernel's record was read, 0: none */
	uint32_t call_classes; /* bits of enum gpt_api_class: calls that are taken from CUPTI's API records */
};

/* The kinds to enable, in this order; their sizes say which are usable. */
struct records_kind {
	uint8_t kind;
	uint8_t set;		/* enum gpt_agent_activity_set; GPT_AGENT_SET_COUNT: always */
	bool of_calls;		/* only if nothing else reports calls: records->call_classes */
	bool unknown_to_kineto; /* Kineto warns about such records; waits and events it knows, if asked for them */
};
#define RECORDS_KINDS 13
extern const struct records_kind records_kinds[RECORDS_KINDS];
