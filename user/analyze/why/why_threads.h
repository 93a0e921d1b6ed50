/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What threads were doing that can keep a GPU waiting (why.h): pieces of time, each with the key of the sum that it is
 * put on, and the calls in which they waited for the GPU.  Bounded: of each thread the latest WHY_DOINGS_MAX pieces.
 */
#ifndef GPUTRACE_ANALYZE_WHY_THREADS_H
#define GPUTRACE_ANALYZE_WHY_THREADS_H

#include "analyze/events.h"
#include "base/array.h"
#include "base/tally.h"

#define WHY_DOINGS_MAX 4096u
#define WHY_WAITS 8u
#define WHY_RECENT 32u

/* In a key in the place of a place: that of the launch that came next. */
#define WHY_PLACE_NEXT (CALLER_BEFORE - 1)

struct why_activity {
	uint64_t start_ns, end_ns;
	uint64_t until_ns; /* latest end of this one and all before it */
	struct tally_key key;
	unsigned rank; /* of two at one time the higher one counts */
};

/* A call that waited for the GPU. */
struct why_wait {
	uint64_t start_ns, end_ns;
	uint64_t taken_ns; /* of it that gaps were put on */
	uint64_t launches; /* of the thread before it */
	struct tally_key key;
};

/* A CUDA call. */
struct why_recent {
	uint64_t start_ns;
	uint32_t place; /* caller_place */
	bool work;
};

struct why_thread {
	ARRAY(struct why_activity) activities; /* by start */
	size_t forget_at;
	struct why_wait waits[WHY_WAITS]; /* the latest, by start */
	size_t wait_count;
	uint64_t settled_ns, group_from_ns; /* launch of the latest gap; waits after this one count for the next */
	uint64_t launches;
	struct why_recent recent[WHY_RECENT]; /* the latest calls; a ring */
	uint64_t recent_count;
	uint64_t called_until_ns; /* latest end of its CUDA calls */
	/* torch.compile: since the latest compiled region, and where it found none, since the latest launch (0: no) */
	uint64_t looked_up_ns;	 /* the end of a look for a region that fits */
	uint64_t traced_from_ns; /* the first op that was not run but traced */
	uint64_t op_end_ns;	 /* the outermost op that is open */
	uint32_t op_name;
};

#define WHY_OF_PEERS 0x80000000u

struct why_piece {
	uint64_t time_ns;
	uint32_t doing; /* in the thread's, or its process's collectives' and WHY_OF_PEERS */
	bool begins;
};

/* A DataLoader's next that a stack is in. */
struct why_loader {
	uint32_t code;	 /* model.codes */
	uint32_t caller; /* model.frames: the innermost of the user's own that called it; of none its own */
};

struct why_threads {
	struct why_thread **all;   /* by model.threads; NULL: it has done nothing so far */
	struct why_thread **peers; /* by model.processes: its collectives on the CPU, on whatever thread; NULL: none */
	uint32_t *latest;	   /* by model.processes: the latest stack with frames that made a CUDA call, NONE */
	uint32_t *forward; /* by model.processes: the latest thread that launched and is not of backward, NONE */
	uint32_t count, process_count;
	ARRAY(struct why_piece) pieces;	  /* of one gap */
	ARRAY(uint32_t) user_frames;	  /* by model.stacks: innermost frame of the user's own code, see there */
	ARRAY(struct why_loader) loaders; /* by model.stacks, the same */
	ARRAY(uint8_t) codes;		  /* by model.codes: whose code it is, once asked for */
};

void why_threads_init(struct why_threads *threads, const struct model *model);
void why_threads_free(struct why_threads *threads);

struct why_thread *why_thread(struct why_threads *threads, uint32_t thread);
struct why_thread *why_peers(struct why_threads *threads, uint32_t process);

void why_thread_does(struct why_thread *thread, struct why_activity doing);

/* No gap that is still to be charged begins before this. */
void why_thread_forget(struct why_thread *thread, uint64_t from_ns);

void why_thread_waits(struct why_thread *thread, uint64_t start_ns, uint64_t end_ns, struct tally_key key);

/* A CUDA call is made. */
void why_thread_calls(struct why_thread *thread, const struct model_call *call, uint32_t place);

/* The latest call before that time, and the latest that put work on a GPU; NULL: not known. */
const struct why_recent *why_thread_before(const struct why_thread *thread, uint64_t start_ns, bool work);

typedef void why_take(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns);

struct why_rest {
	uint64_t from_ns, to_ns;
};

struct why_rests {
	struct why_rest *items;
	size_t count, capacity;
};

/*
 * Hands over what the thread did in [from, to), or went on for it (peers: NULL: nothing), by least_rank and above, each
 * time once; how much that was.  rests: what is left is added to them, by time; NULL: no one wants it.
 */
uint64_t why_thread_pieces(struct why_threads *threads, const struct why_thread *thread, const struct why_thread *peers,
			   uint64_t from_ns, uint64_t to_ns, unsigned least_rank, why_take *take, void *context,
			   struct why_rests *rests);

/* Hands over up to ns of earlier waits, for a gap from `from_ns` on that a launch ended, as times from 0 on; how much
 * that was. */
uint64_t why_thread_leads(struct why_thread *thread, uint64_t from_ns, uint64_t launch_ns, uint64_t ns, why_take *take,
			  void *context);

/* The innermost frame of a stack that is no library's; `otherwise` where there is none. */
uint32_t why_user_frame(struct why_threads *threads, const struct model *model, uint32_t stack, uint32_t otherwise);

/* What a stack says of a DataLoader; code is NONE where it is in none. */
struct why_loader why_loader(struct why_threads *threads, const struct model *model, uint32_t stack);

#endif
