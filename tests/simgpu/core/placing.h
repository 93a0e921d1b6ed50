/*
 * placing.h: what timeline.c, which says when work runs, and deferred.c, which keeps what has to wait
 * for that, know of each other.
 */
#pragma once

#include <pthread.h>

#include "sim.h"

extern pthread_mutex_t placing_lock;

struct sim_deferred {
	enum { DEFERRED_WORK, DEFERRED_RECORD, DEFERRED_WAIT } kind;
	bool has_begun;
	uint64_t number; /* in the order of submission */
	struct sim_work work;
	struct sim_recording *recording;
	uint64_t submitted;
	int tid;
	char label[SIM_LABEL_SIZE];
	struct sim_deferred *next;
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline bool is_blocking(const struct CUstream_st *stream)
{
	return stream != stream->context->legacy && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/*
 * When the stream lets work begin that was submitted then. The legacy default stream and the blocking
 * streams of its context wait for each other.
 */
uint64_t start_locked(CUstream stream, uint64_t submitted);
void place_locked(CUstream stream, struct sim_work *work);
/* Notes the end of work that is placed. */
void end_locked(CUstream stream, struct sim_work *work);
uint64_t end_of_locked(CUstream stream);

void nap(void);

/* Whether no stream has deferred what must come before number in this one. */
bool is_first_locked(CUstream stream, uint64_t number);
/* The number of what is submitted next. */
uint64_t next_number_locked(void);
/* Takes over the reference to the recording. */
void defer_locked(CUstream stream, const struct sim_deferred *what);
/* Places what can be placed now; returns it, to be published. */
struct sim_deferred *advance_locked(void);
void publish(const struct sim_work *work, int tid, const char *label);
void publish_all(struct sim_deferred *done);
void release(struct sim_recording *recording);

/* stream NULL: of all streams of the context. */
bool is_pending(CUcontext context, CUstream stream, uint64_t number);
/* Sleeps until what has been submitted is placed; its end may be later. */
void wait_for_deferred(CUcontext context, CUstream stream);
