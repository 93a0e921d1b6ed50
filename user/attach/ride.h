/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Riding along with torch.profiler: while it records, CUPTI's records go into its buffers.  A probe tells when CUPTI
 * has given one back, and it is copied before torch.profiler frees it, at the end of its session.
 */
#ifndef GPUTRACE_RIDE_H
#define GPUTRACE_RIDE_H

#include "attach/files.h"
#include "attach/ride_buffer.h"

struct rides {
	struct ride_terms terms;
	struct tsc_clock clock;
	unsigned activity_sets; /* bits of enum gpt_agent_activity_set */
	const char *unfit;	/* why ticks cannot be converted, NULL: they can */
	uint64_t sampled_ns;
	uint8_t *copy;
	size_t copy_bytes;
};

/* Of a process; starts zeroed. */
struct ride {
	struct ride_process *process; /* NULL until its agent has told how long records are */
	bool borrowed;		      /* the agent is no subscriber and hears of no call */
	bool told;		      /* that something could not be taken */
};

/* activity_sets: bits of enum gpt_agent_activity_set. */
void rides_open(struct rides *rides, unsigned activity_sets, attach_emit emit, void *context);
void rides_close(struct rides *rides);

/* Now and then: keeps the clock. */
void rides_tick(struct rides *rides, uint64_t now_ns);

/* A batch of the process's agent: what it says about records. */
void ride_learn(const struct rides *rides, struct ride *ride, const struct gpt_agent_batch *batch);

/* Copies the buffer and puts its records into the log. */
void ride_take(struct rides *rides, struct ride *ride, const struct gpt_cupti_done *done);

/* The process is gone or runs another program. */
void ride_forget(struct ride *ride);

/* PyTorch: its library is probed, when it is one whose buffers can be followed; tried once. -errno */
int file_attach_ride(struct files *files, struct probed_file *file, const struct image *image);

#endif
