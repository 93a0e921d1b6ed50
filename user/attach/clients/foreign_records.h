/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts the copy of a buffer that CUPTI filled for another profiler into batches such as an agent sends. The
 * conversion of records is the agent's own (cupti/records.h). This file handles what differs from outside: names are in
 * another process, and times may be of another clock. Knows no probes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cupti/records.h"
#include "attach/emit/emit.h"
#include "attach/clients/tsc.h"

/* State of a process whose buffers are read. */
struct foreign_records;

/* How to read records; the same for all buffers of a trace. */
struct foreign_terms {
	attach_emit emit; /* gets a GPT_AGENT_BATCH */
	void *emit_context;
	/* Copies from a process's memory: process_read_memory, or a replacement in tests. 0 or -errno. */
	int (*read)(pid_t pid, uint64_t address, void *buffer, size_t bytes);
	const struct tsc_clock *clock; /* NULL: times in ticks cannot be converted */
	uint64_t unwanted;	       /* bit i: activity kind i is left out */
	uint64_t since_ns;	       /* records that ended before are not part of this trace */
};

struct foreign_buffer {
	uint8_t *data; /* the copy */
	size_t bytes;
	pid_t pid;
	uint32_t tid;
	uint64_t time_ns;	/* when CUPTI gave it back */
	uint64_t wall_ns;	/* at the copy: CLOCK_REALTIME, ... */
	int64_t wall_offset_ns; /* ... less CLOCK_MONOTONIC, ... */
	uint64_t ticks;		/* ... and tsc_now() */
};

struct foreign_result {
	uint64_t taken;	      /* records in the batches */
	uint64_t left;	      /* bytes at the end that made no sense */
	uint64_t unknown;     /* records with an unknown clock */
	uint64_t unconverted; /* records in ticks without a clock to convert them */
};

/* NULL: no memory. */
struct foreign_records *foreign_records_new(void);
void foreign_records_free(struct foreign_records *process);

/* Sets the sizes of records, as the agent sends them; without them nothing can be read. */
void foreign_records_sizes(struct foreign_records *process, const uint16_t sizes[GPT_AGENT_KINDS]);

/* Sets the classes (bits of enum gpt_api_class) of calls whose records are taken: where no agent reports calls. */
void foreign_records_calls(struct foreign_records *process, uint32_t classes);

struct foreign_result foreign_buffer_convert(struct foreign_records *process, const struct foreign_terms *terms,
					     const struct foreign_buffer *buffer);
