/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recordings of events: which call put which event into which stream, for the waits that come after it. */
#ifndef GPUTRACE_MODEL_RECORDINGS_H
#define GPUTRACE_MODEL_RECORDINGS_H

#include <stdbool.h>

#include "base/array.h"
#include "base/lookup.h"

/* One recording of an event. */
struct recording {
	uint32_t process, epoch;
	uint32_t context, event, stream;
	uint32_t call;	  /* NONE: not known */
	uint64_t number;  /* CUPTI's, unique in the epoch */
	uint64_t time_ns; /* when that call was made */
};

/* Of a long trace the latest of them are kept: a wait for an older one is for one that is not known. */
#define RECORDINGS_MAX (1u << 17)

struct recordings {
	ARRAY(struct recording) list; /* as they came */
	ARRAY(uint32_t) by_event;     /* those with a call: by process, context, event and time */
	struct lookup numbered;	      /* (epoch, number) to index in list */
};

void recordings_init(struct recordings *recordings, uint64_t seed);
void recordings_free(struct recordings *recordings);

/* Whether CUPTI numbers this one. */
bool recording_is_numbered(uint64_t number);

void recordings_add(struct recordings *recordings, const struct recording *recording);

/* After some were added, and before they are looked for. */
void recordings_order(struct recordings *recordings);

/* By CUPTI's number; or the last one of that process, context and event that is not after `wanted`.  NULL: none. */
const struct recording *recordings_numbered(const struct recordings *recordings, uint32_t epoch, uint64_t number);
const struct recording *recordings_latest(const struct recordings *recordings, const struct recording *wanted);

/* Lets go of the older half where there are more than twice RECORDINGS_MAX. */
void recordings_trim(struct recordings *recordings);

/* The calls are at other places now. */
void recordings_move(struct recordings *recordings, const uint32_t *places);

#endif
