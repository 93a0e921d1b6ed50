/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recordings of CUDA events: which call recorded which event on which stream, for later waits. */
#pragma once

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

/* Of a long trace only the latest recordings are kept; for a wait on an older one the recording is not known. */
#define RECORDINGS_MAX (1u << 17)

struct recordings {
	ARRAY(struct recording) list; /* in order of arrival */
	ARRAY(uint32_t) by_event;     /* those with a call: by process, context, event and time */
	struct lookup numbered;	      /* (epoch, number) to index in list */
};

void recordings_free(struct recordings *recordings);

/* Whether CUPTI numbered this recording. */
bool recording_is_numbered(uint64_t number);

void recordings_add(struct recordings *recordings, const struct recording *recording);

/* Must be called after adding recordings and before looking them up. */
void recordings_order(struct recordings *recordings);

/*
 * Finds a recording by CUPTI's number; or the last one of `wanted`'s process, context and event that is not after it.
 * NULL: none.
 */
const struct recording *recordings_numbered(const struct recordings *recordings, uint32_t epoch, uint64_t number);
const struct recording *recordings_latest(const struct recordings *recordings, const struct recording *wanted);

/* Evicts the older half if there are more than twice RECORDINGS_MAX. */
void recordings_trim(struct recordings *recordings);

/* The calls have moved to places[]. */
void recordings_move(struct recordings *recordings, const uint32_t *places);
