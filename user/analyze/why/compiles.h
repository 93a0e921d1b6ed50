/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What compiled or loaded code, at which line, how long and how often, and how much idle time of GPUs is charged to it
 * (idle.h): the driver, calls that load code, first launches, torch.compile by its ops, and compilers that are Python
 * by the frames of samples and waits (compilers.h).
 *
 * Of two at the same time on a thread the outer one counts, as in the account of idle time: a first launch has the time
 * for which the driver compiled in it.  So times of a thread's compilations do not overlap.  A long first launch may
 * also have waited for room in its stream: it counts as far as GPUs waited for it, or the driver compiled in it.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"
#include "analyze/why/causes.h"
#include "base/array.h"

/* The time that an entry of `sums` got from one event. */
struct compile_piece {
	uint64_t start_ns, ns;
	uint32_t sum; /* index in sums */
	bool counts;
};

struct compile_thread {
	uint64_t known_until_ns; /* end of its latest compilation whose times are known, not sampled */
	uint64_t launch;	 /* model_call.number of its latest launch */
	uint32_t kernel;	 /* of that launch: model.strings, NONE */
	uint32_t first_launch;	 /* index in sums: until known_until_ns it is in a long first launch; NONE */
	uint32_t process;
	uint64_t episode; /* of time in frames of compilers; 0: none so far */
	bool in_frames;	  /* it goes on */
	/* the latest, by time of the event; ops of PyTorch may say later what they are parts of */
	ARRAY(struct compile_piece) pieces;
	ARRAY(uint32_t) awaiting; /* indices in sums: since its latest launch */
	uint64_t launches;	  /* that ended `awaiting` */
};

struct compile_row {
	uint32_t line;
	uint32_t process;
	enum why_compile kind;
	uint32_t what;	  /* `extra` of WHY_COMPILE */
	uint32_t kernel;  /* that launch's kernel, or that of most next launches: model.strings, NONE: none was new */
	uint32_t kernels; /* how many different ones */
	uint64_t ns, count;
	uint64_t idle_ns;
};

struct compiles {
	struct compile_thread *threads; /* by model.threads */
	uint32_t thread_count;
	/* caller_place or WHY_PLACE_NEXT, enum why_compile, what, process; more: of first launches what the driver
	   compiled in them */
	struct tally sums;
	struct tally next;	  /* index in sums, kernel or NONE, caller_place: launches that came next */
	struct tally awaited;	  /* model.threads, index in sums; more: launches of the thread then, + 1 */
	struct tally episodes_of; /* model.threads, enum compiler; more: its latest episode */
	uint64_t episodes;
	ARRAY(struct compile_row) rows; /* most idle time first, then most time */
	uint64_t ns, idle_ns;		/* of all */
};

void compiles_init(struct compiles *compiles, const struct model *model);
void compiles_free(struct compiles *compiles);

struct compile_span {
	uint64_t start_ns, end_ns;
	uint32_t thread;      /* model.threads */
	uint32_t kernel;      /* whose code it was for: model.strings, NONE: not known */
	struct tally_key key; /* why_key of WHY_COMPILE */
};

struct idle;

/* Adds a compilation whose start and end are known. */
void compiles_add(struct idle *idle, const struct compile_span *span);

/* The same of one that is known when it has ended: what was added since its start is part of it. */
void compiles_add_around(struct idle *idle, const struct compile_span *span);

/* The thread ran in those frames, or waited in them for that time. */
void compiles_add_sample(struct idle *idle, const struct model_sample *sample, uint32_t place);
void compiles_add_frames(struct idle *idle, uint32_t thread, uint32_t place, uint64_t start_ns, uint64_t end_ns);

/* Notes a call: it shows what was compiled before it.  is_new: no launch of its kernel came before. */
void compiles_see_call(struct idle *idle, const struct call_event *event, uint32_t place, bool is_new);

/* The kernel whose launch that call is; NONE: it is none of the thread's latest. */
uint32_t compiles_kernel_of(const struct compiles *compiles, const struct model_call *call);

/* When the account of idle time is finished. */
void compiles_finish(struct idle *idle, struct lines *lines);
