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

#include "cupti/records_state.h"

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

/* The same from sizes that another reports, in any state. */
void records_set_sizes(struct records *records, const uint16_t sizes[CUPTI_KIND_COUNT]);

/* A buffer as CUPTI gave it back. */
void records_buffer(struct records *records, uint8_t *buffer, size_t valid);

/*
 * A buffer that CUPTI did not give back, zero after its records: those of GPU work that ended between two times of
 * the wall clock are taken, nothing is counted as malformed.  What is another client's is counted.
 */
void records_abandoned(struct records *records, uint8_t *buffer, size_t bytes, const uint64_t between_wall_ns[2]);

#endif
