/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Converts CUPTI's activity records into records of agent.h, by a table of fields per kind.  Record sizes are those of
 * the opened library, found by asking it (records_probe).  Used by the agent's thread alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti/records_state.h"

/*
 * Reads a copy of a buffer of another process: records one after the other, by sizes[] alone.  Returns how many bytes
 * could be read; a kind of unknown size hides what follows it.
 */
size_t records_foreign(struct records *records, uint8_t *buffer, size_t bytes);

/* The scratch memory that records_probe needs: zeroed, 8-byte aligned; zero again afterwards. */
#define RECORDS_PROBE_BYTES 8192u

/*
 * Finds the sizes of all kinds.  A kind gets 0 if the library does not know it, or if gputrace takes it and its record
 * is shorter than in 11.8.  Returns how many of the kinds that gputrace takes are usable.
 */
unsigned records_probe(struct records *records, uint8_t *scratch);

/* The same from sizes that another process reports; works in any state. */
void records_set_sizes(struct records *records, const uint16_t sizes[CUPTI_KIND_COUNT]);

/* Converts a buffer that CUPTI returned. */
void records_buffer(struct records *records, uint8_t *buffer, size_t valid);

/*
 * Converts a buffer that CUPTI did not return; it is zero after its records.  Takes only GPU work that started and
 * ended between the two wall-clock times; counts nothing as malformed, but counts the records of another client.
 */
void records_abandoned(struct records *records, uint8_t *buffer, size_t bytes, const uint64_t between_wall_ns[2]);
