/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Foreign buffers: while torch.profiler records, CUPTI puts its records into torch.profiler's buffers and not into the
 * agent's. A probe fires when CUPTI has given a buffer back to torch.profiler. The buffer is copied from outside before
 * torch.profiler frees it, at the end of its session.
 */
#pragma once

#include "attach/probes/files.h"
#include "attach/clients/foreign_records.h"
#include "base/user_budget.h"

struct foreign_reader {
	struct foreign_terms terms;
	struct tsc_clock clock;
	unsigned activity_sets; /* bits of enum gpt_agent_activity_set */
	const char *unfit;	/* why ticks cannot be converted, NULL: they can */
	uint64_t sampled_ns;
	uint8_t *copy;
	size_t copy_bytes;
	struct user_budget time; /* of taking buffers, for each user */
	bool fair;		 /* no user may take the time that others need */
};

/* State of one process; starts zeroed. */
struct foreign_buffers {
	struct foreign_records *records; /* NULL until its agent has sent the sizes of records */
	bool borrowed;			 /* the agent is no subscriber and gets no calls */
	bool reported;			 /* a note that something could not be taken was written */
};

/* activity_sets: bits of enum gpt_agent_activity_set. */
void foreign_reader_open(struct foreign_reader *reader, unsigned activity_sets, attach_emit emit, void *context);
void foreign_reader_close(struct foreign_reader *reader);

/* Samples the clock; call now and then. */
void foreign_reader_tick(struct foreign_reader *reader, uint64_t now_ns);

/* Takes what a batch of the process's agent says about record sizes and calls. */
void foreign_buffers_record(const struct foreign_reader *reader, struct foreign_buffers *buffers,
			    const struct gpt_agent_batch *batch);

/* Copies the buffer of a process of that user and puts its records into the log. */
void foreign_buffers_take(struct foreign_reader *reader, struct foreign_buffers *buffers, uid_t uid,
			  const struct gpt_cupti_done *done);

/* The process is gone or runs another program. */
void foreign_buffers_forget(struct foreign_buffers *buffers);
