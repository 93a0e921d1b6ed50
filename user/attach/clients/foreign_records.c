/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clocks, names and batches around the agent's conversion; see foreign_records.h. All input is hostile. */
#include "attach/clients/foreign_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/distance.h"
#include "base/lookup.h"

/* Start of the ids of names; no agent uses these, as agents count from 1. */
#define FIRST_NAME 0x80000000u

/*
 * A time stamp belongs to the clock whose current value is near: an operation that has just ended is within hours of
 * it. CLOCK_REALTIME is 2^60 ns since the epoch, a counter of 3 GHz takes 12 years to get there.
 */
#define NEAR_NS (24ull * 3600 * 1000000000)
#define NEAR_TICKS (4 * NEAR_NS) /* at up to 4 GHz */

/* Names are read in pieces that end at a page boundary: the next page may not be mapped. */
#define PIECE 256u
#define TEXTS 4096u	      /* addresses remembered for one buffer */
#define TEXT_BYTES (4u << 20) /* bytes of names for one buffer */

struct foreign_records {
	struct records records;
	struct names names;
	struct batch batch;

	/* for the buffer that is being read */
	struct records_source source;
	const struct foreign_terms *terms;
	const struct foreign_buffer *buffer;
	struct foreign_result result;
	bool in_ticks;	     /* the records in the batch have times in ticks */
	uint64_t error_ns;   /* bound for their times */
	struct lookup known; /* (1, address) to the offset of its text + 1; 0: it cannot be read */
	uint32_t text_used;
	char *texts; /* TEXT_BYTES */
	char scratch[NAMES_TEXT_MAX + 2];
};

/* ---- batches -------------------------------------------------------------------------------------------------------
 */

/* batch.send: sends a batch as if from an agent. */
static void send_batch(struct batch *batch)
{
	struct foreign_records *process =
		(struct foreign_records *)((char *)batch - offsetof(struct foreign_records, batch));
	const struct foreign_buffer *buffer = process->buffer;
	size_t size = sizeof(struct gpt_agent_batch) + batch->used;
	struct gpt_agent_batch *record = xcalloc(1, size);

	record->hdr.size = (uint32_t)size;
	record->hdr.type = GPT_AGENT_BATCH;
	record->hdr.flags = GPT_BATCH_FOREIGN;
	if (process->in_ticks) {
		record->hdr.flags |= GPT_BATCH_MONOTONIC;
		record->error_ns = process->error_ns < UINT32_MAX ? (uint32_t)process->error_ns : UINT32_MAX;
	}
	record->time_ns = buffer->time_ns;
	record->pid = (uint32_t)buffer->pid;
	record->tid = buffer->tid;
	record->bytes = batch->used;
	memcpy(record->data, batch->data, batch->used);
	process->terms->emit(process->terms->emit_context, &record->hdr);
	free(record);
	process->error_ns = 0;
}

/* ---- times ---------------------------------------------------------------------------------------------------------
 */

/* A batch has times of one clock only. */
static void use_clock(struct foreign_records *process, bool ticks)
{
	if (process->in_ticks == ticks)
		return;
	batch_flush(&process->batch);
	process->in_ticks = ticks;
}

static bool take_wall(struct foreign_records *process, const uint64_t *times, unsigned count)
{
	if (times[count - 1] - (uint64_t)process->buffer->wall_offset_ns < process->terms->since_ns)
		return false;
	use_clock(process, false);
	return true;
}

static bool take_ticks(struct foreign_records *process, uint64_t *times, unsigned count)
{
	uint64_t both[2] = {times[0], times[count - 1]}, error_ns = process->error_ns;

	if (!process->terms->clock) {
		process->result.unconverted++;
		return false;
	}
	/* An operation that began before the first sample began before the trace. */
	if (!tsc_clock_convert(process->terms->clock, both, &error_ns) || both[1] < process->terms->since_ns)
		return false;
	use_clock(process, true);
	times[0] = both[0];
	times[count - 1] = both[1];
	process->error_ns = error_ns;
	return true;
}

/* records_source.times */
static bool place_times(void *context, uint64_t *times, unsigned count)
{
	struct foreign_records *process = context;
	const struct foreign_buffer *buffer = process->buffer;
	uint64_t from_wall = time_distance(times[0], buffer->wall_ns),
		 from_ticks = time_distance(times[0], buffer->ticks);

	if (buffer->ticks && from_ticks < NEAR_TICKS && from_ticks < from_wall)
		return take_ticks(process, times, count);
	if (from_wall < NEAR_NS)
		return take_wall(process, times, count);
	process->result.unknown++;
	return false;
}

/* ---- names ---------------------------------------------------------------------------------------------------------
 */

/* Reads the text into scratch, with a NUL; false: it cannot be read. */
static bool read_text(struct foreign_records *process, uint64_t address)
{
	pid_t pid = process->buffer->pid;
	size_t at = 0, piece;
	char *end;

	while (at < sizeof(process->scratch) - 1) {
		piece = PIECE - (address + at) % PIECE;
		if (piece > sizeof(process->scratch) - 1 - at)
			piece = sizeof(process->scratch) - 1 - at;
		if (process->terms->read(pid, address + at, process->scratch + at, piece))
			return false;
		end = memchr(process->scratch + at, '\0', piece);
		if (end)
			return true;
		at += piece;
	}
	process->scratch[at] = '\0'; /* too long: truncated */
	return true;
}

/* records_source.text */
static const char *find_text(void *context, uint64_t address)
{
	struct foreign_records *process = context;
	uint32_t *known = lookup_get(&process->known, 1, address);
	size_t bytes;
	bool read;

	if (known)
		return *known ? process->texts + *known - 1 : NULL;
	read = read_text(process, address);
	bytes = read ? strlen(process->scratch) + 1 : 0;
	if (process->known.count < TEXTS && bytes <= TEXT_BYTES - process->text_used) {
		lookup_put(&process->known, 1, address, read ? process->text_used + 1 : 0);
		memcpy(process->texts + process->text_used, process->scratch, bytes);
		process->text_used += (uint32_t)bytes;
	}
	return read ? process->scratch : NULL;
}

/* ---- buffers -------------------------------------------------------------------------------------------------------
 */

struct foreign_records *foreign_records_new(void)
{
	struct foreign_records *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	lookup_init(&process->known, hash_seed());
	process->texts = malloc(TEXT_BYTES);
	if (!process->texts || !names_open(&process->names)) {
		foreign_records_free(process);
		return NULL;
	}
	process->names.first_id = FIRST_NAME;
	process->names.seed = hash_seed();
	process->batch.send = send_batch;
	process->source = (struct records_source){.context = process, .read_text = find_text, .times = place_times};
	process->records =
		(struct records){.source = &process->source, .batch = &process->batch, .names = &process->names};
	return process;
}

void foreign_records_free(struct foreign_records *process)
{
	if (!process)
		return;
	names_close(&process->names);
	lookup_free(&process->known);
	free(process->texts);
	free(process);
}

void foreign_records_sizes(struct foreign_records *process, const uint16_t sizes[GPT_AGENT_KINDS])
{
	records_set_sizes(&process->records, sizes);
}

void foreign_records_calls(struct foreign_records *process, uint32_t classes)
{
	process->records.call_classes = classes;
}

/* Sends the counts for this buffer, for the sums of the whole trace. */
static void send_stats(struct foreign_records *process)
{
	struct gpt_agent_stats *stats = batch_add(&process->batch, GPT_AGENT_STATS, sizeof(*stats));
	struct gpt_record header = stats->hdr;

	*stats = process->records.stats;
	stats->hdr = header;
}

struct foreign_result foreign_buffer_convert(struct foreign_records *process, const struct foreign_terms *terms,
					     const struct foreign_buffer *buffer)
{
	struct gpt_agent_stats *stats = &process->records.stats;

	process->terms = terms;
	process->buffer = buffer;
	process->source.unwanted = terms->unwanted;
	process->result = (struct foreign_result){0};
	process->text_used = 0;
	lookup_empty(&process->known);
	memset(stats, 0, sizeof(*stats));
	process->result.left = buffer->bytes - records_foreign(&process->records, buffer->data, buffer->bytes);
	stats->malformed += process->result.left != 0;
	process->result.taken = stats->kernels + stats->memcpys + stats->memsets + stats->others;
	send_stats(process);
	batch_flush(&process->batch);
	return process->result;
}
