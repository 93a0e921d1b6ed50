/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What threads did that can keep a GPU waiting (why.h): pieces of time, each with the key of the sum that it is charged
 * to, and the calls in which they waited for the GPU.  Bounded: the latest WHY_DOINGS_MAX pieces of each thread.
 */
#pragma once

#include "analyze/events/compilers.h"
#include "analyze/events/events.h"
#include "base/array.h"
#include "analyze/why/why_awaited.h"
#include "base/tally.h"

#define WHY_DOINGS_MAX 4096u
#define WHY_WAITS 8u
#define WHY_RECENT 32u

/* In place of a key's place: the place of the launch that came next. */
#define WHY_PLACE_NEXT (CALLER_BEFORE - 1)

struct why_activity {
	uint64_t start_ns, end_ns;
	uint64_t until_ns; /* latest end of this activity and all before it */
	struct tally_key key;
	unsigned rank; /* of two at the same time, the higher one counts */
};

/* A call that waited for the GPU. */
struct why_wait {
	uint64_t start_ns, end_ns;
	uint64_t taken_ns; /* the part of it that lies in gaps, or that later gaps are charged to */
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
	uint64_t waited_until_ns; /* latest end of a wait: one inside another is none of its own */
	uint64_t latest_gap_ns,
		group_from_ns; /* launch of the latest gap; waits from group_from_ns on are for the next */
	uint64_t launches;
	struct why_recent recent[WHY_RECENT]; /* the latest calls; a ring */
	uint64_t recent_count;
	uint64_t called_until_ns; /* latest end of its CUDA calls */
	/*
	 * for torch.compile: since the latest compiled region or, without a lookup, since the latest launch (0: none)
	 */
	uint64_t looked_up_ns;	 /* end of a lookup for a matching region */
	uint64_t traced_from_ns; /* start of the first op that was traced instead of run */
	uint64_t op_end_ns;	 /* end of the outermost op that is open */
	/* of calls that were captured since the latest that was not: start of the first, end of the last; 0: none */
	uint64_t captured_from_ns, captured_until_ns;
	uint32_t captured_place; /* caller_place of the first */
	uint32_t op_name;
};

#define WHY_OF_PEERS 0x80000000u

struct why_piece {
	uint64_t time_ns;
	uint32_t doing; /* index in the thread's activities, or WHY_OF_PEERS and in its process's collectives */
	bool begins;
};

/* The DataLoader's next that a stack is in. */
struct why_loader {
	uint32_t code;	 /* model.codes */
	uint32_t caller; /* model.frames: its innermost caller in the user's own code, else its own frame */
	enum why_loads loads;
};

struct why_threads {
	struct why_thread **all;   /* by model.threads; NULL: it has done nothing so far */
	struct why_thread **peers; /* by model.processes: its collectives on the CPU, on any thread; NULL: none */
	uint32_t *latest;	   /* by model.processes: the latest stack with frames of a CUDA call, NONE */
	uint32_t *forward;	   /* by model.processes: the latest launching thread that is not of backward, NONE */
	uint32_t count, process_count;
	ARRAY(struct why_piece) pieces;	  /* of one gap */
	ARRAY(uint32_t) user_frames;	  /* by model.stacks: see why_user_frame */
	ARRAY(struct why_loader) loaders; /* by model.stacks: see why_loader */
	ARRAY(uint8_t) awaited;		  /* by model.stacks: enum why_awaited + 1, once looked up */
	ARRAY(uint8_t) codes;		  /* by model.codes: whose code it is, once looked up */
	struct compilers compilers;
};

void why_threads_init(struct why_threads *threads, const struct model *model);
void why_threads_free(struct why_threads *threads);

struct why_thread *why_thread(struct why_threads *threads, uint32_t thread);
struct why_thread *why_peers(struct why_threads *threads, uint32_t process);

void why_thread_does(struct why_thread *thread, struct why_activity doing);

/* from_ns: no gap that is still to be charged begins before it. */
void why_thread_forget(struct why_thread *thread, uint64_t from_ns);

void why_thread_waits(struct why_thread *thread, uint64_t start_ns, uint64_t end_ns, struct tally_key key);

/* Notes a CUDA call. */
void why_thread_calls(struct why_thread *thread, const struct model_call *call, uint32_t place);

/* The latest call before that time, or with `work` the latest that put work on a GPU; NULL: not known. */
const struct why_recent *why_thread_before(const struct why_thread *thread, uint64_t start_ns, bool work);

typedef void why_take(void *context, struct tally_key key, uint64_t from_ns, uint64_t to_ns);

struct why_rest {
	uint64_t from_ns, to_ns;
};

struct why_rests {
	struct why_rest *items;
	size_t count, capacity;
};

/* Notes that a gap is charged to the thread in that time: no later gap is charged to waits for it. */
void why_thread_uses(struct why_thread *thread, uint64_t from_ns, uint64_t to_ns);

/*
 * Hands over what the thread, or peers for it (NULL: none), did in [from, to) with least_rank or above, each time once,
 * and notes it as used; returns how much that was.  rests: gets the times that remain, in order; NULL: not wanted.
 */
uint64_t why_thread_pieces(struct why_threads *threads, struct why_thread *thread, const struct why_thread *peers,
			   uint64_t from_ns, uint64_t to_ns, unsigned least_rank, why_take *take, void *context,
			   struct why_rests *rests);

/* A gap that a launch ended. */
struct why_gap {
	uint64_t first_ns; /* start of the GPU's first work: what a thread waited for before that, no GPU work hid */
	uint64_t from_ns;
	uint64_t launch_ns; /* start of the launch */
};

/*
 * Hands over up to ns of earlier waits for a gap, as times from 0 on; returns how much that was.  take NULL: only
 * returns that.
 */
uint64_t why_thread_leads(struct why_thread *thread, const struct why_gap *gap, uint64_t ns, why_take *take,
			  void *context);

/* The innermost frame of a stack that is no library's; `otherwise` if there is none. */
uint32_t why_user_frame(struct why_threads *threads, const struct model *model, uint32_t stack, uint32_t otherwise);

/* What a thread waits for at a caller_place. */
enum why_awaited why_awaited(struct why_threads *threads, const struct model *model, uint32_t stack);

/* The DataLoader that a stack is in; code is NONE if it is in none. */
struct why_loader why_loader(struct why_threads *threads, const struct model *model, uint32_t stack);
